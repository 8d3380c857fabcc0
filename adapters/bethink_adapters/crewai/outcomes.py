"""Memories that learn from the tasks they were recalled for.

    with learn_outcomes(storage):
        crew.kickoff()

A memory that helped is found more easily from then on, one that misled less. Which is which is told
by crewAI's events; see ``crediting`` for what counts.
"""

from __future__ import annotations

import logging
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from bethink import (
    EVERYWHERE,
    MemoryStore,
    NotFoundError,
    RateLimitError,
    ValidationError,
)
from bethink.adapting import Scope, label

from ..shared.extras import needs
from .crediting import Judge, Signal, credit
from .external import CrewExternalStorage
from .storage import CrewStorage
from .traces import Traces

if TYPE_CHECKING:
    from crewai.events.base_events import BaseEvent

_logger: Final = logging.getLogger(__name__)


def learn_outcomes(
    storage: CrewStorage | CrewExternalStorage | MemoryStore,
    *,
    judge: Judge | None = None,
    session: str = "crewai",
) -> OutcomeListener:
    """Record what became of the memories in *storage* that tasks recall; return what stops that.

    What is in the output of a task is marked useful, what is in one that its guardrail refused for
    good is marked useless. A command that the agent ran has the verdict that its result shows.
    *judge* gives an output, a ``TaskOutput``, a verdict of your own, "worked", "failed" or
    "partial", for what is in it; None leaves it at the mark. *session* bounds failures: three an
    hour. A bound view, and a storage, judge only what they see; a store judges all crews' in it.

    Works with every crew of the process and on crewAI 1.9.3 to 1.15.30; recalls outside of tasks
    count for nothing. Errors are logged, and the crew runs on.
    """
    if not isinstance(storage, CrewStorage | CrewExternalStorage | MemoryStore):
        raise ValidationError(f"outcomes need a storage or store, not {type(storage).__name__}")
    return OutcomeListener(storage, judge, label("session", session))


class OutcomeListener:
    """Listens to crewAI's events until closed; made by ``learn_outcomes``."""

    def __init__(
        self,
        storage: CrewStorage | CrewExternalStorage | MemoryStore,
        judge: Judge | None,
        session: str,
    ) -> None:
        self._storage = storage
        self._judge = judge
        self._session = session
        self._traces = Traces()
        self._closed = False
        bus = _bus()
        for kind in _kinds():
            bus.on(kind)(self._hear)

    def __enter__(self) -> OutcomeListener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the events that are under way, 30 seconds at most, and stop listening.

        Close it before the store. It can be closed again.
        """
        if self._closed:
            return
        bus = _bus()
        bus.flush()
        self._closed = True
        if hasattr(bus, "off"):  # crewAI 1.9 has no way to take a handler back
            for kind in _kinds():
                bus.off(kind, self._hear)

    def _hear(self, source: Any, event: BaseEvent) -> None:
        try:
            task = _task_of(event)
            if task is None or self._closed:
                return
            due = self._traces.add(task, event)
            if due is not None:
                ids, result = due
                store, place = self._place()
                records = store.all(namespace=place, where={"id": {"$in": ids}})
                for id, signal in credit(result, records, self._judge).items():
                    self._record(store, id, signal)
        except Exception:
            _logger.exception("the outcome of a task is not recorded; the crew runs on")

    def _place(self) -> tuple[MemoryStore, Scope]:
        if isinstance(self._storage, MemoryStore):
            return self._storage, EVERYWHERE
        return self._storage.place

    def _record(self, store: MemoryStore, id: str, signal: Signal) -> None:
        try:
            if signal == "useful":
                store.mark_useful(id)
            elif signal == "useless":
                store.mark_useless(id)
            else:
                store.record_outcome(id, signal, self._session)
        except (NotFoundError, RateLimitError) as error:
            _logger.warning("an outcome of %s is not recorded: %s", id, error)


def _bus() -> Any:
    with needs("crewai>=1.9.3", "crewai"):
        from crewai.events.event_bus import crewai_event_bus
    return crewai_event_bus


def _kinds() -> tuple[type[BaseEvent], ...]:
    from crewai.events.types.agent_events import AgentExecutionCompletedEvent
    from crewai.events.types.llm_guardrail_events import LLMGuardrailCompletedEvent
    from crewai.events.types.memory_events import MemoryQueryCompletedEvent
    from crewai.events.types.task_events import TaskCompletedEvent, TaskFailedEvent

    return (
        MemoryQueryCompletedEvent,
        AgentExecutionCompletedEvent,
        LLMGuardrailCompletedEvent,
        TaskCompletedEvent,
        TaskFailedEvent,
    )


def _task_of(event: BaseEvent) -> str | None:
    """Return the id of the task that is under way where *event* happened."""
    try:
        from crewai.context import get_current_task_id
    except ImportError:  # before 1.10 the event itself tells
        task = getattr(event, "task", None)
        return event.task_id or (None if task is None else str(task.id))
    return get_current_task_id()
