"""A LangGraph agent that learns what its user likes, and knows it in every later conversation.

    python examples/langgraph_memory.py

Each conversation is a thread of its own; what they share is the store. It runs offline, with a fake
model that answers from a script. Set BETHINK_MODEL to a name that LangChain's init_chat_model
knows, such as "openai:gpt-5-mini", to talk to a real one.
"""

import os
import tempfile
import uuid
from pathlib import Path
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from bethink_adapters.langgraph import BethinkSaver, BethinkStore

MEMORIES = ("users", "ann", "memories")


def chat_model(scripted: str) -> Any:
    """Return the model that BETHINK_MODEL names, or a fake one that gives the scripted answer."""
    if name := os.environ.get("BETHINK_MODEL"):
        from langchain.chat_models import init_chat_model  # type: ignore[import-not-found, unused-ignore]

        return init_chat_model(name)
    return FakeListChatModel(responses=[scripted])


def conversation(store: BethinkStore, thread: str, said: str, scripted: str) -> None:
    """Say one thing in a new thread, and print what was known by then and what is answered."""
    model = chat_model(scripted)

    def answer(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        memory, text = runtime.store, str(state["messages"][-1].content)
        assert memory is not None
        found = memory.search(MEMORIES, query=text, limit=3)
        known = [item.value["text"] for item in found if item.score]
        print(f"  known: {known}")
        memory.put(MEMORIES, uuid.uuid4().hex, {"text": text})
        system = SystemMessage("What you know of the user:\n" + "\n".join(known))
        return {"messages": [model.invoke([system, *state["messages"]])]}

    builder: Any = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(store=store, checkpointer=BethinkSaver(store.store))
    print(f"{thread}: {said}")
    config = {"configurable": {"thread_id": thread}}
    state = graph.invoke({"messages": [("user", said)]}, config)
    print(f"  answer: {state['messages'][-1].content}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, BethinkStore(Path(folder) / "agent.db") as store:
        conversation(store, "monday", "I always take my coffee with oat milk.", "Noted.")
        conversation(store, "friday", "Which milk is in my coffee?", "Oat milk, as always.")


if __name__ == "__main__":
    main()
