"""The commands that care for the file: verify, repair."""

from __future__ import annotations

from typing import Final

from . import output
from .command import Command, Context, Reply


def verify(context: Context) -> Reply:
    """Check the file."""
    found = context.store.verify(progress=output.bar("checked"))
    lines = [str(each) for each in found.problems] or ["no problems"]
    return Reply(found.to_dict() | {"ok": found.ok}, lines, 0 if found.ok else 1)


def repair(context: Context) -> Reply:
    """Mend the file."""
    done = context.store.repair()
    lines = [f"mended: {each}" for each in done.mended] + [f"left: {each}" for each in done.left]
    return Reply(done.to_dict() | {"ok": done.ok}, lines or ["no problems"], 0 if done.ok else 1)


COMMANDS: Final = (
    Command(
        "verify",
        "check the file and the history",
        verify,
        synonyms=("check",),
        example="bethink verify",
    ),
    Command(
        "repair",
        "mend the damage of a file",
        repair,
        example="bethink repair",
    ),
)
