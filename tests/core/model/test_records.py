from __future__ import annotations

import copy
import dataclasses
import pickle
from functools import partial

import pytest

from bethink import Explanation, MemoryRecord, RecallResult
from bethink.model.records import RECORD_FIELDS, new_record

RECORD = MemoryRecord("1", "default", "a red cat", 1.0, 2.0, 3.0)


def test_a_record_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RECORD.content = "a blue cat"  # type: ignore[misc]
    assert not hasattr(RECORD, "__dict__")


def test_what_is_not_told_of_a_record_is_neutral() -> None:
    assert (RECORD.importance, RECORD.confidence, RECORD.outcome) == (0.5, 1.0, 0.0)
    assert (RECORD.tags, RECORD.metadata, RECORD.state) == ((), {}, "live")
    assert RECORD.metadata is not MemoryRecord("2", "default", "x", 1.0, 2.0, 3.0).metadata


def test_a_record_made_in_the_short_way_is_like_any_other() -> None:
    made = new_record(*dataclasses.astuple(RECORD))
    assert (made, type(made)) == (RECORD, MemoryRecord)
    assert dataclasses.replace(made, content="x").content == "x"
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.content = "a blue cat"  # type: ignore[misc]
    named = {"id": "2", "namespace": "a", "content": "x", "created_at": 1.0, "occurred_at": 2.0}
    one, other = (new_record(**named, updated_at=3.0, key="k") for _ in range(2))
    assert one == other == MemoryRecord(**named, updated_at=3.0, key="k")  # type: ignore[arg-type]
    assert one.metadata is not other.metadata
    with pytest.raises(TypeError):
        new_record(**named)


def test_a_record_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(RECORD)) == RECORD


def test_record_is_another_name_of_memory() -> None:
    result = RecallResult(RECORD, 0.5, Explanation(0.5, {}, {}))
    assert result.record is result.memory is RECORD
    assert result.explain() is result.explanation


def test_a_result_explains_itself_once_and_only_when_asked() -> None:
    why, asked = Explanation(0.5, {"keyword": 1.0}, {"keyword": 0.5}), list[str]()

    def tell(name: str) -> Explanation:
        asked.append(name)
        return why

    result = RecallResult.lazily(tell, memory=RECORD, score=0.5)
    assert (result.memory, result.score, asked) == (RECORD, 0.5, [])
    assert result.explain() is result.explanation is why
    assert asked == ["explanation"]


def test_a_result_that_was_not_asked_is_like_any_other() -> None:
    why = Explanation(0.5, {"keyword": 1.0}, {"keyword": 0.5})
    made = RecallResult(RECORD, 0.5, why)
    told = partial(RecallResult.lazily, lambda _: why, memory=RECORD, score=0.5)
    for same in (copy.copy, copy.deepcopy, repr, lambda each: pickle.loads(pickle.dumps(each))):
        assert same(told()) == same(made)
    assert told() == made
    with pytest.raises(AttributeError, match="no attribute 'explanations'"):
        made.explanations  # type: ignore[attr-defined]  # noqa: B018


def test_how_an_answer_was_proved_tells_no_explanations_apart() -> None:
    assert Explanation(0.5, {}, {}, survivors=9) == Explanation(0.5, {}, {})


def test_an_explanation_reads_as_a_sum() -> None:
    told = Explanation(0.75, {"keyword": 1.0}, {"keyword": 0.5, "vector": 0.0, "recency": 0.25})
    assert str(told) == "0.750 = keyword 0.500 + recency 0.250"
    assert str(Explanation(0.0, {}, {"keyword": 0.0})) == "0.000 = 0"


def test_the_table_of_fields_is_that_of_a_record() -> None:
    assert tuple(RECORD_FIELDS) == MemoryRecord.__slots__
