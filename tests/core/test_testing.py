"""What users' tests get: assertions that tell why, a clock and ids that hold still, fixtures."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bethink import AsyncMemoryStore, MemoryStore, RecallResult, ValidationError, testing
from bethink.testing import (
    CountingIds,
    FrozenClock,
    assert_not_recalls,
    assert_recalls,
    assert_recalls_first,
    recalled_contents,
)

pytest_plugins = "pytester"

PLUGIN = "bethink_adapters.pytest_plugin"
QUERY = "When is the standup?"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(clock=FrozenClock(), new_id=CountingIds()) as store:
        store.store("The standup is at 9:30", key="standup")
        store.store("The standup is at 10:00", key="standup")
        store.store("Café Blau does the catering when the standup is long")
        store.store("The standup moved to Graz", namespace="other")
        yield store


def failure(assertion: Any, *args: Any, **options: Any) -> str:
    """Return what *assertion* says when it fails."""
    with pytest.raises(AssertionError) as caught:
        assertion(*args, **options)
    return str(caught.value)


def test_contents_come_best_first(store: MemoryStore) -> None:
    wanted = [result.memory.content for result in store.recall(QUERY, touch=False)]
    assert recalled_contents(store, QUERY) == wanted
    assert recalled_contents(store, QUERY, k=1) == wanted[:1] == ["The standup is at 10:00"]
    assert recalled_contents(store, QUERY, namespace="other") == ["The standup moved to Graz"]


def test_an_assertion_leaves_no_access(store: MemoryStore) -> None:
    assert_recalls(store, QUERY, "10:00")
    assert_recalls_first(store, QUERY, "10:00")
    assert_not_recalls(store, QUERY, "9:30")
    assert [record.access_count for record in store.all()] == [0, 0]


@pytest.mark.parametrize("text", ["AT 10:00", "cafe\u0301 blau", "CAFÉ"])
def test_a_text_is_expected_whatever_its_case_and_form(store: MemoryStore, text: str) -> None:
    assert_recalls(store, QUERY, text)
    assert "which it should not" in failure(assert_not_recalls, store, QUERY, text)


def test_an_assertion_cannot_be_told_to_touch(store: MemoryStore) -> None:
    with pytest.raises(ValidationError, match="leaves no access behind"):
        assert_recalls(store, QUERY, "10:00", touch=True)  # type: ignore[call-arg]


def test_a_record_is_expected_by_its_id(store: MemoryStore) -> None:
    first, second = store.all()
    assert_recalls(store, QUERY, second, first)
    assert_recalls_first(store, QUERY, first)
    twin = store.store("The standup is at 10:00", namespace="twins")
    assert_not_recalls(store, QUERY, twin)
    assert "other namespace" in failure(assert_recalls, store, QUERY, first, twin)


def test_all_that_is_expected_must_be_recalled(store: MemoryStore) -> None:
    told = failure(assert_recalls, store, QUERY, "10:00", "9:30", "Graz")
    assert told.startswith("recall('When is the standup?') did not return '9:30' and 'Graz'.\n")


def test_a_failure_tells_what_was_recalled_and_why(store: MemoryStore) -> None:
    told = failure(assert_recalls, store, QUERY, "noon", k=2).splitlines()
    assert told[0] == "recall('When is the standup?', k=2) did not return 'noon'."
    assert told[1] == "Recalled instead, best first:"
    assert told[2] == "  1. 'The standup is at 10:00' [id-000002]"
    assert told[3].strip() == str(store.recall(QUERY)[0].explain())
    assert told[4].startswith("  2. 'Café Blau")
    assert told[6] == "Nothing in the journal holds 'noon'."


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        ("9:30", "id-000001: superseded (by id-000002): 'The standup is at 9:30'"),
        ("Graz", "id-000004: other namespace (it is in 'other'): 'The standup moved to Graz'"),
    ],
)
def test_a_failure_tells_why_not(store: MemoryStore, expected: str, reason: str) -> None:
    assert f"Why not '{expected}':\n  {reason}" in failure(assert_recalls, store, QUERY, expected)


def test_a_failure_tells_why_not_what_was_forgotten_or_changed(store: MemoryStore) -> None:
    store.forget("id-000002")
    assert "id-000002: forgotten" in failure(assert_recalls, store, QUERY, "10:00")
    store.update("id-000003", content="Bistro Rot does the catering")
    told = failure(assert_recalls, store, QUERY, "blau")
    assert "since changed to 'Bistro Rot does the catering'" in told


def test_a_failure_tells_the_rank_beyond_k(store: MemoryStore) -> None:
    why = store.why_not("id-000003", QUERY, k=1)
    told = failure(assert_recalls, store, QUERY, "Blau", k=1)
    assert f"  {why}: 'Café Blau" in told
    assert why.reason == "outranked"
    assert told.endswith(f"     {why.explanation}")


def test_a_failure_names_a_few_of_many(store: MemoryStore) -> None:
    store.store_many([f"The milk of day {n} is sour" for n in range(5)])
    told = failure(assert_recalls, store, QUERY, "sour")
    assert told.count("is sour'") == 3
    assert told.endswith("  and 2 more that hold it")


def test_nothing_recalled_is_told(store: MemoryStore) -> None:
    told = failure(assert_recalls_first, store, "xyzzy", "Blau")
    assert "which should come first.\nNothing was recalled.\nWhy not 'Blau':" in told


def test_what_should_come_first_is_told_with_its_rank(store: MemoryStore) -> None:
    assert_recalls_first(store, QUERY, "10:00")
    told = failure(assert_recalls_first, store, QUERY, "Blau")
    assert "returned 'Blau' at rank 2, which should come first.\nRecalled, best first:" in told


def test_what_should_not_be_recalled_is_told_with_its_rank(store: MemoryStore) -> None:
    assert_not_recalls(store, QUERY, "9:30", "Graz")
    assert_not_recalls(store, QUERY, "Blau", k=1)
    told = failure(assert_not_recalls, store, QUERY, "9:30", "Blau", "10:00")
    assert "returned 'Blau' at rank 2, '10:00' at rank 1, which it should not." in told


def test_a_long_content_is_cut_in_a_failure(store: MemoryStore) -> None:
    store.store("standup " + "very " * 100 + "long", namespace="long")
    told = failure(assert_recalls, store, "standup", "noon", namespace="long")
    assert max(map(len, told.splitlines())) < 240
    assert "…" in told


def test_a_record_without_words_is_told_by_its_value(store: MemoryStore) -> None:
    record = store.store("", value={"theme": "dark"})
    assert "did not return value {'theme': 'dark'}." in failure(
        assert_recalls, store, QUERY, record
    )


def test_the_past_can_be_asserted(store: MemoryStore) -> None:
    assert_recalls_first(store, QUERY, "9:30", as_of=1)
    assert_not_recalls(store, QUERY, "10:00", as_of=1)


@pytest.mark.parametrize("assertion", [assert_recalls, assert_recalls_first, assert_not_recalls])
@pytest.mark.parametrize("expected", ["", "  ", 3, None])
def test_what_no_test_can_fail_by_is_refused(
    store: MemoryStore, assertion: Any, expected: object
) -> None:
    with pytest.raises(ValidationError, match="expect"):
        assertion(store, QUERY, expected)


@pytest.mark.parametrize("assertion", [assert_recalls, assert_not_recalls])
def test_expecting_nothing_is_refused(store: MemoryStore, assertion: Any) -> None:
    with pytest.raises(ValidationError, match="say what to expect"):
        assertion(store, QUERY)


def test_an_awaitable_store_is_asked_through_the_one_behind_it(store: MemoryStore) -> None:
    async def look() -> list[str]:
        awaitable = AsyncMemoryStore.wrap(store)
        assert_recalls_first(awaitable, QUERY, "10:00")
        return recalled_contents(awaitable, QUERY, k=1)

    assert asyncio.run(look()) == ["The standup is at 10:00"]


class _Awaitable:
    async def recall(self, query: str) -> list[RecallResult]:
        return []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [(_Awaitable(), "recall of _Awaitable is to be awaited"), ("agent.db", "str recalls")],
)
def test_what_is_no_store_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        assert_recalls(wrong, QUERY, "10:00")


class _Plain:
    def __init__(self, store: MemoryStore) -> None:
        self.recall = store.recall


def test_a_store_that_only_recalls_is_enough(store: MemoryStore) -> None:
    told = failure(assert_recalls, _Plain(store), QUERY, "9:30")
    assert "Recalled instead, best first:" in told
    assert "Why not" not in told


def test_a_frozen_clock_moves_when_told() -> None:
    clock = FrozenClock()
    assert clock() == clock() == 1_700_000_000.0
    assert clock.advance(60) == clock() == 1_700_000_060.0
    assert clock.set(datetime(2020, 1, 1, tzinfo=UTC)) == clock() == 1_577_836_800.0
    assert repr(clock) == "FrozenClock(1577836800.0)"
    assert FrozenClock(datetime(2020, 1, 1, tzinfo=UTC))() == clock()


def test_a_frozen_clock_refuses_what_is_no_time() -> None:
    clock = FrozenClock(5)
    with pytest.raises(ValidationError, match="seconds must lie in"):
        clock.advance(-1)
    with pytest.raises(ValidationError, match="naive"):
        clock.set(datetime(2020, 1, 1))
    with pytest.raises(ValidationError, match="now must lie in"):
        FrozenClock(float("nan"))
    assert clock() == 5.0


def test_a_store_ages_by_the_clock() -> None:
    clock = FrozenClock()
    with MemoryStore(clock=clock) as store:
        store.store("The code is 1234", expires_at=clock() + 60)
        assert_recalls(store, "code", "1234")
        clock.advance(61)
        told = failure(assert_recalls, store, "code", "1234")
    assert "expired (1 seconds ago)" in told


def test_ids_count_and_sort_by_creation() -> None:
    new_id = CountingIds("m", start=99_999)
    ids = [new_id() for _ in range(3)]
    assert ids == sorted(ids) == ["m099999", "m100000", "m100001"]
    assert repr(new_id) == "CountingIds('m', start=100002)"


def test_ids_are_distinct_among_threads() -> None:
    new_id = CountingIds()
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: new_id(), range(2000)))
    assert sorted(ids) == [f"id-{n:06d}" for n in range(1, 2001)]


def test_two_runs_are_the_same() -> None:
    def run() -> tuple[object, ...]:
        with MemoryStore(clock=FrozenClock(), new_id=CountingIds()) as store:
            store.store_many(["a whale", "a white whale"])
            return store.recall("white whale"), store.all()

    assert run() == run()


def test_public_names_are_sorted_and_documented() -> None:
    assert testing.__all__ == sorted(testing.__all__)
    names = set(testing.__all__) - {"Expected"}
    assert [name for name in names if not getattr(testing, name).__doc__] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(testing, "nothing")  # noqa: B009


def said_by(code: str) -> str:
    """Return what a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_importing_it_does_not_import_pytest() -> None:
    assert said_by("import sys, bethink.testing; print('pytest' in sys.modules)") == "False"


@pytest.mark.slow
def test_the_plugin_imports_neither_bethink_nor_numpy() -> None:
    code = f"import sys, {PLUGIN}; print({{'bethink', 'numpy'}} & set(sys.modules))"
    assert said_by(code) == "set()"


def test_the_plugin_is_an_entry_point() -> None:
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {"bethink": PLUGIN}
    assert callable(import_module(PLUGIN).memory_store)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a suite that has the plugin, and no other, whether or not it is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini(f"[pytest]\naddopts = -p {PLUGIN} -p no:cacheprovider\n")
    return pytester


@pytest.mark.slow
def test_fixtures_give_a_store_that_holds_still(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        from bethink import StoreClosedError
        from bethink.testing import assert_recalls
        import pytest

        seen = []

        @pytest.mark.parametrize("n", [1, 2])
        def test_each_has_its_own(memory_store, frozen_clock, n):
            record = memory_store.store(f"whale number {n}")
            assert (record.id, record.created_at) == ("id-000001", frozen_clock())
            frozen_clock.advance(5)
            assert memory_store.store("another").created_at == record.created_at + 5
            assert memory_store.count() == 2
            seen.append(memory_store)

        def test_it_was_closed():
            with pytest.raises(StoreClosedError):
                seen[0].count()

        def test_that_fails(memory_store):
            memory_store.store("a whale")
            assert_recalls(memory_store, "whale", "parrot")
        """
    )
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["E*did not return 'parrot'.", "E*1. 'a whale' ?id-000001?"])
    result.stdout.no_fnmatch_line("*assertions.py:*")


@pytest.mark.slow
def test_a_fixture_of_the_users_own_takes_the_place(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest

        @pytest.fixture
        def frozen_clock():
            return lambda: 5.0

        def test_it_is_used(memory_store):
            assert memory_store.store("a whale").created_at == 5.0
        """
    )
    suite.runpytest_subprocess().assert_outcomes(passed=1)
