"""AutoGen: a `Memory` that `AssistantAgent(memory=[...])` recalls from before each turn.

    memory = AgentMemory("agent.db", namespace="users/42")
    agent = AssistantAgent("helper", model_client=client, memory=[memory])
    result = await agent.run(task="Which pizza do I like?")
    await memory.record(result)          # AutoGen never writes to a memory by itself

What was recalled stands in front of the last user message while the model answers, and nowhere
else: it is shown through the model context, not added to it, so it neither piles up nor ends in a
saved state.

Runs on autogen-agentchat 0.4.9 to 0.7.5, which is also what pyautogen 0.10 installs. An AutoGen
newer than that loads dumped components only from packages it trusts: there, set
AUTOGEN_ALLOWED_PROVIDER_NAMESPACES=bethink_adapters.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import uuid
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from bethink import (
    MemoryStore,
    MissingExtraError,
    RecallResult,
    Subtree,
    ValidationError,
)
from bethink.namespaces import covers
from bethink.text import estimate_tokens

from .autogen_messages import ContextView, block_of, conversation, to_content, to_item, to_items

if TYPE_CHECKING:
    from autogen_agentchat.base import TaskResult
    from autogen_core import CancellationToken
    from autogen_core.memory import MemoryContent, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from autogen_core.models import LLMMessage

__all__ = ["AgentMemory"]

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)


class _AgentMemory:
    """Recall from, and remember in, one namespace of a bethink store.

    *store* is a `MemoryStore`, which stays the caller's to close, or the path of a file to open.
    Before each turn the best *k* memories that score at least *min_score*, and that the
    conversation does not hold word for word already, are shown to the model: as many as fit into
    *budget_tokens*, frame included, by *token_counter* (default: an estimate). *inject_as* "user"
    puts them in front of the last user message, which every model client accepts, "system" right
    behind the system message. *name* stands in log messages.
    """

    def __init__(
        self,
        store: MemoryStore | str | os.PathLike[str],
        *,
        namespace: str = "default",
        k: int = 5,
        min_score: float = 0.0,
        budget_tokens: int = 800,
        token_counter: Callable[[str], int] | None = None,
        inject_as: Literal["user", "system"] = "user",
        name: str = "memory",
    ) -> None:
        if inject_as not in ("user", "system"):
            raise ValidationError(f'inject_as must be "user" or "system", not {inject_as!r}')
        if k < 1 or budget_tokens < 0:
            raise ValidationError(f"k={k} must be at least 1, {budget_tokens=} not negative")
        self.namespace = Subtree(namespace).path
        self.k = k
        self.min_score = min_score
        self.budget_tokens = budget_tokens
        self.token_counter = token_counter
        self.inject_as = inject_as
        self.name = name
        self._owns_store = not isinstance(store, MemoryStore)
        self.store = store if isinstance(store, MemoryStore) else MemoryStore(store)
        self._slot = uuid.uuid4().hex

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Show what the last user message recalls; a failing store is logged and shows nothing."""
        from autogen_core.memory import MemoryQueryResult, UpdateContextResult

        results: list[MemoryContent] = []
        try:
            view = ContextView.of(model_context)
            view.blocks.pop(self._slot, None)
            query, said = conversation(await view.stored())
            if query:
                hits, text = await asyncio.to_thread(self._pick, query, said)
                results = [to_content(hit) for hit in hits]
                if hits:
                    view.blocks[self._slot] = self._message(text)
        except Exception:
            results = []
            _logger.exception("%s could not recall; the run goes on without it", self.name)
        return UpdateContextResult(memories=MemoryQueryResult(results=results))

    async def query(
        self,
        query: str | MemoryContent,
        cancellation_token: CancellationToken | None = None,
        **kwargs: Any,
    ) -> MemoryQueryResult:
        """Return the memories that *query* recalls, best first; a blank one recalls nothing.

        Keywords: *k* or *top_k*; *score_threshold*; *where*, a filter of `MemoryStore.recall`;
        *namespace*, a name or `Subtree` within this memory's own. The metadata of a result holds
        its id, score, created_at and explanation.
        """
        from autogen_core.memory import MemoryQueryResult

        text = query if isinstance(query, str) else to_item(query)["content"]
        options = self._options(**kwargs)
        if not text.strip():
            return MemoryQueryResult(results=[])
        hits = await _run(cancellation_token, self.store.recall, text, **options)
        return MemoryQueryResult(results=[to_content(hit) for hit in hits])

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Remember *content*; what is there already is not added again, but takes the new metadata.

        An image or bytes are found by the text in their metadata's "description".
        """
        await _run(cancellation_token, self._put, to_item(content))

    async def record(
        self,
        result: TaskResult,
        *,
        thread: str | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> int:
        """Remember what was said in a finished run; return how many messages were new.

        Recording a run again adds nothing. *thread* names the conversation; by default each run is
        one. (Messages of AutoGen 0.4 have no id; there a run is known by its texts.)
        """
        return await _run(cancellation_token, self._put_turns, to_items(result, thread))

    async def clear(self) -> None:
        """Forget every memory of this namespace; the namespaces below it stay."""
        await asyncio.to_thread(self.store.forget, namespace=self.namespace)

    async def close(self) -> None:
        """Close the store if this memory opened it; nothing is deleted."""
        if self._owns_store:
            await asyncio.to_thread(self.store.close)

    def _options(
        self,
        *,
        k: int | None = None,
        top_k: int | None = None,
        score_threshold: float | None = None,
        namespace: str | Subtree | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        scope = self.namespace if namespace is None else namespace
        path = scope.path if isinstance(scope, Subtree) else scope
        if not isinstance(path, str) or not covers(Subtree(self.namespace), path):
            raise ValidationError(f"namespace {scope!r} lies outside {self.namespace!r}")
        wanted = next((number for number in (k, top_k) if number is not None), self.k)
        threshold = self.min_score if score_threshold is None else score_threshold
        return {"k": wanted, "min_score": threshold, "namespace": scope, "where": where}

    def _pick(self, query: str, said: set[str]) -> tuple[list[RecallResult], str]:
        """Return what to show and the text that shows it."""
        options = self._options(k=self.k + len(said))
        hits = self.store.recall(query, touch=False, **options)
        new = [hit for hit in hits if hit.memory.content.strip() not in said]
        count = self.token_counter or estimate_tokens
        shown: list[RecallResult] = []
        text = ""
        for hit in new[: self.k]:
            longer = block_of([*shown, hit])
            if count(longer) <= self.budget_tokens:
                shown.append(hit)
                text = longer
        self.store.touch([hit.memory.id for hit in shown])
        return shown, text

    def _message(self, text: str) -> LLMMessage:
        from autogen_core.models import SystemMessage, UserMessage

        if self.inject_as == "system":
            return SystemMessage(content=text)
        return UserMessage(content=text, source="memory")

    def _put(self, item: dict[str, Any]) -> None:
        known = self.store.get(namespace=self.namespace, key=item["key"])
        if known is None:
            self.store.store(**item, namespace=self.namespace)
        elif known.metadata != item["metadata"]:
            self.store.update(known.id, metadata=item["metadata"])

    def _put_turns(self, turns: list[dict[str, Any]]) -> int:
        get = functools.partial(self.store.get, namespace=self.namespace)
        new = [turn for turn in turns if get(key=turn["key"]) is None]
        return len(self.store.store_many(new, namespace=self.namespace)) if new else 0

    def _configuration(self) -> dict[str, Any]:
        """Return the arguments that make this memory again in another process."""
        location = self.store.location
        if location == ":memory:" or "://" in location:
            raise ValidationError(f"only a memory in a file can be dumped, not {location[:12]!r}")
        if self.token_counter is not None:
            warnings.warn("the token_counter is not dumped; set it after loading", stacklevel=4)
        kept = ("namespace", "k", "min_score", "budget_tokens", "inject_as", "name")
        path = str(Path(location).absolute())
        return {"location": path} | {field: getattr(self, field) for field in kept}


async def _run(
    token: CancellationToken | None, call: Callable[..., _T], *args: Any, **kwargs: Any
) -> _T:
    """Run a blocking *call* in a thread; cancelling *token* cancels the waiting."""
    future = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    if token is not None:
        token.link_future(future)
    return await future


if TYPE_CHECKING:
    from autogen_core import Component
    from autogen_core.memory import Memory
    from pydantic import BaseModel

    class AgentMemory(_AgentMemory, Memory, Component[BaseModel]):
        """See `_AgentMemory`; made by `_agent_memory` on first use."""


@functools.cache
def _agent_memory() -> type:
    """Put the methods above on AutoGen's own base classes."""
    try:
        from autogen_core import Component
        from autogen_core.memory import Memory
    except ModuleNotFoundError as error:
        raise MissingExtraError("autogen-core", "autogen") from error
    from pydantic import BaseModel

    class AgentMemoryConfig(BaseModel):
        location: str
        namespace: str = "default"
        k: int = 5
        min_score: float = 0.0
        budget_tokens: int = 800
        inject_as: Literal["user", "system"] = "user"
        name: str = "memory"

    class AgentMemory(_AgentMemory, Memory, Component[AgentMemoryConfig]):
        __doc__ = _AgentMemory.__doc__
        __module__ = __name__
        __qualname__ = "AgentMemory"
        component_provider_override = "bethink_adapters.autogen.AgentMemory"
        component_description = "Recalls from one namespace of a bethink store."
        component_config_schema = AgentMemoryConfig

        def _to_config(self) -> AgentMemoryConfig:
            return AgentMemoryConfig(**self._configuration())

        @classmethod
        def _from_config(cls, config: AgentMemoryConfig) -> Self:
            options = config.model_dump()
            return cls(options.pop("location"), **options)

    return AgentMemory


def __getattr__(name: str) -> type:
    if name == "AgentMemory":
        return _agent_memory()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "AgentMemory"]
