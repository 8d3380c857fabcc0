"""The commands that connect: mcp, serve, install, uninstall, doctor, hook, completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from ..surface.location import DB_VARIABLE
from . import tasks
from .command import Context, Failure, Reply, argument, command, reason_of

if TYPE_CHECKING:
    from ..hosts import Change, Host, Place, Program

_HOST_NAMES: Final = (
    "amazon-q", "antigravity", "claude-code", "claude-desktop", "cline", "codex", "copilot-cli",
    "cursor", "gemini", "kiro", "lm-studio", "opencode", "roo", "vscode", "windsurf", "zed",
)  # fmt: skip


def _port(text: str) -> int:
    from argparse import ArgumentTypeError

    if not (text.isdecimal() and int(text) <= 65_535):
        raise ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


_MCP: Final = (
    argument(
        "--tools",
        choices=("usual", "all"),
        default="usual",
        help="nine tools, or all fourteen (usual)",
    ),
    argument("--read-only", action="store_true", help="offer no tool that writes"),
    argument("--http", type=_port, metavar="PORT", help="serve HTTP instead of stdio"),
    argument("--host", default="127.0.0.1", help="the address for --http (127.0.0.1)"),
)
_SERVE: Final = (
    argument("--port", type=_port, default=8420, help="the port; 0 takes any free port (8420)"),
    argument("--host", default="127.0.0.1", help="the address to listen on (127.0.0.1)"),
    argument("--read-only", action="store_true", help="let no request write"),
    argument("--open", action="store_true", help="open the web interface in the browser"),
    argument("--no-ui", action="store_true", help="serve no web interface"),
    argument("--json", action="store_true", help="print address and token as a line of JSON"),
    argument("--tokens", metavar="PATH", help="the file of tokens; else tokens.json of the user"),
    argument(
        "--new-token", action="store_true", help="print a new token, for -n only if given, and end"
    ),
    argument(
        "--allow-host",
        action="append",
        metavar="NAME",
        default=[],
        help="a further name of the server, as in Host; may be repeated",
    ),
    argument(
        "--allow-origin",
        action="append",
        metavar="URL",
        default=[],
        help="the origin of a page that may ask; may be repeated",
    ),
)
_HOSTS: Final = (
    argument("hosts", nargs="*", metavar="HOST", words=_HOST_NAMES, help=", ".join(_HOST_NAMES)),
    argument("--all", action="store_true", help="every host on the machine"),
    argument("--project", action="store_true", help="the settings of this folder, not the user's"),
    argument("--dry-run", action="store_true", help="show the changes, make none"),
)


@command(_MCP, example="bethink mcp --read-only")
def mcp(context: Context) -> Reply:
    """Serve a memory to agent hosts (MCP)."""
    from ..mcp.running import run

    given = context.given
    return Reply(
        code=run(
            context.location,
            namespace=context.named,
            everything=given.tools == "all",
            read_only=given.read_only,
            port=given.http,
            host=given.host,
        )
    )


@command(_SERVE, example="bethink serve --port 8765 --read-only")
def serve(context: Context) -> Reply:
    """Serve a memory over HTTP (REST and MCP)."""
    from .serve import run

    return Reply(code=run(context))


@command(
    _HOSTS,
    argument("--no-hooks", action="store_true", help="install the server alone"),
    example="bethink install claude-code --dry-run",
)
def install(context: Context) -> Reply:
    """Install bethink in agent hosts."""
    from bethink.adapting import without_password

    from ..hosts import install as install_in

    where, program = _place(context), _program(context)
    db = os.fspath(program.db or "")
    if "://" in db and without_password(db) != db:
        raise Failure("settings of a host would show the URL's password; use ~/.pgpass", 2)
    return _change_hosts(
        context,
        where,
        lambda host: install_in(host, program, where, hooks=not context.given.no_hooks),
        "installed",
    )


@command(_HOSTS, example="bethink uninstall claude-code")
def uninstall(context: Context) -> Reply:
    """Take bethink out of agent hosts."""
    from ..hosts import uninstall as uninstall_from

    where = _place(context)
    return _change_hosts(context, where, lambda host: uninstall_from(host, where), "uninstalled")


def _change_hosts(
    context: Context, where: Place, changes_of: Callable[[Host], Iterable[Change]], done: str
) -> Reply:
    """Apply *changes_of* each chosen host; a host that fails leaves the rest alone."""
    from ..hosts import SettingsError, is_installed

    failed, data, lines = 0, list[dict[str, Any]](), list[str]()
    for host in _chosen(context, where):
        if where.server(host) is None:
            lines.append(f"{host.title}: has no settings of projects")
            continue
        try:
            changes = list(changes_of(host))
            lines += _done(context, host, changes, done)
        except (SettingsError, OSError) as error:
            failed = 1
            told = reason_of(error)
            lines.append(f"{host.title}: {told}")
            if snippet := getattr(error, "snippet", ""):
                lines += ["add by hand:", *snippet.splitlines()]
            data.append({"host": host.name, "error": told})
            continue
        if any(changes) and done == "installed" and not context.given.dry_run:
            lines.append(f"  next: {host.wants.format(title=host.title)}")
        if done == "uninstalled" and not context.given.dry_run and is_installed(host, where):
            lines.append("  what was written by hand stays")
        changed = [str(each.path) for each in changes if each]
        data.append({"host": host.name, "changed": changed, "dry_run": context.given.dry_run})
    return Reply(data, lines, failed, empty="no host was changed")


@command(example="bethink doctor")
def doctor(context: Context) -> Reply:
    """Check the file, the program and the hosts."""
    from ..hosts.doctor import examine

    checks = list(examine(context.location, _program(context), _place(context)))
    lines = [f"{'ok  ' if each.ok else 'FAIL'}  {each.what}: {each.detail}" for each in checks]
    data = [{"what": each.what, "ok": each.ok, "detail": each.detail} for each in checks]
    return Reply(data, lines, 0 if all(each.ok for each in checks) else 1)


@command(
    argument("host", metavar="HOST", choices=_HOST_NAMES, help="the host that calls"),
    example="bethink hook claude-code",
)
def hook(context: Context) -> Reply:
    """Answer the hook of a host (called by hosts)."""
    from contextlib import suppress

    with suppress(Exception):
        from ..hosts.hook import run

        text = run(
            context.given.host,
            sys.stdin.buffer.read().decode("utf-8", "replace"),
            context.location,
            namespace=context.named,
        )
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    os._exit(0)  # a hook that gave up leaves a thread behind


@command(
    argument("shell", choices=("bash", "zsh", "fish"), help="the shell"),
    example="bethink completion bash",
)
def completion(context: Context) -> Reply:
    """Print the completion of a shell."""
    from .completion import script
    from .parser import COMMON, GROUPS

    text = script(context.given.shell, GROUPS, COMMON)
    return Reply({"shell": context.given.shell, "completion": text}, text.splitlines())


def _chosen(context: Context, where: Place) -> Iterator[Host]:
    """Yield the hosts that are named, or all that are here."""
    from ..hosts import HOSTS

    given, found = context.given, where.found()
    if given.hosts:
        unknown = [name for name in given.hosts if name not in HOSTS]
        if unknown:
            raise Failure(f"no host {unknown[0]!r}; known: {', '.join(HOSTS)}", 2)
        yield from (HOSTS[name] for name in given.hosts)
    elif given.all:
        yield from found
    elif not found:
        raise Failure(f"no known host is here; name one of {', '.join(HOSTS)}")
    elif sys.stdin.isatty() and not given.dry_run:
        for host in found:
            question = f"{context.command.name} {host.title}? [y/N] "
            print(question, end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip().lower() in ("y", "yes"):
                yield host
    else:
        here = ", ".join(host.name for host in found)
        raise Failure(f"name hosts, or --all; here are: {here}", 2)


def _done(context: Context, host: Host, changes: list[Change], what: str) -> Iterator[str]:
    """Apply *changes*, or show the changes for ``--dry-run``; yield what was done."""
    if not any(changes):
        yield f"{host.title}: nothing to change"
    for change in filter(None, changes):
        if context.given.dry_run:
            yield from change.diff().splitlines()
        else:
            change.apply()
            yield f"{host.title}: {what} in {change.path}"


def _place(context: Context) -> Place:
    from pathlib import Path

    from ..hosts import Place

    project = Path.cwd() if getattr(context.given, "project", False) else None
    return Place(os.environ, project)


def _program(context: Context) -> Program:
    """Return how hosts start bethink: by absolute paths, for hosts of the desktop know no PATH."""
    import shutil
    from pathlib import Path

    from ..hosts import Program
    from ..surface.location import to_location

    script = shutil.which("bethink", path=str(Path(sys.executable).parent))
    command = [script] if script else [sys.executable, "-m", "bethink_adapters.cli"]
    given = context.given.db or os.environ.get(DB_VARIABLE)
    db = os.fspath(to_location(given, absolute=True)) if given else None
    return Program(command, db, context.named)


COMMANDS: Final = (mcp, serve, install, uninstall, doctor, hook, tasks.tasks, completion)
