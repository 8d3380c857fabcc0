"""Mistakes with the crewAI adapter, each with the words of the error that name the remedy."""

from __future__ import annotations

from typing import Any

import pytest

from .crewai_offline import UNIFIED

from bethink import MemoryStore  # isort: skip
from bethink_adapters import crewai  # isort: skip

pytestmark = [
    pytest.mark.skipif(not UNIFIED, reason="crewAI has a unified memory since 1.10"),
    pytest.mark.filterwarnings("ignore"),
]
MISTAKES = [
    ("CrewStorage()", "needs a store or a path"),
    ("CrewStorage(5)", "MemoryStore(path) opens one"),
    ("CrewStorage(store, 'crew')", "by name: namespace"),
    ("CrewStorage(store, embedder=len)", "use 'embed'"),
    ("CrewStorage(store, embed='openai')", "embed must be a function"),
    ("CrewStorage(store, namespace=('a', 'b'))", "such as 'users/ann', not tuple"),
    ("CrewStorage(store, namespace='users/*')", "Subtree('users')"),
    ("CrewStorage(store).bound()", "missing a required argument: 'root'"),
    ("CrewStorage(store).bound('/users', None)", "not NoneType"),
    ("CrewExternalStorage()", "missing a required argument: 'store'"),
    ("CrewExternalStorage(5)", "MemoryStore(path) opens one"),
    ("CrewExternalStorage(store, namespace=None)", "such as 'users/ann'"),
    ("CrewStorage(store, vector_dim='384')", "vector_dim must be an int"),
    ("CrewStorage(store).save('a text')", "a list of crewAI's MemoryRecord, not str"),
    ("CrewStorage(store).save(['a text'])", "a list of crewAI's MemoryRecord"),
    ("CrewStorage(store).update('id')", "a list of crewAI's MemoryRecord"),
    ("CrewStorage(store).search('a question')", "is not a list of numbers"),
    ("CrewStorage(store).search([1.0], k=3)", "use 'limit'"),
    ("CrewStorage(store).search([1.0], limit='3')", "limit must be an int"),
    ("CrewStorage(store).search([1.0], min_score='0')", "min_score must be a number"),
    ("CrewStorage(store).search([1.0], metadata_filter='a')", "must be a mapping, not str"),
    ("CrewStorage(store).delete(categories='a')", "a list of str, not str"),
    ("CrewStorage(store).delete(older_than='2026-01-01')", "a datetime, not str"),
    ("CrewStorage(store).list_records(5)", "a str such as '/users/ann', not int"),
    ("crew_memory(CrewStorage(store), limit=3)", "known: memory_kind, llm, storage"),
    ("crew_memory(5)", "MemoryStore(path) opens one"),
    ("erase_user(store)", "a CrewStorage or CrewExternalStorage, not MemoryStore"),
    ("erase_user('crew.db')", "a CrewStorage or CrewExternalStorage, not str"),
    ("learn_outcomes(5)", "MemoryStore(path) opens one"),
    ("learn_outcomes(CrewStorage(store), judge=5)", "judge must be a function"),
    ("RememberingEmbedder('openai')", "embed must be a function"),
    ("RememberingEmbedder(len, capacity='5')", "capacity must be an int"),
    ("RememberingEmbedder(len, capacity=0)", "at least 1, not 0"),
]


@pytest.mark.parametrize(("call", "remedy"), MISTAKES, ids=[call for call, _ in MISTAKES])
def test_a_mistake_is_answered_with_the_remedy(call: str, remedy: str) -> None:
    names: dict[str, Any] = {name: getattr(crewai, name) for name in crewai.__all__}
    with MemoryStore() as store, pytest.raises((ValueError, TypeError)) as caught:
        eval(call, names | {"store": store})
    assert remedy in str(caught.value)
