"""The words of bethink as values: records, results of recall, entries of the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, make_dataclass
from datetime import date
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from ..calls import unknown_name
from . import fields as checks
from .namespaces import check_namespace
from .patterns import lazy_pattern
from .values import Value, one_line

State: TypeAlias = Literal["live", "superseded", "archived", "forgotten", "erased"]
Listed: TypeAlias = Literal["live", "superseded", "archived", "forgotten", "expired"]
SortField: TypeAlias = Literal[
    "occurred_at",
    "created_at",
    "updated_at",
    "last_accessed_at",
    "access_count",
    "importance",
    "outcome",
]
Order: TypeAlias = Literal["oldest", "newest", SortField]
LIVE: Final[tuple[State, ...]] = ("live",)
LOWEST_LIVE: Final = -0.5
"""A record with a lower outcome is archived; a restored record has at least this outcome."""
TURN_KEY: Final = lazy_pattern("turn:[0-9a-f]{32}(:[0-9]{9})?")
"""The keys of turns of conversations: hashes that hold no text; see ``features.turns``."""


@dataclass(frozen=True, slots=True)
class MemoryRecord(Value):
    """One remembered text or value.

    ``content`` is the text that recall searches. ``namespace`` owns the record. ``key`` names a
    changing fact: storing a key again supersedes the record before. ``value`` is any JSON.
    ``thread`` names the conversation of a turn, ``author`` the speaker. ``category``, ``tags``,
    ``source`` and ``metadata`` are for filters. ``importance`` and ``confidence`` lie in [0, 1],
    ``outcome`` in [-1, 1]. Times are Unix seconds (UTC): ``occurred_at`` is the time of the event
    in the world, ``created_at`` the time of storing.
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

    def expired(self, now: float) -> bool:
        """Return whether ``expires_at`` has passed by *now*."""
        return self.expires_at is not None and self.expires_at <= now

    def __str__(self) -> str:
        return one_line(self.content) or one_line(f"{self.key or self.id}: {self.value!r}")

    def __hash__(self) -> int:
        return hash(self.id)


class Common(TypedDict, total=False):
    """The fields of a ``MemoryRecord`` that a caller may give, with defaults.

    ``occurred_at`` (now) and ``expires_at`` (never) are Unix seconds, aware datetimes, dates or ISO
    texts ("2026-11-24" is the start of the day in UTC). ``vectors`` are named vectors of the
    caller, of at most 131,072 numbers, to compare with in ``recall(vector=...)``.
    """

    namespace: str
    key: str | None
    value: Any
    thread: str | None
    author: str | None
    category: str | None
    tags: Iterable[str]
    importance: float
    confidence: float
    source: str | None
    metadata: Mapping[str, Any] | None
    occurred_at: checks.Time | None
    expires_at: checks.Time | None
    vectors: Mapping[str, Sequence[float] | npt.NDArray[np.floating[Any]]] | None


class Fields(Common, total=False):
    """The arguments of ``store`` beside the content; ``supersedes`` is the id of a live record."""

    id: str | None
    supersedes: str | None


class Changes(Common, total=False):
    """The fields that ``update`` may change: every field but the id."""

    content: str


@dataclass(frozen=True, slots=True)
class RecordField:
    """The properties of a record's field, for all modules.

    ``check`` returns a value in the stored form, or raises ``ValidationError``. ``types`` are the
    types in the journal and, JSON aside, in the column. ``filtered`` is the kind of value that
    filters compare. A caller may set ``given`` fields. A change of an ``indexed`` field gives the
    record a new row, of a ``keyed`` field changes what a key says, or until when, of an
    ``identity`` field ends a likeness to a duplicate. A ``local`` field keeps the value when a
    later change comes from a second store. ``merged`` says whether a record takes a missing value
    from a duplicate ("filled"), or the higher value of both ("highest").
    """

    check: Callable[[str, Any], Any]
    types: Any
    filtered: Literal["text", "number", "time"] | None = None
    _: KW_ONLY
    given: bool = True
    indexed: bool = False
    keyed: bool = False
    identity: bool = False
    local: bool = False
    merged: Literal["filled", "highest"] | None = None


_NUMBER: Final = float | int
_text: Final = checks.optional(checks.text)
_label: Final = checks.optional(checks.label)
_time: Final = checks.optional(checks.timestamp)
_count: Final = partial(checks.integer, low=0)
_outcome: Final = partial(checks.number, low=-1.0, high=1.0)
_state: Final = partial(checks.one_of, choices=get_args(State))


def _namespace(_name: str, value: object) -> str:
    return check_namespace(value)


RECORD_FIELDS: Final[Mapping[str, RecordField]] = {
    "id": RecordField(checks.optional(checks.identifier), str, "text", local=True),
    "namespace": RecordField(
        _namespace, str, "text", indexed=True, keyed=True, identity=True, local=True
    ),
    "content": RecordField(
        checks.content, str, "text", indexed=True, keyed=True, identity=True, local=True
    ),
    "created_at": RecordField(checks.timestamp, _NUMBER, "time", given=False, local=True),
    "occurred_at": RecordField(_time, _NUMBER, "time", indexed=True, identity=True),
    "updated_at": RecordField(checks.timestamp, _NUMBER, "time", given=False, local=True),
    "key": RecordField(_label, str | None, "text", keyed=True, identity=True, local=True),
    "value": RecordField(checks.plain, object, keyed=True, identity=True, local=True),
    "thread": RecordField(_text, str | None, "text", indexed=True, identity=True),
    "author": RecordField(_text, str | None, "text", indexed=True, identity=True, local=True),
    "category": RecordField(_label, str | None, "text", merged="filled"),
    "tags": RecordField(checks.tags, list),
    "importance": RecordField(checks.unit, _NUMBER, "number", merged="highest"),
    "confidence": RecordField(checks.unit, _NUMBER, "number", merged="highest"),
    "source": RecordField(_text, str | None, "text", identity=True),
    "metadata": RecordField(checks.metadata, dict),
    "expires_at": RecordField(_time, _NUMBER | None, "time", keyed=True),
    "superseded_by": RecordField(_label, str | None, "text", given=False, local=True),
    "last_accessed_at": RecordField(_time, _NUMBER | None, "time", given=False, local=True),
    "access_count": RecordField(_count, int, "number", given=False, local=True),
    "outcome": RecordField(_outcome, _NUMBER, "number", given=False),
    "state": RecordField(_state, str, given=False, keyed=True, identity=True, local=True),
}
"""Every field of a ``MemoryRecord``, in the same order."""

CHECKS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    **{name: each.check for name, each in RECORD_FIELDS.items() if each.given},
    "vectors": checks.vectors,
    "supersedes": checks.optional(checks.identifier),
}
"""The checks of what a caller may give."""

GIVEN_DEFAULTS: Final[Mapping[str, object]] = {
    **dict.fromkeys(CHECKS),
    **{each.name: each.default for each in fields(MemoryRecord) if each.default is not MISSING},
    "namespace": "default",
}
"""What ``store`` takes for a field that the caller does not give."""


def checked_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return *given* in the stored form; raise ``ValidationError`` for the first wrong field."""
    for name in given:
        if name not in CHECKS:
            raise unknown_name("field", name, CHECKS)
    return {name: CHECKS[name](name, value) for name, value in given.items()}


_FIELDS: Final = MemoryRecord.__slots__
_JSON: Final = ("value", "metadata")
_NOTHING: Final[tuple[Any, ...]] = ((), {})
_values = attrgetter(*_FIELDS)
set_field = object.__setattr__
_Draft: Any = make_dataclass(
    "_Draft",
    [
        (each.name, Any, field(default=each.default, default_factory=each.default_factory))
        for each in fields(MemoryRecord)
    ],
    bases=(Value,),  # else the class could not be changed
    slots=True,
)


def new_record(*values: Any, **named: Any) -> MemoryRecord:
    """Return the ``MemoryRecord`` with the given fields.

    A frozen class calls a function for each field; a plain class of equal slots, whose class is
    then changed, takes a third of the time.
    """
    record: MemoryRecord = _Draft(*values, **named)
    record.__class__ = MemoryRecord
    return record


def with_fields(record: MemoryRecord, **changes: Any) -> MemoryRecord:
    """Return *record* with *changes*; ``replace`` would take three times as long."""
    changed: MemoryRecord = _Draft(*_values(record))
    for name, value in changes.items():
        setattr(changed, name, value)
    changed.__class__ = MemoryRecord
    return changed


def with_accesses(record: MemoryRecord, count: int, last: float | None) -> MemoryRecord:
    """Return *record* with *count* accesses, the last at *last*, sharing no mutable value."""
    draft = _Draft(*_values(record))
    draft.access_count, draft.last_accessed_at = count, last
    draft.metadata = _own(record.metadata) if record.metadata else {}
    if record.value is not None:
        draft.value = _own(record.value)
    draft.__class__ = MemoryRecord
    copied: MemoryRecord = draft
    return copied


def _own(value: Any) -> Any:
    """Return a copy of a JSON value."""
    if isinstance(value, dict):
        return {name: _own(each) for name, each in value.items()}
    return list(map(_own, value)) if isinstance(value, list) else value


def non_empty_fields(record: MemoryRecord) -> dict[str, Any]:
    """Return the fields of *record* that are not empty, as the journal stores fields."""
    fields = zip(_FIELDS, _values(record), strict=True)
    return {
        name: value
        for name, value in fields
        if value is not None and (value or name == "value" or value not in _NOTHING)
    }


@dataclass(frozen=True, slots=True)
class Explanation(Value):
    """The explanation of a record's score.

    ``signals`` are the measured numbers, ``contributions`` the parts that sum to ``score``.
    ``survivors`` counts the records scored exactly, with vectors read in full, to prove the answer.
    ``approximate`` tells that an approximate index chose the records to be scored. Equality ignores
    both.
    """

    score: float
    signals: Mapping[str, float]
    contributions: Mapping[str, float]
    survivors: int = field(default=0, compare=False)
    approximate: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        parts = " + ".join(
            f"{name} {value:.3f}" for name, value in self.contributions.items() if value
        )
        return f"{self.score:.3f} = {parts or '0'}"


class LazyResults(Value):
    """A result that computes some fields on first use."""

    __slots__ = ("_tell",)

    @classmethod
    def lazily(cls, tell: Callable[[str], object], **known: object) -> Self:
        """Return a result with the *known* fields; *tell* gives the value of any other field."""
        result = object.__new__(cls)
        for name, value in known.items():
            set_field(result, name, value)
        set_field(result, "_tell", tell)
        return result

    if not TYPE_CHECKING:  # or any name would pass for an attribute

        def __getattr__(self, name: str) -> Any:
            """Compute a field on first use."""
            if name not in self.__match_args__:
                super().__getattr__(name)
            set_field(self, name, self._tell(name))
            return getattr(self, name)


@dataclass(frozen=True, slots=True)
class RecallResult(LazyResults):
    """A recalled record with its score; ``record`` is another name of ``memory``."""

    memory: MemoryRecord
    score: float
    explanation: Explanation

    def __str__(self) -> str:
        return f"{self.score:.2f}  {self.memory}"

    def __hash__(self) -> int:
        return hash((self.memory, self.score))

    @property
    def record(self) -> MemoryRecord:
        """The recalled record."""
        return self.memory

    @property
    def id(self) -> str:
        """The id of the recalled record."""
        return self.memory.id

    @property
    def content(self) -> str:
        """The text of the recalled record."""
        return self.memory.content

    def explain(self) -> Explanation:
        """Return every signal and contribution; the contributions sum to the score."""
        return self.explanation


@dataclass(frozen=True, slots=True)
class LogEntry(Value):
    """One entry of the journal: mutation number ``seq`` of the store.

    ``at`` is in Unix seconds. ``changes`` holds the fields after the mutation; empty once erased.
    """

    seq: int
    at: float
    action: str
    id: str | None
    namespace: str | None
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Snapshot(Value):
    """A named moment: the journal up to entry ``seq``, named at the time ``at``."""

    name: str
    seq: int
    at: float


When: TypeAlias = str | int | float | date | Snapshot | LogEntry
"""A snapshot or its name, an entry or its number, or a time: float, aware datetime, date, text."""


def different(before: MemoryRecord, after: MemoryRecord) -> tuple[str, ...]:
    """Return the names of the fields in which two records differ, in the order of the fields.

    JSON in a different spelling differs: ``True`` is not ``1``, nor is 1.0.
    """
    return tuple(
        name
        for name in MemoryRecord.__slots__
        if getattr(before, name) != getattr(after, name)
        or (name in _JSON and not spelled_alike(getattr(before, name), getattr(after, name)))
    )


def spelled_alike(one: object, other: object) -> bool:
    """Return whether two JSON values are equal as JSON; 1, 1.0 and True are all different."""
    return repr(one) == repr(other)


def embedded_text(record: MemoryRecord) -> str:
    """Return "author: content"."""
    return f"{record.author}: {record.content}" if record.author else record.content
