"""Crews that remember: crewAI's memories on top of bethink, end to end and offline."""

from __future__ import annotations

import asyncio
import gc
import runpy
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from bethink import (
    EVERYWHERE,
    MemoryRecord,
    MemoryStore,
    StorageError,
    StoreClosedError,
    segment,
)
from bethink_adapters.crewai import CrewExternalStorage, CrewStorage, crew_memory, erase_user

from .contract import AdapterContract, GatedStore, SlowStore, cancel_at_gate, cancel_in_write
from .crewai_offline import (
    RELEASE,
    OfflineLLM,
    contents,
    crew,
    embed,
    external,
    external_memory_on,
    fields,
    found,
    get,
    memory_on,
    no_network,
    record,
    rooted,
    unified,
)

pytestmark = pytest.mark.filterwarnings("ignore")
DAY = datetime(2026, 3, 1, 12, 30)
EXAMPLE = Path(__file__).parents[2] / "examples" / "crewai_crew.py"


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
            memory = memory_on(storage, **options)
            closing.callback(getattr(memory, "close", memory.drain_writes))
            return memory

        yield make


def state(memory: Any, text: str, scope: str = "/facts", **options: Any) -> Any:
    """Remember *text* with all fields given, so that no model is asked about them."""
    return memory.remember(text, scope=scope, categories=["c"], importance=0.5, **options)


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
        memory = memory_on(storage, embedder=storage.embedder)
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

    def test_a_save_after_closing_lets_the_file_go(self, tmp_path: Path) -> None:
        storage = CrewStorage(tmp_path / "crew.db")
        storage.close()
        storage.save([record("late")])
        del storage
        gc.collect()
        assert [path.name for path in tmp_path.iterdir()] == ["crew.db"]

    def test_words_count_in_a_recall(
        self, store: MemoryStore, remember_in: Callable[..., Any]
    ) -> None:
        storage = CrewStorage(store, embed=lambda texts: [[1.0, len(t) / 1000] for t in texts])
        memory = remember_in(storage, embedder=storage.embedder, consolidation_threshold=1.0)
        for text in ("What a very nice day", "Error E4711 means a blocked pump.", "Ask."):
            state(memory, text)
        [match] = memory.recall("What does E4711 mean?", depth="shallow", limit=1)
        assert match.record.content.startswith("Error E4711")

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
class TestCrewMemory:
    """The memory that also finds what lies at the scope itself."""

    @pytest.fixture
    def memory(self, storage: CrewStorage, llm: OfflineLLM) -> Iterator[Any]:
        memory = crew_memory(storage, llm=llm)
        state(memory, "Acme's launch is on 3 March.", "/crew")
        state(memory, "Dana plans Acme's launch.", "/crew/agent/dana")
        yield memory
        memory.drain_writes()

    @pytest.mark.parametrize("depth", ["deep", "shallow"])
    def test_recall_finds_the_scope_and_what_is_below(self, memory: Any, depth: Any) -> None:
        found = memory.recall("When is Acme's launch?", "/crew", depth=depth)
        assert sorted(contents(m.record for m in found)) == [
            "Acme's launch is on 3 March.",
            "Dana plans Acme's launch.",
        ]
        assert [m.score for m in found] == sorted((m.score for m in found), reverse=True)

    def test_limits_and_filters_hold(self, memory: Any) -> None:
        assert len(memory.recall("Acme's launch?", "/crew", limit=1)) == 1
        assert memory.recall("Acme's launch?", "/crew", ["other"]) == []
        state(memory, "Acme's launch costs 9k.", "/crew", source="dana", private=True)
        found = memory.recall("What does Acme's launch cost?", "/crew", source="bob")
        assert "Acme's launch costs 9k." not in contents(m.record for m in found)

    def test_crews_take_it(self, memory: Any, llm: OfflineLLM) -> None:
        working = crew(llm, "When is Acme's launch?", memory=memory.scope("/crew"))
        working.kickoff()
        memory.drain_writes()
        assert "Acme's launch is on 3 March." in llm.script.prompts()[0]

    @rooted
    def test_memory_of_a_bound_view_stays_there(
        self, storage: CrewStorage, llm: OfflineLLM
    ) -> None:
        view = storage.bound("/users/ann")
        kept = state(crew_memory(view, llm=llm), "Ann likes tea.")
        assert kept.scope == "/users/ann/facts"


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

    def test_what_another_deleted_is_not_brought_back(
        self, storage: CrewStorage, one: CrewStorage
    ) -> None:
        storage.delete(record_ids=["theirs"])
        with pytest.raises(ValueError, match="theirs"):
            one.save([record("overwritten", "/user/1", id="theirs")])
        assert storage.get_record("theirs") is None

    def test_writes_outside_are_refused(self, storage: CrewStorage, one: CrewStorage) -> None:
        moved = get(storage, "mine").model_copy(update={"scope": "/user/2"})
        writes: tuple[Callable[[], object], ...] = (
            lambda: one.save([record("planted", "/user/2")]),
            lambda: one.save([record("fine", "/user/1"), record("planted", "/")]),
            lambda: one.save([record("overwritten", "/user/1", id="theirs")]),
            lambda: one.update(record("overwritten", "/user/1", id="theirs")),
            lambda: one.update(moved),
        )
        for write in writes:
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
        store = storage._store()
        storage.bound("/user/1").close()
        assert store.count(namespace="crew") == 0
        storage.close()
        with pytest.raises(StoreClosedError):
            store.count(namespace="crew")

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


@unified
def test_example_remembers_between_runs_and_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BETHINK_FILE", str(tmp_path / "crew.db"))
    monkeypatch.delenv("BETHINK_MODEL", raising=False)
    told, asked = "Our launch is on 3 March 2027.", "When is our launch?"
    with no_network() as attempts:
        answers = [runpy.run_path(str(EXAMPLE))["main"](text) for text in (asked, told, asked)]
    assert answers == ["Nobody told me.", told, told]
    assert attempts == []
    with MemoryStore(tmp_path / "crew.db") as store:
        assert [(r.content, r.outcome) for r in store.all(namespace=EVERYWHERE)] == [(told, 0.1)]


class CrewContract(AdapterContract):
    """What both memories share: a crew of one agent for each turn."""

    not_applicable: ClassVar[Mapping[str, str]] = {
        "order": "crewAI's model decides which texts become memories",
        "failed run": "crewAI remembers nothing of a task that failed",
        "erased turn": "crewAI hands texts over without ids",
        "dump": "crewAI cannot serialise a memory that holds any storage object",
        "budget": "crewAI writes the block itself, and has no budget for it",
    }
    failure = StorageError
    # crewAI feeds nothing but its memory to later runs: there the fact stands once.
    remembered_in_history = 1

    def storage(self, store: MemoryStore, user: str) -> Any:
        raise NotImplementedError

    def erase_user(self, store: MemoryStore, user: str) -> int:
        return erase_user(self.storage(store, user))

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
    def storage(self, store: MemoryStore, user: str) -> CrewStorage:
        """Give each user a bound view, or before `root_scope` existed a namespace."""
        if RELEASE >= (1, 12):
            return CrewStorage(store).bound("/user", user)
        return CrewStorage(store, namespace=f"crew/{segment(user)}")

    def memory(self, store: MemoryStore, user: str) -> Any:
        storage = self.storage(store, user)
        place: dict[str, Any] = {"root_scope": storage.root} if RELEASE >= (1, 12) else {}
        options = {"llm": self.models[user], "embedder": storage.embedder, **place}
        return {"memory": memory_on(storage, **options)}

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
        return {"external_memory": external_memory_on(self.storage(store, user))}

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

    def test_any_text_is_a_question(self, old: CrewExternalStorage) -> None:
        old.save("The launch is on 3 March.", {})
        [hit] = old.search("launch \udc80 " * 60_000)
        assert hit["content"] == "The launch is on 3 March."

    def test_transcripts_are_dropped(self, old: CrewExternalStorage) -> None:
        messages = [{"role": "user", "content": "secret"}]
        old.save("The launch is on 3 March.", {"description": "When?", "messages": messages})
        assert old.search("launch")[0]["metadata"] == {"description": "When?"}

    def test_any_value_can_be_saved(self, store: MemoryStore, old: CrewExternalStorage) -> None:
        old.save({"launch": DAY}, {"at": DAY})
        old.save("  ", {})
        assert contents(store.all(namespace="crew_external")) == [f'{{"launch": "{DAY}"}}']

    def test_any_text_can_be_saved(self, store: MemoryStore, old: CrewExternalStorage) -> None:
        for _ in range(2):
            old.save("launch \udc80 " * 60_000, {})
        [kept] = store.all(namespace="crew_external")
        assert kept.content.startswith("launch \N{REPLACEMENT CHARACTER} launch")

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
        for _ in range(2):
            with no_network() as attempts, MemoryStore(tmp_path / "crew.db") as store:
                memory = external_memory_on(CrewExternalStorage(store))
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
        old = CrewExternalStorage(store)
        old.save("The launch is on 3 March.", {})
        memory = external_memory_on(old)
        crew(llm, "When?", external_memory=memory).reset_memories("external")
        assert old.search("launch") == []


@unified
def test_nothing_overtakes_a_save_that_is_cancelled() -> None:
    async def deleting(slow: SlowStore) -> None:
        storage = CrewStorage(slow)
        await cancel_in_write(slow, storage.asave([record("Old.")]), storage.adelete())

    with SlowStore() as slow:
        asyncio.run(deleting(slow))
        assert slow.count(namespace=EVERYWHERE) == 0


class DeletingStore(MemoryStore):
    """A real store in which a parallel call deletes a record right before the next update."""

    is_next = False

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        if self.is_next:
            self.is_next = False
            self.forget(id)
        return super().update(id, **changes)


@unified
def test_a_record_that_a_parallel_call_deletes_is_saved_anew() -> None:
    with DeletingStore() as store:
        storage = CrewStorage(store)
        storage.save([record("Old.", id="r")])
        store.is_next = True
        storage.save([record("New.", id="r"), record("Other.")])
        assert sorted(contents(storage.list_records())) == ["New.", "Other."]
