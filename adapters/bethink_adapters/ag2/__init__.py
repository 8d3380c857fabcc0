"""AG2 from 1.0: recall before each call of the model, remember each turn, and keep its knowledge.

    agent = Agent(
        "helper",
        config=config,
        assembly=[RecallPolicy(store, namespace=Subtree("users/42"))],
        middleware=[remembering(store, namespace="users/42")],
        knowledge=KnowledgeConfig(store=BethinkKnowledgeStore(store, namespace="files/42")),
    )
    reply = await agent.ask("Which pizza do I like?")

What was recalled stands in front of the last request while the model answers, and is in no stream.
Policies that shorten what the model reads come after this one.

Runs on ag2 1.0.0 to 1.2.1. For AG2 before 1.0 there is ``bethink_adapters.autogen.classic``.
"""

from .knowledge import BethinkKnowledgeStore
from .turns import RecallPolicy, remembering

__all__ = ["BethinkKnowledgeStore", "RecallPolicy", "remembering"]
