"""The speed of ``BethinkDBChatStore`` beside LlamaIndex's ``SQLAlchemyChatStore`` on SQLite files.

    python -m tests.adapters.speed_llama_index [MESSAGES]

Not part of the tests. Both files have a write-ahead log that is synced at every commit. Prints a
table: see ``speeds``.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from bethink import MemoryStore
from bethink_adapters.llama_index import BethinkDBChatStore

from .speeds import Measured, print_table

MESSAGES = 1_000
CONVERSATIONS = 20
BATCH = 100

Call = Callable[[Any], Coroutine[Any, Any, object]]


def messages(count: int) -> list[ChatMessage]:
    """Return questions and answers in turn."""
    roles = itertools.cycle(("user", "assistant"))
    return [
        ChatMessage(role=next(roles), content=f"Message {number} says a few words, as people do.")
        for number in range(count)
    ]


def operations() -> list[tuple[str, int, Call]]:
    """Return name, number of rounds and call of each operation."""
    [message], batch, archived = messages(1), messages(BATCH), MessageStatus.ARCHIVED
    return [
        ("get_messages", 15, lambda chats: chats.get_messages("long")),
        ("get_messages of 50", 25, lambda chats: chats.get_messages("long", limit=50)),
        ("get_messages archived", 15, lambda chats: chats.get_messages("long", status=archived)),
        ("count_messages", 25, lambda chats: chats.count_messages("long")),
        ("get_keys", 25, lambda chats: chats.get_keys()),
        ("add_message", 25, lambda chats: chats.add_message("long", message)),
        (f"add_messages of {BATCH}", 15, lambda chats: chats.add_messages("long", batch)),
        (
            "archive_oldest_messages of 10",
            15,
            lambda chats: chats.archive_oldest_messages("long", 10),
        ),
        (
            "delete_oldest_messages of 10",
            15,
            lambda chats: chats.delete_oldest_messages("long", 10),
        ),
        ("delete_message", 15, lambda chats: chats.delete_message("long", 5)),
        (f"set_messages of {BATCH}", 15, lambda chats: chats.set_messages("set", batch)),
    ]


def measure(size: int = MESSAGES) -> list[Measured]:
    """Return the measures of all operations on a conversation of *size* messages."""
    loop = asyncio.new_event_loop()

    def run(call: Call) -> Callable[[Any], object]:
        return lambda chats: loop.run_until_complete(call(chats))

    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "ours.db") as store:
        uri = f"sqlite+aiosqlite:///{Path(folder) / 'theirs.db'}"
        with closing(sqlite3.connect(Path(folder) / "theirs.db")) as connection:
            connection.execute("PRAGMA journal_mode=WAL")  # the file remembers
        ours = BethinkDBChatStore(store=store)
        theirs = SQLAlchemyChatStore(table_name="messages", async_database_uri=uri)
        told = messages(size)
        for chats in (ours, theirs):
            for number in range(CONVERSATIONS):
                loop.run_until_complete(chats.add_messages(f"short {number}", told[:10]))
            loop.run_until_complete(chats.add_messages("long", told))

        def delete() -> Callable[[Any], object]:
            for chats in (ours, theirs):
                loop.run_until_complete(chats.set_messages("gone", told[:BATCH]))
            return run(lambda chats: chats.delete_messages("gone"))

        try:
            found = [
                Measured.of(name, ours, theirs, rounds, partial(run, call))
                for name, rounds, call in operations()
            ]
            return [*found, Measured.of(f"delete_messages of {BATCH}", ours, theirs, 15, delete)]
        finally:
            if theirs._async_engine is not None:
                loop.run_until_complete(theirs._async_engine.dispose())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()


def main() -> None:
    """Print the table."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES)
    packages = ("llama-index-core", "sqlalchemy")
    print_table("BethinkDBChatStore beside SQLAlchemyChatStore", packages, found)


if __name__ == "__main__":
    main()
