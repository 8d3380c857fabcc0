"""The commands of the memory tool: what each does to the files, and answers the model."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final, Literal, NoReturn

from bethink import (
    Files,
    IsAFolderError,
    LineRangeError,
    NotFoundError,
    OccurrenceError,
    PathTakenError,
    ValidationError,
)
from bethink.adapting import (
    MAX_CONTENT,
    MAX_PATH_CHARACTERS,
    ROOT,
    normalise_path,
    numbered,
    text,
)

from ..shared.opening import StoreOrPath, open_store

_PARAMETERS: Final[Mapping[str, Mapping[str, type]]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
"""The parameters that each command needs."""

_TOP: Final = "/memories"
_PATHS: Final = ("path", "old_path", "new_path")
_MOST_PATH: Final = len(_TOP) + MAX_PATH_CHARACTERS
_LEVELS: Final = 2
_MOST_LINES: Final = 999_999
_LISTED: Final = f"files and directories up to {_LEVELS} levels deep in"
_GONE: Final = "The path {} does not exist. Please provide a valid path."
_NO_FILE: Final = "The path {} is not a file."


def check_command(given: object) -> dict[str, Any]:
    """Return the command *given* with every needed parameter, checked."""
    command = dict(given) if isinstance(given, Mapping) else {}
    name = command.get("command")
    if not isinstance(name, str) or name not in _PARAMETERS:
        _fail(f"Unknown command: {name!r}. Use one of: {', '.join(_PARAMETERS)}.")
    for parameter, type_ in _PARAMETERS[name].items():
        value = command.get(parameter)
        if value is None:
            _fail(f"The command `{name}` needs the parameter `{parameter}`.")
        command[parameter] = _check_parameter(parameter, value, type_)
    if isinstance(lines := command.get("view_range"), list):
        command["view_range"] = [_check_parameter("view_range", line, int) for line in lines]
    if name == "str_replace":
        new = command.get("new_str")
        command["new_str"] = "" if new is None else _check_parameter("new_str", new, str)
        if not command["old_str"]:
            _fail("old_str must not be empty")
    return command


def _check_parameter(name: str, value: object, type_: type) -> Any:
    """Return *value* as a storable text or, from a float such as 1.0, as a whole number."""
    if type_ is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, type_) or isinstance(value, bool):
        wanted = "a text" if type_ is str else "a whole number"
        _fail(f"Invalid `{name}` parameter: {value!r}. It should be {wanted}.")
    if type_ is str:
        try:
            text(name, value, _MOST_PATH if name in _PATHS else MAX_CONTENT)
        except ValidationError as error:
            _fail(str(error))
    return value


class OnFiles:
    """A memory tool of the SDK, over the files in the *namespace* of a *store*."""

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str,
        cache_control: Any = None,
        erase: bool = False,
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]  # of the SDK
        self.files = Files(open_store(store), namespace)
        self.erase = erase


class Commands(OnFiles):
    """The commands, for a synchronous client."""

    def view(self, command: Any) -> str:
        """Return a file with line numbers, or the content of a folder."""
        path = _inside(command.path)
        try:
            if path != ROOT:
                return _shown_file(self.files.read(path), command)
        except IsAFolderError:
            pass
        except (NotFoundError, ValidationError) as error:
            _fail(_explained(error, command.path))
        return _shown_folder(self.files, path, command.path.rstrip("/"))

    def create(self, command: Any) -> str:
        """Create a file; refuse a path in use."""
        path, taken = _inside(command.path), f"File {command.path} already exists"
        if path == ROOT:
            _fail(taken)
        try:
            self.files.create(path, command.file_text)
        except PathTakenError as error:
            _fail(taken if error.path == normalise_path(path) else _explained(error, command.path))
        except ValidationError as error:
            _fail(_explained(error, command.path))
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs once; return the changed lines."""
        old, none = command.old_str, "No replacement was performed"
        try:
            lines = self.files.str_replace(_file(command.path), old, command.new_str or "")
        except OccurrenceError as error:
            if error.lines:
                lines = ", ".join(map(str, error.lines))
                many = f"Multiple occurrences of old_str `{old}` in lines: {lines}"
                _fail(f"{none}. {many}. Please ensure it is unique")
            _fail(f"{none}, old_str `{old}` did not appear verbatim in {command.path}.")
        except (NotFoundError, ValidationError) as error:
            _fail(_explained(error, command.path))
        shown = "Here is the snippet showing the change (with line numbers)"
        return f"The memory file has been edited. {shown}:\n{lines}"

    def insert(self, command: Any) -> str:
        """Insert lines behind a line of a file."""
        line = command.insert_line
        try:
            self.files.insert(_file(command.path), line, command.insert_text.rstrip("\n"))
        except LineRangeError as error:
            within = f"It should be within the range [0, {error.last}]."
            _fail(f"Invalid `insert_line` parameter: {line}. {within}")
        except (NotFoundError, ValidationError) as error:
            _fail(_explained(error, command.path))
        return f"The file {command.path} has been edited."

    def delete(self, command: Any) -> str:
        """Forget a file or a folder; erase with *erase*."""
        path = _inside(command.path)
        if path == ROOT:
            _fail(f"Cannot delete the {_TOP} directory itself")
        try:
            self.files.delete(path)
        except NotFoundError:
            _fail(f"The path {command.path} does not exist")
        except ValidationError as error:
            _fail(_explained(error, command.path))
        if self.erase:
            _erase_deleted(self.files)
        return f"Successfully deleted {command.path}"

    def rename(self, command: Any) -> str:
        """Move a file or a folder."""
        old, new = _inside(command.old_path), _inside(command.new_path)
        taken = f"The destination {command.new_path} already exists"
        if old == ROOT:
            _fail(f"Cannot rename the {_TOP} directory itself")
        if new == ROOT:
            _fail(taken)
        try:
            self.files.rename(old, new)
        except NotFoundError:
            _fail(f"The path {command.old_path} does not exist")
        except PathTakenError as error:
            is_taken = error.path == normalise_path(new)
            _fail(taken if is_taken else _explained(error, command.new_path))
        except ValidationError as error:
            _fail(_explained(error, command.old_path, command.new_path))
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Forget all files; erase with *erase*."""
        self.files.store.forget(namespace=self.files.namespace)
        if self.erase:
            _erase_deleted(self.files)
        return "All memory cleared"


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


def _erase_deleted(files: Files) -> None:
    """Erase every record of the files' namespace that is not live."""
    states: tuple[Literal["forgotten", "superseded"], ...] = ("forgotten", "superseded")
    gone = [
        record.id
        for state in states
        for record in files.store.all(namespace=files.namespace, state=state)
    ]
    if gone:
        files.store.erase(gone)


def _inside(path: str) -> str:
    """Return *path*, which must be below /memories, as a path of ``Files``."""
    if path != _TOP and not path.startswith(f"{_TOP}/"):
        _fail(f"Path must start with {_TOP}, got: {path}")
    plain = posixpath.normpath(path)
    if plain != _TOP and not plain.startswith(f"{_TOP}/"):
        _fail(f"Path {path} would escape {_TOP} directory")
    return plain.removeprefix(_TOP) or ROOT


def _file(path: str) -> str:
    """Return *path* as ``_inside`` does; refuse /memories, which is no file."""
    inside = _inside(path)
    if inside == ROOT:
        _fail(_NO_FILE.format(path))
    return inside


def _explained(error: Exception, *paths: str) -> str:
    """Return a sentence about *paths* of the model, with every path as the model has the path."""
    if isinstance(error, NotFoundError):
        return _GONE.format(paths[0])
    if isinstance(error, IsAFolderError):
        return _NO_FILE.format(paths[0])
    inner = {*map(_inside, paths), getattr(error, "path", ROOT)}
    outer = {repr(path): repr(_TOP + path) for path in inner}
    return re.sub("|".join(map(re.escape, outer)), lambda found: outer[found[0]], str(error))


def _fail(message: str) -> NoReturn:
    """Answer the model with a sentence to act on."""
    from anthropic.lib.tools import ToolError

    raise ToolError(message) from None


def _size(count: int) -> str:
    """Return a number of bytes for people: 0B, 512B, 1.5K, 2M."""
    power = min(max(count.bit_length() - 1, 0) // 10, 3)
    scaled = count / 1024**power
    return f"{scaled:.{0 if scaled == int(scaled) else 1}f}{'BKMG'[power]}"
