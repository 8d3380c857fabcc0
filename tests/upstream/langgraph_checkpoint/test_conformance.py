"""LangGraph's conformance suite for checkpointers, all its capabilities; prints the report."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from bethink_adapters.langgraph import BethinkSaver

PASSED = {
    **{"put": 17, "put_writes": 10, "get_tuple": 10, "list": 16, "delete_thread": 5},
    **{"delete_for_runs": 7, "copy_thread": 8, "prune": 8},
}


class WithoutThreads(BethinkSaver):
    """Offer the synchronous methods to the suite, which only calls the asynchronous ones."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("aput", "aput_writes", "aget_tuple", "adelete_thread", "adelete_for_runs",
                    "acopy_thread", "aprune"):  # fmt: skip
            verb = getattr(self, name[1:])

            async def called(*args: Any, **kwargs: Any) -> Any:
                return verb(*args, **kwargs)

            return called
        return super().__getattribute__(name)


@pytest.mark.parametrize("saver", [BethinkSaver, WithoutThreads])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_conformance(saver: type[BethinkSaver], place: str, tmp_path: Path) -> None:
    numbers = iter(range(100))

    @checkpointer_test(name=f"{saver.__name__} in {place}")
    async def ours() -> Any:
        where = ":memory:" if place == "memory" else tmp_path / f"{next(numbers)}.db"
        made = saver(where)
        yield made
        made.close()

    report = asyncio.run(validate(ours))
    report.print_report()
    results = report.results
    assert {name: results[name].failures for name in results if results[name].failures} == {}
    assert {name: results[name].tests_passed for name in results} == PASSED
    assert all(result.detected and result.passed for result in results.values())
    print(sum(PASSED.values()), "of", sum(PASSED.values()), "checks passed")
