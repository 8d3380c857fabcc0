"""The speed of ``MemorySession`` beside the ``SQLiteSession`` of the OpenAI Agents SDK.

    python -m tests.adapters.speed_openai [ITEMS]

Not part of the tests. Both sessions keep their items in an SQLite file with a write-ahead log that
is synced at every commit. Prints a table: see ``speeds``.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from agents import SQLiteSession

from bethink import MemoryStore
from bethink_adapters.openai_agents import MemorySession

from .speeds import Measured, print_table

ITEMS = 300
SESSIONS = ("long", "new", "cleared")

Call = Callable[[Any], Coroutine[Any, Any, object]]


def items(count: int) -> list[dict[str, Any]]:
    """Return questions and answers in turn, as a run hands them over."""
    made: list[dict[str, Any]] = []
    for number in range(0, count, 2):
        text = f"Message {number} says a few words of the harbour, as people do."
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        answer = {"id": f"m{number}", "type": "message", "role": "assistant", "content": [part]}
        made += [{"role": "user", "content": text}, {**answer, "status": "completed"}]
    return made


def measure(size: int = ITEMS) -> list[Measured]:
    """Return the measures of all operations on a session of *size* items."""
    loop = asyncio.new_event_loop()

    def run(call: Call) -> Callable[[], Callable[[Any], object]]:
        return lambda: lambda side: loop.run_until_complete(call(side))

    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "ours.db") as store:
        theirs = Path(folder) / "theirs.db"
        ours: dict[str, Any] = {name: MemorySession(store, name) for name in SESSIONS}
        other: dict[str, Any] = {name: SQLiteSession(name, theirs) for name in SESSIONS}
        told = items(size)

        operations: list[tuple[str, int, Call]] = [
            ("add two", 60, lambda side: side["new"].add_items(told[:2])),
            (f"add {size} at once", 15, lambda side: side["cleared"].add_items(told)),
            (f"get {size}", 25, lambda side: side["long"].get_items()),
            ("get the last 20", 60, lambda side: side["long"].get_items(20)),
            ("pop", 60, lambda side: side["long"].pop_item()),
        ]
        for side in (ours, other):
            loop.run_until_complete(side["long"].add_items(told))
        found = [
            Measured.of(name, ours, other, rounds, run(call)) for name, rounds, call in operations
        ]

        def clear() -> Callable[[Any], object]:
            for side in (ours, other):
                loop.run_until_complete(side["cleared"].clear_session())
                loop.run_until_complete(side["cleared"].add_items(told))
            return lambda side: loop.run_until_complete(side["cleared"].clear_session())

        found.append(Measured.of(f"clear {size}", ours, other, 15, clear))
        for session in other.values():
            session.close()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    return found


def main() -> None:
    """Print the table."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS)
    print_table("MemorySession beside SQLiteSession", ("openai-agents",), found)


if __name__ == "__main__":
    main()
