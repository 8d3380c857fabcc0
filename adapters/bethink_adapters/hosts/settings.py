"""The entries that bethink adds to a host's settings, and the change of one settings file."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from . import jsonc, toml
from .table import Hooks, Host

NAME: Final = "bethink"
"""The name of the server in every host."""
HOOK_SECONDS: Final = 5
"""How long a host waits for a hook; the hook itself gives up after 1.5 s."""

Edit = Callable[[str], str]


@dataclass(frozen=True)
class Program:
    """How a host starts bethink: the *command*, and the file *db* if not the default."""

    command: Sequence[str]
    db: Path | None = None
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
        options = [] if self.db is None else ["--db", str(self.db)]
        return options + ([] if self.namespace is None else ["--namespace", self.namespace])


def add_server(host: Host, program: Program) -> Edit:
    """Return the edit that adds the server, or brings the server up to date."""
    path, entry = (host.root, NAME), program.server(host)
    if host.shape == "toml":
        return lambda text: toml.put(text, path, entry)
    return lambda text: jsonc.put(text, path, entry)


def drop_server(host: Host) -> Edit:
    """Return the edit that removes the server, and an object that has nothing else."""
    if host.shape == "toml":
        return lambda text: toml.drop(text, (host.root, NAME))

    def edit(text: str) -> str:
        return _pruned(jsonc.drop(text, (host.root, NAME)), (host.root,)) if text.strip() else text

    return edit


def add_hooks(host: Host, hooks: Hooks, program: Program) -> Edit:
    """Return the edit that adds the hooks, or brings the hooks up to date."""
    command = program.hook(host)

    def edit(text: str) -> str:
        if hooks.versioned:
            text = jsonc.put(text, ("version",), _data(text).get("version", 1))
        for event in _events(hooks):
            group = _group(hooks, command)
            path, old = _find(text, host, event)
            text = jsonc.put(text, path, old | group if old else group)
        return text

    return edit


def drop_hooks(host: Host, hooks: Hooks) -> Edit:
    """Return the edit that removes the hooks, and containers that hold nothing else."""

    def edit(text: str) -> str:
        if not text.strip():
            return text
        for event in _events(hooks):
            path, old = _find(text, host, event)
            if old:
                text = _pruned(jsonc.drop(text, path), ("hooks", event), ("hooks",))
        return text

    return edit


def snippet(host: Host, program: Program) -> str:
    """Return the entry of the server for a reader to paste."""
    if host.shape == "toml":
        return toml.put("", (host.root, NAME), program.server(host))
    return json.dumps({host.root: {NAME: program.server(host)}}, indent=2, ensure_ascii=False)


def is_empty(settings: bytes) -> bool:
    """Return whether *settings* hold nothing, apart from the version that hooks want."""
    text = settings.decode("utf-8")
    return not text.strip() or (
        text.lstrip().startswith("{") and _data(text) in ({}, {"version": 1})
    )


def _events(hooks: Hooks) -> tuple[str, ...]:
    return (hooks.start, hooks.prompt, hooks.stop)


def _group(hooks: Hooks, command: str) -> dict[str, Any]:
    if not hooks.nested:
        return {"command": command}
    item: dict[str, Any] = {"type": "command", "command": command}
    if hooks.unit != 1:
        item = {"name": NAME, **item}
    return {"hooks": [{**item, "timeout": HOOK_SECONDS * hooks.unit}]}


def _find(text: str, host: Host, event: str) -> tuple[tuple[str | int, ...], dict[str, Any] | None]:
    """Return the path of bethink's group of *event*, and the group; else the path to append."""
    groups = _data(text).get("hooks", {})
    groups = groups.get(event, []) if isinstance(groups, dict) else []
    for place, group in enumerate(groups if isinstance(groups, list) else []):
        items = group.get("hooks", [group]) if isinstance(group, dict) else []
        if isinstance(items, list) and len(items) == 1 and _is_own(items[0], host):
            return ("hooks", event, place), group
    return ("hooks", event, len(groups)), None


def _is_own(item: object, host: Host) -> bool:
    command = item.get("command") if isinstance(item, dict) else None
    if not isinstance(command, str) or not command.endswith(f" hook {host.name}"):
        return False
    return re.search(r"\bbethink(_adapters\.cli)?\b", command) is not None


def _data(text: str) -> Mapping[str, Any]:
    data = jsonc.parse(text).data if text.strip("\ufeff \t\r\n") else {}
    if not isinstance(data, dict):
        raise jsonc.JsonError("the settings are no JSON object")
    return data


def _pruned(text: str, *paths: Sequence[str]) -> str:
    """Return *text* without those of *paths* that hold an empty container."""
    for path in paths:
        found: Any = _data(text)
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if found in ({}, []) and found is not None:
            text = jsonc.drop(text, path)
    return text
