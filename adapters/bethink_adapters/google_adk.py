"""Google ADK: the memory service for an agent's tools ``preload_memory`` and ``load_memory``.

    memory = MemoryService(store)
    agent = LlmAgent(name="helper", model="gemini-2.5-flash", tools=[preload_memory_tool])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
    ...
    session = await sessions.get_session(app_name="app", user_id="ann", session_id="monday")
    await memory.add_session_to_memory(session)    # as often as you like: known events stay once
    await memory.erase_user(app_name="app", user_id="ann")    # no byte stays

The words of every author are remembered; thoughts, calls, pictures and partial events are not.
Rewound turns are forgotten. After a failed run, the session holds the user's words, and so does the
memory.

Runs on google-adk 2.0 to 2.13.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import compress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from bethink import MemoryRecord, segment
from bethink.adapting import (
    MAX_CONTENT,
    MAX_LABEL,
    add_turns,
    check_namespace,
    finish_in_thread,
    integer,
    number,
    utc,
)

from .shared.opening import StoreOrPath, open_store
from .shared.recalling import Recalling
from .shared.subclassing import made_on
from .shared.texts import storable, written
from .shared.turns import id_text, thread_name, turn

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.memory.base_memory_service import BaseMemoryService as _Base
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.adk.sessions.session import Session
    from google.genai.types import Content
else:
    _Base = object  # see `subclassing`


@made_on("google-adk", "google.adk.memory.base_memory_service", "BaseMemoryService")
class MemoryService(_Base):
    """The words of ADK's users and agents, each user in a namespace below *namespace*.

    A search returns the best *k* memories, at least 1, with a score of at least *min_score*.
    *min_share* is that of ``recall``. An entry's id is the id of the event. Deleting a memory
    forgets the memory; with *erase*, no byte of the memory stays. Deleted events are not taken in
    again. Times in metadata become ISO 8601 texts, UUIDs texts. The *store* stays open. Bad
    settings raise ``ValidationError``.
    """

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str = "adk",
        k: int = 10,
        min_score: float = 0.0,
        min_share: float = 0.0,
        erase: bool = False,
    ) -> None:
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self.k = integer("k", k, 1)
        self.min_score = number("min_score", min_score, -1e9, 1e9)
        self.min_share = number("min_share", min_share, 0.0, 1.0)
        self.erase = erase

    def namespace_of(self, app_name: str, user_id: str) -> str:
        """Return the namespace of a user of an app; no two users share a namespace."""
        app, user = id_text("app_name", app_name), id_text("user_id", user_id)
        return f"{self.namespace}/{segment(app)}/{segment(user)}"

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember the new words of a session, and forget rewound turns."""
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
        """Remember the new words of *events*, written or spoken.

        Partial events are left out, and a later state of an event supersedes an earlier state.
        Rewound events are left out, and forgotten if known.
        """
        place, thread = self.namespace_of(app_name, user_id), thread_name(session_id, "session_id")
        metadata = written("metadata", custom_metadata or {})
        turns = [
            turn(
                text,
                author,
                event.id or None,
                occurred_at=event.timestamp,
                metadata=metadata,
                value={"event": event.id, "invocation": event.invocation_id},
            )
            for event in _without_rewound(events)
            for author, text in [_said(event)]
            if text
        ]

        def write() -> None:
            new = turns
            if thread is None:  # the events of a session may come again without the session
                ids = {"value.event": {"$in": [each.id for each in turns if each.id]}}
                known = self.store.all(namespace=place, where=ids)
                came = {_value(record)["event"] for record in known}
                new = [each for each in turns if each.id not in came]
            add_turns(self.store, new, namespace=place, thread=thread)
            self._forget_rewound(events, place, thread)

        await finish_in_thread(write)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember the texts of *memories*; a known id supersedes the earlier memory.

        A timestamp that is not ISO 8601 counts as none. A memory without text is left out.
        """
        items = []
        for entry in memories:
            content = storable(_text(entry.content), MAX_CONTENT)
            item: dict[str, Any] = {"content": content, "key": entry.id or uuid4().hex}
            metadata = {**(custom_metadata or {}), **entry.custom_metadata}
            item["metadata"] = written("metadata", metadata)
            if entry.author:
                item["author"] = storable(entry.author, MAX_LABEL)
            with suppress(ValueError, OverflowError):  # ISO 8601 is preferred, no more
                item["occurred_at"] = datetime.fromisoformat(entry.timestamp or "").astimezone(UTC)
            items += [item] if content else []
        place = self.namespace_of(app_name, user_id)
        await finish_in_thread(self.store.store_many, items, namespace=place)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the user's memories relevant to *query*, best first.

        Each text of an author comes once.
        """
        from google.adk.memory.base_memory_service import SearchMemoryResponse

        place = self.namespace_of(app_name, user_id)
        recalling = Recalling(self.store, place, self.k, self.min_score, min_share=self.min_share)
        found = await asyncio.to_thread(recalling.hits, query)
        return SearchMemoryResponse(memories=[_entry(hit.memory) for hit in found])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget, or with ``erase`` erase, the memory with an id from a search.

        An unknown id is no error.
        """
        if not memory_id:
            return
        ids = ({"key": memory_id}, {"value.event": memory_id}, {"key": None, "id": memory_id})
        delete = self.store.erase if self.erase else self.store.forget
        place = self.namespace_of(app_name, user_id)
        await finish_in_thread(delete, namespace=place, where={"$or": list(ids)})

    async def erase_user(self, *, app_name: str, user_id: str) -> int:
        """Erase all memories of a user of an app, without a byte left; return the record count."""
        place = self.namespace_of(app_name, user_id)
        return await finish_in_thread(self.store.erase, namespace=place)

    def _forget_rewound(self, events: Sequence[Event], namespace: str, thread: str | None) -> None:
        """Forget the known turns from each rewound invocation up to the rewind in *events*."""
        for place, event in enumerate(events):
            if invocation := _rewinds_to(event):
                came = [each.invocation_id for each in events[:place]]
                since = events[came.index(invocation) : place] if invocation in came else ()
                rewound = {invocation, *(each.invocation_id for each in since)} - {""}
                before = {"thread": thread, "occurred_at": {"$lte": event.timestamp}}
                known = self.store.all(namespace=namespace, where=before)
                ids = {each.id for each in since} - {""}
                found = [
                    value.get("invocation") in rewound or value.get("event") in ids
                    for value in map(_value, known)
                ]
                if not any(found):
                    continue
                after = known[found.index(True) :]  # the first turns may have no words
                gone = compress(known, found) if thread is None else after
                self.store.forget([record.id for record in gone])


def _without_rewound(events: Sequence[Event]) -> Iterator[Event]:
    """Yield the complete events without rewound events, oldest first."""
    live: list[Event] = []
    for event in events:
        if invocation := _rewinds_to(event):
            came = [each.invocation_id for each in live]
            if invocation in came:
                del live[came.index(invocation) :]
        elif not event.partial:
            live.append(event)
    yield from live


def _rewinds_to(event: Event) -> str | None:
    """Return the id of the first invocation that *event* rewinds; None if *event* rewinds none."""
    return getattr(event.actions, "rewind_before_invocation_id", None)


def _said(event: Event) -> tuple[str, str]:
    """Return the author and the written or heard words of *event*, "" without words.

    What a node of a workflow is handed stands among the events as if the user had said so, without
    an invocation.
    """
    if event.author == "user" and event.node_info.path and not event.invocation_id:
        return event.author, ""
    if event.content:
        return event.author, _text(event.content)
    if (heard := event.input_transcription) and heard.text:
        return "user", heard.text.strip()
    if (heard := event.output_transcription) and heard.text:
        return event.author, heard.text.strip()
    return event.author, ""


def _text(content: Content | None) -> str:
    """Return the text of *content*, without thoughts."""
    parts = (content.parts if content else None) or []
    texts = (part.text for part in parts if part.text and not part.thought)
    return "\n".join(texts).strip()


def _value(record: MemoryRecord) -> Mapping[str, Any]:
    return record.value if isinstance(record.value, Mapping) else {}


def _entry(record: MemoryRecord) -> MemoryEntry:
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

    event = _value(record).get("event")
    named = record.id if (record.key or "").startswith("turn:") else record.key or record.id
    role, when = "user" if record.author == "user" else "model", utc(record.occurred_at)
    return MemoryEntry(
        id=event or named,
        content=Content(role=role, parts=[Part(text=record.content)]),
        author=record.author,
        timestamp=None if when is None else when.isoformat(),
        custom_metadata=record.metadata,
    )
