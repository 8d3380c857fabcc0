"""bethink behind crewAI: the unified memory from 1.10 on, the external memory before."""

from __future__ import annotations

import asyncio
import copy
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("crewai")

import crewai

from bethink import EVERYWHERE, MemoryStore, StorageError, segment
from bethink_adapters.crewai import CrewExternalStorage, CrewStorage, RememberingEmbedder
from bethink_adapters.crewai.scoring import cosine

from .contract import AdapterContract, GatedStore, cancel_at_gate
from .crewai_offline import RELEASE, UNIFIED, OfflineLLM, crew, embed, no_network

pytestmark = pytest.mark.filterwarnings("ignore")
unified = pytest.mark.skipif(not UNIFIED, reason="crewAI has a unified memory since 1.10")
rooted = pytest.mark.skipif(RELEASE < (1, 12), reason="root_scope came with crewAI 1.12")
external = pytest.mark.skipif(UNIFIED, reason="crewAI 1.10 dropped its external memory")

X, Y = [1.0, 0.0], [0.0, 1.0]
DAY = datetime(2026, 3, 1, 12, 30, 15, 123456)
OLD = datetime(2020, 1, 1)
WEST = datetime(2019, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2)))  # an hour after OLD


def record(content: str = "a fact", scope: str = "/", **fields: Any) -> Any:
    """Make a record of crewAI's; its embedding points along x unless *fields* say otherwise."""
    from crewai.memory.types import MemoryRecord

    return MemoryRecord(content=content, scope=scope, **{"embedding": X, **fields})


def contents(records: Any) -> list[str]:
    return [r.content for r in records]


def found(storage: CrewStorage, **options: Any) -> list[str]:
    return [r.content for r, _ in storage.search(X, **options)]


def fields(record: Any) -> dict[str, Any]:
    """Return all of a record; crewAI leaves the embedding out of its own dumps."""
    return {**record.model_dump(), "embedding": record.embedding}


@pytest.fixture
def storage(store: MemoryStore) -> CrewStorage:
    return CrewStorage(store)


@pytest.fixture
def llm() -> OfflineLLM:
    return OfflineLLM("Acme's launch is on 3 March 2027.")


@pytest.fixture
def remember_in(llm: OfflineLLM) -> Iterator[Callable[..., Any]]:
    """Make crewAI memories, and close them after the test."""
    with ExitStack() as closing:

        def make(storage: CrewStorage, **options: Any) -> Any:
            options = {"llm": llm, "embedder": embed, **options}
            memory = crewai.Memory(storage=storage, **options)
            closing.callback(getattr(memory, "close", memory.drain_writes))
            return memory

        yield make


def state(memory: Any, text: str, scope: str = "/facts", **options: Any) -> Any:
    """Remember *text* with all fields given, so that no model is asked about them."""
    return memory.remember(text, scope=scope, categories=["c"], importance=0.5, **options)


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

    @pytest.mark.parametrize("when", [DAY.replace(tzinfo=UTC), DAY])
    def test_times_come_back_naive(self, storage: CrewStorage, when: datetime) -> None:
        storage.save([record(created_at=when, last_accessed=when)])
        [kept] = storage.list_records()
        assert (kept.created_at, kept.last_accessed) == (DAY, DAY)

    def test_saving_an_id_again_replaces_the_record(self, storage: CrewStorage) -> None:
        storage.save([record("old", "/a", id="r"), record("old", "/a", id="other")])
        storage.save([record("first", "/b", id="r"), record("last", "/b", id="r")])
        assert sorted(contents(storage.list_records())) == ["last", "old"]
        assert storage.get_record("r").scope == "/b"  # type: ignore[union-attr]

    def test_a_deleted_record_can_be_saved_again(self, storage: CrewStorage) -> None:
        storage.save([record("first", "/a", id="r")])
        storage.delete(record_ids=["r"])
        assert storage.get_record("r") is None
        storage.save([record("second", "/b", id="r", embedding=Y)])
        assert [(r.content, r.scope, s) for r, s in storage.search(Y)] == [("second", "/b", 1.0)]

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

    def test_blank_categories_are_left_out(self, storage: CrewStorage) -> None:
        storage.save([record(categories=["", "plan", " "])])
        assert storage.list_categories() == {"plan": 1}

    def test_touch_counts_as_one_use(self, tmp_path: Path) -> None:
        now = [1_000.0]
        with MemoryStore(tmp_path / "m.db", clock=lambda: now[0]) as store:
            storage = CrewStorage(store)
            storage.save([record(id="r", last_accessed=datetime(1970, 1, 1))])
            now[0] = 2_000.0
            storage.touch_records(["r", "unknown"])
            assert storage.get_record("r").last_accessed == datetime(1970, 1, 1, 0, 33, 20)  # type: ignore[union-attr]

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

    def test_rare_category_is_found_among_many(self, storage: CrewStorage) -> None:
        storage.save([record(f"common {n}", categories=["common"]) for n in range(60)])
        storage.save([record("rare one", categories=["rare"], embedding=[0.1, 1.0])])
        assert found(storage, categories=["rare", "unknown"], limit=5) == ["rare one"]

    def test_metadata_filter_comes_before_the_ranking(self, storage: CrewStorage) -> None:
        storage.save([record(f"fr {n}", metadata={"lang": "fr"}) for n in range(20)])
        storage.save([record("en", metadata={"lang": "en", "n": 1}, embedding=Y)])
        assert found(storage, metadata_filter={"lang": "en", "n": 1}, limit=1) == ["en"]

    def test_importance_and_age_do_not_change_the_order(self, storage: CrewStorage) -> None:
        storage.save([record("near", importance=0.0, created_at=OLD)])
        storage.save([record("far", importance=1.0, embedding=[0.99, 0.1])])
        assert found(storage) == ["near", "far"]

    def test_searching_nothing_finds_nothing(self, storage: CrewStorage) -> None:
        assert storage.search(X) == []
        storage.save([record()])
        assert storage.search([]) == storage.search(X, limit=0) == []

    def test_searching_does_not_count_as_use(self, storage: CrewStorage) -> None:
        storage.save([record(id="r", last_accessed=DAY)])
        storage.search(X)
        assert storage.get_record("r").last_accessed == DAY  # type: ignore[union-attr]


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

    def test_nothing_irrelevant_is_returned_for_known_words(self, store: MemoryStore) -> None:
        storage = CrewStorage(store)
        texts = ["Dana owns the launch.", "Quarks have colour."]
        storage.save([record(text, embedding=storage.embedder([text])[0]) for text in texts])
        [query] = storage.embedder(["Who owns the launch?"])
        assert contents(r for r, _ in storage.search(query)) == ["Dana owns the launch."]

    def test_crewai_finds_by_words(
        self, hybrid: CrewStorage, remember_in: Callable[..., Any]
    ) -> None:
        memory = remember_in(hybrid, embedder=hybrid.embedder)
        [match] = memory.recall("What is E4711?", depth="shallow", limit=1)
        assert "E4711" in match.record.content


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

    def test_vector_of_two_texts_is_nobodys(self) -> None:
        embedder = RememberingEmbedder(lambda texts: [X for _ in texts])
        embedder(["one"])
        embedder(["one"])
        assert embedder.text_of(X) == "one"
        embedder(["two"])
        embedder(["two"])
        assert embedder.text_of(X) is None

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
class TestBound:
    """A bound view is a wall, whatever scopes a model asks for."""

    @pytest.fixture
    def one(self, storage: CrewStorage) -> CrewStorage:
        storage.save([record("root", "/", id="root"), record("mine", "/user/1/notes", id="mine")])
        storage.save([record("theirs", "/user/2/notes", id="theirs", categories=["secret"])])
        storage.save([record("ten", "/user/10", id="ten")])
        return storage.bound("/user/1")

    @pytest.mark.parametrize("prefix", [None, "/", "/user", "/user/1", "/user/2", "/user/10", "x"])
    def test_searches_stay_inside(self, one: CrewStorage, prefix: str | None) -> None:
        assert found(one, scope_prefix=prefix) == ["mine"]

    @pytest.mark.parametrize("prefix", [None, "/", "/user", "/user/1/notes", "/user/2"])
    def test_lists_show_what_is_inside(self, one: CrewStorage, prefix: str | None) -> None:
        seen = ["mine"] if prefix != "/user/2" else []
        assert contents(one.list_records(prefix)) == seen
        assert one.count(prefix) == one.get_scope_info(prefix or "/").record_count == len(seen)
        assert one.list_categories(prefix) == {}

    def test_other_branches_of_the_tree_are_hidden(self, one: CrewStorage) -> None:
        assert one.list_scopes("/") == ["/user"]
        assert one.list_scopes("/user") == ["/user/1"]
        assert one.list_scopes("/user/2") == []

    def test_foreign_ids_do_not_exist(self, storage: CrewStorage, one: CrewStorage) -> None:
        before = fields(storage.get_record("theirs"))
        one.touch_records(["theirs"])
        assert one.get_record("theirs") is None
        assert one.delete(record_ids=["theirs", "root"]) == 0
        assert one.delete("/user/2") == one.delete(categories=["secret"]) == 0
        assert fields(storage.get_record("theirs")) == before

    def test_writes_outside_are_refused(self, storage: CrewStorage, one: CrewStorage) -> None:
        moved = storage.get_record("mine").model_copy(update={"scope": "/user/2"})  # type: ignore[union-attr]
        for write in (
            lambda: one.save([record("planted", "/user/2")]),
            lambda: one.save([record("fine", "/user/1"), record("planted", "/")]),
            lambda: one.save([record("overwritten", "/user/1", id="theirs")]),
            lambda: one.update(record("overwritten", "/user/1", id="theirs")),
            lambda: one.update(moved),
        ):
            with pytest.raises(ValueError, match=r"theirs|outside"):
                write()
        assert sorted(contents(storage.list_records())) == ["mine", "root", "ten", "theirs"]

    @pytest.mark.parametrize("prefix", [None, "/", "/user", "/user/1"])
    def test_reset_is_confined(
        self, storage: CrewStorage, one: CrewStorage, prefix: str | None
    ) -> None:
        one.reset("/user/2")
        one.reset(prefix)
        assert sorted(contents(storage.list_records())) == ["root", "ten", "theirs"]

    def test_views_narrow_and_never_widen(self, one: CrewStorage) -> None:
        assert one.bound("/user/1/notes").root == "/user/1/notes"
        with pytest.raises(ValueError, match="outside"):
            one.bound("/user/2")

    @pytest.mark.parametrize("user", ["", "/", "..", "1/notes", "%", "\x00"])
    def test_any_id_makes_a_root_of_its_own(self, one: CrewStorage, user: str) -> None:
        storage = CrewStorage(one._store())
        view = storage.bound("/user", user)
        assert view.list_records() == []
        view.save([record("hers", view.root)])
        assert (
            contents(view.list_records()) == contents(storage.list_records(view.root)) == ["hers"]
        )

    def test_closing_a_view_leaves_the_store_open(self, tmp_path: Path) -> None:
        storage = CrewStorage(tmp_path / "crew.db")
        storage.bound("/user/1").close()
        storage.save([record()])
        storage.close()

    @rooted
    def test_model_cannot_lead_a_recall_outside(
        self, store: MemoryStore, llm: OfflineLLM, remember_in: Callable[..., Any]
    ) -> None:
        storage = CrewStorage(store)
        for user in "12":
            view = storage.bound("/user", user)
            state(
                remember_in(view, root_scope=view.root), f"The code of user {user} is {user}{user}."
            )
        llm.script.scopes = ("/user/2", "/user/2/facts")
        view = storage.bound("/user", "1")
        matches = remember_in(view, root_scope=view.root).recall("What is the code? " * 20)
        assert contents(m.record for m in matches) == ["The code of user 1 is 11."]
        assert "QueryAnalysis" in [kind for kind, _ in llm.script.asked]


@unified
class TestPrivacy:
    def test_rebuilt_records_stay_private(self, storage: CrewStorage) -> None:
        storage.save([record("Alice earns 90k.", id="r", source="alice", private=True)])
        storage.update(record("Alice earns 95k.", id="r"))
        kept = storage.get_record("r")
        assert kept is not None
        assert (kept.content, kept.source, kept.private) == ("Alice earns 95k.", "alice", True)

    def test_privacy_can_be_lifted_on_purpose(self, storage: CrewStorage) -> None:
        storage.save([record("Alice earns 90k.", id="r", source="alice", private=True)])
        storage.update(record("Alice earns 90k.", id="r", source="hr", private=False))
        kept = storage.get_record("r")
        assert kept is not None
        assert (kept.source, kept.private) == ("hr", False)

    def test_consolidation_keeps_a_secret(
        self, storage: CrewStorage, llm: OfflineLLM, remember_in: Callable[..., Any]
    ) -> None:
        memory = remember_in(storage)
        secret = "Alice's salary is 90k."
        first = state(memory, secret, source="alice", private=True)
        update = {"action": "update", "record_id": first.id, "new_content": secret + " Really."}
        llm.script.plan = lambda prompt: {"actions": [update], "insert_new": False}
        state(memory, secret, source="alice", private=True)
        assert contents(storage.list_records()) == [secret + " Really."]
        seen = {
            source: len(memory.recall(secret, depth="shallow", source=source))
            for source in ("alice", "bob")
        }
        assert seen == {"alice": 1, "bob": 0}


@unified
class TestMemory:
    """crewAI's own Memory on top."""

    def test_deep_recall_accepts_aware_times(
        self, storage: CrewStorage, remember_in: Callable[..., Any]
    ) -> None:
        [vector] = embed(["Dana owns the launch."])
        when = datetime(2026, 1, 1, tzinfo=UTC)
        storage.save([record("Dana owns the launch.", "/a", embedding=vector, created_at=when)])
        [match] = remember_in(storage).recall("Who owns the launch?")
        assert match.record.content == "Dana owns the launch."

    def test_same_text_twice_is_consolidated(
        self, storage: CrewStorage, llm: OfflineLLM, remember_in: Callable[..., Any]
    ) -> None:
        memory = remember_in(storage, embedder=storage.embedder)
        for _ in range(2):
            state(memory, "Dana owns the launch.")
        assert storage.count() == 1
        assert [kind for kind, _ in llm.script.asked] == ["ConsolidationPlan"]

    def test_changing_the_importance_keeps_a_memory_findable(
        self, storage: CrewStorage, remember_in: Callable[..., Any]
    ) -> None:
        memory = remember_in(storage)
        kept = state(memory, "Dana owns the launch.")
        memory.update(kept.id, importance=0.9)
        [match] = memory.recall("Dana owns the launch.", depth="shallow")
        assert match.record.importance == 0.9

    @pytest.mark.skipif(RELEASE < (1, 12), reason="1.10 asks for the key at once")
    def test_no_key_is_needed_when_all_is_given(self, storage: CrewStorage) -> None:
        memory = crewai.Memory(storage=storage, embedder=storage.embedder)
        with no_network() as attempts:
            state(memory, "Dana owns the launch.")
            matches = memory.recall("Who owns the launch?", depth="shallow")
        assert contents(m.record for m in matches) == ["Dana owns the launch."]
        assert attempts == []

    def test_saves_after_closing_still_arrive(
        self, tmp_path: Path, remember_in: Callable[..., Any]
    ) -> None:
        storage = CrewStorage(tmp_path / "crew.db")
        memory = remember_in(storage)
        state(memory, "Dana owns the launch.")
        storage.close()
        state(memory, "The venue is Lyon.")
        assert sorted(contents(storage.list_records())) == [
            "Dana owns the launch.",
            "The venue is Lyon.",
        ]
        storage.close()


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
        with pytest.raises(TypeError, match="store"):
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
        assert {r.name for r in caplog.records} == {"bethink_adapters.crewai.opened"}

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
        CrewStorage(path).save([record("parent")])
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

DAY = datetime(2026, 1, 1)
storage = CrewStorage(sys.argv[1])
for n in range(20):
    storage.save([SimpleNamespace(
        id=f"{sys.argv[2]}-{n}", content=f"fact {n} of {sys.argv[2]}", scope=f"/{n % 3}",
        categories=[], metadata={}, importance=0.5, embedding=[1.0, 0.0],
        source=None, private=False, created_at=DAY, last_accessed=DAY, model_fields_set=set(),
    )])
assert "crewai" not in sys.modules
"""


@unified
def test_crew_remembers_what_it_did(
    tmp_path: Path, llm: OfflineLLM, remember_in: Callable[..., Any]
) -> None:
    place = {"root_scope": "/crew/acme"} if RELEASE >= (1, 12) else {}
    with no_network() as attempts, MemoryStore(tmp_path / "crew.db") as store:
        storage = CrewStorage(store)
        memory = remember_in(storage, embedder=storage.embedder, **place)
        for _ in range(2):
            crew(llm, "When does Acme launch?", memory=memory).kickoff()
            memory.drain_writes()
    first, second = llm.script.prompts()
    assert "Relevant memories" not in first
    assert second.count("3 March 2027") == 1
    with MemoryStore(tmp_path / "crew.db") as store:
        storage = CrewStorage(store)
        [kept] = storage.list_records()
        scope = "/crew/acme/agent/planner/facts" if place else "/facts"
        assert (kept.content, kept.scope) == (llm.script.answer, scope)
        memory = remember_in(storage, embedder=storage.embedder)
        [match] = memory.recall("When is Acme's launch?", depth="shallow")
        assert match.record.content == llm.script.answer
    assert attempts == []


class CrewContract(AdapterContract):
    """What both memories share: a crew of one agent for each turn."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "dump": "crewAI cannot serialise a memory that holds any storage object",
        "budget": "crewAI writes the block itself, and has no budget for it",
    }
    failure = StorageError
    # crewAI feeds nothing but its memory to later runs: there the fact stands once.
    remembered_in_history = 1

    def setup_method(self) -> None:
        self.models: dict[str, OfflineLLM] = {}
        self.last: dict[str, Any] = {}

    def memory(self, store: MemoryStore, user: str) -> Any:
        raise NotImplementedError

    def run(self, store: MemoryStore, user: str, text: str, reply: str) -> str:
        model = self.models.setdefault(user, OfflineLLM())
        model.script.answer = reply
        self.last[user] = crew(model, text, **self.memory(store, user))
        # Before 1.15 a crew that is done may raise what a save still under way raises.
        with suppress(*[StorageError] if RELEASE < (1, 15) else []):
            self.last[user].kickoff()
        return str(model.script.prompts()[-1])

    def framework_history(self, store: MemoryStore, user: str) -> str:
        return "\n".join(contents(store.all(namespace=EVERYWHERE)))


@unified
class TestContract(CrewContract):
    if (1, 12) <= RELEASE < (1, 15):
        failure_is_loud = (
            "these releases end a run with what its last save in the background raised"
        )

    def storage(self, store: MemoryStore, user: str) -> CrewStorage:
        """Give each user a bound view, or before `root_scope` existed a namespace."""
        if RELEASE >= (1, 12):
            return CrewStorage(store).bound("/user", user)
        return CrewStorage(store, namespace=f"crew/{segment(user)}")

    def memory(self, store: MemoryStore, user: str) -> Any:
        storage = self.storage(store, user)
        place = {"root_scope": storage.root} if RELEASE >= (1, 12) else {}
        model = self.models[user]
        return {
            "memory": crewai.Memory(storage=storage, llm=model, embedder=storage.embedder, **place)
        }

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Repeat what the crew did after its task; it has ingested the turn by then."""
        done = self.last[user]
        memory = done.memory
        memory.drain_writes()
        task = done.tasks[0]
        turn = f"Task: {task.description}\nAgent: Planner\nResult: {task.output.raw}"
        memory.remember_many(memory.extract_memories(turn))
        memory.drain_writes()

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        storage = self.storage(store, user)
        [vector] = storage.embedder([text])
        storage.save([record(text, f"{storage.root}/facts", embedding=vector)])

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        storage = self.storage(store, user)
        return contents(r for r, _ in storage.search(storage.embedder([query])[0], limit=50))

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        storage = self.storage(store, user)
        asyncio.run(cancel_at_gate(store, storage.asearch(storage.embedder([query])[0])))


@external
class TestExternalContract(CrewContract):
    def storage(self, store: MemoryStore, user: str) -> CrewExternalStorage:
        return CrewExternalStorage(store, namespace=f"crew_external/{segment(user)}")

    def memory(self, store: MemoryStore, user: str) -> Any:
        module = importlib.import_module("crewai.memory.external.external_memory")
        return {"external_memory": module.ExternalMemory(storage=self.storage(store, user))}

    def ingest(self, store: MemoryStore, user: str) -> None:
        """Save what was said: of its own accord this crewAI keeps the results of tasks only."""
        [task] = self.last[user].tasks
        if "?" not in task.description:
            self.last[user].external_memory.save(task.description, {"agent": "Planner"})

    def remember(self, store: MemoryStore, user: str, text: str) -> None:
        self.storage(store, user).save(text, {})

    def find(self, store: MemoryStore, user: str, query: str) -> list[str]:
        return [hit["content"] for hit in self.storage(store, user).search(query, 50, 0.6)]

    def cancel_mid_recall(self, store: GatedStore, user: str, query: str) -> None:
        asyncio.run(cancel_at_gate(store, self.storage(store, user).asearch(query, 5, 0.6)))


class TestExternal:
    @pytest.fixture
    def old(self, store: MemoryStore) -> CrewExternalStorage:
        return CrewExternalStorage(store)

    def test_results_answer_to_every_name(self, old: CrewExternalStorage) -> None:
        old.save("The launch is on 3 March.", {"agent": "Planner"})
        [hit] = old.search("When is the launch?", 3, 0.35)
        assert hit["content"] == hit["context"] == hit["memory"] == "The launch is on 3 March."
        assert hit["metadata"] == {"agent": "Planner"}
        assert 0 < hit["score"] <= 1

    def test_transcripts_are_dropped(self, old: CrewExternalStorage) -> None:
        messages = [{"role": "user", "content": "secret"}]
        old.save("The launch is on 3 March.", {"description": "When?", "messages": messages})
        assert old.search("launch")[0]["metadata"] == {"description": "When?"}

    def test_any_value_can_be_saved(self, store: MemoryStore, old: CrewExternalStorage) -> None:
        old.save({"launch": DAY}, {"at": DAY})
        old.save("  ", {})
        assert contents(store.all(namespace="crew_external")) == [f'{{"launch": "{DAY}"}}']

    def test_the_same_text_is_kept_once(self, store: MemoryStore, old: CrewExternalStorage) -> None:
        for _ in range(2):
            old.save("The launch is on 3 March.", {})
        assert store.count(namespace="crew_external") == 1

    def test_reset_forgets_all_of_it(self, store: MemoryStore, old: CrewExternalStorage) -> None:
        store.store("not external")
        old.save("The launch is on 3 March.", {})
        old.reset()
        assert old.search("launch") == []
        assert store.count() == 1

    def test_awaitable_twins_do_the_same(self, old: CrewExternalStorage) -> None:
        async def use() -> Any:
            await old.asave("The launch is on 3 March.", {})
            return await old.asearch("launch", 5, 0.6)

        assert [hit["content"] for hit in asyncio.run(use())] == ["The launch is on 3 March."]

    def test_own_store_is_closed_and_opened_again(self, tmp_path: Path) -> None:
        old = CrewExternalStorage(tmp_path / "old.db")
        old.save("The launch is on 3 March.", {})
        old.close()
        assert len(old.search("launch")) == 1
        old.close()

    @external
    @pytest.mark.parametrize("kickoff", ["kickoff", "akickoff"])
    def test_crew_remembers_what_it_did(
        self, tmp_path: Path, llm: OfflineLLM, kickoff: str
    ) -> None:
        module = importlib.import_module("crewai.memory.external.external_memory")
        for _ in range(2):
            with no_network() as attempts, MemoryStore(tmp_path / "crew.db") as store:
                memory = module.ExternalMemory(storage=CrewExternalStorage(store))
                started = crew(llm, "When does Acme launch?", external_memory=memory)
                done = getattr(started, kickoff)()
                if kickoff == "akickoff":
                    asyncio.run(done)
                assert attempts == []
        first, second = llm.script.prompts()
        assert "External memories" not in first
        assert second.count("3 March 2027") == 1

    @external
    def test_crew_resets_it(self, store: MemoryStore, llm: OfflineLLM) -> None:
        module = importlib.import_module("crewai.memory.external.external_memory")
        old = CrewExternalStorage(store)
        old.save("The launch is on 3 March.", {})
        memory = module.ExternalMemory(storage=old)
        crew(llm, "When?", external_memory=memory).reset_memories("external")
        assert old.search("launch") == []
