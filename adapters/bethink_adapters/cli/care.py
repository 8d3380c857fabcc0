"""The commands that care for the memory: verify, repair, compact, migrate, shards, vector-index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from . import output, shards
from .arguments import YES, days_of, moment_of
from .command import Context, Failure, Reply, argument, command

if TYPE_CHECKING:
    from bethink import Compaction, MemoryStore


@command(synonyms=("check",), example="bethink verify")
def verify(context: Context) -> Reply:
    """Check the file and the history."""
    found = context.store.verify(progress=output.bar("checked"))
    lines = [str(each) for each in found.problems] or ["no problems"]
    return Reply(found.to_dict() | {"ok": found.ok}, lines, 0 if found.ok else 1)


@command(example="bethink repair")
def repair(context: Context) -> Reply:
    """Mend the damage of a file."""
    done = context.store.repair()
    lines = [f"mended: {each}" for each in done.mended] + [f"left: {each}" for each in done.left]
    return Reply(done.to_dict() | {"ok": done.ok}, lines or ["no problems"], 0 if done.ok else 1)


@command(
    argument("target", metavar="PATH", help="the new file"),
    example="bethink backup copy.db",
)
def backup(context: Context) -> Reply:
    """Copy the memory into a new file, while programs go on writing."""
    target = context.given.target
    context.store.backup(target)
    return Reply({"target": target}, [f"copied to {target}"])


@command(
    argument(
        "--before",
        metavar="WHEN",
        help="remove history before a time, age (90d), snapshot, or entry (12)",
    ),
    argument("--keep", metavar="SPAN", help="the history that stays, such as 90d"),
    YES,
    example="bethink compact --keep 90d --dry-run",
)
def compact(context: Context) -> Reply:
    """Remove old history for good, and shrink the file."""
    from ..surface.verbs import copied

    given = context.given
    if (given.before is None) == (given.keep is None):
        raise Failure("give either --before or --keep", 2)
    if given.dry_run or not given.yes:
        with copied(context.store) as trial:
            done = _compact(context, trial)
        lines = _compacted(done, "would remove")
        if given.dry_run:
            return Reply(done.to_dict() | {"dry_run": True}, lines)
        context.confirm(done.entries, "remove", lines, ("journal entry", "journal entries"))
    done = _compact(context, context.store)
    return Reply(done.to_dict(), _compacted(done, "removed"))


def _compact(context: Context, store: MemoryStore) -> Compaction:
    given = context.given
    return store.compact(
        before=None if given.before is None else moment_of(given.before),
        keep=None if given.keep is None else days_of(given.keep),
        progress=output.bar("cut"),
    )


def _compacted(done: Compaction, verb: str) -> list[str]:
    return [
        f"{verb} {done.entries:,} journal entries and {done.records:,} ended memories, "
        f"{done.freed:,} bytes",
        f"history begins after entry {done.cut:,}",
    ]


@command(
    argument("url", nargs="?", metavar="URL", help="the database; else that of --db"),
    argument(
        "--writer", action="append", default=[], metavar="ROLE", help="a role that uses the store"
    ),
    argument(
        "--reader", action="append", default=[], metavar="ROLE", help="a role that reads the views"
    ),
    argument(
        "--tenant-writer",
        action="append",
        default=[],
        metavar="ROLE",
        help="a role that uses the store for one tenant at a time, ?tenant=NAMESPACE in the URL",
    ),
    example="bethink migrate postgresql://owner@host/db?schema=demo --writer app",
)
def migrate(context: Context) -> Reply:
    """Make or update the tables of a database, and grant roles."""
    from bethink.adapting import migrate_database

    given = context.given
    url = given.url or os.fspath(context.location)
    location = migrate_database(
        url, writers=given.writer, readers=given.reader, tenant_writers=given.tenant_writer
    )
    data = {
        "location": location,
        "writers": given.writer,
        "readers": given.reader,
        "tenant_writers": given.tenant_writer,
    }
    lines = [f"the tables of {location} are of the latest version"]
    lines += [f"the role {role} may use the store" for role in given.writer]
    lines += [f"the role {role} may read the views" for role in given.reader]
    lines += [f"the role {role} may use the store for one tenant" for role in given.tenant_writer]
    return Reply(data, lines)


@command(
    argument(
        "--rate",
        type=float,
        metavar="RATE",
        help="fold importance, and decay per day, into the vectors",
    ),
    argument("--drop", action="store_true", help="drop the index"),
    example="bethink vector-index -n users/ann",
)
def vector_index(context: Context) -> Reply:
    """Index the vectors of a huge namespace of a database."""
    given, namespace = context.given, context.namespace
    if given.drop:
        dropped = context.store.drop_vector_index(namespace)
        line = "dropped" if dropped else "there was none"
        return Reply({"namespace": namespace, "dropped": dropped}, [line], 0 if dropped else 1)
    tell = output.bar("vectors")
    count = context.store.build_vector_index(namespace, rate=given.rate, progress=tell)
    return Reply({"namespace": namespace, "vectors": count}, [f"vectors indexed: {count:,}"])


COMMANDS: Final = (verify, repair, backup, compact, migrate, vector_index, shards.shards)
