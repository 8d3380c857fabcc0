"""The command ``bethink shards``: list, create, move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import output
from .command import Context, Failure, Reply, argument, command

if TYPE_CHECKING:
    from bethink import Shards

_ACTIONS: Final = ("list", "create", "move")


@command(
    argument("action", choices=_ACTIONS, nargs="?", default="list", help="what to do (list)"),
    argument("number", nargs="?", type=int, metavar="NUMBER", help="the shard to move"),
    argument("server_name", nargs="?", metavar="SERVER", help="name of the server to move to"),
    argument(
        "--server",
        action="append",
        default=[],
        metavar="NAME=URL",
        help="a database that may hold shards; repeat for each",
    ),
    argument(
        "--schema",
        default="bethink",
        metavar="NAME",
        help="the schema: how the names of the shards begin (bethink)",
    ),
    argument("--count", type=int, metavar="COUNT", help="create: the number of shards"),
    argument(
        "--steps",
        type=int,
        metavar="STEPS",
        help="create: how many steps of a namespace choose the shard (2)",
    ),
    example="bethink shards move 7 b --server a=$DATABASE_A --server b=$DATABASE_B",
)
def shards(context: Context) -> Reply:
    """Shards of one memory on several databases."""
    from bethink import Shards

    given = context.given
    if (given.action == "create") != (given.count is not None):
        raise Failure("bethink shards create needs --count, and only create takes it", 2)
    if (given.action == "move") != (given.number is not None and given.server_name is not None):
        raise Failure("bethink shards move needs NUMBER and SERVER, and only move takes them", 2)
    with Shards(
        _servers(given.server), schema=given.schema, count=given.count, steps=given.steps
    ) as opened:
        return _move(context, opened) if given.action == "move" else _list(opened)


def _servers(given: list[str]) -> dict[str, str]:
    if not given:
        raise Failure("give each database that may hold shards: --server NAME=URL", 2)
    servers = dict[str, str]()
    for each in given:
        name, equals, url = each.partition("=")
        if not (name and equals and url):
            raise Failure("--server takes NAME=URL, such as a=postgresql://host-a/db", 2)
        servers[name] = url
    return servers


def _list(opened: Shards) -> Reply:
    places, silent = opened.known_places()
    rows = [(str(number), server or "no answer") for number, server in enumerate(places)]
    lines = [*output.table(rows, flexible=1)]
    lines += [f"no answer from {server}: {reason}" for server, reason in silent.items()]
    return Reply({"places": places, "silent": silent}, lines, int(bool(silent)))


def _move(context: Context, opened: Shards) -> Reply:
    number, server = context.given.number, context.given.server_name
    moved = opened.move(number, server, progress=output.bar("rows copied"))
    line = f"shard {number} is on {server} now" if moved else f"shard {number} was on {server}"
    return Reply({"shard": number, "server": server, "moved": moved}, [line])
