"""Anthropic's memory tool: the files that a model keeps below /memories, in a store.

    with MemoryStore("agent.db") as store:
        memory = MemoryTool(store, namespace="users/42/memories")
        runner = client.beta.messages.tool_runner(model=…, max_tokens=…, messages=…, tools=[memory])
        runner.until_done()

Each file is a record: ``recall`` finds the file, and ``audit`` returns every version. The answers
are the answers of the SDK's own tool for a folder on disk, except that an empty folder does not
exist and that a folder has the size of its files. A wrong command is answered with a sentence that
the model can act on. ``store.erase(namespace=…)`` erases all files of a user.

Runs on anthropic 1.8 to 2.14.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any

from bethink.adapting import finish_in_thread

from ..shared.subclassing import made_on
from .commands import Commands, OnFiles, check_command

if TYPE_CHECKING:
    from anthropic.tools.memory import BetaAbstractMemoryTool as _Sync
    from anthropic.tools.memory import BetaAsyncAbstractMemoryTool as _Async
else:
    _Sync = _Async = object  # see `subclassing`


@made_on("anthropic", "anthropic.tools.memory", "BetaAbstractMemoryTool")
class MemoryTool(Commands, _Sync):
    """The memory tool over the files in the *namespace* of a *store*, which stays open.

    Deleting a file forgets the file; with *erase*, no byte of the file stays.
    """

    def call(self, input: object) -> Any:
        """Run the command *input*, a mapping; a wrong command is refused with a sentence."""
        return super().call(check_command(input))


def _awaitable(
    verb: Callable[..., str], *, writes: bool = True
) -> Callable[..., Coroutine[Any, Any, str]]:
    """Return *verb* run in a worker thread of the client's event loop, asyncio or trio.

    A cancelled caller of a verb that *writes* waits for the end.
    """

    @wraps(verb)
    async def run(self: Any, *args: Any) -> str:
        from anyio import get_cancelled_exc_class, to_thread

        if writes and get_cancelled_exc_class() is asyncio.CancelledError:
            return await finish_in_thread(verb, self, *args)
        return await to_thread.run_sync(verb, self, *args, abandon_on_cancel=not writes)

    return run


@made_on("anthropic", "anthropic.tools.memory", "BetaAsyncAbstractMemoryTool")
class AsyncMemoryTool(OnFiles, _Async):
    """The memory tool for an asynchronous client, of asyncio or of trio; see `MemoryTool`."""

    async def call(self, input: object) -> Any:
        """Run the command *input*, a mapping; a wrong command is refused with a sentence."""
        return await super().call(check_command(input))

    view = _awaitable(Commands.view, writes=False)
    create = _awaitable(Commands.create)
    str_replace = _awaitable(Commands.str_replace)
    insert = _awaitable(Commands.insert)
    delete = _awaitable(Commands.delete)
    rename = _awaitable(Commands.rename)
    clear_all_memory = _awaitable(Commands.clear_all_memory)
