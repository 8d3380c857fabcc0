"""Two tools for a model: to search a memory, and to write to the memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from bethink import BethinkError
from bethink.adapting import check_namespace, explaining, finish_in_thread

from ..shared.defaults import DEFAULT_K
from ..shared.opening import StoreOrPath, open_store
from ..shared.recalling import Recalling
from .documents import part

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool


@explaining
def memory_tools(
    store: StoreOrPath, *, namespace: str | Callable[[Any], str], k: int = DEFAULT_K
) -> list[BaseTool]:
    """Return the tools ``recall`` (at most *k* memories) and ``remember``.

    The model cannot choose the *namespace*: a name, or a function from the ``Runtime``
    of the LangGraph run to a name. The failure of a store is the tool's answer to the model.
    """
    recalling = Recalling(open_store(store), k=k)
    place = namespace if callable(namespace) else check_namespace(namespace)

    def where() -> str:
        if not callable(place):
            return place
        from langgraph.runtime import get_runtime

        return check_namespace(place(get_runtime()))

    def recall(query: str) -> str:
        """Search the long-term memory for what is known about something."""
        return recalling.answer(query, namespace=where())

    def remember(content: str) -> str:
        """Keep one fact, in a sentence that makes sense by itself, in the long-term memory."""
        recalling.store.store(content, namespace=where())
        return "Remembered."

    return [_tool(recall), _tool(remember)]


def _tool(verb: Callable[[str], str]) -> BaseTool:
    """Return *verb* as a tool, sync and async; errors are answers."""
    tools = part("tools")

    @wraps(verb)
    def called(*args: str, **given: str) -> str:
        try:
            return verb(*args, **given)
        except BethinkError as error:
            raise tools.ToolException(f"The memory failed: {error}") from error

    @wraps(verb)
    async def awaited(*args: str, **given: str) -> str:
        return await finish_in_thread(called, *args, **given)

    made: BaseTool = tools.StructuredTool.from_function(
        called, awaited, name=verb.__name__, description=verb.__doc__, handle_tool_error=True
    )
    return made
