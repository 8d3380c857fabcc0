"""The answers of tools: short lines for a model to read, the same data as structured content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bethink import MemoryRecord, RecallResult
from bethink.adapting import rough_tokens

GET_TOKENS: Final = 20_000
"""The most tokens of an answer of ``memory_get``; Claude Code takes 25,000 from a tool."""
_LINE: Final = 300
"""The most characters of a memory that an answer shows only in passing."""


@dataclass(frozen=True)
class Answer:
    """The *text* for the model and the *data* for the host."""

    text: str
    data: Mapping[str, Any]

    def as_result(self) -> dict[str, Any]:
        """Return the result of ``tools/call``."""
        content = [{"type": "text", "text": self.text}]
        return {"content": content, "structuredContent": dict(self.data), "isError": False}


def shown(record: MemoryRecord) -> dict[str, Any]:
    """Return the fields of *record* that say something; empty and usual values are left out."""
    usual = {"importance": 0.5, "confidence": 1.0, "access_count": 0, "outcome": 0.0}
    return {
        name: value
        for name, value in record.to_dict().items()
        if value not in (None, [], {}) and usual.get(name) != value
    }


def line(record: MemoryRecord, *, content: str | None = None, score: float | None = None) -> str:
    """Return *record* in one paragraph: score, text, then id, day and what else tells apart."""
    facts = [f"id {record.id}", datetime.fromtimestamp(record.occurred_at, UTC).date().isoformat()]
    facts += [f"key {record.key}"] if record.key else []
    facts += [record.namespace] if record.namespace != "default" else []
    facts += [record.state] if record.state != "live" else []
    head = "" if score is None else f"{score:.2f}  "
    return f"{head}{record.content if content is None else content}  ({', '.join(facts)})"


def brief(record: MemoryRecord) -> str:
    """Return ``line`` with the text cut to some words."""
    text = " ".join(record.content.split())
    return line(record, content=text if len(text) <= _LINE else f"{text[: _LINE - 1]}…")


def within(
    budget: int, records: Sequence[MemoryRecord], scores: Sequence[float | None]
) -> tuple[list[str], list[dict[str, Any]], bool]:
    """Return the lines and the data of the first *records* that fit into *budget* tokens.

    The last memory that fits in part is cut. The truth says whether anything is missing.
    """
    lines: list[str] = []
    data: list[dict[str, Any]] = []
    left: float = budget
    for record, score in zip(records, scores, strict=True):
        scored = {} if score is None else {"score": round(score, 4)}
        whole = line(record, score=score)
        cost = rough_tokens(whole)
        if cost <= left:
            lines.append(whole)
            data.append(scored | shown(record))
            left -= cost
            continue
        room = left - rough_tokens(line(record, content="", score=score)) - 1
        if room >= min(40, budget // 2):
            text = _cut(record.content, room)
            lines.append(line(record, content=text, score=score))
            data.append(scored | shown(record) | {"content": text, "truncated": True})
        return lines, data, True
    return lines, data, False


def recalled(hits: Sequence[RecallResult], budget: int) -> Answer:
    """Return the answer of ``memory_recall``."""
    lines, data, cut = within(budget, [hit.memory for hit in hits], [hit.score for hit in hits])
    if not hits:
        lines = ["No memory matches."]
    if cut:
        lines.append(
            f"({len(hits) - len(data)} more did not fit; memory_get returns whole memories.)"
        )
    return Answer("\n".join(lines), {"memories": data, "truncated": cut})


def got(records: Sequence[MemoryRecord], missing: Iterable[str]) -> Answer:
    """Return the answer of ``memory_get``."""
    absent = list(missing)
    lines, data, cut = within(GET_TOKENS, records, [None] * len(records))
    lines += [f"No memory has the id {each}." for each in absent]
    if cut:
        lines.append(f"({len(records) - len(data)} more did not fit; ask for fewer ids.)")
    return Answer("\n".join(lines) or "No such memory.", {"memories": data, "missing": absent})


def as_json(value: Any) -> str:
    """Return *value* as JSON for a resource."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def _cut(text: str, tokens: float) -> str:
    """Return the longest beginning of *text* of at most *tokens*, with a mark of the cut."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if rough_tokens(text[:middle]) < tokens else (low, middle - 1)
    return f"{text[:low].rstrip()}…"
