"""Texts longer than the content of a record: recalls see the beginning, crewAI the whole."""

from __future__ import annotations

from typing import Any

import pytest

from bethink import MemoryStore
from bethink.adapting import MAX_CONTENT
from bethink_adapters.crewai import CrewExternalStorage, CrewStorage, offline_llm

from .crewai_offline import UNIFIED, X, Y, contents, get, record

pytestmark = pytest.mark.filterwarnings("ignore")
unified = pytest.mark.skipif(not UNIFIED, reason="crewAI has a unified memory since 1.10")

LONG = {
    "a character more": "launch ".ljust(MAX_CONTENT, "x") + "!",
    "many more": "launch on 3 March " * 40_000 + "the end",
    "beyond the basic plane": "launch \N{ROCKET} " * 70_000,
}


@unified
@pytest.mark.parametrize("kind", LONG)
def test_a_long_text_comes_back_whole(store: MemoryStore, kind: str) -> None:
    storage = CrewStorage(store)
    storage.save([record(LONG[kind], id="r", embedding=X), record("beside it", embedding=Y)])
    kept = store.get("r")
    assert kept is not None
    assert kept.content == LONG[kind][:MAX_CONTENT]
    assert get(storage, "r").content == LONG[kind]
    assert LONG[kind] in contents(storage.list_records())
    assert storage.search(X, limit=1)[0][0].content == LONG[kind]


@unified
def test_a_long_text_edited_in_the_store_comes_back_as_edited(store: MemoryStore) -> None:
    storage = CrewStorage(store)
    storage.save([record(LONG["many more"], id="r", embedding=X)])
    store.update("r", content="launch on 4 March")
    assert get(storage, "r").content == "launch on 4 March"


@unified
def test_an_update_replaces_the_whole_text(store: MemoryStore) -> None:
    storage = CrewStorage(store)
    for text in ("short", LONG["many more"], LONG["a character more"], "short again"):
        storage.save([record(text, id="r")])
        assert get(storage, "r").content == text


@unified
def test_a_long_text_that_stays_keeps_its_vector(store: MemoryStore) -> None:
    storage, text = CrewStorage(store), LONG["many more"]
    storage.save([record(text, id="r", embedding=X)])
    storage.update(record(text, id="r", embedding=None))
    assert get(storage, "r").embedding == X
    storage.update(record(text + "!", id="r", embedding=None))
    assert get(storage, "r").embedding != X


@unified
@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        ("我住在哪里", "我住在格拉茨。", ["我是素食者。", "我的狗叫雷克斯。", "我喜欢茶。"]),
        ("犬の名前は", "犬の名前はレックスです。", ["私は犬が好きです。", "猫はいません。"]),
        ("Где я живу?", "Я живу в Граце.", ["Я ем рыбу.", "Я люблю чай."]),
        ("我喜欢 Python 吗", "我喜欢编程。", ["我的狗叫雷克斯。", "我住在格拉茨。"]),
    ],
)
def test_a_text_without_a_vector_is_scored_by_the_words(
    store: MemoryStore, question: str, answer: str, others: list[str]
) -> None:
    from crewai.memory.unified_memory import Memory

    storage = CrewStorage(store)
    memory = Memory(storage=storage, embedder=storage.embedder, llm=offline_llm())
    for text in (answer, *others):
        memory.remember(text)
    best, *rest = memory.recall(question, limit=2)
    assert best.record.content == answer
    assert all(each.score < best.score for each in rest)


@pytest.mark.parametrize("kind", LONG)
def test_the_external_memory_gives_a_long_text_back_whole(store: MemoryStore, kind: str) -> None:
    storage: Any = CrewExternalStorage(store)
    for _ in range(2):
        storage.save(LONG[kind])
    (found,) = storage.search("launch")
    assert found["content"] == found["memory"] == LONG[kind]
