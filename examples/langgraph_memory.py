"""A LangGraph agent that knows a user after a restart, knows what it knew on Tuesday, and forgets.

It runs offline: pip install ".[langgraph]" && python examples/langgraph_memory.py
"""

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from bethink import MemoryStore
from bethink_adapters.langgraph import BethinkSaver, BethinkStore, erase_user

ANN, PLACE = ("users", "ann"), "langgraph/users/ann"
TUESDAY, FRIDAY = datetime(2026, 11, 17, 9).astimezone(), datetime(2026, 11, 20, 9).astimezone()


def turn(file: Path, day: datetime, said: str, scripted: str) -> None:
    """Say one thing on a *day*, in a thread of the day; nothing but the file lives on."""

    def answer(state: MessagesState, runtime: Runtime[Any]) -> dict[str, Any]:
        memory: Any = runtime.store
        known = [item.value["text"] for item in memory.search(ANN, query=said)]
        print(f"{day:%A}: {said} (known: {known})")
        if not said.endswith("?"):
            memory.put(ANN, "home", {"text": said})  # the fact "home"; the log keeps the old one
        system = SystemMessage("You know of the user:\n" + "\n".join(known))
        return {"messages": FakeListChatModel(responses=[scripted]).invoke([system, said])}

    with MemoryStore(file, clock=day.timestamp) as store:
        builder: Any = StateGraph(MessagesState).add_node("answer", answer)
        builder.add_edge(START, "answer")
        graph = builder.compile(store=BethinkStore(store), checkpointer=BethinkSaver(store))
        graph.invoke({"messages": [("user", said)]}, {"configurable": {"thread_id": f"{day:%A}"}})


with TemporaryDirectory() as folder:
    file = Path(folder) / "agent.db"
    turn(file, TUESDAY, "I live in Graz.", "Noted.")
    turn(file, FRIDAY, "I live in Oslo now.", "Noted.")
    turn(file, FRIDAY, "Where do I live?", "In Oslo.")
    with MemoryStore(file) as store:
        for hit in store.recall("Where do I live?", namespace=PLACE, as_of=TUESDAY):
            print("known on Tuesday:", hit.memory.value)
        print(erase_user(store, items=[ANN], threads=["Tuesday", "Friday"]), "records erased")
