"""What bethink adds to a host's settings: the entry of the server, and the hooks.

An entry or a hook is made by ``install`` if its words are those of some ``Program``: an absolute
path, and no further argument or environment. The rest was written by hand.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from . import jsonc, toml
from .table import Hooks, Host

NAME: Final = "bethink"
"""The name of the server in every host."""
HOOK_SECONDS: Final = 5
"""How long a host waits for a hook; the hook itself gives up after 1.5 s."""

_PROGRAM: Final = (
    r"(?:[a-z]:)?[\\/](?:[^\0]*[\\/])?(?:bethink(?:\.exe)?|[^\0]+\0-m\0bethink_adapters\.cli)"
)
_OPTIONS: Final = r"(?:\0--db\0[^\0]+)?(?:\0--namespace\0[^\0]+)?"
_SERVER: Final = re.compile(rf"{_PROGRAM}\0mcp{_OPTIONS}", re.IGNORECASE)
_HOOK: Final = re.compile(rf"{_PROGRAM}{_OPTIONS}\0hook\0[a-z-]+", re.IGNORECASE)
_SURROUNDINGS: Final = ("env", "environment", "envFile", "cwd")


@dataclass(frozen=True)
class Program:
    """How a host starts bethink: the *command*, and the path or URL *db* if not the default."""

    command: Sequence[str]
    db: str | os.PathLike[str] | None = None
    namespace: str | None = None

    def server(self, host: Host) -> dict[str, Any]:
        """Return the entry of the server in the form of *host*."""
        command, *before = self.command
        arguments = [*before, "mcp", *self._options()]
        match host.shape:
            case "typed":
                return {"type": "stdio", "command": command, "args": arguments}
            case "local":
                return {"type": "local", "command": command, "args": arguments, "tools": ["*"]}
            case "list":
                return {"type": "local", "command": [command, *arguments], "enabled": True}
            case _:
                return {"command": command, "args": arguments}

    def hook(self, host: Host) -> str:
        """Return the command line of the hook of *host*."""
        return f"{shlex.join([*self.command, *self._options()])} hook {host.name}"

    def _options(self) -> list[str]:
        options = [] if self.db is None else ["--db", os.fspath(self.db)]
        return options + ([] if self.namespace is None else ["--namespace", self.namespace])


@dataclass(frozen=True)
class ServerPart:
    """The entry of the server in the settings of *host*."""

    host: Host

    def put(self, text: str, program: Program) -> str:
        """Return *text* with the entry that starts *program*."""
        put = toml.put if self.host.shape == "toml" else jsonc.put
        return put(text, self._path, program.server(self.host))

    def holds(self, text: str) -> bool:
        """Return whether *text* has an entry."""
        return self._entry(text) is not None

    def made(self, text: str) -> bool:
        """Return whether *text* has an entry that ``install`` made."""
        entry = self._entry(text)
        if not isinstance(entry, dict) or any(entry.get(name) for name in _SURROUNDINGS):
            return False
        command = entry.get("command")
        words = [*(_listed(command) or [command]), *_listed(entry.get("args"))]
        return _SERVER.fullmatch("\0".join(map(str, words))) is not None

    def restore(self, text: str, first: str) -> str:
        """Return *text* with the entry as in *first*."""
        if self.host.shape == "toml":
            return toml.restore(text, self._path, first)
        return jsonc.restore(text, self._path, first, self._path)

    @property
    def _path(self) -> tuple[str, str]:
        return (self.host.root, NAME)

    def _entry(self, text: str) -> Any:
        find = toml.find if self.host.shape == "toml" else jsonc.find
        return find(text, self._path)


@dataclass(frozen=True)
class HooksPart:
    """The *hooks* in the settings of *host*."""

    host: Host
    hooks: Hooks

    def put(self, text: str, program: Program) -> str:
        """Return *text* with the hooks that call *program*."""
        if self.hooks.versioned and jsonc.find(text, ("version",)) is None:
            text = jsonc.put(text, ("version",), 1)
        for event in self._events:
            group = _group(self.hooks, program.hook(self.host))
            path, old = self._find(text, event)
            text = jsonc.put(text, path, old | group if old else group)
        return text

    def holds(self, text: str) -> bool:
        """Return whether *text* has a hook."""
        return any(self._groups(text))

    def made(self, text: str) -> bool:
        """Return whether *text* has a hook that ``install`` made."""
        return any(_is_made(_command(group)) for group in self._groups(text))

    def restore(self, text: str, first: str) -> str:
        """Return *text* with the hooks as in *first*."""
        for event in self._events:
            path, old = self._find(text, event)
            if old:
                text = jsonc.restore(text, path, first, self._find(first, event)[0])
        bare = jsonc.find(text, ("hooks",)) == jsonc.find(first, ("hooks",))
        if self.hooks.versioned and bare and jsonc.find(text, ("version",)) == 1:
            text = jsonc.restore(text, ("version",), first, ("version",))
        return text

    @property
    def _events(self) -> tuple[str, ...]:
        return (self.hooks.start, self.hooks.prompt, self.hooks.stop)

    def _groups(self, text: str) -> Iterator[dict[str, Any]]:
        return filter(None, (self._find(text, event)[1] for event in self._events))

    def _find(self, text: str, event: str) -> tuple[tuple[str | int, ...], dict[str, Any] | None]:
        """Return the path of bethink's group of *event*, and the group; else the path to append."""
        events = jsonc.find(text, ("hooks",))
        groups = events.get(event) if isinstance(events, dict) else None
        for place, group in enumerate(_listed(groups)):
            if _is_call(_command(group), self.host):
                return ("hooks", event, place), group
        return ("hooks", event, len(_listed(groups))), None


def snippet(host: Host, program: Program) -> str:
    """Return the entry of the server for a reader to paste."""
    if host.shape == "toml":
        return toml.put("", (host.root, NAME), program.server(host))
    return json.dumps({host.root: {NAME: program.server(host)}}, indent=2, ensure_ascii=False)


def _group(hooks: Hooks, command: str) -> dict[str, Any]:
    if not hooks.nested:
        return {"command": command}
    item: dict[str, Any] = {"type": "command", "command": command}
    if hooks.unit != 1:
        item = {"name": NAME, **item}
    return {"hooks": [{**item, "timeout": HOOK_SECONDS * hooks.unit}]}


def _command(group: object) -> str:
    """Return the command line of a *group* of a single hook, else ""."""
    items = _listed(group.get("hooks", [group])) if isinstance(group, dict) else []
    command = items[0].get("command") if len(items) == 1 and isinstance(items[0], dict) else None
    return command if isinstance(command, str) else ""


def _is_call(command: str, host: Host) -> bool:
    """Return whether *command* calls bethink's hook of *host*."""
    own = re.search(r"\bbethink(_adapters\.cli)?\b", command)
    return own is not None and command.endswith(f" hook {host.name}")


def _is_made(command: str) -> bool:
    """Return whether ``install`` wrote *command*, for whatever program."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return _HOOK.fullmatch("\0".join(words)) is not None


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
