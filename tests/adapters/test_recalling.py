"""What every adapter shows a model, without a framework."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest

from bethink import MemoryStore, StoreClosedError, ValidationError
from bethink.text import estimate_tokens
from bethink_adapters.shared.recalling import NOTHING, Recalling

PIZZA = "Ann likes pizza Margherita."
QUESTION = "Which pizza does Ann like?"


def accesses(store: MemoryStore) -> list[int]:
    return [record.access_count for record in store.all()]


@pytest.mark.parametrize("query", ["", " \n"])
def test_a_blank_question_recalls_nothing(store: MemoryStore, query: str) -> None:
    store.store(PIZZA)
    assert Recalling(store).block(query) == NOTHING


def test_only_what_is_shown_counts_as_accessed(store: MemoryStore) -> None:
    store.store(PIZZA)
    store.store("Ann likes pizza Funghi, too.")
    recalling = Recalling(store, k=1)
    assert len(recalling.best(QUESTION)) == 1
    assert accesses(store) == [0, 0]
    assert recalling.block(QUESTION).text
    assert sorted(accesses(store)) == [0, 1]
    recalling.answer(QUESTION)
    assert sorted(accesses(store)) == [0, 2]


def test_five_memories_in_eight_hundred_tokens_are_shown_by_default(store: MemoryStore) -> None:
    store.store_many(f"Ann likes pizza number {number}." for number in range(9))
    assert len(Recalling(store).best(QUESTION)) == 5
    store.forget(namespace="default")
    store.store_many(f"Pizza {number}: " + f"Ann likes {number} " * 60 for number in range(9))
    text = Recalling(store).block(QUESTION).text
    assert 600 < estimate_tokens(text) <= 800


def test_a_filter_narrows_what_is_shown(store: MemoryStore) -> None:
    store.store(PIZZA, thread="old")
    assert not Recalling(store).block(QUESTION, where={"thread": "new"}).text
    assert PIZZA in Recalling(store).block(QUESTION, where={"thread": "old"}).text


def test_what_is_said_anyway_or_often_takes_no_place(store: MemoryStore) -> None:
    for number in range(6):
        store.store(QUESTION, author="Ann", thread=f"t{number}")
        store.store(f" {QUESTION}\n", author="Bob", thread=f"t{number}")
    store.store("Pizza Funghi for Ann.")
    shown = [hit.memory.content for hit in Recalling(store, k=2).best("Which pizza?", {QUESTION})]
    assert shown == ["Pizza Funghi for Ann."]
    shown = [str(hit.memory.author) for hit in Recalling(store, k=2).best(QUESTION)]
    assert sorted(shown) == ["Ann", "Bob"]


def test_several_questions_share_the_places_fairly(store: MemoryStore) -> None:
    store.store_many([f"Ann likes pizza number {number}." for number in range(9)])
    store.store_many(["The kiln is hot.", "The kiln is electric."])
    asked = [QUESTION, "Is the kiln hot?", " ", QUESTION]
    found = [hit.memory.content for hit in Recalling(store, k=4).best(asked)]
    assert [("pizza" in text) for text in found] == [True, False, True, False]
    assert found[1] == "The kiln is hot."


def test_a_memory_that_two_questions_recall_stands_once_with_the_better_score(
    store: MemoryStore,
) -> None:
    store.store("The kiln of Ann is hot.")
    vague, exact = "Tell me about Ann", "The kiln of Ann is hot."
    (found,) = Recalling(store).best([vague, exact])
    assert found.score == pytest.approx(Recalling(store).best(exact)[0].score)
    assert found.score > Recalling(store).best(vague)[0].score


def test_a_share_of_the_best_score_drops_weak_memories(store: MemoryStore) -> None:
    store.store_many(["Leo is allergic to shellfish", "Leo likes dogs"])
    asked = "What is Leo allergic to?"
    assert len(Recalling(store).best(asked)) == 2
    (best,) = Recalling(store, min_share=0.9).best(asked)
    assert best.content == "Leo is allergic to shellfish"


def test_a_tool_is_told_when_nothing_is_known(store: MemoryStore) -> None:
    assert Recalling(store).answer(QUESTION) == "Nothing is known about that."
    store.store(PIZZA)
    assert PIZZA in Recalling(store).answer(QUESTION)


def test_a_store_that_fails_is_logged_or_raises(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    recalling = Recalling(store)
    store.close()
    with caplog.at_level(logging.ERROR):
        assert recalling.safely(QUESTION) == NOTHING
    assert "nothing could be recalled" in caplog.text
    with pytest.raises(StoreClosedError):
        recalling.block(QUESTION)


@pytest.mark.parametrize("wrong", [None, 5], ids=repr)
def test_a_question_that_is_no_text_is_refused(store: MemoryStore, wrong: Any) -> None:
    with pytest.raises(ValidationError, match="query must be a str, not"):
        Recalling(store).block(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"min_score": math.nan}, {"min_share": 2}, {"namespace": ""}, {"budget_tokens": -1}],
    ids=str,
)
def test_wrong_settings_are_refused(store: MemoryStore, wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        Recalling(store, **wrong)  # type: ignore[arg-type]
