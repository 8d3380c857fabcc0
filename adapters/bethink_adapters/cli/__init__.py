"""cli: the command line of a memory file, ``bethink COMMAND``.

    bethink store "Standup is at 10:00"
    bethink recall "when is standup?"

Exit codes: 0 done, 1 not found or nothing done, 2 wrong usage.
The memory core is imported by the commands that open a file, never for ``--help``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .command import Context, Failure, Reply, reason_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of *arguments* (default: ``sys.argv``); return the exit code."""
    from .parser import parse

    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    in_json = "--json" in words or "--jsonl" in words
    _prepare_streams()
    context: Context | None = None
    try:
        given = parse(words)
        context = Context(given.command, given)
        _end_as_by_interrupt()
        return _show(context, context.command.run(context))
    except BrokenPipeError:
        return _end_output()
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:  # --help and --version
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        told = _sentence(error)
        if told is None:
            raise
        _tell(*told, in_json=in_json if context is None else bool(context.given.form))
        return told[2]
    finally:
        if context is not None:
            context.close()


def show_file(words: list[str]) -> int | str:
    """Print what the file in *words* holds; return 0, or why the file cannot be shown."""
    from .overview import overview

    _prepare_streams()
    try:
        shown = overview(words)
        sys.stdout.flush()
    except BrokenPipeError:
        return _end_output()
    return shown


def is_command(word: str) -> bool:
    """Return whether *word* begins a command line: a command, an option, or a plain word.

    The name of a file is none.
    """
    from .parser import BY_NAME

    is_plain = word.isalpha() and not os.path.exists(word)
    return word in BY_NAME or word.startswith("-") or is_plain


def _prepare_streams() -> None:
    """Give standard streams that the caller closed, as by ``>&-``, an empty end.

    Characters that a terminal does not know are escaped; bytes that are no text are refused.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="strict" if stream is sys.stdin else "backslashreplace")


def _end_output() -> int:
    """Write nothing more, since the reader has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _end_as_by_interrupt() -> None:
    """Let SIGTERM end the program as Ctrl-C does: the store is closed, and no count is lost."""
    import signal
    import threading

    ends = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ends and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _show(context: Context, reply: Reply) -> int:
    from .output import show

    show(reply, form=context.given.form or "text", pager=context.given.pager)
    sys.stdout.flush()
    return reply.code


def _sentence(error: Exception) -> tuple[str, str, int] | None:
    """Return kind, sentence and exit code of a failure; None for a fault of the program."""
    kind = type(error).__name__
    if isinstance(error, Failure):
        return kind, str(error), error.code
    if isinstance(error, UnicodeDecodeError):
        return kind, f"the text is no UTF-8 at byte {error.start}", 2
    if isinstance(error, OSError):
        return kind, reason_of(error), 1
    from bethink import BethinkError, ValidationError

    if not isinstance(error, BethinkError):
        return None
    return kind, str(error), 2 if isinstance(error, ValidationError) else 1


def _tell(kind: str, message: str, code: int, *, in_json: bool) -> None:
    if in_json:
        import json

        message = json.dumps({"error": {"type": kind, "message": message, "exit_code": code}})
        print(message, file=sys.stderr)
    else:
        print(f"bethink: {message}", file=sys.stderr)
