"""Mistakes with the AutoGen adapter, each with the words of the error that name the remedy."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("autogen_agentchat")

from bethink import MemoryStore
from bethink_adapters import autogen

MISTAKES = [
    ("AgentMemory()", "missing a required argument: 'store'"),
    ("AgentMemory(store)", "missing a required argument: 'namespace'"),
    ("AgentMemory(5, namespace='a')", "MemoryStore(path) opens one"),
    ("AgentMemory(store, 'users/ann')", "by name: namespace"),
    ("AgentMemory(store, user_id='ann')", "use 'namespace'"),
    ("AgentMemory(store, namespace='users/*')", "Subtree('users')"),
    ("AgentMemory(store, namespace='a', top_k=3)", "use 'k'"),
    ("AgentMemory(store, namespace='a', max_tokens=3)", "use 'budget_tokens'"),
    ("AgentMemory(store, namespace='a', budget_tokens='9')", "must be an int"),
    ("AgentMemory(store, namespace='a', inject_as='assistant')", "'user', 'system'"),
    ("AgentMemory(store, namespace='a', count_tokens=5)", "must be a function"),
    ("run(memory.add('text'))", "a MemoryContent is needed, not str"),
    ("run(memory.query('x', limit=3))", "use 'k' or 'top_k'"),
    ("run(memory.query('x', filter={}))", "use 'where'"),
    ("run(memory.query('x', namespace='b'))", "lies outside 'a'"),
    ("run(memory.record('text'))", "a TaskResult or a list of messages, not str"),
    ("run(memory.record(['text']))", "a list of messages, not a list of str"),
    ("memory.search('x')", "use 'query'"),
    ("memory.dump_component()", "only a memory in a file"),
    ("MemoryModelContext(store)", "missing a required argument: 'namespace'"),
    ("MemoryModelContext(store, namespace='a', context=[])", "a ChatCompletionContext, not list"),
    ("erase_user(store)", "missing a required argument: 'namespace'"),
    ("erase_user(store, 'ann')", "by name: namespace"),
    ("erase_user(store, namespace='')", "EVERYWHERE covers all namespaces"),
]


@pytest.mark.parametrize(("call", "remedy"), MISTAKES, ids=[call for call, _ in MISTAKES])
def test_a_mistake_is_answered_with_the_remedy(call: str, remedy: str) -> None:
    names: dict[str, Any] = {name: getattr(autogen, name) for name in autogen.__all__}
    with MemoryStore() as store:
        memory = autogen.AgentMemory(store, namespace="a")
        with pytest.raises((ValueError, TypeError, AttributeError)) as caught:
            eval(call, names | {"store": store, "memory": memory, "run": asyncio.run})
    assert remedy in str(caught.value)
