"""Times and moments, as commands read and show them."""

import time
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink.testing import FrozenClock
from bethink_adapters.cli.arguments import moment_of, time_of
from bethink_adapters.cli.command import Failure
from bethink_adapters.cli.overview import overview

from .conftest import Run


def test_times_are_iso_ages_spans_and_entries() -> None:
    assert time_of("2026-11-20T09:00Z") == 1_795_165_200.0
    assert time_of("1795165200") == 1_795_165_200.0
    assert time_of("20261120") == time_of("2026-11-20") == moment_of("20261120")
    assert time_of("+7d") - time_of("2d") == pytest.approx(9 * 86_400, abs=5)
    assert (moment_of("#12"), moment_of("12"), moment_of("now")) == ("#12", 12, "now")
    with pytest.raises(Failure, match="'later' is no time"):
        time_of("later")


@pytest.mark.parametrize(
    ("text", "told"),
    [("2d", "--expires-at 2d is past; write +2d"), ("2020-01-01", "2020-01-01 is past\n")],
)
def test_a_memory_that_no_recall_would_ever_find_is_refused(
    run: Run, file: Path, text: str, told: str
) -> None:
    done = run("store", "The visa is valid", "--expires-at", text)
    assert done.code == 2
    assert told in done.err


IN_ZONES = pytest.mark.skipif(
    not hasattr(time, "tzset"), reason="the zone of a process cannot be changed"
)


@IN_ZONES
def test_a_moment_is_in_the_zone_of_the_times_that_commands_show(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemoryStore(file, clock=FrozenClock(1_795_165_200.0)) as store:
        store.snapshot("2026-11-20 before the move")
        first = store.store("The parrot sings").id
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        [shown] = [line[8:27] for line in run("log").out.splitlines() if "parrot" in line]
        assert shown == "2026-11-20 04:00:00"
        assert overview([str(file)]) == 0
        assert f"  {shown[:16]}  default  The parrot sings" in capsys.readouterr().out
        for moment in (shown, "2026-11-20T09:00Z", "20261120T0400", "2026-W47-5T04:00"):
            hits = run("recall", "parrot", "--as-of", moment, "--json").data
            assert [hit["memory"]["id"] for hit in hits] == [first]
        for moment in ("2026-11-20 03:59:59", "2026-11-20 before the move"):
            assert run("recall", "parrot", "--as-of", moment, "--json").data == []
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00"])
def test_a_time_that_no_calendar_has_is_refused(text: str) -> None:
    with pytest.raises(Failure, match="is no time"):
        time_of(text)


@IN_ZONES
def test_a_time_that_the_clocks_leap_over_goes_on_by_the_clock_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert time_of("2026-03-29T02:30") == time_of("2026-03-29T01:30Z")
        assert time_of("2026-10-25T02:30") == time_of("2026-10-25T02:30+02:00")
    finally:
        monkeypatch.undo()
        time.tzset()
