"""Haystack's own tests for document stores, all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing import document_store as tests
from haystack.testing import document_store_async as async_tests

from bethink_adapters.haystack import BethinkDocumentStore


@pytest.fixture
def document_store() -> Iterator[BethinkDocumentStore]:
    documents = BethinkDocumentStore(":memory:")
    yield documents
    documents.store.close()


class TestDocumentStore(
    tests.DocumentStoreBaseExtendedTests,
    tests.CountDocumentsByFilterTest,
    tests.CountUniqueMetadataByFilterTest,
    tests.GetMetadataFieldsInfoTest,
    tests.GetMetadataFieldMinMaxTest,
    tests.GetMetadataFieldUniqueValuesTest,
):
    @pytest.fixture
    def document_store(self) -> Iterator[BethinkDocumentStore]:
        documents = BethinkDocumentStore(":memory:")
        yield documents
        documents.store.close()

    def test_write_documents(self, document_store: BethinkDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        self.assert_documents_are_equal(document_store.filter_documents(), [document])


class TestAsyncDocumentStore(
    async_tests.CountDocumentsAsyncTest,
    async_tests.CountDocumentsByFilterAsyncTest,
    async_tests.CountUniqueMetadataByFilterAsyncTest,
    async_tests.DeleteAllAsyncTest,
    async_tests.DeleteByFilterAsyncTest,
    async_tests.DeleteDocumentsAsyncTest,
    async_tests.FilterDocumentsAsyncTest,
    async_tests.GetMetadataFieldsInfoAsyncTest,
    async_tests.GetMetadataFieldMinMaxAsyncTest,
    async_tests.GetMetadataFieldUniqueValuesAsyncTest,
    async_tests.UpdateByFilterAsyncTest,
    async_tests.WriteDocumentsAsyncTest,
):
    async def test_write_documents_async(self, document_store: BethinkDocumentStore) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])
