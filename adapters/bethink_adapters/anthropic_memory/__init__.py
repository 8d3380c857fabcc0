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

from bethink import Files
from bethink.adapting import finish_in_thread

from ..shared.opening import StoreOrPath, open_store
from ..shared.subclassing import made_on
from . import commands

if TYPE_CHECKING:
    from anthropic.tools.memory import BetaAbstractMemoryTool as _Sync
    from anthropic.tools.memory import BetaAsyncAbstractMemoryTool as _Async
else:
    _Sync = _Async = object  # see `subclassing`


@made_on("anthropic", "anthropic.tools.memory", "BetaAbstractMemoryTool")
class MemoryTool(_Sync):
    """The memory tool over the files in the *namespace* of a *store*, which stays open.

    Deleting a file forgets the file; with *erase*, no byte of the file stays.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str,
        cache_control: Any = None,
        erase: bool = False,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = Files(open_store(store), namespace)
        self.erase = erase

    def call(self, input: object) -> Any:
        """Run the command *input*, a mapping; a wrong command is refused with a sentence."""
        return super().call(commands.check_command(input))

    def view(self, command: Any) -> str:
        """Show a file with line numbers, or the content of a folder."""
        return commands.view(self.files, command)

    def create(self, command: Any) -> str:
        """Make a new file."""
        return commands.create(self.files, command)

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once in a file."""
        return commands.str_replace(self.files, command)

    def insert(self, command: Any) -> str:
        """Insert lines after a line of a file."""
        return commands.insert(self.files, command)

    def delete(self, command: Any) -> str:
        """Forget a file or a folder; with ``erase``, erase."""
        return commands.delete(self.files, command, erase=self.erase)

    def rename(self, command: Any) -> str:
        """Move a file or a folder."""
        return commands.rename(self.files, command)

    def clear_all_memory(self) -> str:
        """Forget all files; with ``erase``, erase."""
        return commands.clear(self.files, erase=self.erase)


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
class AsyncMemoryTool(_Async):
    """The memory tool for an asynchronous client, of asyncio or of trio; see `MemoryTool`."""

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str,
        cache_control: Any = None,
        erase: bool = False,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = Files(open_store(store), namespace)
        self.erase = erase

    async def call(self, input: object) -> Any:
        """Run the command *input*, a mapping; a wrong command is refused with a sentence."""
        return await super().call(commands.check_command(input))

    view = _awaitable(MemoryTool.view, writes=False)
    create = _awaitable(MemoryTool.create)
    str_replace = _awaitable(MemoryTool.str_replace)
    insert = _awaitable(MemoryTool.insert)
    delete = _awaitable(MemoryTool.delete)
    rename = _awaitable(MemoryTool.rename)
    clear_all_memory = _awaitable(MemoryTool.clear_all_memory)
