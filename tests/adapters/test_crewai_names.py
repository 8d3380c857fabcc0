"""Storages by name and the model that needs none, against crewAI itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .crewai_offline import RELEASE, UNIFIED, memory_on, no_network

import crewai  # isort: skip

from bethink import MemoryStore, ValidationError  # isort: skip
from bethink_adapters.crewai import CrewStorage, offline_llm, register, storage_of  # isort: skip

pytestmark = [
    pytest.mark.skipif(not UNIFIED, reason="crewAI has a unified memory since 1.10"),
    pytest.mark.filterwarnings("ignore"),
]
named = pytest.mark.skipif(RELEASE < (1, 14), reason="names came with crewAI 1.14")


@pytest.fixture
def spec(tmp_path: Path) -> Iterator[str]:
    """Give a name that crewAI knows while the test runs."""
    take_back = register()
    yield f"bethink:{tmp_path / 'crew.db'}"
    take_back()


def memory(storage: CrewStorage, **options: Any) -> Any:
    return memory_on(storage, embedder=storage.embedder, llm=offline_llm(), **options)


class TestNames:
    pytestmark = named

    def test_a_name_stands_for_a_storage(self, spec: str, tmp_path: Path) -> None:
        by_name = crewai.Memory(storage=spec, embedder=storage_of(spec).embedder, llm=offline_llm())
        by_name.remember("Ann prefers tea over coffee.")
        by_name.close()
        with MemoryStore(tmp_path / "crew.db") as store:
            assert store.count(namespace="crew") == 1

    def test_a_name_survives_a_dump(self, spec: str) -> None:
        dumped = crewai.Memory(storage=spec, llm=offline_llm()).model_dump_json(include={"storage"})
        again = crewai.Memory(
            **crewai.Memory.model_validate_json(dumped).model_dump(include={"storage"})
        )
        assert again._storage is storage_of(spec)

    def test_a_root_in_the_name_binds(self, spec: str) -> None:
        bound = storage_of(f"{spec}#/users/ann")
        assert bound.root == "/users/ann"
        memory(bound, root_scope="/users/ann").remember("Ann prefers tea over coffee.")
        assert [r.scope for r in storage_of(spec).list_records()] == ["/users/ann"]

    def test_the_same_file_is_the_same_storage(
        self, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert storage_of("bethink:crew.db") is storage_of(spec)

    def test_a_url_is_no_path(
        self, spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        url = f"sqlite:///{tmp_path / 'named.db'}"
        store, _ = storage_of(f"bethink:{url}").place
        assert store.location == str(tmp_path / "named.db")
        with pytest.raises(ValidationError, match="no backend for unknown://"):
            storage_of("bethink:unknown://server/db")
        assert not (tmp_path / "unknown:").exists()

    def test_a_flow_without_a_storage_lands_here_if_asked_to(self, tmp_path: Path) -> None:
        from crewai.flow.flow import Flow

        take_back = register(default=tmp_path / "default.db")
        try:
            kept: Any = Flow().memory
            assert kept._storage is storage_of(f"bethink:{tmp_path / 'default.db'}")
        finally:
            take_back()

    def test_any_path_may_be_the_default(self, tmp_path: Path) -> None:
        from crewai.memory.storage import factory

        take_back = register(default=tmp_path / "C#.db")
        try:
            kept: Any = factory.resolve_memory_storage("lancedb")
            assert kept.root == "/"
            assert kept.count() == 0
            kept.close()
        finally:
            take_back()
        assert (tmp_path / "C#.db").exists()

    def test_what_others_registered_is_still_found(
        self, store: MemoryStore, tmp_path: Path
    ) -> None:
        from crewai.memory.storage import factory

        mine = CrewStorage(store)
        others: Any = lambda spec: mine if spec == "mine" else None  # noqa: E731
        factory.set_memory_storage_factory(others)
        try:
            for default in (None, tmp_path / "default.db"):
                take_back = register(default)
                assert factory.resolve_memory_storage("mine") is mine
                assert (factory.resolve_memory_storage("lancedb") is None) == (default is None)
                take_back()
                assert factory._factory is others
            take_back = register()
            factory.set_memory_storage_factory(None)
            take_back()
            assert factory._factory is None
        finally:
            factory.set_memory_storage_factory(None)


@pytest.mark.parametrize("spec", ["bethink:", "lancedb", "bethink:#/a", "bethink:crew.db#"])
def test_what_is_no_name_is_refused(spec: str) -> None:
    with pytest.raises(ValidationError):
        storage_of(spec)


class TestOffline:
    def test_memory_works_without_key_and_network(self, store: MemoryStore) -> None:
        storage = CrewStorage(store)
        with no_network() as attempts:
            assert "OPENAI_API_KEY" not in os.environ
            kept = memory(storage)
            kept.remember("We decided to deploy with blue-green releases.")
            found = kept.recall("How do we deploy?")
        assert [match.record.content for match in found] == [
            "We decided to deploy with blue-green releases."
        ]
        assert found[0].record.categories == ["decision"]
        assert found[0].record.metadata == {}
        assert attempts == []

    def test_a_result_is_remembered_by_its_sentences(self, store: MemoryStore) -> None:
        kept = memory(CrewStorage(store))
        raw = "Task: Plan it.\nResult: Acme launches in March. Dana owns it. Is it late?\nOK."
        assert kept.extract_memories(raw) == ["Acme launches in March.", "Dana owns it."]

    @pytest.mark.parametrize(
        ("result", "told"),
        [
            (
                "1. Use Postgres\n2. Use Redis\n  10. Deploy Fridays. We said so.",
                ["1. Use Postgres", "2. Use Redis", "10. Deploy Fridays.", "We said so."],
            ),
            ("他喜欢茶。她来吗\uff1f会议在周一。", ["他喜欢茶。", "会议在周一。"]),
            (
                "- e.g. Mr. Smith lives in St. Louis. He pays 3.5 euros.",
                ["- e.g. Mr. Smith lives in St. Louis.", "He pays 3.5 euros."],
            ),
            (
                "The fee is approx. five euros. We really can't. Prof. Ann agreed to it. Why?",
                ["The fee is approx. five euros.", "We really can't.", "Prof. Ann agreed to it."],
            ),
            (
                "Am 3. März kommt Ann. Der 2. Versuch gelang. Termin: 4. Mai. Das Haus hat 3. Ja.",
                [
                    "Am 3. März kommt Ann.",
                    "Der 2. Versuch gelang.",
                    "Termin: 4. Mai.",
                    "Das Haus hat 3.",
                ],
            ),
            (
                "Ann kam am 3. 4. 2026 an. Bob kam im 19. Jahrhundert nicht.",
                ["Ann kam am 3. 4. 2026 an.", "Bob kam im 19. Jahrhundert nicht."],
            ),
            ("The team has 12. Bob leads it.", ["The team has 12.", "Bob leads it."]),
            (
                "I am 34. Jane is 30. Julia is 28. 5 years ago Ann left. Bob has 3. Maine is far.",
                [
                    "I am 34.",
                    "Jane is 30.",
                    "Julia is 28.",
                    "5 years ago Ann left.",
                    "Bob has 3.",
                    "Maine is far.",
                ],
            ),
            ("Approved.", []),
            ("{}", []),
            ("Thought: I know the fee\nFinal Answer: The fee is five.", ["The fee is five."]),
            ("I know. Final Answer: too low.\nFinal Answer:\nIt is five.", ["It is five."]),
            (
                '{\n  "fee": 5,\n  "due": "In May. Or so."\n}',
                ['{\n  "fee": 5,\n  "due": "In May. Or so."\n}'],
            ),
            ('```json\n[{"fee": 5}]\n```\n', ['```json\n[{"fee": 5}]\n```']),
            ('"It is five. Or so."', ['"It is five.']),
        ],
    )
    def test_a_result_is_told_from_what_stands_around(
        self, store: MemoryStore, result: str, told: list[str]
    ) -> None:
        kept = memory(CrewStorage(store))
        raw = f"Task: t\nAgent: A\nExpected result: e\nResult: {result}"
        assert kept.extract_memories(raw) == told

    @pytest.mark.parametrize(
        "header",
        [
            "Task: Say how\nResult: of what\nAgent: A\nExpected result: all\nit says\nResult: ",
            "Input: Say how\nResult: of what\nAgent: A\nResult: ",
            "",
        ],
    )
    def test_a_result_may_speak_of_a_result(self, store: MemoryStore, header: str) -> None:
        kept = memory(CrewStorage(store))
        told = ["The tests ran on node 7 for two hours.", "Result: all 12 tests passed today."]
        assert kept.extract_memories(header + "\n".join(told)) == told

    def test_what_is_there_is_not_stored_again(self, store: MemoryStore) -> None:
        storage = CrewStorage(store)
        kept = memory(storage)
        for _ in range(2):
            kept.remember("Dana owns the launch of Acme.")
        kept.remember("Dana owns the launch of Umbra.")
        assert storage.count() == 2

    def test_a_text_of_several_lines_is_not_stored_again(self, store: MemoryStore) -> None:
        storage = CrewStorage(store)
        kept, text = memory(storage), "Dana owns it.\n\nUmbra is in Lyon."
        for content in [text, text, f"{text}\nUmbra does.", text]:
            kept.remember(content)
        assert storage.count() == 2

    def test_an_agent_is_refused_an_answer(self) -> None:
        with pytest.raises(ValidationError, match="only what crewAI's memory asks"):
            offline_llm().call("Write a poem.")
