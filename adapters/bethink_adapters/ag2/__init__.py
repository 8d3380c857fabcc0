"""AG2 from 1.0: recall before each call of the model, remember each turn, and keep knowledge.

    agent = Agent(
        "helper",
        config=config,
        assembly=[RecallPolicy(store, namespace=Subtree("users/42"))],
        middleware=[remembering(store, namespace="users/42")],
        knowledge=KnowledgeConfig(store=BethinkKnowledgeStore(store, namespace="files/42")),
    )
    reply = await agent.ask("Which pizza do I like?")
    erase_user(store, namespace="users/42")    # no byte stays; the files lie in "files/42"

The recalled block stands in front of the last request while the model answers, and is in no stream.
List policies that shorten the model's input after ``RecallPolicy``.

Runs on ag2 1.0.0 to 1.2.1. For AG2 before 1.0, use ``bethink_adapters.autogen.classic``.
"""

from ..shared.erasing import erase_user
from .knowledge import BethinkKnowledgeStore
from .turns import RecallPolicy, remembering

__all__ = ["BethinkKnowledgeStore", "RecallPolicy", "erase_user", "remembering"]
