"""The bodies of answers that are no value of the core."""

from __future__ import annotations

from pydantic import BaseModel

from bethink import (
    Conflict,
    Consolidated,
    LogEntry,
    MemoryRecord,
    OutcomeEntry,
    RecallResult,
    Relation,
    Snapshot,
    Version,
)


class Page(BaseModel):
    """A page of memories; *next* is the cursor of the next page."""

    items: list[MemoryRecord]
    next: str | None
    seq: int


class Memories(BaseModel):
    """Memories."""

    items: list[MemoryRecord]


class Found(BaseModel):
    """Memories, each in the place of the id; null for an id without a visible memory."""

    items: list[MemoryRecord | None]


class Point(BaseModel):
    """A memory on the map; both coordinates are in [-1, 1]."""

    id: str
    content: str
    namespace: str
    category: str | None
    x: float
    y: float


class Map(BaseModel):
    """Memories on a map; *shares* of the vectors' variance lie on the two axes."""

    items: list[Point]
    shares: list[float]


class Hits(BaseModel):
    """Hits, the best first."""

    items: list[RecallResult]


class SimilarMemory(BaseModel):
    """A memory that nearly repeats a text; *similarity* is the cosine of both vectors."""

    memory: MemoryRecord
    similarity: float


class SimilarMemories(BaseModel):
    """Near-duplicates, the most similar first."""

    items: list[SimilarMemory]


class Entries(BaseModel):
    """Entries of the journal, the newest first."""

    items: list[LogEntry]


class Event(BaseModel):
    """The data of a server-sent event: a journal entry without texts; *at* is in Unix seconds."""

    seq: int
    at: float
    id: str | None
    namespace: str | None
    action: str


class Versions(BaseModel):
    """The versions of a fact, the oldest first."""

    items: list[Version]


class Snapshots(BaseModel):
    """Named moments."""

    items: list[Snapshot]


class Conflicts(BaseModel):
    """Pairs of memories that can hardly both hold."""

    items: list[Conflict]


class Merges(BaseModel):
    """Groups of near-duplicates; *dry_run* says that nothing was merged."""

    items: list[Consolidated]
    dry_run: bool


class Outcomes(BaseModel):
    """Changes of an outcome, the oldest first."""

    items: list[OutcomeEntry]


class Relations(BaseModel):
    """Links of a memory."""

    items: list[Relation]


class Count(BaseModel):
    """How many memories changed, or pass."""

    count: int


class Changed(BaseModel):
    """Whether anything changed."""

    changed: bool


class Affected(BaseModel):
    """How many memories changed, or would change; *confirm* is the token that a dry run gives."""

    count: int
    dry_run: bool
    confirm: str | None = None


class Tidied(BaseModel):
    """How many memories were forgotten, and how many outcomes drifted back."""

    expired: int
    drifted: int
    dry_run: bool
    confirm: str | None = None


class Compacted(BaseModel):
    """The first journal entry that stays with its time, what was removed, and the bytes freed."""

    cut: int
    at: float
    entries: int
    records: int
    freed: int
    dry_run: bool
    confirm: str | None = None


class Counts(BaseModel):
    """Live memories by namespace."""

    namespaces: dict[str, int]


class FileFacts(BaseModel):
    """The file: path, size in bytes, embedder, schema, journal entries, last change."""

    location: str
    bytes: int
    embedder: str
    schema_version: int
    journal_length: int
    last_change: float | None
    keyed: bool


class Summary(BaseModel):
    """The visible memories in numbers; *file* is null for a token bound to namespaces."""

    states: dict[str, int]
    namespaces: dict[str, int]
    categories: dict[str, int]
    outcomes: dict[str, int]
    created: dict[str, int]
    file: FileFacts | None


class Rights(BaseModel):
    """What a token allows: *namespaces* with all below, none for the whole file; only reading."""

    namespaces: list[str]
    read_only: bool


class Vector(BaseModel):
    """A named vector of a memory."""

    vector: list[float]


class Threads(BaseModel):
    """The names of threads that have messages."""

    items: list[str]


class Health(BaseModel):
    """The state of the server."""

    status: str


class TaskFacts(BaseModel):
    """A task of a list of Beads or Claude Code; times are Unix seconds.

    *file_changed_at* is the last change of the list's file; null for a list from the program of
    Beads. *record* is the memory that stands for a linked task; *memories* counts the links.
    """

    source: str
    id: str
    title: str
    status: str
    updated_at: float | None
    closed_at: float | None
    close_reason: str
    blocked_by: list[str]
    session: str
    closed: bool
    file_changed_at: float | None
    record: str | None
    memories: int


class TaskFile(BaseModel):
    """A file that holds tasks, and the time of the last change."""

    name: str
    changed_at: float


class Tasks(BaseModel):
    """Tasks, the namespace of the links, the files read, and what could not be read."""

    items: list[TaskFacts]
    namespace: str
    files: list[TaskFile]
    skipped: list[str]


class Verdict(BaseModel):
    """The verdict of a closed task on a memory."""

    task: str
    memory: str
    verdict: str
    recorded: bool


class Synced(BaseModel):
    """Verdicts; *dry_run* says that nothing was recorded."""

    items: list[Verdict]
    dry_run: bool


class HostFacts(BaseModel):
    """An agent host; *detail* tells why its settings cannot be read."""

    name: str
    title: str
    installed: bool
    detail: str


class Hosts(BaseModel):
    """Agent hosts of the user."""

    items: list[HostFacts]
