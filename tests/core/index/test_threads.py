from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bethink import MemoryStore
from bethink.index.bm25 import AuthorPostings, TermScores
from bethink.index.columns import Columns
from bethink.index.keyword_scoring import (
    BORROW_WORDS,
    ENOUGH_WORDS,
    LEND_ANSWER,
    LEND_BACK,
    LEND_ONWARD,
    QUESTION_SHARE,
    SMALL_TALK_DISCOUNT,
    THREAD_BONUS,
    Evidence,
)
from bethink.index.threads import Threads

NAMES = [("a", "s"), ("a", "t"), ("b", "s")]

Given = tuple[int, float, int]  # thread, time, words
turns = st.lists(
    st.tuples(
        st.sampled_from([-1, 0, 1, 2]), st.sampled_from([1.0, 2.0, 3.0]), st.sampled_from([5, 0])
    ),
    max_size=12,
)


def append(columns: Columns, given: Sequence[Given]) -> None:
    start, size = columns.size, len(given)
    threads, occurred, words = zip(*given, strict=True) if given else ((), (), ())
    ordinals = np.arange(start, start + size)
    columns.append(
        size, thread=threads, occurred=occurred, words=words, ordinal=ordinals, live=True
    )


def order(links: Threads, columns: Columns) -> list[list[int]]:
    """Return every thread's turns, read off its links forward; check that they agree backward.

    Turns without a thread or without words must have no links.
    """
    lone = (columns["thread"] < 0) | (columns["words"] == 0)
    assert {*columns["before"][lone].tolist(), *columns["after"][lone].tolist()} <= {-1}
    found = []
    for thread in range(len(NAMES)):
        turn, backward = links._last[thread], list[int]()
        while turn >= 0:
            backward.append(turn)
            turn = int(columns["before"][turn])
        forward = backward[::-1]
        after = [int(columns["after"][turn]) for turn in forward]
        assert after == [*forward[1:], -1][: len(forward)]
        found.append(forward)
    return found


def expected(given: list[Given], alive: list[bool]) -> list[list[int]]:
    return [
        sorted(
            (
                at
                for at, (code, _, words) in enumerate(given)
                if code == thread and words and alive[at]
            ),
            key=lambda at: (given[at][1], at),
        )
        for thread in range(len(NAMES))
    ]


@pytest.mark.slow
@example([(0, 2.0, 5), (0, 1.0, 5)], set(), 1)
@example([(0, 1.0, 5), (-1, 1.0, 5)], set(), 0)
@example([(0, 1.0, 5), (0, 2.0, 0)], {1}, 0)
@given(turns, st.sets(st.integers(0, 11)), st.integers(0, 12))
def test_links_follow_time_then_insertion(given: list[Given], dead: set[int], start: int) -> None:
    columns = Columns()
    links = Threads(columns)
    for name in NAMES:
        links.code(name)
    append(columns, given[:start])
    links.rebuild()
    for turn, each in enumerate(given[start:], start):
        append(columns, [each])
        links.append(turn)
    alive = columns["live"]
    assert order(links, columns) == expected(given, alive.tolist())
    for turn in dead & set(range(len(given))):
        alive[turn] = False
        links.remove(turn)
    assert order(links, columns) == expected(given, alive.tolist())
    links.rebuild()
    assert order(links, columns) == expected(given, alive.tolist())


def test_a_thread_keeps_its_number() -> None:
    links = Threads(Columns())
    assert [links.code(name) for name in (*NAMES, *NAMES)] == [0, 1, 2, 0, 1, 2]
    assert links.names(np.array([2, 0])) == [("b", "s"), ("a", "s")]


def scores(
    words: list[int],
    share: dict[int, float],
    asking: Sequence[int] = (),
    times: Sequence[float] | None = None,
    content: Sequence[int] | None = None,
) -> np.ndarray:
    """Return the scores of one thread whose turn at each key has a share of the only term."""
    columns, size = Columns(), len(words)
    when = times or map(float, range(size))
    append(columns, [(0, at, count) for at, count in zip(when, words, strict=True)])
    columns["is_question"][:] = np.isin(np.arange(size), asking)
    columns["content_words"][:] = ENOUGH_WORDS if content is None else content
    links = Threads(columns)
    links.code(NAMES[0])
    links.rebuild()
    documents, shares = np.array(list(share), dtype=np.int32), np.array(list(share.values()))
    terms = TermScores([2.0], [len(share)], documents, shares, plain_count=1)
    return Evidence(columns, 1).score(terms)


def lifted(score: float, best: float) -> float:
    return 1 - (1 - score) * (1 - THREAD_BONUS * best)


def test_a_turn_lends_three_steps_onward_and_back() -> None:
    found = scores([1] * 9, {4: 0.6})
    lent = [LEND_BACK / 3, LEND_BACK / 2, LEND_BACK, 1, LEND_ONWARD, LEND_ONWARD / 2]
    for turn, weight in zip(range(1, 7), lent, strict=True):
        assert found[turn] == pytest.approx(lifted(0.6 * weight, 0.6))
    assert found[7] == pytest.approx(lifted(0.6 * LEND_ONWARD / 3, 0.6))
    assert found[0] == found[8] == 0


def test_a_long_turn_borrows_less() -> None:
    found = scores([1, 4 * BORROW_WORDS], {0: 0.5})
    assert found[1] == pytest.approx(lifted(0.5 * LEND_ONWARD / 4, 0.5))


def test_a_question_lends_its_answer_most_and_keeps_less() -> None:
    found = scores([1, 1, 1], {0: 0.5}, asking=[0])
    answer = 1 - (1 - 0.5 * LEND_ONWARD) * (1 - 0.5 * LEND_ANSWER)
    assert answer > 0.5 * QUESTION_SHARE
    assert found[0] == pytest.approx(lifted(0.5 * QUESTION_SHARE, answer))
    assert found[1] == pytest.approx(lifted(answer, answer))
    assert found[2] == pytest.approx(lifted(0.5 * LEND_ONWARD / 2, answer))


def test_a_question_keeps_what_a_long_answer_does_not_take() -> None:
    found = scores([1, 2 * BORROW_WORDS], {0: 0.5}, asking=[0])
    own = 0.5 * (1 + QUESTION_SHARE) / 2
    assert found[0] == pytest.approx(lifted(own, own))


def test_it_does_not_matter_whether_the_answer_was_stored_first() -> None:
    found = scores([1, 1], {1: 0.5}, asking=[1], times=[2.0, 1.0])
    assert found[::-1].tolist() == scores([1, 1], {0: 0.5}, asking=[0]).tolist()


def test_a_question_without_an_answer_keeps_all() -> None:
    assert scores([1, 1], {1: 0.5}, asking=[1])[1] == pytest.approx(lifted(0.5, 0.5))
    last, none = (scores([1, 1, 1], {0: 0.5, 2: 0.5}, asking) for asking in ([0, 2], [0]))
    assert last.tolist() == none.tolist()


def test_evidence_from_several_turns_adds_up_as_chances_do() -> None:
    found = scores([1, 1, 1], {0: 0.5, 2: 0.5})
    alone = 1 - (1 - 0.5 * LEND_ONWARD) * (1 - 0.5 * LEND_BACK)
    ends = [1 - 0.5 * (1 - 0.5 * lend / 2) for lend in (LEND_BACK, LEND_ONWARD)]
    assert found[1] == pytest.approx(lifted(alone, max(ends)))


@pytest.mark.parametrize("code", [[], NAMES[:1]])
def test_who_wrote_and_what_is_said_add_up_as_chances_do(code: list[tuple[str, str]]) -> None:
    columns = Columns()
    append(columns, [(-1, 0.0, 1), (-1, 1.0, 1)])
    columns["content_words"][:], columns["is_question"][:] = ENOUGH_WORDS, False
    links = Threads(columns)
    for name in code:
        links.code(name)
    links.rebuild()
    named = {0: AuthorPostings(np.array([0, 1]), 0.6)}
    term = TermScores([2.0], [1], np.array([0]), np.array([0.5]), 0, named)
    assert Evidence(columns, len(code)).score(term) == pytest.approx(np.array([0.8, 0.6]))


@pytest.mark.parametrize("content", [0, 1, ENOUGH_WORDS - 1, ENOUGH_WORDS, ENOUGH_WORDS + 1])
def test_a_turn_that_says_little_counts_less(content: int) -> None:
    found = scores([1], {0: 0.5}, content=[content])
    assert found[0] == pytest.approx(
        lifted(0.5, 0.5) * min(1, 1 - SMALL_TALK_DISCOUNT * (ENOUGH_WORDS - content))
    )


def test_an_answer_may_say_little() -> None:
    full, slight = (scores([1] * 3, {0: 0.5}, [0], content=[9, n, n]) for n in (ENOUGH_WORDS, 1))
    assert slight[:2].tolist() == full[:2].tolist()
    assert slight[2] == pytest.approx(full[2] * (1 - SMALL_TALK_DISCOUNT * (ENOUGH_WORDS - 1)))


def test_a_turn_without_a_thread_gets_nothing_from_others() -> None:
    with MemoryStore() as store:
        store.store_many(["paint for the boat", "the blue one"])
        plain = store.recall("boat paint", k=9)
        assert [hit.memory.content for hit in plain] == ["paint for the boat"]


def test_a_turn_that_comes_late_is_linked_where_it_belongs() -> None:
    with MemoryStore() as store:
        store.store("the first words", thread="s", occurred_at=1.0)
        store.store("the blue one", thread="s", occurred_at=3.0)
        store.recall("boat", touch=False)
        store.store("paint for the boat", thread="s", occurred_at=2.0)
        found = store.recall("boat paint", k=9, mode="keyword")
        assert [hit.memory.content for hit in found] == [
            "paint for the boat",
            "the blue one",
            "the first words",
        ]


def test_a_thread_that_begins_later_is_linked_as_well() -> None:
    with MemoryStore() as store:
        store.store("the first words", thread="r")
        store.recall("boat", touch=False)
        for text in ("paint for the boat", "the blue one"):
            store.store(text, thread="s")
        found = store.recall("boat paint", k=9, mode="keyword")
        assert [hit.memory.content for hit in found] == ["paint for the boat", "the blue one"]


@pytest.mark.parametrize("is_late", [False, True])
def test_a_call_between_question_and_answer_borrows_nothing_and_parts_nothing(
    is_late: bool,
) -> None:
    asked, answer = "which paint for the boat?", "the blue one, as before"
    with MemoryStore() as store, MemoryStore() as plain:
        for each in (store, plain):
            each.store(asked, thread="s")
        if is_late:
            store.recall("boat", touch=False)
        for call in range(4):
            store.store("", value={"call": call}, thread="s", author="paint")
        for each in (store, plain):
            each.store(answer, thread="s")
        found, alone = (each.recall("boat paint", k=9, mode="keyword") for each in (store, plain))
        assert {hit.memory.content for hit in found} == {asked, answer}
        assert [hit.memory.content for hit in found] == [hit.memory.content for hit in alone]
        if is_late:
            store.forget(store.all(order="newest", limit=2)[1].id)
            assert len(store.recall("boat paint", k=9, mode="keyword")) == 2
