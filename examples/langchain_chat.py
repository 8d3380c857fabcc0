"""A LangChain chat that goes on where it stopped: each turn opens the store anew.

    pip install ".[langchain]" && python examples/langchain_chat.py

It runs offline, with a fake model that answers from a script. Set BETHINK_MODEL to a name that
LangChain's init_chat_model knows, such as "openai:gpt-5-mini", to talk to a real one.
"""

import os
import warnings
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage, get_buffer_string
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory

from bethink import MemoryStore
from bethink_adapters.langchain import message_history_factory

# LangChain 1.3 and newer announce that 2.0 will drop this class.
warnings.filterwarnings("ignore", "RunnableWithMessageHistory is deprecated")


def chat_model(scripted: str) -> Runnable[Any, Any]:
    """Return the model that BETHINK_MODEL names, or a fake one that gives the scripted answer."""
    if name := os.environ.get("BETHINK_MODEL"):
        from langchain.chat_models import init_chat_model  # type: ignore[import-not-found, unused-ignore]

        real: Runnable[Any, Any] = init_chat_model(name)
        return real
    return FakeListChatModel(responses=[scripted])


def show(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Print what the model is about to read."""
    print(f"The model reads {len(messages)} message(s):")
    print(get_buffer_string(messages))
    return messages


def turn(said: str, scripted: str) -> None:
    """Say one thing and print the answer; nothing but the file lives on."""
    with MemoryStore("langchain_chat.db") as store:
        chain = RunnableLambda(show) | chat_model(scripted)
        chat = RunnableWithMessageHistory(chain, message_history_factory(store))
        answer = chat.invoke([HumanMessage(said)], {"configurable": {"session_id": "ann"}})
    print(f"It answers: {answer.content}\n")


turn("I am Ann and my parrot is called Quetzal.", scripted="Nice to meet you both!")
turn("What is my parrot called?", scripted="Quetzal.")
