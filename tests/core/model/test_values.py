"""Every value that a verb returns is JSON, a line and a table on request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import bethink
from bethink import MemoryRecord, MemoryStore, RecallResult, Subtree
from bethink.features.transfer.lines import record_of
from bethink.model.values import Value, one_line

RETURNED = [
    each
    for each in (getattr(bethink, name) for name in bethink.__all__)
    if isinstance(each, type)
    and is_dataclass(each)
    and each is not Subtree
    and not callable(getattr(each, "rank", None))
]


def returned() -> Iterator[Any]:
    """Yield a value of every kind, each from the verb."""
    with MemoryStore(clock=lambda: 1_000_000_000.123456) as store:
        tea = store.store("Ann drinks tea", tags=["a", "b"], metadata={"deep": {"list": [1, None]}})
        store.store("Ann drinks tea.")
        ham = store.store("Bob likes ham")
        store.store("Bob hates ham", key="ham", value=[1, {"x": 2.5}])
        store.update(tea.id, importance=0.9)
        store.relate(tea.id, ham.id, "with")
        store.mark_useful(tea.id)
        files = bethink.Files(store)
        files.create("/a.txt", "text")
        memory = bethink.KeyedMemory(store)
        memory.remember("step", 3)
        (hit,) = store.recall("tea", k=1)
        problem = bethink.Problem("record", "r1", "is damaged")
        yield from (tea, hit, hit.explanation, store.why_not(tea.id, "tea"), store.pack("ham"))
        yield from (store.snapshot("now"), *store.log(), *store.related(tea.id), store.stats())
        yield from (store.diff(4), *store.diff(4).changed, *store.audit("ham"))
        yield from (*store.conflicts(), *store.outcomes(tea.id), *store.consolidate())
        yield from (store.verify(), problem, store.repair(), *files.list(), *memory.recent(1))
        yield bethink.ScoredRecord(bethink.MemoryItem("step", 3), 0.5)
        yield store.compact(keep=0)
        with MemoryStore() as other:
            yield other.merge_from(store)
            with MemoryStore() as third:
                yield other.archive_to(third, namespace=bethink.EVERYWHERE)


EVERY = list(returned())
VALUES = {type(value): value for value in EVERY}


def test_the_sweep_has_every_public_value() -> None:
    assert set(VALUES) == {*RETURNED, bethink.MemoryItem}


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_to_dict_holds_every_field_as_json(kind: Any) -> None:
    for value in EVERY:
        if type(value) is kind:
            told = value.to_dict()
            assert json.loads(json.dumps(told)) == told
            names = [each.name for each in fields(kind)] if is_dataclass(kind) else kind._fields
            assert list(told) == list(names)


def test_a_record_is_read_back_from_to_dict() -> None:
    record = VALUES[MemoryRecord]
    assert record_of(json.loads(json.dumps(record.to_dict()))) == record
    record.to_dict()["metadata"]["deep"]["list"].append(2)
    assert record.metadata == {"deep": {"list": [1, None]}}


def test_values_inside_values_become_mappings() -> None:
    hit = VALUES[RecallResult]
    assert hit.to_dict()["memory"] == hit.memory.to_dict()
    assert VALUES[bethink.Diff].to_dict()["changed"][0]["after"]["id"] == hit.id


def test_a_record_and_a_hit_are_one_line() -> None:
    record = MemoryRecord("r", "n", "Standup\n is  at 10:00", 0.0, 0.0, 0.0)
    hit = RecallResult(record, 0.5449, VALUES[bethink.Explanation])
    assert (str(record), str(hit)) == ("Standup is at 10:00", "0.54  Standup is at 10:00")
    assert (hit.content, hit.id) == (record.content, "r")
    assert str(MemoryRecord("r", "n", "", 0.0, 0.0, 0.0, key="k", value={"a": 1})) == "k: {'a': 1}"
    assert len(one_line("word " * 200)) == len(one_line("w" * 101)) == 100
    assert one_line("w" * 100) == "w" * 100


def test_equal_records_and_hits_have_one_hash() -> None:
    hit = VALUES[RecallResult]
    copy = RecallResult(record_of(hit.memory.to_dict()), hit.score, hit.explanation)
    assert {hit} == {copy}
    assert len({hit.memory, copy.memory}) == 1


@pytest.mark.parametrize("kind", RETURNED, ids=lambda kind: kind.__name__)
def test_a_notebook_shows_a_table(kind: type[Value]) -> None:
    shown = VALUES[kind]._repr_html_()
    assert shown.startswith("<table>")
    assert shown.endswith("</table>")


def test_texts_cannot_break_out_of_a_notebooks_table() -> None:
    record = MemoryRecord("r", "n", "<script>\n& more", 0.0, 0.0, 0.0, tags=("<b>", "c"))
    shown = record._repr_html_()
    assert "<tr><th>content</th><td>&lt;script&gt;<br>&amp; more</td></tr>" in shown
    assert "<td>&lt;b&gt;<br>c</td>" in shown
    assert "thread" not in shown
