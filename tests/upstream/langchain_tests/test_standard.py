"""LangChain's standard tests for integrations, all that apply to a memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from langchain_core.caches import BaseCache
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import BaseStore
from langchain_core.vectorstores import VectorStore
from langchain_tests import integration_tests, unit_tests

from bethink import MemoryStore
from bethink_adapters.langchain import (
    BethinkCache,
    BethinkEmbeddings,
    BethinkKeyValueStore,
    BethinkVectorStore,
    MemoryStoreRetriever,
    memory_tools,
)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore() as store:
        yield store


class TestVectorStore(integration_tests.VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, store: MemoryStore) -> VectorStore:  # type: ignore[override]
        return BethinkVectorStore(store, self.get_embeddings())


class TestRetriever(integration_tests.RetrieversIntegrationTests):
    texts = ("The parrot is green", "The parrot can talk", "The parrot eats seeds", "It rains")
    store = MemoryStore()
    store.store_many(texts)

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemoryStoreRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"store": self.store}

    @property
    def retriever_query_example(self) -> str:
        return "What about the parrot?"


class _Embeds:
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return BethinkEmbeddings


class TestEmbeddings(_Embeds, integration_tests.EmbeddingsIntegrationTests):  # type: ignore[misc]
    pass


class TestEmbeddingsUnits(_Embeds, unit_tests.EmbeddingsUnitTests):  # type: ignore[misc]
    pass


class TestCache(integration_tests.SyncCacheTestSuite):
    @pytest.fixture
    def cache(self, store: MemoryStore) -> BaseCache:  # type: ignore[override]
        return BethinkCache(store)


class TestAsyncCache(integration_tests.AsyncCacheTestSuite):
    @pytest.fixture
    async def cache(self, store: MemoryStore) -> BaseCache:  # type: ignore[override]
        return BethinkCache(store)


class TestTexts(integration_tests.BaseStoreSyncTests[str]):
    @pytest.fixture
    def three_values(self) -> tuple[str, str, str]:  # type: ignore[override]
        return "one", "", "three"

    @pytest.fixture
    def kv_store(self, store: MemoryStore) -> BaseStore[str, Any]:  # type: ignore[override]
        return BethinkKeyValueStore(store)


class TestBytes(integration_tests.BaseStoreAsyncTests[bytes]):
    @pytest.fixture
    def three_values(self) -> tuple[bytes, bytes, bytes]:  # type: ignore[override]
        return b"one", b"\xff\x00", b""

    @pytest.fixture
    async def kv_store(self, store: MemoryStore) -> BaseStore[str, Any]:  # type: ignore[override]
        return BethinkKeyValueStore(store)


class _Tool:
    place = 0
    given: ClassVar[dict[str, str]]

    @property
    def tool_constructor(self) -> Any:
        return memory_tools(MemoryStore(), namespace="default")[self.place]

    @property
    def tool_invoke_params_example(self) -> dict[str, str]:
        return self.given


class _Recall(_Tool):
    given: ClassVar = {"query": "What is the parrot called?"}


class _Remember(_Tool):
    place = 1
    given: ClassVar = {"content": "The parrot is called Quetzal."}


class TestRecall(_Recall, integration_tests.ToolsIntegrationTests):  # type: ignore[misc]
    pass


class TestRecallUnits(_Recall, unit_tests.ToolsUnitTests):  # type: ignore[misc]
    pass


class TestRemember(_Remember, integration_tests.ToolsIntegrationTests):  # type: ignore[misc]
    pass


class TestRememberUnits(_Remember, unit_tests.ToolsUnitTests):  # type: ignore[misc]
    pass
