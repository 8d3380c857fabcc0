"""Google ADK: the memory service that an agent's ``preload_memory`` and ``load_memory`` search.

    memory = MemoryService(store)
    agent = LlmAgent(name="helper", model="gemini-2.5-flash", tools=[preload_memory_tool])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
    ...
    session = await sessions.get_session(app_name="app", user_id="ann", session_id="monday")
    await memory.add_session_to_memory(session)    # as often as you like: what is there stays once

Runs on google-adk 2.0 to 2.13.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from bethink import MemoryRecord, MemoryStore, segment
from bethink.adapting import (
    MAX_CONTENT,
    MAX_LABEL,
    check_namespace,
    check_store,
    finish_in_thread,
    integer,
    number,
)

from .shared.extras import needs
from .shared.remembering import remember_new
from .shared.subclassing import on_base
from .shared.texts import askable, storable

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService as _Base
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai.types import Content
else:
    _Base = object  # see `subclassing`


class MemoryService(_Base):
    """What the users of ADK apps said and were told, each in a namespace of their own.

    A search returns the best *k* memories that score at least *min_score*. An entry's id is that of
    the event it came from; what was deleted is not taken in again. The *store* stays open.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make one that passes for ADK's own."""
        with needs("google-adk", "google-adk"):
            from google.adk.memory.base_memory_service import BaseMemoryService

        return object.__new__(on_base(cls, BaseMemoryService))

    def __init__(
        self, store: MemoryStore, *, namespace: str = "adk", k: int = 10, min_score: float = 0.0
    ) -> None:
        self.store = check_store(store)
        self.namespace = check_namespace(namespace)
        self.k = integer("k", k, 1)
        self.min_score = number("min_score", min_score, -1e9, 1e9)

    def namespace_of(self, app_name: str, user_id: str) -> str:
        """Return where the memories of a user of an app are; no two share one."""
        return f"{self.namespace}/{segment(app_name)}/{segment(user_id)}"

    async def add_session_to_memory(self, session: Session) -> None:
        """Take in what a session has that is not known yet."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Take in those of *events* that say something, aloud too, and are not known yet."""
        place = self.namespace_of(app_name, user_id)
        shared = {"metadata": dict(custom_metadata or {})} | _thread(session_id)
        items = [
            _told(content, author) | {"key": event.id, "occurred_at": event.timestamp} | shared
            for event in events
            for content, author in [_spoken(event)]
            if _text(content)
        ]
        await finish_in_thread(remember_new, self.store, items, place)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember *memories*; one whose id is known takes the place of the earlier one.

        A timestamp that is not ISO 8601 counts as none.
        """
        items = []
        for entry in memories:
            metadata = {**(custom_metadata or {}), **entry.custom_metadata}
            item = _told(entry.content, entry.author) | {"metadata": metadata}
            with suppress(ValueError, OverflowError):  # ISO 8601 is preferred, no more
                item["occurred_at"] = datetime.fromisoformat(entry.timestamp or "").astimezone(UTC)
            items.append(item | {"key": entry.id or uuid4().hex})
        place = self.namespace_of(app_name, user_id)
        await finish_in_thread(self.store.store_many, items, namespace=place)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return what of a user's memories is relevant to *query*, best first."""
        from google.adk.memory.base_memory_service import SearchMemoryResponse

        found = await asyncio.to_thread(
            self.store.recall,
            askable(query),
            k=self.k,
            namespace=self.namespace_of(app_name, user_id),
            min_score=self.min_score,
        )
        return SearchMemoryResponse(memories=[_entry(hit.memory) for hit in found])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget the memory with the id that a search gave; an unknown one is no error."""
        place = self.namespace_of(app_name, user_id)
        if memory_id:
            where = {"$or": [{"key": memory_id}, {"key": None, "id": memory_id}]}
            await finish_in_thread(self.store.forget, namespace=place, where=where)


def _spoken(event: Event) -> tuple[Content | None, str]:
    """Return what *event* says, be it in the words that were heard, and who says it."""
    from google.genai.types import Content, Part

    if event.content or event.partial:
        return event.content, event.author
    if (heard := event.input_transcription) and heard.text:
        return Content(role="user", parts=[Part(text=heard.text)]), "user"
    if (heard := event.output_transcription) and heard.text:
        return Content(role="model", parts=[Part(text=heard.text)]), event.author
    return None, event.author


def _told(content: Content | None, author: str | None) -> dict[str, Any]:
    """Return what is said, by whom, as arguments of ``MemoryStore.store``."""
    item = {
        "content": storable(_text(content), MAX_CONTENT),
        "value": content and content.model_dump(mode="json", exclude_none=True),
    }
    return item | ({"author": storable(author, MAX_LABEL)} if author else {})


def _thread(session_id: str | None) -> dict[str, str]:
    return {"thread": storable(session_id, MAX_LABEL)} if session_id else {}


def _text(content: Content | None) -> str:
    """Return the text of *content*, without what the model only thought."""
    parts = (content.parts if content else None) or []
    texts = (part.text for part in parts if part.text and not part.thought)
    return "\n".join(texts).strip()


def _entry(record: MemoryRecord) -> MemoryEntry:
    from google.adk.memory.memory_entry import MemoryEntry

    return MemoryEntry(
        id=record.key or record.id,
        content=_content(record),
        author=record.author,
        timestamp=datetime.fromtimestamp(record.occurred_at, UTC).isoformat(),
        custom_metadata=record.metadata,
    )


def _content(record: MemoryRecord) -> Content:
    """Return what was said; its text where that was changed since, or somebody else stored it."""
    from google.genai.types import Content, Part
    from pydantic import ValidationError

    with suppress(ValidationError):
        content = Content.model_validate(record.value)
        if storable(_text(content), MAX_CONTENT) == record.content:
            return content
    return Content(parts=[Part(text=record.content)])
