"""The words of bethink as values: the record, what recall returns, what the journal tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

State: TypeAlias = Literal["live", "superseded", "archived", "forgotten"]


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """One remembered thing.

    Times are Unix seconds (UTC). ``importance`` and ``confidence`` lie in [0, 1], ``outcome`` in
    [-1, 1]. ``occurred_at`` is when it happened in the world, ``created_at`` when this store
    learned it.
    """

    id: str
    namespace: str
    content: str
    created_at: float
    occurred_at: float
    updated_at: float
    key: str | None = None
    value: Any = None
    thread: str | None = None
    author: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 1.0
    source: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    expires_at: float | None = None
    superseded_by: str | None = None
    last_accessed_at: float | None = None
    access_count: int = 0
    outcome: float = 0.0
    state: State = "live"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a record scored what it did.

    ``signals`` are the measured numbers, ``contributions`` what each added; the contributions sum
    to ``score``. ``survivors`` tells how many records were scored exactly, their vectors read in
    full, to prove the answer; it is no part of what makes two explanations equal.
    """

    score: float
    signals: Mapping[str, float]
    contributions: Mapping[str, float]
    survivors: int = field(default=0, compare=False)

    def __str__(self) -> str:
        parts = " + ".join(
            f"{name} {value:.3f}" for name, value in self.contributions.items() if value
        )
        return f"{self.score:.3f} = {parts or '0'}"


@dataclass(frozen=True, slots=True)
class RecallResult:
    """A recalled record with its score; ``record`` is another name of ``memory``."""

    memory: MemoryRecord
    score: float
    explanation: Explanation

    @property
    def record(self) -> MemoryRecord:
        """The recalled record."""
        return self.memory

    def explain(self) -> Explanation:
        """Return every signal and its contribution; the contributions sum to the score."""
        return self.explanation


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of the journal: mutation number ``seq`` of the store.

    ``changes`` holds the fields as the mutation left them; it is empty once they have been erased.
    """

    seq: int
    at: float
    action: str
    id: str | None
    namespace: str | None
    changes: Mapping[str, Any]
