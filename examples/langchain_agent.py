"""A LangChain agent that knows on Tuesday what it was told on Monday, in another conversation.

    pip install ".[langchain]" && python examples/langchain_agent.py

It runs offline, with a fake model that answers from a script and prints what it reads. Set
BETHINK_MODEL to a name that LangChain's init_chat_model knows, such as "openai:gpt-5-mini", to talk
to a real one.
"""

import os
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, get_buffer_string

from bethink import MemoryStore
from bethink_adapters.langchain import MemoryMiddleware
from bethink_adapters.langgraph import BethinkSaver


class ScriptedModel(FakeListChatModel):
    """Answer from a script; print what there was to read."""

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        print(f"The model reads {len(messages)} message(s):")
        print(get_buffer_string(messages))
        return super()._call(messages, *args, **kwargs)


def turn(thread: str, said: str, scripted: str) -> None:
    """Say one thing and print the answer; nothing but the file lives on."""
    model = os.environ.get("BETHINK_MODEL") or ScriptedModel(responses=[scripted])
    with MemoryStore("langchain_agent.db") as store:
        memory = MemoryMiddleware(store, namespace="users/ann")
        agent: Any = create_agent(model, middleware=[memory], checkpointer=BethinkSaver(store))
        asked = {"messages": [("user", said)]}
        state = agent.invoke(asked, {"configurable": {"thread_id": thread}})
    print(f"It answers: {state['messages'][-1].content}\n")


turn("monday", "My parrot is called Quetzal.", scripted="A fine name!")
turn("monday", "And he likes seeds.", scripted="I will keep that in mind.")
turn("tuesday", "What is my parrot called?", scripted="Quetzal.")
