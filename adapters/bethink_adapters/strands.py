"""Strands Agents: a memory store that a ``MemoryManager`` searches before each model call.

    memory = StrandsStore(store, namespace="users/42")
    agent = Agent(model=model, memory_manager=MemoryManager(stores=[memory]))

Strands shows found memories to the model and keeps the memories out of the conversation. Words are
handed to the store after each turn, as said: no model decides about remembering. Strands' own
texts, about structured output, direct calls of tools, and the work of a graph or a swarm, are no
words. After a run that failed, the memory has the user's words.

Runs on strands-agents 1.46 to 1.62.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from bethink import MemoryRecord
from bethink.adapting import (
    MAX_CONTENT,
    Scope,
    add_turns,
    check_namespace,
    check_scope,
    finish_in_thread,
    integer,
    label,
    number,
    suggesting,
)

from .shared.defaults import DEFAULT_K
from .shared.erasing import erase_user
from .shared.extras import needs, require
from .shared.opening import StoreOrPath, open_store
from .shared.recalling import Recalling
from .shared.texts import digest, storable, written
from .shared.turns import thread_name, turn

if TYPE_CHECKING:
    from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, SearchOptions
    from strands.types.content import Message
    from strands.types.tools import AgentTool

__all__ = ["StrandsStore", "erase_user"]

_SPEAKERS: Final = ("user", "assistant")
_NOTICE: Final = re.compile(
    r"You must format the previous response as structured output\."
    r"|agent\.tool\.\S+ (?:was called\.|direct tool call\.\nInput parameters: .*\n)",
    re.DOTALL,
)
"""The texts of Strands' own messages in the name of the user and the model."""

_GRAPH: Final = "Original Task:", "\n\nInputs from previous nodes:"
_SWARM: Final = "Context:\n", "You have access to swarm coordination tools"
"""What stands around a task that a graph or a swarm hands to an agent in the name of the user."""

_SWARM_NOTES: Final = re.compile(r"\n\n(?:Previous agents who|Shared knowledge|Other agents) ")
_SWARM_END: Final = "the swarm will consider the task complete."


@suggesting
class StrandsStore:
    """The memories of one *namespace* of a *store*, for one conversation.

    *name* and *description* tell agents with several stores the stores apart. A search looks in
    *scope* (default: the namespace) for at most *max_search_results* memories that score at least
    *min_score*. *min_share* is that of ``recall``. The turns of the conversation itself, called
    *thread*, are left out, as the model sees the conversation anyway; *include_own* is for agents
    that drop old messages. With *writable* False nothing is added; with *extraction* False only
    tools add memories. An ``ExtractionConfig`` says when words are remembered; by default after
    each turn.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        name: str = "memory",
        namespace: str,
        scope: Scope | None = None,
        thread: str | int | None = None,
        description: str | None = None,
        max_search_results: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        include_own: bool = False,
        writable: bool = True,
        extraction: Any = None,
    ) -> None:
        require("strands", "strands.memory")
        self.store = open_store(store)
        self.name = label("name", name)
        self.namespace = check_namespace(namespace)
        self.scope = self.namespace if scope is None else check_scope(scope)
        self.thread = thread_name(thread) or uuid4().hex
        self.description = description
        self.max_search_results: int | None = integer("max_search_results", max_search_results, 1)
        self.min_score = number("min_score", min_score, -1e9, 1e9)
        self.min_share = number("min_share", min_share, 0.0, 1.0)
        self.include_own = include_own
        self.writable = writable
        self.extraction = writable and _each_turn() if extraction is None else extraction
        self._run = uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the memories relevant to *query*, best first, each text of an author once."""
        with needs("strands"):
            from strands.memory import MemoryEntry
        most = (options or {}).get("max_search_results") or self.max_search_results or DEFAULT_K
        recalling = Recalling(
            self.store, self.scope, most, self.min_score, min_share=self.min_share
        )
        where = None if self.include_own else {"$not": {"thread": self.thread}}
        found = await asyncio.to_thread(recalling.hits, _own_words(query), where=where)
        return [
            MemoryEntry(content=hit.memory.content, metadata=_told(hit.memory, hit.score))
            for hit in found
        ]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Remember *content*, unless the namespace has an added memory with the text.

        Times in *metadata* become ISO 8601 texts, UUIDs texts.
        """
        item = {
            "content": storable(content, MAX_CONTENT),
            "metadata": written("metadata", metadata or {}),
            "key": f"added:{digest(content)}",
        }
        await finish_in_thread(self._add, item)

    async def add_messages(
        self, messages: Sequence[Message], context: AddMessagesContext | None = None
    ) -> None:
        """Remember the words of *messages*, of each run, number and text once.

        Agents that share this object may have equal numbers. Messages without numbers are known by
        the place in the conversation.
        """
        given = context.sequence_numbers if context else None
        numbers: Sequence[int | None] = given or [None] * len(messages)
        turns = [
            turn(text, message["role"], None if number is None else f"{self._run} {number} {text}")
            for message, number in zip(messages, numbers, strict=True)
            if message["role"] in _SPEAKERS
            for said in ["\n".join(_texts(message["content"]))]
            for text in [_own_words(said) if message["role"] == "user" else said]
        ]
        await finish_in_thread(
            add_turns, self.store, turns, namespace=self.namespace, thread=self.thread
        )

    async def initialize(self) -> None:
        """Begin the run of an agent, which numbers its messages from 0 again."""
        self._run = uuid4().hex

    def get_tools(self) -> list[AgentTool]:
        """Return no tools besides the manager's own."""
        return []

    def _add(self, item: Mapping[str, Any]) -> None:
        if self.store.get(namespace=self.namespace, key=item["key"]) is None:
            self.store.store_many([item], namespace=self.namespace)


def _each_turn() -> ExtractionConfig:
    """Return the configuration that remembers a turn before the agent returns.

    Strands' own triggers start a task, and the task ends with the event loop, done or not.
    """
    with needs("strands"):
        from strands.hooks import AfterInvocationEvent, HookOrder
        from strands.memory import ExtractionTrigger, ExtractionTriggerContext

    class EachTurn(ExtractionTrigger):
        name = "each_turn"

        def attach(self, context: ExtractionTriggerContext) -> None:
            async def save(event: AfterInvocationEvent) -> None:
                others = asyncio.all_tasks()
                context.fire()
                if saving := asyncio.all_tasks() - others:
                    await asyncio.wait(saving)

            context.agent.add_hook(save, AfterInvocationEvent, order=HookOrder.SDK_LAST)

    return {"trigger": EachTurn()}


def _texts(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the texts of a message, those with citations, too, without Strands' own texts."""
    for part in parts:
        if "text" in part and not _NOTICE.fullmatch(part["text"]):
            yield part["text"]
        yield from _texts(part.get("citationsContent", {}).get("content", ()))


def _own_words(text: str) -> str:
    """Return the words of the user in *text*, without what graphs and swarms of Strands add."""
    if not isinstance(text, str):
        return text
    task, inputs, _ = text.partition(_GRAPH[1])
    if inputs and task.startswith(_GRAPH[0]):
        return task.removeprefix(_GRAPH[0]).strip()
    context, tools, rest = text.partition(_SWARM[1])
    if tools and context.startswith(_SWARM[0]):
        request = _SWARM_NOTES.split(context.partition("\nUser Request: ")[2])[0]
        return rest.partition(_SWARM_END)[2].strip() or request.strip()
    return text


def _told(record: MemoryRecord, score: float) -> dict[str, Any]:
    """Return the metadata of a found memory, as JSON."""
    known = {"id": record.id, "score": score, "occurred_at": record.occurred_at}
    named = {"author": record.author, "thread": record.thread}
    return {**record.metadata, **known, **{name: each for name, each in named.items() if each}}
