"""Anthropic's memory tool: the files that a model keeps below /memories, in a store.

    with MemoryStore("agent.db") as store:
        memory = MemoryTool(store, namespace="users/42/memories")
        runner = client.beta.messages.tool_runner(model=…, max_tokens=…, messages=…, tools=[memory])
        runner.until_done()

Each file is a record: ``recall`` finds it, ``audit`` tells what it ever said, and what was deleted
can be restored. The answers are those of the SDK's own tool for a folder on disk; but a folder
without a file is none, and has the size of its files.

Runs on anthropic 1.8 to 2.12.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from bethink import (
    Files,
    IsAFolderError,
    LineRangeError,
    MemoryStore,
    NotFoundError,
    OccurrenceError,
    PathTakenError,
    ValidationError,
)
from bethink.adapting import ROOT, finish_in_thread, normalise_path, numbered

from .shared.extras import needs
from .shared.subclassing import on_base

if TYPE_CHECKING:
    from anthropic.tools.memory import BetaAbstractMemoryTool as _Sync
    from anthropic.tools.memory import BetaAsyncAbstractMemoryTool as _Async
else:
    _Sync = _Async = object  # see `subclassing`

_TOP: Final = "/memories"
_LEVELS: Final = 2
_MOST_LINES: Final = 999_999
_LISTED: Final = f"files and directories up to {_LEVELS} levels deep in"
_GONE: Final = "The path {} does not exist. Please provide a valid path."
_NO_FILE: Final = "The path {} is not a file."


class MemoryTool(_Sync):
    """The memory tool over the files in the *namespace* of a *store*, which stays open."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a tool that passes for the SDK's own."""
        with needs("anthropic", "anthropic"):
            from anthropic.tools.memory import BetaAbstractMemoryTool

        return object.__new__(on_base(cls, BetaAbstractMemoryTool))

    def __init__(
        self, store: MemoryStore, *, namespace: str = "memories", cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = Files(store, namespace)

    def view(self, command: Any) -> str:
        """Show a file with line numbers, or what is in a folder."""
        return _view(self.files, command)

    def create(self, command: Any) -> str:
        """Make a new file."""
        return _create(self.files, command)

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once in a file."""
        return _str_replace(self.files, command)

    def insert(self, command: Any) -> str:
        """Insert lines after a line of a file."""
        return _insert(self.files, command)

    def delete(self, command: Any) -> str:
        """Delete a file or a folder."""
        return _delete(self.files, command)

    def rename(self, command: Any) -> str:
        """Move a file or a folder."""
        return _rename(self.files, command)

    def clear_all_memory(self) -> str:
        """Forget all files."""
        return _clear(self.files)


def _awaitable(
    verb: Callable[..., str], *, writes: bool = True
) -> Callable[..., Coroutine[Any, Any, str]]:
    """Return *verb* run in a worker thread, of asyncio or of trio, as the client is.

    Who cancels one that *writes* waits until it is through.
    """

    @wraps(verb)
    async def run(self: Any, *args: Any) -> str:
        from anyio import get_cancelled_exc_class, to_thread

        if writes and get_cancelled_exc_class() is asyncio.CancelledError:
            return await finish_in_thread(verb, self, *args)
        return await to_thread.run_sync(verb, self, *args, abandon_on_cancel=not writes)

    return run


class AsyncMemoryTool(_Async):
    """The memory tool for an asynchronous client, of asyncio or of trio; see `MemoryTool`."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a tool that passes for the SDK's own."""
        with needs("anthropic", "anthropic"):
            from anthropic.tools.memory import BetaAsyncAbstractMemoryTool

        return object.__new__(on_base(cls, BetaAsyncAbstractMemoryTool))

    def __init__(
        self, store: MemoryStore, *, namespace: str = "memories", cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self.files = Files(store, namespace)

    view = _awaitable(MemoryTool.view, writes=False)
    create = _awaitable(MemoryTool.create)
    str_replace = _awaitable(MemoryTool.str_replace)
    insert = _awaitable(MemoryTool.insert)
    delete = _awaitable(MemoryTool.delete)
    rename = _awaitable(MemoryTool.rename)
    clear_all_memory = _awaitable(MemoryTool.clear_all_memory)


def _view(files: Files, command: Any) -> str:
    path = _inside(command.path)
    try:
        if path != ROOT:
            return _shown_file(files.read(path), command)
    except IsAFolderError:
        pass
    except (NotFoundError, ValidationError) as error:
        _fail(_explained(error, command.path))
    return _shown_folder(files, path, command.path.rstrip("/"))


def _shown_file(text: str, command: Any) -> str:
    count = text.count("\n") + 1
    if count > _MOST_LINES:
        _fail(f"File {command.path} exceeds maximum line limit of {_MOST_LINES:,} lines.")
    first, last = command.view_range if len(command.view_range or ()) == 2 else (1, -1)
    first, last = max(1, first), count if last == -1 else min(last, count)
    lines = numbered(text, (first, last)) if first <= last else ""
    return f"Here's the content of {command.path} with line numbers:\n{lines}"


def _shown_folder(files: Files, path: str, given: str) -> str:
    start = len(normalise_path(path).removesuffix("/"))
    entries = [(each.path[start:], each) for each in files.list(path, depth=None)]
    visible = [(inner, each) for inner, each in entries if "/." not in inner]
    total = sum(each.size for _, each in visible if not each.is_folder)
    lines = [f"{_size(total)}\t{given}"]
    for inner, each in visible:
        if inner.count("/") <= _LEVELS:
            lines.append(f"{_size(each.size)}\t{given}{inner}{'/' if each.is_folder else ''}")
    return "\n".join([f"Here're the {_LISTED} {given}, excluding hidden items:", *lines])


def _create(files: Files, command: Any) -> str:
    path, taken = _inside(command.path), f"File {command.path} already exists"
    if path == ROOT:
        _fail(taken)
    try:
        files.create(path, command.file_text)
    except PathTakenError as error:
        _fail(taken if error.path == path else str(error))
    except ValidationError as error:
        _fail(str(error))
    return f"File created successfully at: {command.path}"


def _str_replace(files: Files, command: Any) -> str:
    old, none = command.old_str, "No replacement was performed"
    try:
        lines = files.str_replace(_file(command.path), old, command.new_str)
    except OccurrenceError as error:
        if error.lines:
            many = f"Multiple occurrences of old_str `{old}` in lines"
            _fail(f"{none}. {many}: {', '.join(map(str, error.lines))}. Please ensure it is unique")
        _fail(f"{none}, old_str `{old}` did not appear verbatim in {command.path}.")
    except (NotFoundError, ValidationError) as error:
        _fail(_explained(error, command.path))
    shown = "Here is the snippet showing the change (with line numbers)"
    return f"The memory file has been edited. {shown}:\n{lines}"


def _insert(files: Files, command: Any) -> str:
    line = command.insert_line
    try:
        files.insert(_file(command.path), line, command.insert_text.rstrip("\n"))
    except LineRangeError as error:
        within = f"It should be within the range [0, {error.last}]."
        _fail(f"Invalid `insert_line` parameter: {line}. {within}")
    except (NotFoundError, ValidationError) as error:
        _fail(_explained(error, command.path))
    return f"The file {command.path} has been edited."


def _delete(files: Files, command: Any) -> str:
    path = _inside(command.path)
    if path == ROOT:
        _fail(f"Cannot delete the {_TOP} directory itself")
    try:
        files.delete(path)
    except NotFoundError:
        _fail(f"The path {command.path} does not exist")
    except ValidationError as error:
        _fail(str(error))
    return f"Successfully deleted {command.path}"


def _rename(files: Files, command: Any) -> str:
    old, new = _inside(command.old_path), _inside(command.new_path)
    taken = f"The destination {command.new_path} already exists"
    if old == ROOT:
        _fail(f"Cannot rename the {_TOP} directory itself")
    if new == ROOT:
        _fail(taken)
    try:
        files.rename(old, new)
    except NotFoundError:
        _fail(f"The path {command.old_path} does not exist")
    except PathTakenError as error:
        _fail(taken if error.path == new else str(error))
    except ValidationError as error:
        _fail(str(error))
    return f"Successfully renamed {command.old_path} to {command.new_path}"


def _clear(files: Files) -> str:
    files.store.forget(namespace=files.namespace)
    return "All memory cleared"


def _inside(path: str) -> str:
    """Return the path of a file below /memories as the files know it."""
    if path != _TOP and not path.startswith(f"{_TOP}/"):
        _fail(f"Path must start with {_TOP}, got: {path}")
    plain = posixpath.normpath(path)
    if plain != _TOP and not plain.startswith(f"{_TOP}/"):
        _fail(f"Path {path} would escape {_TOP} directory")
    return plain.removeprefix(_TOP) or ROOT


def _file(path: str) -> str:
    """Return the path of what can be a file, as ``_inside`` does."""
    inside = _inside(path)
    if inside == ROOT:
        _fail(_NO_FILE.format(path))
    return inside


def _explained(error: Exception, path: str) -> str:
    if isinstance(error, NotFoundError):
        return _GONE.format(path)
    return _NO_FILE.format(path) if isinstance(error, IsAFolderError) else str(error)


def _fail(message: str) -> NoReturn:
    """Answer the model with an error that it can act on."""
    from anthropic.lib.tools import ToolError

    raise ToolError(message) from None


def _size(count: int) -> str:
    """Return a number of bytes as people read it: 0B, 512B, 1.5K, 2M."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    scaled = count / 1024**power
    return f"{scaled:.{0 if scaled == int(scaled) else 1}f}{'BKMG'[power]}"
