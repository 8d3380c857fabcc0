"""Outcomes of recalled memories, learned from crewAI's tasks.

    with learn_outcomes(storage):
        crew.kickoff()

A memory that helped a task ranks higher from then on, and a memory that misled a task ranks lower.
The listener hears of recalls and results by crewAI's events; see ``crediting`` for the rules.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from bethink import EVERYWHERE, MemoryStore, NotFoundError, RateLimitError
from bethink.adapting import Scope, explaining, function, label

from ..shared.extras import require
from ..shared.opening import StoreOrPath, open_store
from ..surface.verbs import Judgement, judge
from .crediting import Judge, credit
from .external import CrewExternalStorage
from .runs import RunTracker
from .storage import CrewStorage

if TYPE_CHECKING:
    from crewai.events.base_events import BaseEvent

_logger: Final = logging.getLogger(__name__)


@explaining
def learn_outcomes(
    storage: CrewStorage | CrewExternalStorage | StoreOrPath,
    *,
    judge: Judge | None = None,
    session: str = "crewai",
) -> OutcomeListener:
    """Record the outcomes of the memories that tasks recall from *storage*; return the listener.

    A memory repeated in the output of a task is marked useful; a memory repeated in an output that
    a guardrail refused for good is marked useless. A memory whose command the agent ran gets the
    verdict of the command's result. *judge* takes a ``TaskOutput`` and returns your own verdict for
    the repeated memories, "worked", "failed" or "partial", or None for the mark. A *session*
    records at most three failures an hour. A storage judges only the memories in view, a store the
    memories of all crews.

    The listener hears every crew of the process, on crewAI 1.9.3 to 1.15.30. Recalls outside a task
    are not judged. Errors are logged, and the crew runs on. A bad *storage* or *session* raises
    ``ValidationError``, a missing crewAI ``MissingExtraError``.
    """
    if judge is not None:
        function("judge", judge)
    if not isinstance(storage, CrewStorage | CrewExternalStorage):
        storage = open_store(storage)
    return OutcomeListener(storage, judge, label("session", session))


class OutcomeListener:
    """A listener to crewAI's events, until closed; made by ``learn_outcomes``."""

    def __init__(
        self,
        storage: CrewStorage | CrewExternalStorage | MemoryStore,
        judge: Judge | None,
        session: str,
    ) -> None:
        self._storage = storage
        self._judge = judge
        self._session = session
        self._runs = RunTracker()
        self._closed = False
        bus = _bus()
        for kind in _event_types():
            bus.on(kind)(self._on_event)

    def __enter__(self) -> OutcomeListener:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for pending events, 30 seconds at most, and stop listening.

        Close the listener before the store. A second ``close`` does nothing.
        """
        if self._closed:
            return
        bus = _bus()
        bus.flush()
        self._closed = True
        if hasattr(bus, "off"):  # crewAI 1.9 cannot remove a handler
            for kind in _event_types():
                bus.off(kind, self._on_event)

    def _on_event(self, source: Any, event: BaseEvent) -> None:
        try:
            task = _task_id(event)
            if task is None or self._closed:
                return
            due = self._runs.add(task, event)
            if due is not None:
                ids, result = due
                store, place = self._place()
                records = store.all(namespace=place, where={"id": {"$in": ids}})
                for id, judgement in credit(result, records, self._judge).items():
                    self._record(store, id, judgement)
        except Exception:
            _logger.exception("the outcome of a task is not recorded; the crew runs on")

    def _place(self) -> tuple[MemoryStore, Scope]:
        if isinstance(self._storage, MemoryStore):
            return self._storage, EVERYWHERE
        return self._storage.place

    def _record(self, store: MemoryStore, id: str, judgement: Judgement) -> None:
        try:
            judge(store, [id], judgement, self._session)
        except (NotFoundError, RateLimitError) as error:
            _logger.warning("an outcome of %s is not recorded: %s", id, error)


def _bus() -> Any:
    return require("crewai", "crewai.events.event_bus").crewai_event_bus


def _event_types() -> tuple[type[BaseEvent], ...]:
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


def _task_id(event: BaseEvent) -> str | None:
    """Return the id of the running task that emits *event*; None outside a task."""
    try:
        from crewai.context import get_current_task_id
    except ImportError:  # crewAI before 1.10: the id is in the event
        task = getattr(event, "task", None)
        return event.task_id or (None if task is None else str(task.id))
    return get_current_task_id()
