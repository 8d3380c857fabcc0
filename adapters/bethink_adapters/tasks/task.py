"""A task of a foreign list, and what a reader found on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from ..shared.texts import aware

Source = Literal["beads", "claude-tasks", "claude-todos"]

SOURCES: Final[tuple[Source, ...]] = ("beads", "claude-tasks", "claude-todos")
CLOSED: Final = frozenset(("closed", "completed", "done"))


@dataclass(frozen=True)
class Task:
    """A task of *source*. Times are Unix seconds; ``status`` is the word of the source.

    ``blocked_by`` are ids of open tasks of the same source. ``session`` is the agent's session that
    owns the list.
    """

    source: Source
    id: str
    title: str
    status: str = "open"
    updated_at: float | None = None
    closed_at: float | None = None
    close_reason: str = ""
    blocked_by: tuple[str, ...] = ()
    session: str = ""
    path: str = ""

    @property
    def key(self) -> str:
        """The key of the task's record in a store."""
        return f"task:{self.source}:{self.id}"

    @property
    def closed(self) -> bool:
        """Whether the task is done."""
        return self.status in CLOSED


@dataclass
class Listing:
    """The *tasks* of a reader, the files *read* with their times of change, and *skipped* parts."""

    tasks: list[Task] = field(default_factory=list)
    read: dict[Path, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def find(self, id: str) -> list[Task]:
        """Return the tasks with the id or the key *id*; sources may share an id."""
        return [each for each in self.tasks if id in (each.id, each.key)]

    def __add__(self, other: Listing) -> Listing:
        return Listing(
            self.tasks + other.tasks, self.read | other.read, self.skipped + other.skipped
        )


def seconds_of(text: object) -> float | None:
    """Return the Unix seconds of an ISO time, also with nanoseconds; None for anything else."""
    try:
        return aware(datetime.fromisoformat(text)).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None
