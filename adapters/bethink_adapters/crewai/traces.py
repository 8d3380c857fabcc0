"""Traces: what crewAI's events tell of a task, in whatever order they are heard.

crewAI hands events to several threads, so one may be heard after the end of its task; by its time
it still belongs there. Only ids and texts are kept, and those of the latest tasks only.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from crewai.tasks.task_output import TaskOutput

CAPACITY: Final = 256  # tasks; beyond that the one that was silent for longest is forgotten


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a task: the ``answer`` to what was ``asked``.

    ``output`` is None if a guardrail refused the answer and the task failed.
    """

    asked: str
    answer: str
    output: TaskOutput | None = None

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """What was said and called on the way; nothing if the task failed."""
        return getattr(self.output, "messages", ())


@dataclass(frozen=True, slots=True)
class _Told:
    at: datetime
    text: str
    output: TaskOutput | None = None
    error: str | None = None


@dataclass(slots=True)
class _Trace:
    """One run of a task, which began after *since*."""

    since: datetime | None = None
    recalled: dict[str, None] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    answer: _Told | None = None
    check: _Told | None = None
    end: _Told | None = None

    def add(self, event: Any) -> None:
        match event.type:
            case "memory_query_completed":
                self.recalled.update(dict.fromkeys(_ids(event.results)))
            case "agent_execution_completed":
                self.answer = _later(self.answer, _Told(event.timestamp, str(event.output)))
            case "llm_guardrail_completed":
                error = None if event.success else str(event.error)
                self.check = _later(self.check, _Told(event.timestamp, "", error=error))
            case "task_completed":
                asked = _asked(event.output)
                self.end = _Told(event.timestamp, asked, output=event.output)
            case "task_failed":
                self.end = _Told(event.timestamp, _asked(event.task), error=event.error)

    def due(self) -> tuple[list[str], Result] | None:
        """Return what was recalled and is not yet given out, once the task has a result."""
        result = self._result()
        ids = [id for id in self.recalled if id not in self.given]
        if result is None or not ids:
            return None
        self.given.update(ids)
        return ids, result

    def _result(self) -> Result | None:
        if self.end is None:
            return None
        if self.end.output is not None:
            return Result(self.end.text, self.end.output.raw, self.end.output)
        refusal = self.check.error if self.check else None
        # Tasks also fail of outages; one that was refused names the guardrail's own error.
        if self.answer is None or refusal is None or refusal not in (self.end.error or ""):
            return None
        return Result(self.end.text, self.answer.text)


class Traces:
    """The traces of the *capacity* tasks that were heard of last."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._traces: OrderedDict[str, _Trace] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._traces)

    def add(self, task: str, event: Any) -> tuple[list[str], Result] | None:
        """Add what *event* tells of *task*; return what was recalled there, if that is due now.

        Each id is returned once for each run, with the result that the run had.
        """
        with self._lock:
            trace = self._trace(task, event.timestamp)
            if trace.since is not None and event.timestamp <= trace.since:
                return None
            trace.add(event)
            return trace.due()

    def _trace(self, task: str, at: datetime) -> _Trace:
        trace = self._traces.get(task) or _Trace()
        if trace.end is not None and at > trace.end.at:
            trace = _Trace(since=trace.end.at)
        self._traces[task] = trace
        self._traces.move_to_end(task)
        if len(self._traces) > self._capacity:
            self._traces.popitem(last=False)
        return trace


def _later(one: _Told | None, other: _Told) -> _Told:
    return other if one is None or other.at >= one.at else one


def _asked(task: Any) -> str:
    """Return what a task, or its output, says that it is about."""
    texts = (getattr(task, name, None) for name in ("description", "expected_output"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _ids(results: Iterable[Any]) -> Iterator[str]:
    """Yield the ids of what a memory returned: matches, or before 1.10 mappings."""
    for result in results or ():
        found = result if isinstance(result, Mapping) else getattr(result, "record", None)
        id = found.get("id") if isinstance(found, Mapping) else getattr(found, "id", None)
        if isinstance(id, str):
            yield id
