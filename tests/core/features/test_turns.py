"""Turns of conversations are remembered once and in order, however turns are handed over."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryRecord, MemoryStore, ValidationError
from bethink.adapting import Turn, add_turns, turn_key
from bethink.features.turns import align  # the decision, apart from any store

Q1, A1, Q2, A2 = ("ann", "one?"), ("bot", "1"), ("ann", "two?"), ("bot", "2")
NOTED = ("bot", "Noted.")


def say(
    store: MemoryStore, *said: tuple[str, str], old: int = 0, thread: str | None = "t"
) -> list[MemoryRecord]:
    turns = [
        Turn(text, author, is_answer=author == "bot", is_old=at < old)
        for at, (author, text) in enumerate(said)
    ]
    return add_turns(store, turns, namespace="default", thread=thread)


def say_with_id(store: MemoryStore, text: str, id: str, thread: str = "t") -> list[MemoryRecord]:
    return add_turns(store, [Turn(text, "ann", id=id)], namespace="default", thread=thread)


def texts(store: MemoryStore) -> list[str]:
    return [record.content for record in store.all()]


# -- turns without ids


def test_a_text_said_again_after_a_different_text_is_a_new_memory(store: MemoryStore) -> None:
    for city in ("Oslo", "Rome", "Oslo"):
        say(store, ("ann", f"I live in {city}."), NOTED)
    assert texts(store) == [
        *("I live in Oslo.", "Noted.", "I live in Rome.", "Noted.", "I live in Oslo.", "Noted.")
    ]


def test_the_last_turn_again_adds_nothing(store: MemoryStore) -> None:
    say(store, Q1, A1)
    assert say(store, Q1, A1) == []
    assert say(store, A1) == []


def test_the_whole_conversation_again_adds_the_new_turns(store: MemoryStore) -> None:
    say(store, Q1)
    say(store, Q1, A1, Q2)
    assert say(store, Q1, A1, Q2, A2)[0].content == "2"
    assert texts(store) == ["one?", "1", "two?", "2"]


def test_a_window_of_the_conversation_adds_the_new_turns(store: MemoryStore) -> None:
    say(store, Q1, A1, Q2, A2)
    say(store, Q2, A2, Q1)
    assert texts(store) == ["one?", "1", "two?", "2", "one?"]


def test_what_was_said_before_the_memory_began_is_remembered(store: MemoryStore) -> None:
    say(store, Q2)
    say(store, Q1, A1, Q2, A2)
    assert sorted(texts(store)) == sorted(["one?", "1", "two?", "2"])
    assert say(store, Q1, A1, Q2, A2) == []


def test_a_new_turn_is_remembered_however_often_it_was_said(store: MemoryStore) -> None:
    for _ in range(3):
        add_turns(store, [Turn("yes", "ann", is_new=True)], namespace="default", thread="t")
    old = [Turn("yes", "ann", is_old=True)] * 3
    new = [Turn("yes", "ann", is_new=True), Turn("no", "ann", is_new=True)]
    added = add_turns(store, [*old, *new], namespace="default", thread="t")
    assert [record.content for record in added] == ["yes", "no"]
    assert store.count() == 5


def test_turns_of_the_history_are_known_without_the_later_turns(store: MemoryStore) -> None:
    say(store, Q1, A1, Q2, A2)
    turns = [Turn("one?", "ann", is_old=True), Turn("1", "bot", is_old=True)]
    turns.append(Turn("three?", "ann", is_new=True))
    add_turns(store, turns, namespace="default", thread="t")
    assert texts(store) == ["one?", "1", "two?", "2", "three?"]


def test_a_different_answer_to_the_last_question_supersedes(store: MemoryStore) -> None:
    say(store, Q1, A1, Q2, A2)
    say(store, Q1, A1, Q2, ("bot", "two"))
    assert texts(store) == ["one?", "1", "two?", "two"]
    assert [record.content for record in store.all(state="superseded")] == ["2"]


def test_a_question_asked_again_and_answered_differently_is_a_new_turn(store: MemoryStore) -> None:
    say(store, Q1, A1)
    say(store, Q1, A1, Q1, ("bot", "one"), old=2)
    assert texts(store) == ["one?", "1", "one?", "one"]


@pytest.mark.parametrize("thread", ["t", None])
@pytest.mark.parametrize("asked", [[Q1], [Q1, Q1], [Q1, Q2], [Q1, Q2, ("ann", "three?")]], ids=str)
def test_lone_questions_asked_again_and_answered_differently_are_new_turns(
    store: MemoryStore, thread: str | None, asked: list[tuple[str, str]]
) -> None:
    runs = [[*asked, A1], [*asked, A2], [*asked, A1, NOTED], [*asked, NOTED]]
    for run in runs:
        say(store, *run, thread=thread)
        assert say(store, *run, thread=thread) == []
    assert texts(store) == [text for run in runs for _, text in run]


def test_no_answer_supersedes_in_a_conversation_without_a_name(store: MemoryStore) -> None:
    say(store, Q1, A1, Q2, A2, thread=None)
    say(store, Q1, A1, Q2, ("bot", "two"), thread=None)
    assert texts(store) == ["one?", "1", "two?", "2", "two"]


def test_parallel_runs_of_a_conversation_add_each_turn_once(store: MemoryStore) -> None:
    say(store, Q1, A1)
    say(store, Q1, A1, Q2)
    say(store, Q1, A1, ("ann", "three?"))
    say(store, Q1, A1, Q2, A2)
    assert sorted(texts(store)) == sorted(["one?", "1", "two?", "three?", "2"])


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_a_turn_taken_away_stays_away(store: MemoryStore, verb: str) -> None:
    said = say(store, Q1, A1, Q2, A2)
    getattr(store, verb)(said[2].id)
    assert say(store, Q1, A1, Q2, A2) == []
    say(store, Q1, A1, Q2, A2, ("ann", "three?"))
    assert texts(store) == ["one?", "1", "2", "three?"]


def test_an_erased_turn_stays_away_from_a_compacted_store(store: MemoryStore) -> None:
    said = say(store, Q1, A1, Q2, A2)
    store.erase(said[2].id)
    store.compact(keep=0)
    assert say(store, Q1, A1, Q2, A2) == []
    assert texts(store) == ["one?", "1", "2"]


def test_a_turn_whose_record_is_gone_stays_away(store: MemoryStore) -> None:
    say(store, Q1, A1, Q2, A2)
    store.forget(store.all()[1].id)
    with MemoryStore() as merged:
        merged.merge_from(store)
        store.compact(keep=0)
        for each in (store, merged):
            assert texts(each) == ["one?", "two?", "2"]
            assert say(each, Q1, A1, Q2, A2) == []
            assert say(each, Q1, A1, Q2, A2, ("ann", "three?"))[0].content == "three?"


@pytest.mark.parametrize("verb", ["forget", "erase"])
def test_a_conversation_taken_away_stays_away(store: MemoryStore, verb: str) -> None:
    say(store, Q1, A1)
    getattr(store, verb)(namespace="default")
    assert say(store, Q1, A1, old=2) == []
    say(store, Q1, A1, Q2, old=2)
    assert texts(store) == ["two?"]


def test_a_new_turn_after_an_erased_conversation_is_remembered(store: MemoryStore) -> None:
    say(store, Q1, A1)
    store.erase(namespace="default")
    say(store, Q2, A2)
    say(store, Q1, A1, Q2, A2, old=4)
    assert texts(store) == ["two?", "2"]


def test_a_corrected_memory_does_not_bring_the_said_text_back(store: MemoryStore) -> None:
    said = say(store, Q1, A1)
    store.update(said[0].id, content="The question was corrected.")
    say(store, Q1, A1, Q2)
    assert texts(store) == ["The question was corrected.", "1", "two?"]


def test_blank_turns_are_left_out(store: MemoryStore) -> None:
    assert say(store, ("ann", " \n")) == []


def test_conversations_and_namespaces_do_not_see_each_other(store: MemoryStore) -> None:
    turns = [Turn("one?", "ann")]
    places = [("a", "t"), ("a", "T"), ("b", "t"), ("a", None), ("a", "None"), ("a", "")]
    added = [add_turns(store, turns, namespace=space, thread=thread) for space, thread in places]
    assert [len(each) for each in added] == [1] * len(places)


# -- turns with ids


def test_an_id_again_adds_nothing_and_a_different_text_supersedes(store: MemoryStore) -> None:
    say_with_id(store, "My code is 1111.", "q1")
    assert say_with_id(store, "My code is 1111.", "q1") == []
    say_with_id(store, "My code is 2222.", "q1")
    assert texts(store) == ["My code is 2222."]
    versions = store.audit(turn_key("t", "q1"))
    assert [version.content for version in versions] == ["My code is 1111.", "My code is 2222."]


def test_of_several_states_of_a_turn_the_last_is_remembered(store: MemoryStore) -> None:
    states = [Turn("The", "bot", id="e1"), Turn("The parrot eats mango.", "bot", id="e1")]
    add_turns(store, states, namespace="default", thread="t")
    assert texts(store) == ["The parrot eats mango."]


def test_one_id_in_two_conversations_is_two_turns(store: MemoryStore) -> None:
    say_with_id(store, "Hello.", "1", thread="a")
    say_with_id(store, "Hello.", "1", thread="b")
    assert len(texts(store)) == 2


@pytest.mark.parametrize("id", ["", " ", "\n", "é", "\ud800", "x" * 5000])
def test_any_text_is_an_id(store: MemoryStore, id: str) -> None:
    assert len(say_with_id(store, "Hello.", id)) == 1
    assert say_with_id(store, "Hello.", id) == []


def test_a_forgotten_id_comes_back_only_with_a_different_text(store: MemoryStore) -> None:
    store.forget(say_with_id(store, "old", "q1")[0].id)
    assert say_with_id(store, "old", "q1") == []
    assert len(say_with_id(store, "new", "q1")) == 1


def test_an_expired_turn_comes_back_only_with_a_different_text(store: MemoryStore) -> None:
    fields = {"expires_at": store.clock() - 1}
    for text, added in (("old", 1), ("old", 0), ("new", 1)):
        given = [Turn(text, "ann", id="q1", fields=fields)]
        assert len(add_turns(store, given, namespace="default", thread="t")) == added


def test_an_erased_id_never_comes_back(store: MemoryStore) -> None:
    say_with_id(store, "old", "q1")
    say_with_id(store, "new", "q1")
    store.erase(namespace="default")
    for text in ("old", "new", "newer"):
        assert say_with_id(store, text, "q1") == []


def test_a_different_answer_to_a_question_supersedes(store: MemoryStore) -> None:
    question = Turn("Where?", "ann", id="q1")
    for text in ("Oslo", "Rome"):
        answers = [Turn(each, "bot", id=each, is_answer=True) for each in (text, "Sure.")]
        add_turns(store, [question, *answers], namespace="default", thread="t")
    assert sorted(texts(store)) == ["Rome", "Sure.", "Where?"]


# -- the file


def test_erasing_leaves_the_key_of_a_turn_and_no_other_key(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path, integrity_key=b"k" * 16) as store:
        say(store, ("ann", "a secret of mine"))
        store.store("another secret", key="turn:my secret")
        store.erase(namespace="default")
        assert say(store, ("ann", "a secret of mine")) != []
        assert store.verify().ok
        store.erase(namespace="default")
    assert b"secret" not in path.read_bytes()


def test_two_writers_at_once_lose_no_turn(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as first, MemoryStore(first.location) as second:
        barrier = threading.Barrier(2)

        def talk(store: MemoryStore, author: str) -> None:
            barrier.wait()
            for number in range(20):
                say(store, (author, f"{author} says {number}"))

        threads = [
            threading.Thread(target=talk, args=pair) for pair in ((first, "ann"), (second, "bob"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(texts(first)) == 40


def test_a_wrong_namespace_is_refused(store: MemoryStore) -> None:
    with pytest.raises(ValidationError):
        add_turns(store, [Turn("a", "b")], namespace="a//b")


# -- the decision

said = st.tuples(st.sampled_from(["ann", "bot"]), st.sampled_from("abc"))


def added(known: Sequence[tuple[str, str]], given: Iterable[tuple[str, str]]) -> int:
    return align(known, list(given)).count(None)


@given(st.lists(said, min_size=1, max_size=12), st.data())
def test_the_end_of_the_known_conversation_is_never_new(
    known: list[tuple[str, str]], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(known) - 1))
    assert added(known, known[start:]) == 0


@given(st.lists(said, min_size=1), st.lists(said), st.data())
def test_what_follows_the_known_conversation_is_new_whatever_was_erased(
    conversation: list[tuple[str, str]], new: list[tuple[str, str]], data: st.DataObject
) -> None:
    places = range(len(conversation))
    erased = data.draw(st.sets(st.sampled_from(places), max_size=len(conversation) - 1))
    known = [None if at in erased else conversation[at] for at in places]
    given = align(known, [*conversation, *new], models={"bot"}, old=len(conversation))
    assert given == [*places, *[None] * len(new)]


@given(st.lists(said, unique=True, min_size=1, max_size=6), st.integers(1, 3))
def test_distinct_turns_handed_over_whole_are_known_in_order(
    conversation: list[tuple[str, str]], new: int
) -> None:
    known = conversation[: len(conversation) - new]
    expected = [*range(len(known)), *[None] * (len(conversation) - len(known))]
    assert align(known, conversation) == expected
