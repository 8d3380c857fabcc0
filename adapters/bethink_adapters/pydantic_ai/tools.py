"""Two tools for a model: search the memory, and write to the memory.

Pydantic AI evaluates the annotations of a tool's arguments, so the module has no
``from __future__ import annotations``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bethink import BethinkError
from bethink.adapting import check_namespace, explaining, finish_in_thread

from ..shared.defaults import DEFAULT_K
from ..shared.extras import needs
from ..shared.opening import StoreOrPath, open_store
from ..shared.recalling import Recalling

if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset, RunContext


@explaining
def memory_tools(
    store: StoreOrPath,
    *,
    namespace: "str | Callable[[RunContext[Any]], str]",
    k: int = DEFAULT_K,
    id: str | None = None,
) -> "FunctionToolset[Any]":
    """Return a toolset of ``recall`` (at most *k* memories) and ``remember``.

    *namespace* is a name, or a function of the ``RunContext``; the model cannot choose the
    namespace. *id* is the toolset's id. Errors of the store are reported to the model. A bad
    *namespace* or *k* raises ``ValidationError``.
    """
    with needs("pydantic-ai"):
        from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool
    recalling = Recalling(open_store(store), k=k)
    place = namespace if callable(namespace) else check_namespace(namespace)

    def recall(ctx: RunContext[Any], query: str) -> str:
        """Search the long-term memory for what is known about something."""
        try:
            return recalling.answer(query, namespace=_namespace_for(place, ctx))
        except BethinkError as error:
            raise ModelRetry(f"The memory failed, go on without it: {error}") from error

    async def remember(ctx: RunContext[Any], content: str) -> str:
        """Keep one fact, in a sentence that makes sense by itself, in the long-term memory."""
        try:
            await finish_in_thread(
                recalling.store.store, content, namespace=_namespace_for(place, ctx)
            )
        except BethinkError as error:
            raise ModelRetry(f"The memory failed, go on without it: {error}") from error
        return "Remembered."

    tools = [Tool[Any](verb, max_retries=3) for verb in (recall, remember)]
    return FunctionToolset(tools, id=id)


def _namespace_for(place: str | Callable[[Any], str], ctx: Any) -> str:
    return check_namespace(place(ctx)) if callable(place) else place
