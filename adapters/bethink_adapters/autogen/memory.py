"""The memory of an agent: each turn recalls from the memory, and the caller writes to the memory.

A failed run of AutoGen raises and returns no result. To keep the words of the user, record the
messages of ``run_stream`` so far; half an answer is no message.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bethink import NotFoundError, Subtree, ValidationError
from bethink.adapting import add_turns, covers, explaining, finish_in_thread, suggesting

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.opening import StoreOrPath
from ..shared.texts import askable
from .contents import to_content, to_event, to_item, to_turns
from .messages import ContextView, all_texts, recall_queries
from .settings import Settings

if TYPE_CHECKING:
    from autogen_agentchat.base import TaskResult
    from autogen_core import CancellationToken, Component
    from autogen_core.memory import Memory, MemoryContent, MemoryQueryResult, UpdateContextResult
    from autogen_core.model_context import ChatCompletionContext
    from pydantic import BaseModel

    class _Memory(Memory, Component[BaseModel]):
        """A memory of AutoGen's."""
else:
    _Memory = object  # see `components`

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)
_MAX_KNOWN_RUNS = 256
"""The number of recorded runs without ids that a memory recognises."""


@suggesting
class AgentMemory(Settings, _Memory):
    """Recall from a namespace of a bethink store, and remember in the namespace.

    *store* is a ``MemoryStore``, for the caller to close, or the path of a file to open. Before
    each turn the last user message, and in a team the task, recall the best *k* memories with a
    score of at least *min_score*, without texts of the conversation. *min_share* is that of
    ``recall``. The block has at most *budget_tokens*, frame included, by *count_tokens* (default:
    an estimate). *inject_as* "user" puts the block in front of the last user message, as every
    model client accepts; "system" puts the block right behind the system message. *name* stands in
    log messages. Bad settings raise ``ValidationError``.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], int] | None = None,
        inject_as: Literal["user", "system"] = "user",
        name: str = "memory",
    ) -> None:
        super().__init__(
            store,
            namespace=namespace,
            k=k,
            min_score=min_score,
            min_share=min_share,
            budget_tokens=budget_tokens,
            count_tokens=count_tokens,
            inject_as=inject_as,
        )
        self.name = name
        self._slot = uuid.uuid4().hex
        self._runs: deque[tuple[Any, str]] = deque(maxlen=_MAX_KNOWN_RUNS)

    async def update_context(self, model_context: ChatCompletionContext) -> UpdateContextResult:
        """Show the model a block of memories; a failing store is logged, and shows no block.

        The results are as from ``query``, except for bytes: see ``to_event``.
        """
        from autogen_core.memory import MemoryQueryResult, UpdateContextResult

        results: list[MemoryContent] = []
        try:
            view = ContextView.of(model_context)
            view.blocks.pop(self._slot, None)
            shown = await view.get_stored()
            block = self._recalling().block
            packed = await asyncio.to_thread(block, recall_queries(shown), all_texts(shown))
            results = [to_event(hit) for hit in packed.results]
            if packed.text:
                view.blocks[self._slot] = self._block_message(packed.text)
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
        """Return the memories that *query* recalls, best first; a blank query recalls nothing.

        Keywords: *k* or *top_k*; *score_threshold*; *where*, a filter of ``MemoryStore.recall``;
        *namespace*, a name or ``Subtree`` within the memory's namespace (else
        ``ValidationError``). The metadata of a result holds id, score, created_at and explanation.
        """
        from autogen_core.memory import MemoryQueryResult

        text = query if isinstance(query, str) else to_item(query)["content"]
        options = self._options(**kwargs)
        if not text.strip():
            return MemoryQueryResult(results=[])
        recalling = asyncio.to_thread(self.store.recall, askable(text), **options)
        hits = await _run_cancellable(cancellation_token, recalling)
        return MemoryQueryResult(results=[to_content(hit) for hit in hits])

    async def add(
        self, content: MemoryContent, cancellation_token: CancellationToken | None = None
    ) -> None:
        """Remember *content*, as the newest memory; a blank text is passed over.

        Content equal to the newest memory only takes the new metadata; content equal to an older
        memory becomes the newest memory. Recalls find an image or bytes by the "description" in the
        metadata; without a description, ``ValidationError`` is raised. Recalls see the first
        524,288 characters of a text.
        """
        item = to_item(content)
        if item["content"].strip():
            await _run_cancellable(cancellation_token, finish_in_thread(self._renew, item))

    async def record(
        self,
        result: TaskResult | Iterable[Any],
        *,
        thread: str | None = None,
        leave_out: Collection[str] = (),
        cancellation_token: CancellationToken | None = None,
    ) -> int:
        """Remember the words of a run, a result or messages; return the number of new turns.

        Recording a run again adds nothing. *thread* names the conversation; by default each run is
        a conversation. *leave_out* names the sources of messages without speech, for instance an
        agent that runs code. Messages of AutoGen 0.4 have no id: the memory object recognises the
        latest 256 recorded runs by the first message object.
        """
        given = getattr(result, "messages", result)
        messages = list(given) if isinstance(given, Iterable) else [given]
        for each in messages:
            if not hasattr(each, "source") and not hasattr(each, "messages"):
                kind, item = type(result).__name__, type(each).__name__
                what = f"a {kind} of {item}" if isinstance(result, list | tuple) else kind
                raise ValidationError(
                    f"record takes a TaskResult or a list of messages, not {what}"
                )
        is_run = thread is None and bool(messages) and not hasattr(messages[0], "id")
        name = self._run_name(messages[0]) if is_run else thread
        turns = to_turns(messages, leave_out, name, is_old=is_run)
        name = turns[0].fields["thread"] if turns else None
        new = finish_in_thread(add_turns, self.store, turns, namespace=self.namespace, thread=name)
        return len(await _run_cancellable(cancellation_token, new))

    async def clear(self) -> None:
        """Forget all memories of the namespace; the namespaces below stay.

        ``erase_user`` erases the memories, without a byte left.
        """
        await finish_in_thread(self.store.forget, namespace=self.namespace)

    @explaining
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

    def _renew(self, item: dict[str, Any]) -> None:
        while True:
            known = self.store.get(namespace=self.namespace, key=item["key"])
            newest = self.store.all(namespace=self.namespace, order="newest", limit=1)
            if known is None or [each.id for each in newest] != [known.id]:
                self.store.store(**item, namespace=self.namespace)
                return
            if known.metadata == item["metadata"]:
                return
            with suppress(NotFoundError):  # a parallel call may replace or forget the memory
                self.store.update(known.id, metadata=item["metadata"])
                return

    def _run_name(self, first: Any) -> str:
        """Return the name of the run with *first* as first message; a new run gets a new name."""
        for known, name in self._runs:
            if known is first:
                return name
        self._runs.append((first, uuid.uuid4().hex))
        return self._runs[-1][1]

    def _configuration(self) -> dict[str, Any]:
        return super()._configuration() | {"name": self.name}


async def _run_cancellable(token: CancellationToken | None, call: Coroutine[Any, Any, _T]) -> _T:
    """Run *call*; cancelling *token* cancels *call*."""
    future = asyncio.ensure_future(call)
    if token is not None:
        token.link_future(future)
    return await future
