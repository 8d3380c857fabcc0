"""The storage behind crewAI's unified memory, on crewAI's own records."""

from __future__ import annotations

import asyncio
import copy
import importlib
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink import EVERYWHERE, MemoryStore, StorageError, ValidationError
from bethink_adapters.crewai import CrewStorage, RememberingEmbedder
from bethink_adapters.crewai.scoring import cosine

from .crewai_offline import X, Y, contents, embed, fields, found, get, record, unified

pytestmark = pytest.mark.filterwarnings("ignore")

DAY = datetime(2026, 3, 1, 12, 30, 15, 123456)
OLD = datetime(2020, 1, 1)
WEST = datetime(2019, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2)))  # an hour after OLD


@pytest.fixture
def storage(store: MemoryStore) -> CrewStorage:
    return CrewStorage(store)


@pytest.fixture
def far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if sys.platform == "win32":
        pytest.skip("the time zone of a process cannot be changed")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        yield
    time.tzset()


@unified
class TestRecords:
    def test_is_a_storage_backend_without_registration(self, storage: CrewStorage) -> None:
        backend = importlib.import_module("crewai.memory.storage.backend")
        assert isinstance(storage, backend.StorageBackend)

    def test_every_field_comes_back(self, storage: CrewStorage) -> None:
        given = record(
            "Dana owns the launch.",
            "/crew/acme",
            categories=["plan", "people"],
            metadata={"lang": "en", "dates": [], "nested": {"n": 1.5}},
            importance=0.75,
            created_at=DAY,
            last_accessed=DAY + timedelta(days=1),
            source="user-1",
            private=True,
            embedding=[0.5, 0.25],
        )
        storage.save([given])
        kept = storage.get_record(given.id)
        assert fields(kept) == fields(given)

    def test_bookkeeping_stays_out_of_the_prompt(self, storage: CrewStorage) -> None:
        from crewai.memory.types import MemoryMatch

        storage.save([record("Dana owns the launch.", metadata={"lang": "en"}, private=True)])
        [kept] = storage.list_records()
        text = MemoryMatch(record=kept, score=1.0).format()
        assert text.splitlines() == ["- (score=1.00) Dana owns the launch.", "  lang: en"]

    def test_records_are_bethinks_records(self, store: MemoryStore, storage: CrewStorage) -> None:
        given = record("Dana owns it.", "/a/b", categories=["plan"], importance=0.9, source="s")
        storage.save([given])
        kept = store.get(given.id)
        assert kept is not None
        assert (kept.namespace, kept.tags, kept.source) == ("crew/a/b", ("plan",), "s")
        assert (kept.content, kept.importance) == ("Dana owns it.", 0.9)

    def test_metadata_says_who_said_it_and_where(
        self, store: MemoryStore, storage: CrewStorage
    ) -> None:
        told = {"author": "Ann", "thread": "s1"}
        odd = {"author": ["Ann", "Bob"], "thread": ""}
        storage.save([record(id="told", metadata=told), record(id="odd", metadata=odd)])
        kept = {found.id: (found.author, found.thread) for found in store.all(namespace="crew")}
        assert kept == {"told": ("Ann", "s1"), "odd": (None, None)}
        assert get(storage, "told").metadata == told

    @pytest.mark.parametrize("when", [DAY.replace(tzinfo=UTC), DAY])
    def test_times_come_back_naive(
        self, storage: CrewStorage, when: datetime, far_from_utc: None
    ) -> None:
        storage.save([record(created_at=when, last_accessed=when)])
        [kept] = storage.list_records()
        assert (kept.created_at, kept.last_accessed) == (DAY, DAY)

    def test_times_beyond_the_calendar_come_back_as_its_ends(
        self, store: MemoryStore, storage: CrewStorage
    ) -> None:
        storage.save([record("last", created_at=datetime.max)])
        store.store("first", namespace="crew", occurred_at=-1e12)
        last, first = storage.list_records()
        assert (first.created_at, last.created_at.year) == (datetime.min, 9999)

    def test_saving_an_id_again_replaces_the_record(self, storage: CrewStorage) -> None:
        storage.save([record("old", "/a", id="r"), record("old", "/a", id="other")])
        storage.save([record("first", "/b", id="r"), record("last", "/b", id="r")])
        assert sorted(contents(storage.list_records())) == ["last", "old"]
        assert get(storage, "r").scope == "/b"

    def test_a_deleted_record_can_be_saved_again(self, storage: CrewStorage) -> None:
        storage.save([record("first", "/a", id="r")])
        storage.delete(record_ids=["r"])
        assert storage.get_record("r") is None
        storage.save([record("second", "/b", id="r", embedding=Y)])
        assert [(r.content, r.scope, s) for r, s in storage.search(Y)] == [("second", "/b", 1.0)]

    def test_of_records_saved_again_the_erased_stay_away(self, storage: CrewStorage) -> None:
        storage.save([record("old", id=id) for id in ("kept", "deleted", "erased")])
        assert (storage.delete(record_ids=["deleted"]), storage.place[0].erase("erased")) == (1, 1)
        storage.save([record(id, id=id) for id in ("kept", "deleted", "erased", "new")])
        assert sorted(contents(storage.list_records())) == ["deleted", "kept", "new"]

    def test_a_failing_save_brings_nothing_back(self, storage: CrewStorage) -> None:
        storage.save([record("deleted", id="r"), record("kept")])
        storage.delete(record_ids=["r"])
        longer = record("longer", id="r", embedding=[1.0, 0.0, 0.0])
        for wrong in ([longer], [record(id="r"), record(id=" ")]):
            with pytest.raises(ValueError, match=r"dimension|empty"):
                storage.save(wrong)
        assert contents(storage.list_records()) == ["kept"]

    def test_update_without_embedding_keeps_the_vector(self, storage: CrewStorage) -> None:
        given = record("same text")
        storage.save([given])
        storage.update(given.model_copy(update={"importance": 0.9, "embedding": None}))
        [(kept, score)] = storage.search(X)
        assert (kept.importance, kept.embedding, score) == (0.9, X, 1.0)

    def test_new_text_without_embedding_drops_the_old_vector(self, storage: CrewStorage) -> None:
        given = record("old text")
        storage.save([given])
        storage.update(given.model_copy(update={"content": "new text", "embedding": None}))
        [kept] = storage.list_records()
        assert (kept.content, kept.embedding) == ("new text", [0.0, 0.0])
        assert [score for _, score in storage.search(X)] == [0.0]

    def test_what_json_cannot_hold_leaves_the_record_as_it_was(self, storage: CrewStorage) -> None:
        given = record(metadata={"version": 1})
        storage.save([given])
        with pytest.raises(TypeError, match="not JSON serializable"):
            storage.update(given.model_copy(update={"content": "new", "metadata": {"at": DAY}}))
        assert fields(storage.get_record(given.id)) == fields(given)

    def test_many_records_are_replaced_and_deleted_by_id(self, storage: CrewStorage) -> None:
        ids = [f"r{n}" for n in range(1200)]
        storage.save([record("old", id=id, embedding=None) for id in ids[:600]])
        storage.save([record("new", id=id, embedding=None) for id in ids])
        assert contents(storage.list_records(limit=2000)) == ["new"] * 1200
        assert storage.delete(record_ids=ids[:1100]) == 1100
        assert storage.count() == 100

    def test_blank_categories_are_left_out(self, storage: CrewStorage) -> None:
        storage.save([record(categories=["", "plan", " "])])
        assert storage.list_categories() == {"plan": 1}

    def test_any_text_can_be_saved(self, storage: CrewStorage) -> None:
        odd = "launch \udc80 " * 60_000
        storage.save([record(odd, categories=[odd], metadata={"author": odd, "thread": odd})])
        [kept] = storage.list_records()
        assert kept.content.startswith("launch \N{REPLACEMENT CHARACTER} launch")
        assert kept.metadata["author"] == odd

    @pytest.mark.parametrize("source", ["https://x/" + "q" * 1100, "launch \udc80", "", None])
    def test_any_source_can_be_saved(
        self, store: MemoryStore, storage: CrewStorage, source: str | None
    ) -> None:
        storage.save([record("beside it"), record(id="r", source=source)])
        kept = store.get("r")
        assert kept is not None
        assert (kept.source or "")[:8] == (source or "")[:8].replace("\udc80", "\ufffd")
        assert (get(storage, "r").source, storage.count()) == (source, 2)

    def test_numbers_that_are_not_finite_are_kept_as_text(self, storage: CrewStorage) -> None:
        odd = {"scores": [float("nan"), 0.5], "best": float("inf"), "worst": float("-inf")}
        storage.save([record("beside it"), record(id="r", metadata=odd)])
        kept = {"scores": ["NaN", 0.5], "best": "Infinity", "worst": "-Infinity"}
        assert (get(storage, "r").metadata, storage.count()) == (kept, 2)

    def test_touch_counts_as_one_use(self, tmp_path: Path) -> None:
        now = [1_000.0]
        with MemoryStore(tmp_path / "m.db", clock=lambda: now[0]) as store:
            storage = CrewStorage(store)
            storage.save([record(id="r", last_accessed=datetime(1970, 1, 1))])
            now[0] = 2_000.0
            storage.touch_records(["r", "unknown"])
            assert get(storage, "r").last_accessed == datetime(1970, 1, 1, 0, 33, 20)

    def test_writes_may_nest_in_the_write_lock(self, storage: CrewStorage) -> None:
        with storage.write_lock, storage.write_lock:
            storage.save([record()])
        assert storage.count() == 1

    def test_copies_are_the_storage_itself(self, storage: CrewStorage) -> None:
        assert copy.deepcopy({"storage": storage})["storage"] is storage
        assert copy.deepcopy(storage.embedder) is storage.embedder

    def test_awaitable_twins_do_the_same(self, storage: CrewStorage) -> None:
        async def use() -> tuple[list[str], int]:
            await storage.asave([record("kept", "/a"), record("dropped", "/b")])
            hits = await storage.asearch(X, scope_prefix="/a")
            return [r.content for r, _ in hits], await storage.adelete(scope_prefix="/b")

        assert asyncio.run(use()) == (["kept"], 1)
        assert storage.count() == 1


@unified
class TestScopes:
    def test_sibling_scopes_stay_apart(self, storage: CrewStorage) -> None:
        storage.save([record("one", "/user/1"), record("ten", "/user/10")])
        assert found(storage, scope_prefix="/user/1") == ["one"]
        assert (storage.count("/user/1"), storage.count("/user")) == (1, 2)
        storage.reset("/user/1")
        assert contents(storage.list_records()) == ["ten"]

    @pytest.mark.parametrize(
        "scope", ["/100%", "/o'brien", "/a\\b", "/a b/ c", "/..", "/%2F", "/a\x00b", "/用户"]
    )
    def test_any_text_makes_a_scope(self, storage: CrewStorage, scope: str) -> None:
        storage.save([record("here", scope), record("there", scope + "x")])
        assert [r.scope for r in storage.list_records(scope)] == [scope]
        assert storage.list_scopes("/")[0].startswith("/" + scope.split("/")[1])

    @pytest.mark.parametrize("scope", ["a/b", "/a/b/", "//a//b"])
    def test_slashes_are_put_right(self, storage: CrewStorage, scope: str) -> None:
        storage.save([record("here", scope)])
        assert [r.scope for r in storage.list_records(scope)] == ["/a/b"]
        assert storage.list_scopes("/a/") == ["/a/b"]

    def test_info_describes_a_scope_and_all_below(self, storage: CrewStorage) -> None:
        later = DAY + timedelta(days=1)
        storage.save([record(scope="/a", categories=["x"], created_at=DAY), record(scope="/b")])
        storage.save([record(scope="/a/c/d", categories=["y", "x"], created_at=later)])
        info = storage.get_scope_info("/a/")
        assert (info.path, info.record_count, info.categories) == ("/a", 2, ["x", "y"])
        assert (info.oldest_record, info.newest_record) == (DAY, later)
        assert info.child_scopes == ["/a/c"]
        assert storage.get_scope_info("/nowhere").record_count == 0

    def test_records_are_listed_newest_first(self, storage: CrewStorage) -> None:
        days = [3, 1, 2, 0]
        storage.save([record(str(n), "/a", created_at=DAY + timedelta(days=n)) for n in days])
        assert contents(storage.list_records("/a", limit=2, offset=1)) == ["2", "1"]
        assert storage.list_records("/a", offset=-1) == storage.list_records(limit=0) == []

    def test_other_records_of_the_store_are_not_the_crews(
        self, store: MemoryStore, storage: CrewStorage
    ) -> None:
        other = store.store("not a crew's", namespace="crews")
        storage.save([record("the crew's")])
        assert found(storage) == contents(storage.list_records()) == ["the crew's"]
        assert storage.get_record(other.id) is None
        assert storage.delete(record_ids=[other.id]) == 0
        storage.reset()
        assert contents(store.all(namespace=EVERYWHERE)) == ["not a crew's"]


@unified
class TestDeleting:
    @pytest.fixture(autouse=True)
    def _records(self, storage: CrewStorage) -> None:
        storage.save([record("root", "/", id="root", created_at=OLD)])
        storage.save([record("a-old", "/a", id="a-old", created_at=OLD, categories=["x"])])
        storage.save([record("a-new", "/a", id="a-new", created_at=DAY, metadata={"k": None})])
        storage.save([record("b-old", "/b", id="b-old", created_at=OLD, metadata={"k": 1})])

    @pytest.mark.parametrize(
        ("criteria", "gone"),
        [
            ({"record_ids": ["a-old", "b-old"], "scope_prefix": "/a"}, {"a-old"}),
            ({"record_ids": ["a-new"], "categories": ["x"]}, set()),
            ({"record_ids": []}, set()),
            ({"categories": []}, set()),
            ({"record_ids": ["nobody", "' OR 1=1"]}, set()),
            ({"scope_prefix": "/a"}, {"a-old", "a-new"}),
            ({"scope_prefix": "/a", "older_than": DAY}, {"a-old"}),
            ({"older_than": DAY}, {"root", "a-old", "b-old"}),
            ({"older_than": WEST}, {"root", "a-old", "b-old"}),
            ({"categories": ["x", "y"]}, {"a-old"}),
            ({"metadata_filter": {"k": 1}}, {"b-old"}),
            ({"metadata_filter": {"k": None}, "scope_prefix": "/a"}, {"a-old", "a-new"}),
            ({}, {"root", "a-old", "a-new", "b-old"}),
        ],
    )
    def test_every_criterion_must_hold(
        self, storage: CrewStorage, criteria: Any, gone: set[str]
    ) -> None:
        before = {r.id for r in storage.list_records()}
        assert storage.delete(**criteria) == len(gone)
        assert before - {r.id for r in storage.list_records()} == gone

    def test_deleted_records_can_be_restored(
        self, store: MemoryStore, storage: CrewStorage
    ) -> None:
        storage.reset()
        assert storage.count() == 0
        store.restore([entry.id for entry in store.log() if entry.action == "forget" and entry.id])
        assert storage.count() == 4


@unified
class TestSearch:
    def test_scores_are_cosines_from_zero_to_one(self, storage: CrewStorage) -> None:
        vectors = {"same": [2.0, 0.0], "near": [3.0, 4.0], "off": Y, "opposite": [-1.0, 0.0]}
        storage.save([record(text, embedding=v) for text, v in vectors.items()])
        scores = {r.content: score for r, score in storage.search(X)}
        assert scores == pytest.approx({"same": 1.0, "near": 0.6, "off": 0.0, "opposite": 0.0})
        assert found(storage, limit=2) == ["same", "near"]
        assert found(storage, min_score=0.6) == ["same", "near"]

    def test_of_those_that_look_away_the_nearest_come_first(self, storage: CrewStorage) -> None:
        storage.save([record("slightly away", embedding=[-0.1, 0.995])])
        storage.save([record("opposite", embedding=[-1.0, 0.0])])
        assert found(storage, limit=1) == ["slightly away"]

    def test_best_are_the_best_of_all(self, storage: CrewStorage) -> None:
        random = np.random.default_rng(7)
        rows, query = random.normal(size=(300, 8)), random.normal(size=8)
        nearness = rows @ query / np.linalg.norm(rows, axis=1)
        importance = random.random(300)
        storage.save(
            [record(str(n), embedding=list(rows[n]), importance=importance[n]) for n in range(300)]
        )
        best = [str(n) for n in np.argsort(-nearness)]
        for limit in (1, 10, 60):
            assert contents(r for r, _ in storage.search(list(query), limit=limit)) == best[:limit]

    def test_rare_category_is_found_among_many(self, storage: CrewStorage) -> None:
        storage.save([record(f"common {n}", categories=["common"]) for n in range(60)])
        storage.save([record("rare one", categories=["rare"], embedding=[0.1, 1.0])])
        assert found(storage, categories=["rare", "unknown"], limit=5) == ["rare one"]
        assert len(found(storage, categories=[], limit=5)) == 5

    def test_metadata_filter_comes_before_the_ranking(self, storage: CrewStorage) -> None:
        storage.save([record(f"fr {n}", metadata={"lang": "fr"}) for n in range(20)])
        storage.save([record("en", metadata={"lang": "en", "n": 1}, embedding=Y)])
        assert found(storage, metadata_filter={"lang": "en", "n": 1}, limit=1) == ["en"]

    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_nearness_alone_decides(self, storage: CrewStorage, limit: int) -> None:
        storage.save([record("near", importance=0.0, created_at=OLD)])
        storage.save([record("far", importance=1.0, embedding=[0.99, 0.1])])
        storage.save([record("farther", importance=1.0, embedding=[0.9, 0.1])])
        assert found(storage, limit=limit) == ["near", "far", "farther"][:limit]

    def test_searching_nothing_finds_nothing(self, storage: CrewStorage) -> None:
        assert storage.search(X) == []
        storage.save([record()])
        assert storage.search([]) == storage.search(X, limit=0) == []

    def test_searching_does_not_count_as_use(self, storage: CrewStorage) -> None:
        storage.save([record(id="r", last_accessed=DAY)])
        storage.search(X)
        assert get(storage, "r").last_accessed == DAY


@unified
class TestDimension:
    @pytest.fixture
    def error(self) -> type[Exception]:
        backend = importlib.import_module("crewai.memory.storage.backend")
        error: type[Exception] = getattr(backend, "EmbeddingDimensionMismatchError", ValueError)
        return error

    def test_other_embedders_are_refused(self, storage: CrewStorage, error: Any) -> None:
        given = record()
        storage.save([given])
        longer = given.model_copy(update={"embedding": [1.0, 0.0, 0.0]})
        for call in (
            lambda: storage.save([longer.model_copy(update={"id": "new"})]),
            lambda: storage.update(longer),
            lambda: storage.search([1.0, 0.0, 0.0]),
        ):
            with pytest.raises(error, match="2-dimensional"):
                call()
        assert found(storage) == ["a fact"]

    def test_one_batch_has_one_dimension(self, storage: CrewStorage, error: Any) -> None:
        with pytest.raises(error):
            storage.save([record(), record(embedding=[1.0, 0.0, 0.0])])
        assert storage.count() == 0

    def test_records_without_embedding_fix_no_dimension(self, storage: CrewStorage) -> None:
        storage.save([record("bare", embedding=None)])
        storage.save([record("short")])
        assert found(storage) == ["short", "bare"]

    def test_reset_lets_another_embedder_start(self, storage: CrewStorage) -> None:
        storage.save([record("old", "/a")])
        storage.reset(None)
        storage.save([record("new", embedding=[1.0, 0.0, 0.0])])
        assert contents(r for r, _ in storage.search([1.0, 0.0, 0.0])) == ["new"]

    def test_declared_dimension_holds_from_the_start(self, store: MemoryStore, error: Any) -> None:
        with pytest.raises(error):
            CrewStorage(store, vector_dim=3).save([record()])


@unified
class TestHybrid:
    """The embedder sees the words and the storage the vector: together they search by both."""

    @staticmethod
    def misleading(texts: list[str]) -> list[list[float]]:
        """Embed by the first letter, and a trace of the length to tell the texts apart."""
        return [[1.0, ord(text[0]) / 100, len(text) / 10_000] for text in texts]

    @pytest.fixture
    def hybrid(self, store: MemoryStore) -> CrewStorage:
        storage = CrewStorage(store, embed=self.misleading)
        texts = ["Error E4711 means a blocked pump.", "What a nice day.", "When in doubt, ask."]
        vectors = storage.embedder(texts)
        storage.save([record(t, embedding=v) for t, v in zip(texts, vectors, strict=True)])
        return storage

    def test_words_count_when_the_embedder_made_the_query(self, hybrid: CrewStorage) -> None:
        [query] = hybrid.embedder(["What is E4711?"])
        (best, score), *_ = hybrid.search(query)
        assert best.content.startswith("Error E4711")
        assert score > 0.99

    def test_vector_alone_decides_about_a_foreign_query(self, hybrid: CrewStorage) -> None:
        [query] = self.misleading(["What is E4711?"])
        (best, _), *_ = hybrid.search(query)
        assert best.content == "What a nice day."

    def test_scores_never_rise_down_the_list(self, hybrid: CrewStorage) -> None:
        [query] = hybrid.embedder(["Which pump has E4711?"])
        records, scores = zip(*hybrid.search(query), strict=True)
        assert records[0].content.startswith("Error E4711")
        assert list(scores) == sorted(scores, reverse=True)
        assert scores[0] == max(cosine(query, r.embedding) for r in records)

    def test_any_text_is_a_question(self, hybrid: CrewStorage) -> None:
        [query] = hybrid.embedder(["What is E4711 \udc80? " * 30_000])
        (best, _), *_ = hybrid.search(query)
        assert best.content.startswith("Error E4711")

    def test_nothing_irrelevant_is_returned_for_known_words(self, store: MemoryStore) -> None:
        storage = CrewStorage(store)
        texts = ["Dana owns the launch.", "Quarks have colour."]
        storage.save([record(text, embedding=storage.embedder([text])[0]) for text in texts])
        for question in ("Who owns the launch?", "who owns the launch?"):
            [query] = storage.embedder([question])
            assert contents(r for r, _ in storage.search(query)) == ["Dana owns the launch."]


class TestEmbedder:
    def test_default_is_the_stores_own(self, store: MemoryStore) -> None:
        storage = CrewStorage(store)
        [vector] = storage.embedder(["Dana owns the launch."])
        assert vector == store.embedder.embed(["Dana owns the launch."])[0].tolist()
        assert storage.embedder.text_of(vector) == "Dana owns the launch."

    def test_text_survives_single_precision(self) -> None:
        embedder = RememberingEmbedder(lambda texts: [[0.1, 1 / 3] for _ in texts])
        [vector] = embedder(["a text"])
        assert embedder.text_of([float(f"{x:.9g}") for x in vector]) == "a text"

    @pytest.mark.parametrize("vector", [X, [0.0] * 64], ids=["one", "zeros"])
    def test_texts_of_one_vector_are_told_apart(self, vector: list[float]) -> None:
        embedder = RememberingEmbedder(lambda texts: [vector for _ in texts])
        texts = ["one", "two", "three", "two", "\ud800"]
        found = [*embedder(texts[:1]), *embedder(texts[1:])]
        assert [embedder.text_of(each) for each in found] == texts
        assert embedder(texts) == found
        assert np.allclose(found, vector, rtol=0.002)

    def test_a_vector_that_cannot_be_told_apart_is_nobodys(self) -> None:
        embedder = RememberingEmbedder(lambda texts: [[0.0] for _ in texts])
        found = embedder([str(number) for number in range(9)])
        assert all(embedder.text_of(each) is None for each in found)

    def test_only_the_latest_are_remembered(self) -> None:
        embedder = RememberingEmbedder(lambda texts: [[float(text)] for text in texts], capacity=2)
        embedder(["1", "2"])
        embedder(["1"])
        embedder(["3"])
        assert [embedder.text_of([float(n)]) for n in (1, 2, 3)] == ["1", None, "3"]

    def test_threads_share_it(self) -> None:
        embedder = RememberingEmbedder(lambda texts: [[float(text)] for text in texts])
        texts = [str(n) for n in range(200)]
        with ThreadPoolExecutor(8) as pool:
            vectors = list(pool.map(lambda text: embedder([text])[0], texts))
        assert [embedder.text_of(vector) for vector in vectors] == texts

    def test_room_for_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="capacity"):
            RememberingEmbedder(embed, capacity=0)


@unified
class TestPrivacy:
    def test_rebuilt_records_stay_private(self, storage: CrewStorage) -> None:
        storage.save([record("Alice earns 90k.", id="r", source="alice", private=True)])
        storage.update(record("Alice earns 95k.", id="r"))
        kept = get(storage, "r")
        assert (kept.content, kept.source, kept.private) == ("Alice earns 95k.", "alice", True)

    def test_privacy_can_be_lifted_on_purpose(self, storage: CrewStorage) -> None:
        storage.save([record("Alice earns 90k.", id="r", source="alice", private=True)])
        storage.update(record("Alice earns 90k.", id="r", source="hr", private=False))
        kept = get(storage, "r")
        assert (kept.source, kept.private) == ("hr", False)


@unified
class TestStores:
    def test_given_store_stays_open(self, store: MemoryStore, storage: CrewStorage) -> None:
        storage.save([record()])
        storage.close()
        assert store.count(namespace="crew") == 1

    def test_own_store_in_memory_is_not_lost_by_closing(self) -> None:
        storage = CrewStorage(path=":memory:")
        storage.save([record()])
        storage.close()
        assert storage.count() == 1

    def test_a_store_or_path_is_needed(self) -> None:
        with pytest.raises(ValidationError, match="store"):
            CrewStorage()

    def test_closed_store_is_logged_and_never_a_runtime_error(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = MemoryStore(tmp_path / "m.db")
        storage = CrewStorage(store)
        store.close()
        for call in (
            lambda: storage.save([record()]),
            lambda: storage.search(X),
            lambda: storage.delete(),
            lambda: storage.list_scopes(),
        ):
            with pytest.raises(StorageError, match="closed"):
                call()
        assert {r.name for r in caplog.records} == {"bethink_adapters.crewai.errors"}

    def test_threads_lose_nothing(self, tmp_path: Path) -> None:
        with MemoryStore(tmp_path / "m.db") as store:
            storage = CrewStorage(store)
            with ThreadPoolExecutor(8) as pool:
                list(
                    pool.map(lambda n: storage.save([record(f"fact {n}", f"/{n % 3}")]), range(40))
                )
            assert len(set(contents(storage.list_records()))) == 40

    def test_processes_lose_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "m.db"
        parent = CrewStorage(path)
        parent.save([record("parent")])
        parent.close()
        command = [sys.executable, "-c", WRITER, str(path)]
        writers = [subprocess.Popen([*command, str(n)]) for n in range(2)]
        assert [writer.wait(120) for writer in writers] == [0, 0]
        storage = CrewStorage(path)
        assert len(set(contents(storage.list_records()))) == 41
        assert len(found(storage, limit=100)) == 41
        storage.close()


# What a process that saves needs of crewAI's record; importing crewAI itself takes seconds.
WRITER = """
import sys
from datetime import datetime
from types import SimpleNamespace
from bethink_adapters.crewai import CrewStorage

assert "crewai" not in sys.modules
DAY = datetime(2026, 1, 1)
storage = CrewStorage(sys.argv[1])
for n in range(20):
    storage.save([SimpleNamespace(
        id=f"{sys.argv[2]}-{n}", content=f"fact {n} of {sys.argv[2]}", scope=f"/{n % 3}",
        categories=[], metadata={}, importance=0.5, embedding=[1.0, 0.0],
        source=None, private=False, created_at=DAY, last_accessed=DAY, model_fields_set=set(),
    )])
"""
