"""The runs of crewAI's tasks, put together from crewAI's events in any order.

crewAI calls handlers in several threads, so a handler may get an event after the end of the task;
the time of the event shows the run of the event. Only the latest tasks are kept, each with the ids
of the recalled memories, the texts and the output.
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

CAPACITY: Final = 256  # tasks; the longest silent task is dropped first


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The *answer* to the *question* of a task.

    The *output* is None if a guardrail refused the answer and the task failed.
    """

    question: str
    answer: str
    output: TaskOutput | None = None

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """The messages and tool calls of the task; empty for a failed task."""
        return getattr(self.output, "messages", ())


@dataclass(frozen=True, slots=True)
class _Step:
    """The latest answer, guardrail check or end of a run."""

    at: datetime
    text: str
    output: TaskOutput | None = None
    error: str | None = None


@dataclass(slots=True)
class _Run:
    """A run of a task, begun after the time *begun_after* (None: the first known run)."""

    begun_after: datetime | None = None
    recalled: dict[str, None] = field(default_factory=dict)
    handed_out: set[str] = field(default_factory=set)
    answer: _Step | None = None
    check: _Step | None = None
    end: _Step | None = None

    def add(self, event: Any) -> None:
        match event.type:
            case "memory_query_completed":
                self.recalled.update(dict.fromkeys(_ids(event.results)))
            case "agent_execution_completed":
                self.answer = _newer(self.answer, _Step(event.timestamp, str(event.output)))
            case "llm_guardrail_completed":
                error = None if event.success else str(event.error)
                self.check = _newer(self.check, _Step(event.timestamp, "", error=error))
            case "task_completed":
                question = _task_text(event.output)
                self.end = _Step(event.timestamp, question, output=event.output)
            case "task_failed":
                self.end = _Step(event.timestamp, _task_text(event.task), error=event.error)

    def take_due(self) -> tuple[list[str], TaskResult] | None:
        """Return the recalled ids not handed out yet, and the result; else None."""
        result = self._result()
        ids = [id for id in self.recalled if id not in self.handed_out]
        if result is None or not ids:
            return None
        self.handed_out.update(ids)
        return ids, result

    def _result(self) -> TaskResult | None:
        if self.end is None:
            return None
        if self.end.output is not None:
            return TaskResult(self.end.text, self.end.output.raw, self.end.output)
        refusal = self.check.error if self.check else None
        # A task can also fail of an outage; the error of a refusal holds the guardrail's error.
        if self.answer is None or refusal is None or refusal not in (self.end.error or ""):
            return None
        return TaskResult(self.end.text, self.answer.text)


class RunTracker:
    """The runs of the *capacity* tasks with the latest events."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, task: str, event: Any) -> tuple[list[str], TaskResult] | None:
        """Add *event* to the run of *task*; return recalled ids and the result, once known.

        Each id of a run is returned once.
        """
        with self._lock:
            run = self._run_of(task, event.timestamp)
            if run.begun_after is not None and event.timestamp <= run.begun_after:
                return None
            run.add(event)
            return run.take_due()

    def _run_of(self, task: str, at: datetime) -> _Run:
        run = self._runs.get(task) or _Run()
        if run.end is not None and at > run.end.at:
            run = _Run(begun_after=run.end.at)
        self._runs[task] = run
        self._runs.move_to_end(task)
        if len(self._runs) > self._capacity:
            self._runs.popitem(last=False)
        return run


def _newer(known: _Step | None, new: _Step) -> _Step:
    return new if known is None or new.at >= known.at else known


def _task_text(task: Any) -> str:
    """Return the description and the expected output of a task, or of a task's output."""
    texts = (getattr(task, name, None) for name in ("description", "expected_output"))
    return "\n".join(text for text in texts if isinstance(text, str))


def _ids(results: Iterable[Any]) -> Iterator[str]:
    """Yield the ids of the records in *results*: matches, or before crewAI 1.10 mappings."""
    for result in results or ():
        found = result if isinstance(result, Mapping) else getattr(result, "record", None)
        id = found.get("id") if isinstance(found, Mapping) else getattr(found, "id", None)
        if isinstance(id, str):
            yield id
