# mypy: ignore-errors
"""The speed of the LangGraph and LangChain adapters beside the frameworks' own durable storage.

    python -m tests.adapters.speed_langchain [threads] [stores] [histories]

Not part of the tests. Each measure is a name and two functions, ours and theirs, that do the same
work once. Both sides are durable: WAL, synchronous FULL. Needs langgraph-checkpoint-sqlite, and
langchain-community for the chat history. Prints a table for each part: see ``speeds``.
"""

from __future__ import annotations

import itertools
import operator
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.sqlite import SqliteStore

from bethink import MemoryStore
from bethink_adapters.langchain import ChatMessageHistory
from bethink_adapters.langgraph import BethinkSaver, BethinkStore

from .speeds import Measured, print_table

ROUNDS = 31
# Their search loads an extension, which some builds of Python refuse.
_LOADING: Any = import_module(
    "sqlite3" if hasattr(sqlite3.Connection, "enable_load_extension") else "pysqlite3"
)

Work = Callable[[], object]
Measure = tuple[str, Work, Work]

_TEXT = "parrot harbour museum kitchen invoice garden window printer ticket bicycle recipe lamp"
_WORDS = _TEXT.split()


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: Annotated[int, operator.add]


def sentence(number: int) -> str:
    """Return a sentence of its own for each *number*."""
    picked = [_WORDS[number * step % len(_WORDS)] for step in (1, 3, 7, 11)]
    return f"Number {number}: the {picked[0]} and the {picked[1]} by the {picked[2]}, {picked[3]}."


def connected(path: Path, isolation: Any = "", module: Any = sqlite3) -> sqlite3.Connection:
    """Return a connection as durable as ours."""
    made = module.connect(path, check_same_thread=False)
    made.execute("PRAGMA journal_mode=WAL")
    made.execute("PRAGMA synchronous=FULL")
    made.isolation_level = isolation
    return made


def talking(saver: Any) -> Any:
    """Return a graph that answers each message."""

    def reply(state: Talk) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [AIMessage(sentence(number), id=f"a{number}")], "turns": 1}

    builder: Any = StateGraph(Talk)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    return builder.compile(checkpointer=saver)


def savers(folder: Path, turns: int) -> tuple[Any, Any]:
    """Return the graphs of a thread with *turns* turns, ours and theirs."""
    ours = BethinkSaver(folder / f"ours-{turns}.db")
    theirs = SqliteSaver(connected(folder / f"theirs-{turns}.db"))
    theirs.setup()
    graphs = talking(ours), talking(theirs)
    for graph in graphs:
        for turn in range(turns):
            graph.invoke({"messages": [HumanMessage(sentence(turn), id=f"q{turn}")]}, THREAD)
    return graphs


THREAD: Any = {"configurable": {"thread_id": "t"}}


def threads(folder: Path) -> Iterator[Measure]:
    """Measure the checkpointer."""
    for turns in (60, 160):
        numbers = itertools.count(turns)
        ours, theirs = savers(folder, turns)

        def turn(graph: Any, numbers: Iterator[int] = numbers) -> object:
            number = next(numbers)
            said = HumanMessage(sentence(number), id=f"n{number}")
            return graph.invoke({"messages": [said]}, THREAD)

        def state(graph: Any) -> object:
            return graph.get_state(THREAD)

        def history(graph: Any) -> object:
            return list(graph.get_state_history(THREAD, limit=20))

        for name, work in (
            (f"a turn of a {turns}-turn thread", turn),
            (f"get_state of {turns} turns", state),
            (f"get_state_history(limit=20) of {turns} turns", history),
        ):
            yield name, partial(work, ours), partial(work, theirs)


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text by its letters, in next to no time."""
    return [[1.0 + text.count(letter) for letter in "aeiounrstlmdhcgb"] for text in texts]


def stores(folder: Path) -> Iterator[Measure]:
    """Measure the long-term store."""
    index: Any = {"dims": 16, "embed": embed, "fields": ["text"]}
    ours = BethinkStore(folder / "store-ours.db", index=index)
    plain = BethinkStore(folder / "store-plain.db")
    theirs = SqliteStore(connected(folder / "store-theirs.db", None, _LOADING), index=index)
    their_plain = SqliteStore(connected(folder / "store-their-plain.db", None, _LOADING))
    pairs = {"": (ours, theirs), " without vectors": (plain, their_plain)}
    for pair in pairs.values():
        for store in pair:
            store.setup()
            for number in range(3000):
                place = ("users", f"u{number % 50}")
                store.put(place, f"k{number}", {"text": sentence(number), "kind": number % 7})
    for kind, (one, other) in pairs.items():
        numbers = itertools.count(10_000)

        def put(store: Any, numbers: Iterator[int] = numbers) -> object:
            number = next(numbers)
            value = {"text": sentence(number), "kind": number % 7}
            return store.put(("users", f"u{number % 50}"), f"k{number}", value)

        def get(store: Any) -> object:
            return [store.get(("users", "u7"), f"k{7 + 50 * at}") for at in range(20)]

        def listed(store: Any) -> object:
            return store.list_namespaces(prefix=("users",), limit=100)

        def filtered(store: Any) -> object:
            return store.search(("users", "u7"), filter={"kind": 3}, limit=10)

        def broad(store: Any) -> object:
            return store.search(("users",), filter={"kind": 3}, limit=10)

        for name, work in (
            ("put", put),
            ("get of 20", get),
            ("filter only", filtered),
            ("filter only, all users", broad),
            ("list_namespaces", listed),
        ):
            yield f"{name}{kind}", partial(work, one), partial(work, other)

    def search(store: Any) -> object:
        return store.search(("users",), query="the parrot by the river", limit=10)

    yield "search among 3000", partial(search, ours), partial(search, theirs)


def histories(folder: Path) -> Iterator[Measure]:
    """Measure the chat history."""
    from langchain_community.chat_message_histories import SQLChatMessageHistory
    from sqlalchemy import create_engine, event

    engine = create_engine(f"sqlite:///{folder / 'history-theirs.db'}")

    @event.listens_for(engine, "connect")
    def durable(connection: Any, record: object) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    store = MemoryStore(folder / "history-ours.db")

    def ours(session: str, **options: Any) -> Any:
        return ChatMessageHistory(store, session, **options)

    def theirs(session: str) -> Any:
        return SQLChatMessageHistory(session, connection=engine)

    for made in (ours("long"), theirs("long")):
        for number in range(150):
            made.add_messages([HumanMessage(sentence(number)), AIMessage(sentence(number + 1))])
    numbers = itertools.count()

    def add(made: Any) -> object:
        number = next(numbers)
        return made.add_messages([HumanMessage(sentence(number)), AIMessage(sentence(number + 1))])

    yield "add a pair", lambda: add(ours("new")), lambda: add(theirs("new"))
    yield "read 300", lambda: ours("long").messages, lambda: theirs("long").messages
    yield (
        "last 20",
        lambda: ours("long", last=20).messages,
        lambda: theirs("long").messages[-20:],
    )


def call(work: Work) -> object:
    """Do the work."""
    return work()


def main(wanted: Sequence[str]) -> None:
    """Print a table of each part named in *wanted*, or of all."""
    warnings.simplefilter("ignore")
    for sides, part, packages in (
        ("BethinkSaver beside SqliteSaver", threads, ("langgraph", "langgraph-checkpoint-sqlite")),
        ("BethinkStore beside SqliteStore", stores, ("langgraph", "langgraph-checkpoint-sqlite")),
        (
            "ChatMessageHistory beside SQLChatMessageHistory",
            histories,
            ("langchain-core", "langchain-community", "sqlalchemy"),
        ),
    ):
        if not wanted or part.__name__ in wanted:
            with tempfile.TemporaryDirectory() as folder:
                found = (Measured.of(*each, ROUNDS, lambda: call) for each in part(Path(folder)))
                print_table(sides, packages, found)
                print()


if __name__ == "__main__":
    main(sys.argv[1:])
