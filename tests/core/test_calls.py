"""Signatures show every field, and a wrong name or argument is answered with the right name."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import Iterator
from typing import Any
from unittest.mock import create_autospec

import pytest

import bethink
from bethink import (
    ArgumentError,
    AsyncFiles,
    AsyncKeyedMemory,
    AsyncMemoryStore,
    AsyncVectorMemory,
    CallableEmbedder,
    Files,
    KeyedMemory,
    LongTermMemory,
    MemoryStore,
    MessageLog,
    OpenAIEmbedder,
    Past,
    RecallResult,
    ShortTermMemory,
    ValidationError,
)
from bethink.memory.reading import RecallOptions
from bethink.model.records import Changes, Fields

GATHERED = [
    ("store", Fields, {"namespace": "default", "tags": (), "importance": 0.5, "key": None}),
    ("store_many", Fields, {"confidence": 1.0, "metadata": None, "occurred_at": None}),
    ("update", Changes, {"namespace": ..., "content": ...}),
    ("why_not", RecallOptions, {"namespace": "default", "mode": "hybrid", "min_score": 0.0}),
    ("pack", RecallOptions, {"where": None, "min_similarity": 0.0, "vector": None}),
]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore() as opened:
        opened.store("a whale", key="k")
        yield opened


@pytest.mark.parametrize("kind", [MemoryStore, AsyncMemoryStore])
@pytest.mark.parametrize(("verb", "fields", "defaults"), GATHERED)
def test_a_signature_shows_every_field_with_type_and_default(
    kind: type, verb: str, fields: Any, defaults: dict[str, object]
) -> None:
    shown = inspect.signature(getattr(kind, verb)).parameters
    assert fields.__annotations__.keys() <= shown.keys()
    assert {name: shown[name].default for name in defaults} == defaults
    assert shown["namespace"].annotation in ("str", "Scope")


@pytest.mark.parametrize("kind", [MemoryStore, AsyncMemoryStore, Past, KeyedMemory, Files])
def test_no_verb_hides_an_argument(kind: Any) -> None:
    verbs: list[Any] = [getattr(kind, name) for name in dir(kind) if name[0] != "_"]
    for verb in [kind, *filter(callable, verbs)]:
        shown = inspect.signature(verb).parameters.values()
        assert not any(each.kind is each.VAR_KEYWORD for each in shown)


def test_the_defaults_shown_are_the_defaults_used(store: MemoryStore) -> None:
    shown = inspect.signature(MemoryStore.store).parameters
    given = {name: shown[name].default for name in Fields.__annotations__}
    plain, spelled = store.store("a"), store.store("a", **given)
    same = ("namespace", "tags", "importance", "confidence", "metadata", "category", "value")
    assert [getattr(plain, name) for name in same] == [getattr(spelled, name) for name in same]


ATTRIBUTES: list[tuple[type, str, str]] = [
    (MemoryStore, "add insert put save upsert remember", "store"),
    (MemoryStore, "search query find similarity_search", "recall"),
    (MemoryStore, "delete remove clear", "forget"),
    (MemoryStore, "get_all list items", "all"),
    (MemoryStore, "add_many", "store_many"),
    (MemoryStore, "history", "log"),
    (AsyncMemoryStore, "add", "store"),
    (AsyncMemoryStore, "search", "recall"),
    (KeyedMemory, "set put add save", "remember"),
    (KeyedMemory, "get", "recall"),
    (KeyedMemory, "delete", "forget"),
    (AsyncKeyedMemory, "set", "remember"),
    (AsyncVectorMemory, "set", "remember"),
    (LongTermMemory, "add store", "remember"),
    (LongTermMemory, "query", "search"),
    (ShortTermMemory, "get", "recall"),
    (KeyedMemory, "all values", "items"),
    (MessageLog, "add extend", "append"),
    (MessageLog, "all last latest recent", "messages"),
    (Files, "open", "read"),
    (Files, "edit replace", "str_replace"),
    (Files, "glob list_files", "list"),
    (AsyncFiles, "remove", "delete"),
]


@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [(kind, wrong, right) for kind, names, right in ATTRIBUTES for wrong in names.split()],
)
def test_a_verb_of_another_library_is_answered_with_the_right_verb(
    kind: type, wrong: str, right: str
) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; use .*'{right}'"):
        getattr(object.__new__(kind), wrong)


@pytest.mark.parametrize("wrong", ["Client", "Store", "VectorStore", "connect"])
def test_a_class_of_another_library_is_answered_with_the_right_class(wrong: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; use 'MemoryStore'"):
        getattr(bethink, wrong)


ARGUMENTS = [
    ("store.recall('x', limit=3)", "unknown argument 'limit'; use 'k'"),
    ("store.recall('x', top_k=3)", "unknown argument 'top_k'; use 'k'"),
    ("store.recall('x', n=3)", "unknown argument 'n'; use 'k'"),
    ("store.recall(query_text='x')", "'query_text'; use 'query'"),
    ("store.recall('x', filter={})", "'filter'; use 'where'"),
    ("store.recall('x', user_id='u')", "'user_id'; use 'namespace'"),
    ("store.store('x', user_id='u')", "'user_id'; use 'namespace'"),
    ("store.store(text='x')", "'text'; use 'content'"),
    ("store.store('x', session_id='s')", "use 'namespace' or 'thread'"),
    ("store.store('x', embedding=[1.0])", "use 'vectors'"),
    ("store.update('x', text='x')", "use 'content'"),
    ("store.pack('x', max_tokens=9)", "use 'budget_tokens'"),
    ("store.pack('x', top_k=9)", "use 'k'"),
    ("store.why_not('x', 'y', filter={})", "use 'where'"),
    ("store.forget(id='x')", "use 'ids'"),
    ("store.store_many([{'text': 'x'}])", "unknown field 'text'; use 'content'"),
    ("store.recall('x', minscore=1)", "use 'min_score'"),
    ("store.recall('x', scoring=None)", "use 'ranking'"),
    ("store.recall('x', track_usage=False)", "use 'touch'"),
    ("store.pack('x', token_estimator=len)", "use 'count_tokens'"),
    ("store.pack('x', candidates=9)", "use 'k'"),
    ("store.conflicts(min_confidence='likely')", "use 'min_tier'"),
    ("store.resolve(keep_id='a', drop_ids=['b'])", "use 'keep'"),
    ("store.resolve('a', drop_ids=['b'])", "use 'drop'"),
    ("store.forget(older_than_seconds=9)", "use 'where'"),
    ("store.reinforce('a', importance_boost=.1)", "use 'amount'"),
    ("store.merge_from('x', namespaces=['a'])", "use 'namespace'"),
    ("store.merge_from('x', dedupe_threshold=.95)", "use 'similarity'"),
    ("store.diff(a='x')", "use 'since'"),
    ("store.as_of(label='x')", "use 'when'"),
    ("store.expire(retention_days=9)", "use 'retention'"),
    ("store.roll_up(older_than_days=9)", "use 'older_than'"),
    ("store.relate('a', 'b', relation='c')", "use 'kind'"),
    ("store.all(include_archived=True)", "use 'state'"),
    ("store.record_outcome('a', 'worked', session_id='s')", "use 'session'"),
    ("MemoryStore(scoring=None)", "use 'ranking'"),
    ("MemoryStore(journal_mode='WAL')", "use 'durability'"),
    ("LongTermMemory().remember_vector('a', 1, embedding=[1.0])", "use 'vector'"),
    ("store.recall('x', colour=1)", "known: query, k, namespace,"),
    ("store.recall('x', 5)", "recall takes query without a name; by name: k,"),
    ("store.store()", "missing a required argument: 'content'"),
    ("MemoryStore(path='x.db')", "'path'; use 'location'"),
    ("AsyncMemoryStore(path='x.db')", "'path'; use 'location'"),
    ("MemoryStore(embedding_function=len)", "use 'embedder'"),
    ("store.as_of(1).all(filter={})", "use 'where'"),
    ("store.recall('x', category='c')", "use 'where'"),
    ("store.forget(key='k')", "use 'where'"),
    ("store.namespaces(namespace='a')", "use 'within'"),
    ("store.store('x', max_age=60)", "use 'expires_at'"),
    ("KeyedMemory(store, user_id='u')", "use 'namespace'"),
    ("AsyncVectorMemory(store, user_id='u')", "use 'namespace'"),
    ("KeyedMemory(store).recent(n=1)", "use 'limit'"),
    ("LongTermMemory().search([1.0], k=2)", "use 'top_k'"),
]


@pytest.mark.parametrize(("call", "message"), ARGUMENTS)
def test_a_wrong_argument_is_answered_with_the_right_argument(
    store: MemoryStore, call: str, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        eval(call, globals() | {"store": store})
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValidationError)


def test_a_wrong_argument_of_an_awaitable_verb_is_answered_alike(store: MemoryStore) -> None:
    verb: Any = AsyncMemoryStore.wrap(store).recall
    with pytest.raises(ArgumentError, match="use 'k'"):
        asyncio.run(verb("x", limit=3))


def test_every_name_in_the_table_is_a_verb_an_argument_or_a_class() -> None:
    kinds: list[Any] = [MemoryStore, KeyedMemory, LongTermMemory, MessageLog, Files]
    kinds += [CallableEmbedder, OpenAIEmbedder, RecallResult]
    verbs = {name: verb for kind in kinds for name, verb in inspect.getmembers(kind)}
    there = {*verbs, *bethink.__all__}
    for verb in filter(callable, [*kinds, *(verbs[name] for name in verbs if name[0] != "_")]):
        there |= inspect.signature(verb).parameters.keys()
    from bethink.calls import other_names

    assert {right for names in other_names().values() for right in names} <= there


def test_an_error_inside_a_verb_stays(store: MemoryStore) -> None:
    def fail(_: object) -> None:
        raise TypeError("inside")

    with pytest.raises(TypeError, match="inside") as caught:
        KeyedMemory(store).update("k", fail)
    assert not isinstance(caught.value, ArgumentError)


def test_what_asks_for_an_attribute_finds_none(store: MemoryStore) -> None:
    assert not hasattr(store, "add")
    assert getattr(store, "search", None) is None
    assert not hasattr(store, "__deepcopy__")


def test_a_working_memory_can_still_be_copied(store: MemoryStore) -> None:
    keyed = KeyedMemory(store)
    keyed.remember("k", 1)
    assert copy.copy(keyed).recall("k") == 1


def test_a_mock_of_the_store_has_the_verbs_and_no_more() -> None:
    mock = create_autospec(MemoryStore, instance=True)
    mock.recall("x", k=2)
    with pytest.raises(TypeError):
        mock.recall("x", limit=2)
    with pytest.raises(AttributeError):
        mock.search("x")


def test_verbs_pickle_by_name() -> None:
    assert pickle.loads(pickle.dumps(MemoryStore.recall)) is MemoryStore.recall
