"""The older memory of chains, in LangChain's own chains."""

from __future__ import annotations

import asyncio
import warnings
from importlib import import_module, util
from typing import TYPE_CHECKING, Any

import pytest

from bethink import MemoryStore
from bethink_adapters.langchain import ConversationMemory, chain_memory

models = pytest.importorskip("langchain_core.language_models")
CLASSIC = next((name for name in ("langchain_classic", "langchain") if util.find_spec(name)), "")
if not CLASSIC or not util.find_spec(f"{CLASSIC}.chains"):
    pytest.skip("no chains are installed", allow_module_level=True)

if TYPE_CHECKING:
    from langchain_core.language_models import FakeListLLM
else:
    FakeListLLM = models.FakeListLLM


class Heard(FakeListLLM):
    """A model that keeps the prompts."""

    prompts: list[str]

    def _call(self, prompt: str, *args: Any, **kwargs: Any) -> str:
        self.prompts.append(prompt)
        return super()._call(prompt, *args, **kwargs)

    async def _acall(self, prompt: str, *args: Any, **kwargs: Any) -> str:
        return self._call(prompt)


def conversation(store: MemoryStore, model: Heard, **options: Any) -> Any:
    chain = import_module(f"{CLASSIC}.chains").ConversationChain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains are deprecated
        return chain(llm=model, memory=chain_memory(store, "s1", **options))


def test_a_chain_is_told_the_last_exchange_and_what_the_input_recalls(store: MemoryStore) -> None:
    model = Heard(responses=["Noted.", "It is sunny.", "I sing.", "4711."], prompts=[])
    chain = conversation(store, model, k=1, recalled=1)
    said = ("My locker code is 4711.", "How is the weather?", "Sing!", "What is my locker code?")
    for text in said:
        chain.invoke({"input": text})
    told = "Human: My locker code is 4711.\nAI: Noted.\nHuman: Sing!\nAI: I sing.\nHuman: What is"
    assert told in model.prompts[-1]
    assert "weather" not in model.prompts[-1]
    assert ConversationMemory(store, "s1").chat_memory.log.count() == 8


def test_an_awaited_chain_remembers_alike(store: MemoryStore) -> None:
    async def main() -> None:
        chain = conversation(store, Heard(responses=["Noted.", "4711."], prompts=[]), k=1)
        await chain.ainvoke({"input": "My locker code is 4711."})
        await chain.ainvoke({"input": "Which?"})
        assert chain.memory.load_memory_variables({}) == {"history": "Human: Which?\nAI: 4711."}
        await chain.memory.aclear()
        assert await chain.memory.aload_memory_variables({}) == {"history": ""}

    asyncio.run(main())


def test_the_memory_of_a_chain_can_be_cleared(store: MemoryStore) -> None:
    memory = chain_memory(store, "s1", memory_key="past", erase=True)
    memory.save_context({"q": "hi"}, {"a": "hello"})
    assert memory.memory_variables == ["past"]
    memory.clear()
    assert memory.load_memory_variables({}) == {"past": ""}
