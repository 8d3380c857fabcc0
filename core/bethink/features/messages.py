"""The message log: the messages of a session, in order, kept in a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..calls import suggesting
from ..errors import ValidationError
from ..memory.memories import check_store
from ..memory.writing import retire
from ..model import fields
from ..model.filters import unexpired
from ..model.namespaces import Subtree, check_namespace, segment, unsegment
from ..model.port import Page
from ..model.records import MemoryRecord
from .stats import values

if TYPE_CHECKING:
    from ..store import MemoryStore


@suggesting
class MessageLog:
    """The messages of one *session*: records of a separate namespace, oldest first.

    Any text is a session, also the empty text, within 1,024 characters as a quoted namespace. No
    session sees the messages of a second session. The constructor reads and writes nothing.
    """

    def __init__(self, store: MemoryStore, session: str, *, namespace: str = "messages") -> None:
        self.store = check_store(store)
        self.session = session
        self.namespace = check_namespace(f"{namespace}/{segment(session)}")
        self.thread = session if fields.storable(session) else segment(session)

    def append(
        self, messages: Iterable[Mapping[str, Any]], *, forget: str | Iterable[str] = ()
    ) -> list[MemoryRecord]:
        """Add *messages*, each a mapping of ``MemoryStore.store``'s arguments: all or none.

        The log sets namespace and thread: a message with either is refused. The same transaction
        forgets the records with the ids in *forget*.
        """
        items, gone = listed_messages(messages), fields.ids(forget)
        if not items and not gone:
            return []
        return self.store.store_many(
            items, forget=gone, namespace=self.namespace, thread=self.thread
        )

    def messages(self, last: int | None = None) -> list[MemoryRecord]:
        """Return the *last* messages, or all, oldest first; no more are read."""
        limit = fields.limit("last", last)
        return self.store.all(namespace=self.namespace, limit=limit, order="newest")[::-1]

    def values(self, last: int | None = None) -> list[Any]:
        """Return the values of the *last* messages, or of all, oldest first; no more is read."""
        page = Page(fields.limit("last", last), descending=True)
        return values(self.store, namespace=self.namespace, page=page)[::-1]

    def pop(self) -> MemoryRecord | None:
        """Forget the last message and return the message; None without messages."""
        engine = self.store._engine
        with engine.writing() as transaction:
            present = unexpired(None, transaction.now)
            newest = transaction.writer.select(self.namespace, present, Page(1, descending=True))
            retire(transaction, newest)
        return engine.current(newest[0].record) if newest else None

    def clear(self) -> int:
        """Forget all messages; return the number of messages."""
        return self.store.forget(namespace=self.namespace)

    def count(self) -> int:
        """Count the messages."""
        return self.store.count(namespace=self.namespace)

    @staticmethod
    def sessions(store: MemoryStore, *, namespace: str = "messages") -> list[str]:
        """Return the sessions that have messages, sorted."""
        names = check_store(store).namespaces(Subtree(namespace))
        sessions = (name[len(namespace) + 1 :] for name in names)
        return sorted(unsegment(name) for name in sessions if name and "/" not in name)


def listed_messages(messages: object) -> list[dict[str, Any]]:
    """Return *messages*, mappings of ``store``'s arguments, as dicts.

    A message that names a namespace or a thread raises ``ValidationError``: the log sets both.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise ValidationError(f"messages must be a list of mappings, not {type(messages).__name__}")
    given = list(messages)
    for message in given:
        if not isinstance(message, Mapping):
            kind = type(message).__name__
            raise ValidationError(f"a message must be a mapping of store's arguments, not {kind}")
        if {"namespace", "thread"} & message.keys():
            raise ValidationError("a message cannot name its namespace or thread; the log does")
    return [dict(message) for message in given]
