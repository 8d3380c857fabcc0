"""The answers of tools: short lines for a model to read, the same data as structured content.

Hosts show a model the lines, or the data, or both: each of the two keeps to the budget of tokens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bethink import MemoryRecord, RecallResult
from bethink.adapting import rough_tokens, utc

GET_TOKENS: Final = 20_000
"""The most tokens of an answer of ``memory_get``; Claude Code takes 25,000 from a tool."""
ANSWER_TOKENS: Final = 4_000
"""The most tokens of an answer without a budget of its own."""
BRIEF_TOKENS: Final = 250
"""The most tokens of a memory that an answer shows only in passing."""
_LINE: Final = 300
"""The most characters of such a memory's text."""
_WRAPPING: Final = 30
"""Tokens of the braces around the data, and of the line that says what is missing."""
_OPTIONAL: Final = ("metadata", "value", "tags", "source", "thread", "author", "category", "key")
"""The fields that a memory without room loses, the first first."""
_LEAST_ROOM: Final = 20
"""The fewest tokens of a text that is worth showing a part of."""

Data = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The *text* for the model and the *data* for the host."""

    text: str
    data: Mapping[str, Any]

    def as_result(self) -> dict[str, Any]:
        """Return the result of ``tools/call``."""
        content = [{"type": "text", "text": self.text}]
        return {"content": content, "structuredContent": dict(self.data), "isError": False}


@dataclass
class Page:
    """The *lines* and the *items* of an answer of at most *budget* tokens.

    ``full`` says that something did not fit, in whole or in part.
    """

    budget: int
    lines: list[str] = field(default_factory=list)
    items: list[Data] = field(default_factory=list)
    full: bool = False

    def __post_init__(self) -> None:
        self._text = self._data = float(self.budget - _WRAPPING)

    def add(self, line: str, item: Data) -> bool:
        """Add *line* and *item* if both fit; return whether they do."""
        text, data = rough_tokens(line) + 0.25, tokens(item) + 0.5
        if self.full or text > self._text or data > self._data:
            self.full = True
            return False
        self._text -= text
        self._data -= data
        self.lines.append(line)
        self.items.append(item)
        return True

    def add_record(self, record: MemoryRecord, score: float | None = None) -> bool:
        """Add the whole *record*, or the beginning of the text that fits; return whether whole."""
        scored = {} if score is None else {"score": round(score, 4)}
        if self.add(line(record, score=score), scored | shown(record)):
            return True
        item, used = _without_text(scored | shown(record), self._data)
        room = min(self._data - used, self._text - rough_tokens(line(record, "", score)))
        if room >= _LEAST_ROOM:
            self.full = False
            text = cut(record.content, room - 2)
            self.add(line(record, text, score), item | {"content": text})
            self.full = True
        return False

    def add_all(self, items: Iterable[tuple[str, Data]]) -> None:
        """Add lines and items until one does not fit."""
        all(self.add(*each) for each in items)


def tokens(value: Any) -> float:
    """Return the rough number of tokens of *value* as JSON."""
    return rough_tokens(json.dumps(value, ensure_ascii=False))


def shown(record: MemoryRecord) -> Data:
    """Return the fields of *record* that say something.

    Left out are empty and usual values, times that repeat ``occurred_at``, and accesses.
    """
    data = record.to_dict()
    usual = {
        "importance": 0.5,
        "confidence": 1.0,
        "outcome": 0.0,
        "state": "live",
        "created_at": record.occurred_at,
        "updated_at": record.created_at,
    }
    return {
        name: value
        for name, value in data.items()
        if value not in (None, [], {})
        and not (name in usual and usual[name] == value)
        and name not in ("access_count", "last_accessed_at")
    }


def sketch(record: MemoryRecord) -> Data:
    """Return ``shown`` in at most ``BRIEF_TOKENS``."""
    data = shown(record)
    if tokens(data) <= BRIEF_TOKENS:
        return data
    bare, used = _without_text(data, BRIEF_TOKENS)
    return bare | {"content": cut(record.content, max(BRIEF_TOKENS - used, _LEAST_ROOM))}


def line(record: MemoryRecord, content: str | None = None, score: float | None = None) -> str:
    """Return *record* in one paragraph: score, text, then id, day and what else tells apart."""
    facts = [f"id {record.id}", _day(record.occurred_at)]
    facts += [f"key {record.key}"] if record.key else []
    facts += [record.namespace] if record.namespace != "default" else []
    facts += [record.state] if record.state != "live" else []
    head = "" if score is None else f"{score:.2f}  "
    return f"{head}{_text(record) if content is None else content}  ({', '.join(facts)})"


def brief(record: MemoryRecord) -> str:
    """Return ``line`` with the text cut to some words."""
    text = " ".join(_text(record).split())
    return line(record, text if len(text) <= _LINE else f"{text[: _LINE - 1]}…")


def recalled(hits: Sequence[RecallResult], budget: int, advice: str = "") -> Answer:
    """Return the answer of ``memory_recall``, with *advice* for an answer without hits."""
    page = Page(budget)
    all(page.add_record(hit.memory, hit.score) for hit in hits)
    lines = page.lines if hits else [cut(f"No memory matches.{advice}", budget - _WRAPPING)]
    if page.full:
        lines.append(f"({len(hits) - len(page.items)} more; memory_get returns whole memories.)")
    return Answer("\n".join(lines), {"memories": page.items, "truncated": page.full})


def got(records: Sequence[MemoryRecord], missing: Sequence[str], told: Sequence[str]) -> Answer:
    """Return the answer of ``memory_get``; the lines *told* are about what is *missing*."""
    page = Page(GET_TOKENS - int(2 * tokens(missing)) - 20 * len(missing) - 20 * bool(missing))
    all(page.add_record(record) for record in records)
    lines = [*page.lines, *told]
    if page.full:
        lines.append(f"({len(records) - len(page.items)} more did not fit; ask for fewer ids.)")
    return Answer("\n".join(lines), {"memories": page.items, "missing": list(missing)})


def cut(text: str, room: float) -> str:
    """Return *text*, or the longest beginning of at most *room* tokens with a mark of the cut."""
    if tokens(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) + 1 <= room else (low, middle - 1)
    return f"{text[:low].rstrip()}…"


def clipped(value: Any, *, longest: int = _LINE) -> Any:
    """Return the JSON *value* with every text cut to *longest* characters."""
    if isinstance(value, str):
        return value if len(value) <= longest else f"{value[: longest - 1]}…"
    clip: Callable[[Any], Any] = lambda each: clipped(each, longest=longest)  # noqa: E731
    if isinstance(value, Mapping):
        return {clip(name): clip(each) for name, each in value.items()}
    return [clip(each) for each in value] if isinstance(value, list | tuple) else value


def as_json(value: Any) -> str:
    """Return *value* as JSON for a resource."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def _without_text(data: Data, room: float) -> tuple[Data, float]:
    """Return *data* without the text, marked as truncated, and the tokens used.

    Further fields go while fewer than ``_LEAST_ROOM`` of *room* tokens are left.
    """
    bare = {**data, "content": "", "truncated": True}
    for name in _OPTIONAL:
        if tokens(bare) + _LEAST_ROOM <= room:
            break
        bare.pop(name, None)
    return bare, tokens(bare)


def _text(record: MemoryRecord) -> str:
    """Return the text of *record*, or the value of a record without a text."""
    return record.content or json.dumps(record.value, ensure_ascii=False)


def _day(seconds: float) -> str:
    """Return the day of a time, in UTC; the bare number for years beyond the calendar."""
    when = utc(seconds)
    return f"{seconds:.0f}" if when is None else when.date().isoformat()
