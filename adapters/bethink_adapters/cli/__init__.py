"""cli: the command line of a memory file, ``bethink COMMAND``.

    bethink store "Standup is at 10:00"
    bethink recall "when is standup?"

Exit codes: 0 done, 1 not found or nothing done, 2 wrong usage.
The memory core is imported by the commands that open a file, never for ``--help``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

from .command import Context, Failure, Reply


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of *arguments* (default: ``sys.argv``); return the exit code."""
    from .parser import make_parser

    given = make_parser().parse_args(arguments)
    context = Context(given.command, given)
    try:
        reply = _run(context)
        from .output import show

        if not isinstance(reply, _Told):
            show(reply, form=given.form or "text", pager=given.pager)
        sys.stdout.flush()
        return reply.code
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    finally:
        context.close()


class _Told(Reply):
    """A failure that was told on the standard error."""


def _run(context: Context) -> Reply:
    """Return the command's reply; tell a failure on the standard error."""
    try:
        return context.command.run(context)
    except Failure as error:
        return _told(context, "Failure", str(error), error.code)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        return _told(context, type(error).__name__, str(error), 1)
    except Exception as error:
        from bethink import BethinkError, ValidationError

        if not isinstance(error, BethinkError):
            raise
        code = 2 if isinstance(error, ValidationError) else 1
        return _told(context, type(error).__name__, str(error), code)


def _told(context: Context, kind: str, message: str, code: int) -> Reply:
    if context.given.form:
        print(json.dumps({"error": {"type": kind, "message": message}}), file=sys.stderr)
    else:
        print(f"bethink: {message}", file=sys.stderr)
    return _Told(code=code)
