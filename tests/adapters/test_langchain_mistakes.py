"""Mistakes with the LangChain adapter, each with the words of the error that name the remedy."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.messages import HumanMessage

from bethink import MemoryStore
from bethink_adapters import langchain

MISTAKES = [
    ("ChatMessageHistory(store)", "missing a required argument: 'session_id'"),
    ("ChatMessageHistory(store, 's', k=3)", "use 'last'"),
    ("ChatMessageHistory(store, 's').add_messages('hi')", "a list of messages, not str"),
    ("ChatMessageHistory(store, 's').add_messages({'role': 'user'})", "messages, not dict"),
    ("ChatMessageHistory(store, 's').add_messages(MESSAGE)", "messages, not HumanMessage"),
    ("ChatMessageHistory(store, 's').add_messages(None)", "messages, not NoneType"),
    ("message_history_factory(store, keys='session_id')", "a list of at least one key"),
    ("message_history_factory(5)", "MemoryStore(path) opens one"),
    ("ConversationMemory(store)", "missing a required argument: 'session_id'"),
    ("ConversationMemory(store, 's', recalled=3)", "recalled needs k"),
    ("ConversationMemory(store, 's').save_context({'a': 1, 'b': 2}, {})", "set input_key"),
    ("BethinkVectorStore(store, 'openai')", "Embeddings of LangChain, not str"),
    ("BethinkVectorStore(store).add_texts('one text')", "a list of str"),
    ("BethinkVectorStore(store).add_texts([5])", "a list of str"),
    ("BethinkVectorStore(store).add_texts(['a'], [{}, {}])", "1 texts, but 2 metadatas"),
    ("BethinkVectorStore(store).similarity_search('x', filter='a')", "a mapping of metadata"),
    ("BethinkVectorStore(store).similarity_search_by_vector([1.0])", "needs the embedding"),
    ("MemoryStoreRetriever(store=5)", "MemoryStore(path) opens one"),
    ("MemoryStoreRetriever(store=store, mode='vector')", "'hybrid', 'keyword', 'semantic'"),
    ("MemoryStoreRetriever(store=store, top_k=3)", "use 'k'"),
    ("MemoryStoreRetriever(store=store, k=-1)", "at least 0, not -1"),
    ("MemoryStoreRetriever(store=store, namespace='users/*')", "Subtree('users')"),
    ("MemoryStoreRetriever(store=store, min_share=5)", "in [0, 1], not 5"),
    ("BethinkVectorStore(store).similarity_search('x', limit=3)", "use 'k'"),
    ("BethinkVectorStore(store).max_marginal_relevance_search('x', top_k=3)", "use 'k'"),
    ("BethinkEmbeddings(store)", "an Embedder such as HashEmbedder(), not MemoryStore"),
    ("BethinkEmbeddings().embed_documents('text')", "a list of strings, not one string"),
    ("memory_tools(store)", "missing a required argument: 'namespace'"),
    ("memory_tools(store, namespace='a', limit=3)", "use 'k'"),
    ("erase_user(store)", "needs namespaces, sessions, threads or items"),
    ("erase_user(store, namespaces='ann')", "must be a list of str"),
    ("BethinkCache(store, user_id='ann')", "use 'namespace'"),
    ("BethinkKeyValueStore(store, user_id='ann')", "use 'namespace'"),
    ("BethinkCache(5)", "MemoryStore(path) opens one"),
]
OF_AGENTS = [
    ("MemoryMiddleware(store)", "missing a required argument: 'namespace'"),
    ("MemoryMiddleware(store, user_id='ann')", "use 'namespace'"),
    ("MemoryMiddleware(store, namespace='a', limit=3)", "use 'k'"),
    ("MemoryMiddleware(store, namespace='a', max_tokens=3)", "use 'budget_tokens'"),
    ("MemoryMiddleware(store, namespace='users/*')", "Subtree('users')"),
    ("MemoryMiddleware(store, namespace='a', inject_as='assistant')", "'user', 'system'"),
    ("MemoryMiddleware(store, namespace='a', count_tokens=5)", "must be a function"),
    ("MemoryMiddleware(5, namespace='a')", "MemoryStore(path) opens one"),
]


def told(call: str) -> str:
    """Return the message of the error that *call* raises."""
    names: dict[str, Any] = {name: getattr(langchain, name) for name in langchain.__all__}
    with MemoryStore() as store, pytest.raises((ValueError, TypeError)) as caught:
        eval(call, names | {"store": store, "MESSAGE": HumanMessage("hi")})
    return str(caught.value)


@pytest.mark.parametrize(("call", "remedy"), MISTAKES, ids=[call for call, _ in MISTAKES])
def test_a_mistake_is_answered_with_the_remedy(call: str, remedy: str) -> None:
    assert remedy in told(call)


@pytest.mark.parametrize(("call", "remedy"), OF_AGENTS, ids=[call for call, _ in OF_AGENTS])
def test_a_mistake_with_the_middleware_is_answered_with_the_remedy(call: str, remedy: str) -> None:
    pytest.importorskip("langchain.agents.middleware")
    assert remedy in told(call)
