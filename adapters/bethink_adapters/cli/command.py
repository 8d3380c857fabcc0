"""The form of a command: the arguments, the call, and the reply.

The modules of the commands import neither the memory core nor more of the standard library than the
help needs; functions import the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..surface.location import NAMESPACE_VARIABLE, Location, find_location, home_namespace

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink import MemoryStore
    from bethink.adapting import Scope

MARK: Final = "\ufeff"
"""The byte order mark that programs on Windows write before a text."""


class Failure(Exception):
    """A failure told in one sentence; *code* is the exit code: 1 not done, 2 wrong usage."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def reason_of(error: Exception) -> str:
    """Return the sentence of *error*; the number of an error of the system tells nothing."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


class Argument(NamedTuple):
    """An argument of ``ArgumentParser.add_argument``: *flags* and *options*.

    *words* are the values that a shell completes.
    """

    flags: tuple[str, ...]
    options: Mapping[str, Any]
    words: Sequence[str] = ()


def argument(*flags: str, words: Sequence[str] = (), **options: Any) -> Argument:
    """Return the argument with *flags* and the *options* of ``add_argument``."""
    return Argument(flags, options, words or options.get("choices", ()))


class Reply(NamedTuple):
    """The result of a command: *data* for ``--json``, *lines* for readers, the exit *code*.

    *paged* lines go through a pager on a terminal. *data* may be an iterator, shown as lines of
    JSON as the values come. A reader of no line gets the reason *empty* on the standard error.
    """

    data: Any = None
    lines: Iterable[str] = ()
    code: int = 0
    paged: bool = False
    empty: str = "nothing found"


class Command(NamedTuple):
    """A command; a command that *writes* makes a missing file.

    *synonyms* are taken too, and not shown. *example* is a command line for the documentation.
    """

    name: str
    help: str
    run: Callable[[Context], Reply]
    arguments: Sequence[Argument]
    writes: bool
    synonyms: Sequence[str]
    example: str

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the synonyms."""
        return (self.name, *self.synonyms)


def command(
    *arguments: Argument | Sequence[Argument],
    writes: bool = False,
    synonyms: Sequence[str] = (),
    example: str,
) -> Callable[[Callable[[Context], Reply]], Command]:
    """Return a decorator: the function becomes the command, with the name and the docstring.

    *arguments* are single arguments and groups of arguments.
    """
    flat = [each for one in arguments for each in ((one,) if isinstance(one, Argument) else one)]

    def made(run: Callable[[Context], Reply]) -> Command:
        name, told = run.__name__.rstrip("_").replace("_", "-"), (run.__doc__ or "").rstrip(".")
        return Command(name, told[:1].lower() + told[1:], run, flat, writes, synonyms, example)

    return made


class Context:
    """A call of *command* with the arguments *given*."""

    def __init__(self, command: Command, given: Namespace) -> None:
        self.command = command
        self.given = given

    @cached_property
    def location(self) -> Location:
        """The place of the memory."""
        return find_location(self.given.db)

    @cached_property
    def store(self) -> MemoryStore:
        """The open store; a command that reads makes no file."""
        if not self.command.writes and not self.location.exists():
            raise Failure(
                f"no memory at {self.location}; `bethink store TEXT` makes a memory there, "
                "--db PATH or BETHINK_DB names another"
            )
        return self.location.open()

    def close(self) -> None:
        """Close the store if the command has opened the store."""
        if "store" in self.__dict__:
            self.store.close()

    @property
    def named(self) -> str | None:
        """The namespace that the user has named, if any."""
        name = self.given.namespace or os.environ.get(NAMESPACE_VARIABLE)
        if name and name.endswith("*") and not name.rpartition("/")[2].strip("*"):
            raise Failure(f"{name!r} is a pattern; -n NAME also reads all below, -a reads all", 2)
        if name and "" in name.split("/"):
            steps = "/".join(filter(None, name.split("/")))
            raise Failure(f"{name!r} has a slash too many; write {steps or 'a name'}", 2)
        return name or None

    @property
    def namespace(self) -> str:
        """The namespace to write to."""
        return self.named or home_namespace(self.location)

    @property
    def scope(self) -> Scope:
        """The scope to read: the namespace with everything below, or all with ``--everywhere``."""
        from bethink import EVERYWHERE, Subtree

        everywhere = getattr(self.given, "everywhere", False)
        return EVERYWHERE if everywhere else Subtree(self.namespace)

    @property
    def whole_scope(self) -> Scope:
        """The scope of commands that read all unless told otherwise, such as an export."""
        from bethink import EVERYWHERE

        return self.scope if self.named else EVERYWHERE

    def text(self, given: str | None, file: str | None = None) -> str:
        """Return the text of an argument, of *file*, or of the standard input for ``-``.

        A byte order mark before the text, and the end of the last line, are no part of the text.
        """
        from pathlib import Path

        if file is not None and given is not None:
            raise Failure("give a text or --file, not both", 2)
        source = file if file is not None else given
        if source is None:
            raise Failure("no text: give one, --file PATH, or - for the standard input", 2)
        if source == "-":
            source = sys.stdin.read().replace("\r\n", "\n")  # as in a file
        elif file is not None:
            source = Path(file).expanduser().read_text(encoding="utf-8")
        else:  # a byte of an argument that is no text is a surrogate
            return source.encode(errors="surrogatepass").decode()
        return source.removeprefix(MARK).removesuffix("\n")

    def confirm(
        self,
        count: int,
        action: str,
        preview: Iterable[str] = (),
        of: tuple[str, str] = ("memory", "memories"),
    ) -> None:
        """Show the *preview* and ask before *action* changes *count* memories; ``--yes`` answers.

        *of* names one and several of the things counted.
        Raise ``Failure`` without a terminal to ask on, or for any answer but yes.
        """
        if self.given.yes or not count:
            return
        what = f"{action} {count} {of[count != 1]}"
        if not sys.stdin.isatty():
            raise Failure(f"this would {what}; add --yes to do so, --dry-run to look", 2)
        for line in preview:
            print(line, file=sys.stderr)
        print(f"{what.capitalize()}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Failure("nothing was changed")
