"""Agents of LangChain 1 with a fake model, run in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from bethink import MemoryStore


class Model(BaseChatModel):
    """Answer with the next of *replies*, the last one for ever; keep what was seen."""

    replies: list[Any]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _tools: list[str] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "replaying"

    @property
    def prompt(self) -> str:
        """What the model was shown last."""
        return "\n".join(f"{message.type}: {message.content}" for message in self._seen[-1])

    @property
    def offered(self) -> list[str]:
        """The names of the tools that were offered."""
        return self._tools

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        self._tools[:] = [tool.name for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        reply = self.replies[min(len(self._seen), len(self.replies) - 1)]
        self._seen.append(list(messages))
        if isinstance(reply, Exception):
            raise reply
        message = reply if isinstance(reply, BaseMessage) else AIMessage(reply)
        message = message.model_copy(update={"id": None})
        return ChatResult(generations=[ChatGeneration(message=message)])


def calling(name: str, **arguments: Any) -> AIMessage:
    call: Any = {"name": name, "args": arguments, "id": "call-1", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


def asked(text: str) -> Any:
    return {"messages": [HumanMessage(text)]}


CONFIG: Any = {"configurable": {"thread_id": "t1"}}

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "invoke": lambda agent, said, config: agent.invoke(said, config),
    "ainvoke": lambda agent, said, config: asyncio.run(agent.ainvoke(said, config)),
    "stream": lambda agent, said, config: stream(agent, said, config),
    "astream": lambda agent, said, config: asyncio.run(astream(agent, said, config)),
}


def stream(agent: Any, said: Any, config: Any) -> Any:
    *_, last = agent.stream(said, config, stream_mode="values")
    return {"messages": last["messages"]}


async def astream(agent: Any, said: Any, config: Any) -> Any:
    states = [each async for each in agent.astream(said, config, stream_mode="values")]
    return {"messages": states[-1]["messages"]}


def contents(store: MemoryStore) -> list[str]:
    return [each.content for each in store.all()]
