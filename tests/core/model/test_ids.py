from __future__ import annotations

import re
import threading
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.model.ids import IdFactory


@pytest.mark.slow
@given(st.lists(st.floats(-1e3, 4e9), min_size=2, max_size=50))
def test_ids_ascend_whatever_the_clock_does(readings: list[float]) -> None:
    clock = iter(readings)
    make = IdFactory(lambda: next(clock))
    made = [make() for _ in readings]
    assert made == sorted(set(made))


def test_a_frozen_clock_makes_ids_that_ascend() -> None:
    make = IdFactory(lambda: 1.7e9)
    made = [make() for _ in range(10_000)]
    assert made == sorted(set(made))


def test_many_ids_at_once_ascend_among_those_made_one_by_one() -> None:
    clock = iter([1.7e9, 1.7e9 + 5, 1.7e9, 1.7e9])
    make = IdFactory(lambda: next(clock))
    made = [make(), *make.many(10_000), *make.many(0), make()]
    assert made == sorted(set(made))
    assert {(UUID(each).version, UUID(each).variant) for each in made} == {
        (7, "specified in RFC 4122")
    }


def test_an_id_is_a_uuid_of_version_seven_that_tells_its_time() -> None:
    made = IdFactory(lambda: 1_700_000_000.123)()
    assert re.fullmatch("[0-9a-f]{32}", made)
    uuid = UUID(made)
    assert (uuid.version, uuid.variant) == (7, "specified in RFC 4122")
    assert uuid.int >> 80 == 1_700_000_000_123


def test_two_factories_make_different_ids() -> None:
    assert IdFactory(lambda: 1.0)() != IdFactory(lambda: 1.0)()


def test_threads_never_share_an_id() -> None:
    make, made = IdFactory(lambda: 1.7e9), list[str]()
    threads = [
        threading.Thread(target=lambda: made.extend(make() for _ in range(500))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 2000
