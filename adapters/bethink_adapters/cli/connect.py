"""The commands that connect: mcp, completion."""

from __future__ import annotations

import sys
from typing import Final

from .command import Command, Context, Reply, argument


def mcp(context: Context) -> Reply:
    """Serve a memory to agent hosts."""
    from ..mcp.__main__ import run

    given = context.given
    return Reply(
        code=run(
            context.path,
            namespace=given.namespace,
            everything=given.tools == "all",
            read_only=given.read_only,
            port=given.http,
            host=given.host,
        )
    )


def completion(context: Context) -> Reply:
    """Print the completion of a shell."""
    from importlib.resources import files

    text = files(__package__).joinpath(f"completion/bethink.{context.given.shell}").read_text()
    sys.stdout.write(text)
    return Reply()


MCP_ARGUMENTS: Final = (
    argument("--tools", choices=("usual", "all"), default="usual", help="nine tools, or all"),
    argument("--read-only", action="store_true", help="offer no tool that writes"),
    argument("--http", type=int, metavar="PORT", help="serve HTTP instead of stdio"),
    argument("--host", default="127.0.0.1", help="the address for --http (127.0.0.1)"),
)

COMMANDS: Final = (
    Command("mcp", "serve a memory to agent hosts (MCP)", mcp, MCP_ARGUMENTS, "none"),
    Command(
        "completion",
        "print the completion of a shell",
        completion,
        (argument("shell", choices=("bash", "zsh", "fish"), help="the shell"),),
        "none",
    ),
)
