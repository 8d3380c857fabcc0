"""A hundred mistakes, each with the error and the words of the error that name the remedy."""

from __future__ import annotations

import copy
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import bethink
from bethink import BethinkError, CorruptStoreError, KeyedMemory, MemoryStore

NAMES = {
    **{name: getattr(bethink, name) for name in bethink.__all__},
    **{"datetime": datetime, "date": date, "timedelta": timedelta, "UTC": UTC},
}
MISTAKES = [
    # opening
    ("MemoryStore(5)", "ValidationError", "a path, a URL or ':memory:'"),
    ("MemoryStore('https://x.org/a.db')", "ValidationError", "use a path, sqlite:///path"),
    ("MemoryStore('.')", "StorageError", "is a directory, not a file"),
    ("MemoryStore('note.txt')", "NotABethinkFileError", "not a bethink file"),
    ("MemoryStore('other.db')", "NotABethinkFileError", "has readers for databases"),
    ("MemoryStore('new.db', HashEmbedder())", "ArgumentError", "by name: embedder"),
    ("MemoryStore(path='new.db')", "ArgumentError", "use 'location'"),
    ("MemoryStore(embedding_function=len)", "ArgumentError", "use 'embedder'"),
    ("MemoryStore(embedder=lambda texts: texts)", "ValidationError", "CallableEmbedder(function"),
    ("MemoryStore(embedder='minilm')", "ValidationError", "such as HashEmbedder(), not str"),
    ("MemoryStore(embedder=HashEmbedder)", "ValidationError", "not the class HashEmbedder"),
    ("MemoryStore('mine.db', embedder=HashEmbedder(9))", "EmbedderMismatchError", "'hash-8'"),
    ("MemoryStore(ranking='bm25')", "ValidationError", "such as WeightedSum(), not str"),
    ("MemoryStore(ranking=WeightedSum)", "ValidationError", "not the class WeightedSum"),
    ("MemoryStore(clock=5)", "ValidationError", "clock must be a function"),
    ("MemoryStore(durability='fast')", "ValidationError", "one of 'full', 'normal'"),
    ("MemoryStore(max_resident='1GB')", "ValidationError", "max_resident must be an int"),
    ("MemoryStore(integrity_key='secret')", "ValidationError", "at least 16 secret bytes"),
    ("MemoryStore('mine.db', integrity_key=bytes(32))", "IntegrityKeyError", "key"),
    ("AsyncMemoryStore(store)", "ValidationError", "AsyncMemoryStore.wrap takes a store"),
    ("AsyncMemoryStore.wrap('mine.db')", "ValidationError", "MemoryStore(path) opens one"),
    ("KeyedMemory('mine.db')", "ValidationError", "MemoryStore(path) opens one"),
    ("KeyedMemory()", "ArgumentError", "KeyedMemory: missing a required argument: 'store'"),
    ("Files('mine.db')", "ValidationError", "MemoryStore(path) opens one"),
    ("MessageLog(store)", "ArgumentError", "missing a required argument: 'session'"),
    ("MessageLog.sessions('mine.db')", "ValidationError", "MemoryStore(path) opens one"),
    # embedders and rankings
    ("OpenAIEmbedder().embed(['a'])", "EmbedderError", "set OPENAI_API_KEY, or pass api_key"),
    ("OpenAIEmbedder(key='x')", "ArgumentError", "use 'api_key'"),
    ("CallableEmbedder(len)", "ArgumentError", "missing a required argument: 'name'"),
    ("CallableEmbedder('minilm', name='x')", "ValidationError", "fn must be a function"),
    ("HashEmbedder(dims=8)", "ArgumentError", "use 'dimension'"),
    ("HashEmbedder('256')", "ValidationError", "dimension must be an int"),
    ("HashEmbedder().embed('text')", "ValidationError", "a list of strings, not one string"),
    ("HashEmbedder().embed(None)", "ValidationError", "a list of strings, not NoneType"),
    ("StaticEmbedder().embed(t for t in 'ab')", "ValidationError", "not generator"),
    ("WeightedSum(importance_weight=1)", "ArgumentError", "known: similarity, recency"),
    ("FiveSignal(5)", "ArgumentError", "takes nothing without a name"),
    ("DecayProduct()", "ArgumentError", "missing a required argument: 'rate'"),
    ("MiniLMEmbedder('all-MiniLM-L12')", "ArgumentError", "takes nothing without a name"),
    ("guess_category(None)", "ValidationError", "must be a str, not NoneType"),
    ("WeightedSum('a')", "ValidationError", "similarity must be a number"),
    # storing
    ("store.add('x')", "AttributeError", "use 'store'"),
    ("store.store()", "ArgumentError", "missing a required argument: 'content'"),
    ("store.store('')", "ValidationError", "unless a value is given"),
    ("store.store(['a', 'b'])", "ValidationError", "content must be a str, not list"),
    ("store.store('x', 'users/ann')", "ArgumentError", "by name: on_similar"),
    ("store.store('x', user_id='ann')", "ArgumentError", "use 'namespace'"),
    ("store.store('x', ttl=60)", "ArgumentError", "use 'expires_at'"),
    ("store.store('x', embedding=[1.0])", "ArgumentError", "use 'vectors'"),
    ("store.store('x', tags='urgent')", "ValidationError", "tags must be a list of str"),
    ("store.store('x', importance=8)", "ValidationError", "in [0, 1], not 8"),
    ("store.store('x', importance='high')", "ValidationError", "must be a number"),
    ("store.store('x', metadata='k=v')", "ValidationError", "must be a mapping"),
    ("store.store('x', metadata={'at': datetime.now()})", "ValidationError", "which JSON cannot"),
    ("store.store('x', value={1, 2})", "ValidationError", "type set, which JSON cannot"),
    ("store.store('x', occurred_at=1732492800000)", "ValidationError", "seconds, not milliseconds"),
    ("store.store('x', occurred_at=datetime(2026, 1, 1))", "ValidationError", "a time zone"),
    ("store.store('x', occurred_at='yesterday')", "ValidationError", "2026-11-24T10:00Z"),
    ("store.store('x', expires_at=timedelta(1))", "ValidationError", "Unix seconds, an aware"),
    ("store.store('x', vectors=[1.0])", "ValidationError", "must map names to vectors"),
    ("store.store('x', key=5)", "ValidationError", "key must be a str"),
    ("store.store('x', id='r1')", "ValidationError", "use update"),
    ("store.store('x', supersedes='nobody')", "NotFoundError", "live record 'nobody'"),
    ("store.store('x', on_similar='skip')", "ValidationError", "'keep', 'merge', 'raise'"),
    ("store.store('x' * 600_000)", "ValidationError", "the limit is 524,288"),
    ("store.store_many('text')", "ValidationError", "a list of str or mappings"),
    ("store.store_many([('a', {})])", "ValidationError", "a str or a mapping, not tuple"),
    ("store.store_many([{'text': 'a'}])", "ArgumentError", "use 'content'"),
    ("store.store_many(['a'], metadatas=[])", "ArgumentError", "use 'metadata'"),
    # namespaces
    ("store.store('x', namespace='/users/ann')", "ValidationError", "write 'a/b', or quote it"),
    ("store.store('x', namespace=('users', 'ann'))", "ValidationError", "such as 'users/ann'"),
    ("store.store('x', namespace=EVERYWHERE)", "ValidationError", "a str such as 'users/ann'"),
    ("store.store('x', namespace='users/*')", "ValidationError", "Subtree('users')"),
    ("store.recall('x', namespace='users/*')", "ValidationError", "Subtree('users')"),
    ("store.all(namespace='*')", "ValidationError", "EVERYWHERE all namespaces"),
    ("store.recall('x', namespace=None)", "ValidationError", "pass EVERYWHERE"),
    ("store.recall('x', namespace=[])", "ValidationError", "not an empty list"),
    ("Subtree()", "ArgumentError", "missing a required argument: 'path'"),
    ("Subtree('')", "ValidationError", "EVERYWHERE covers all namespaces"),
    ("Subtree('users/*')", "ValidationError", "Subtree('users') covers"),
    # recalling
    ("store.search('x')", "AttributeError", "use 'recall'"),
    ("store.recall('x', 5)", "ArgumentError", "by name: k, namespace"),
    ("store.recall('x', limit=5)", "ArgumentError", "use 'k'"),
    ("store.recall('x', filter={})", "ArgumentError", "use 'where'"),
    ("store.recall(['x'])", "ValidationError", "query must be a str"),
    ("store.recall(None)", "ValidationError", "needs a query or a vector"),
    ("store.recall('x', k='5')", "ValidationError", "k must be an int, not str"),
    ("store.recall('x', k=-1)", "ValidationError", "at least 0, not -1"),
    ("store.recall('x', mode='vector')", "ValidationError", "'hybrid', 'keyword', 'semantic'"),
    ("store.recall('x', where='author = ann')", "ValidationError", "where must be a mapping"),
    ("store.recall('x', where={'user': 'ann'})", "ValidationError", "metadata.user"),
    ("store.recall('x', where={'importance': {'gt': 1}})", "ArgumentError", "use '$gt'"),
    ("store.recall('x', where={'importance': {'>': 1}})", "ArgumentError", "known: $eq, $ne, $gt"),
    ("store.recall('x', where={'author': {'$like': 'a'}})", "ArgumentError", "$contains"),
    ("store.recall('x', min_similarity=80)", "ValidationError", "in [0, 1], not 80"),
    ("store.recall('x', as_of='yesterday')", "NotFoundError", "snapshot 'yesterday'"),
    ("store.recall('x', vector=[1.0])", "ValidationError", "a pair (name, numbers)"),
    ("store.recall('x', trusted='web')", "ValidationError", "a list of sources"),
    ("store.recall('x', ranking=lambda s: 1)", "ValidationError", "such as WeightedSum()"),
    ("store.recall('fact')[0].text", "AttributeError", "use 'content'"),
    ("store.recall('fact')[0].similarity", "AttributeError", "use 'score'"),
    ("store.recall('fact')[0].metadata", "AttributeError", "use 'memory.metadata'"),
    ("store.get('r1').timestamp", "AttributeError", "use 'occurred_at'"),
    ("store.stats().model_dump()", "AttributeError", "use 'to_dict'"),
    ("store.pack('x', max_tokens=9)", "ArgumentError", "use 'budget_tokens'"),
    ("store.pack('x', budget_tokens=-5)", "ValidationError", "at least 0, not -5"),
    ("store.pack('x', count_tokens=5)", "ValidationError", "must be a function"),
    ("store.pack('x', count_tokens=str.split)", "ValidationError", "must return a number"),
    ("context_block('text')", "ValidationError", "records or results of recall"),
    ("context_block(None)", "ValidationError", "a list of records or results, not NoneType"),
    # reading and changing
    ("store.get()", "ValidationError", "an id or a key"),
    ("store['nobody']", "NotFoundError", "record 'nobody' was not found"),
    ("store.all('users')", "ArgumentError", "by name: namespace"),
    ("store.all(order='created')", "ValidationError", "'created_at'"),
    ("store.all(state='deleted')", "ValidationError", "'forgotten'"),
    ("store.update('r1', 'new text')", "ArgumentError", "by name: namespace, key"),
    ("store.update('r1', text='new')", "ArgumentError", "use 'content'"),
    ("store.update('nobody', content='x')", "NotFoundError", "live record 'nobody'"),
    ("store.update(store.get('r1'), content='x')", "ValidationError", "use the id"),
    ("store.delete('r1')", "AttributeError", "use 'forget'"),
    ("store.forget()", "ValidationError", "needs ids, a namespace or a filter"),
    ("store.forget(store.get('r1'))", "ValidationError", "use the id of the MemoryRecord"),
    ("store.touch(store.recall('fact'))", "ValidationError", "use the id of the RecallResult"),
    ("store.reinforce('r1', 5)", "ValidationError", "amount must lie in [0, 1]"),
    ("store.record_outcome('r1', True)", "ValidationError", "'worked', 'failed', 'partial'"),
    ("store.resolve('r1', 'r1')", "ValidationError", "both kept and dropped"),
    ("store.relate('r1', 'r2')", "ArgumentError", "missing a required argument: 'kind'"),
    ("store.consolidate('users')", "ArgumentError", "by name: namespace, where"),
    ("store.consolidate(similarity_threshold=0.9)", "ArgumentError", "use 'similarity'"),
    ("store.expire(retention=30)", "ValidationError", "need a namespace; EVERYWHERE"),
    ("store.for_source('web').update('r1', content='x')", "SourceError", "a handle for 'web'"),
    # history and files
    ("store.as_of(10**6)", "ValidationError", "a time is given as a float"),
    ("store.as_of(datetime(2026, 1, 1))", "ValidationError", "a time zone"),
    ("store.as_of(1).recall('x')", "AttributeError", "recall, pack, why_not and audit take as_of="),
    ("AsyncPast(store.as_of(1)).search('x')", "AttributeError", "take as_of=past.seq"),
    ("store.undo(9999)", "NotFoundError", "journal entry"),
    ("store.history()", "AttributeError", "use 'log'"),
    ("store.import_('note.txt')", "NotABethinkFileError", "not the header of a bethink export"),
    ("store.merge_from('nobody.db')", "StorageError", "there is no such file"),
    ("store.merge_from(store)", "ValidationError", "merged with itself"),
    ("store.backup('mine.db')", "ValidationError", "overwrites nothing"),
    ("closed.recall('x')", "StoreClosedError", "open it again with MemoryStore(location)"),
    # working memories
    ("KeyedMemory(store).set('k', 1)", "AttributeError", "use 'remember'"),
    ("KeyedMemory(store).remember('k', object())", "ValidationError", "which JSON cannot"),
    ("KeyedMemory(store).increment('text')", "ValidationError", "must be a number"),
    ("KeyedMemory(store).update('text', print)", "ValidationError", "return the new value"),
    ("MessageLog(store, 's').append('hi')", "ValidationError", "a list of mappings"),
    ("Files(store).open('a')", "AttributeError", "use 'read'"),
    ("LongTermMemory(3).search([1.0])", "DimensionError", "expected 3"),
    ("LongTermMemory().search([1.0], k=2)", "ArgumentError", "use 'top_k'"),
    ("ShortTermMemory('10')", "ValidationError", "max_items must be an int"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    Path("note.txt").write_text("hello\n" * 200, encoding="utf-8")
    with closing(sqlite3.connect("other.db")) as connection:
        connection.execute("CREATE TABLE notes (text)")
    with MemoryStore("mine.db", embedder=bethink.HashEmbedder(8)) as mine:
        mine.store("a fact")
    return tmp_path


@pytest.fixture
def stores(folder: Path) -> Iterator[dict[str, MemoryStore]]:
    closed = MemoryStore()
    closed.close()
    with MemoryStore() as store:
        store.store("a fact", id="r1")
        store.store("a whale", id="r2")
        KeyedMemory(store).remember("text", "x")
        yield {"store": store, "closed": closed}


def test_the_sweep_has_a_hundred_mistakes() -> None:
    assert len(MISTAKES) >= 100


@pytest.mark.parametrize(("call", "error", "remedy"), MISTAKES, ids=[call for call, *_ in MISTAKES])
def test_a_mistake_is_answered_with_the_remedy(
    stores: dict[str, MemoryStore], call: str, error: str, remedy: str
) -> None:
    with pytest.raises((BethinkError, AttributeError)) as caught:
        eval(call, NAMES | stores)
    assert type(caught.value).__name__ == error
    assert remedy in str(caught.value)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_copied_store_is_told_to_be_opened_again(copied: Callable[[Any], object]) -> None:
    with (
        MemoryStore() as store,
        pytest.raises(TypeError, match="pass its location and open the file again"),
    ):
        copied(store)


def test_a_store_in_a_process_pool_is_told_to_be_opened_again() -> None:
    with (
        MemoryStore() as store,
        ProcessPoolExecutor(1) as pool,
        pytest.raises(TypeError, match="pass its location and open the file again"),
    ):
        pool.submit(store.recall, "x").result()


def test_a_damaged_file_names_the_verb_that_repairs(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path, embedder=bethink.HashEmbedder(8)) as store:
        store.store_many([f"fact number {number} about a whale" for number in range(500)])
    pages = bytearray(path.read_bytes())
    pages[4096 * 2 : -4096] = b"\xff" * (len(pages) - 4096 * 3)
    path.write_bytes(pages)
    with (
        pytest.raises(CorruptStoreError, match=r"repair\(\) makes indexes and vectors again"),
        MemoryStore(path) as store,
    ):
        store.all()


def test_a_tenant_of_asterisks_has_a_namespace() -> None:
    with MemoryStore() as store:
        store.store("x", namespace=f"users/{bethink.segment('*')}")
        assert store.count(namespace=f"users/{bethink.segment('*')}") == 1
    assert bethink.unsegment(bethink.segment("**")) == "**"
