"""Conversations of Pydantic AI, kept in a store: each message once, and found by ``recall``.

Each message is a record. The framework's ``ConversationRecord`` is a record too, the head of the
conversation. A save supersedes the head that the caller read; if a second caller has replaced the
head in the meantime, the save raises ``ConversationConflict``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from bethink import (
    MemoryRecord,
    NotFoundError,
    Subtree,
    ValidationError,
    segment,
)
from bethink.adapting import (
    MAX_CONTENT,
    MAX_LABEL,
    check_namespace,
    explaining,
    finish_in_thread,
    is_changed,
)

from ..shared.opening import StoreOrPath, open_store
from ..shared.subclassing import made_on
from ..shared.texts import storable
from ..shared.turns import thread_name
from .messages import spoken_texts, with_words

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
    from pydantic_ai.conversation_store import ConversationStore as _Base
else:
    _Base = object  # see `subclassing`

_TOMBSTONE = {"value": "deleted", "expires_at": -1e9}
"""The fields of the record in place of a deleted head; an expired record is never read."""


@made_on(
    "pydantic-ai",
    "pydantic_ai.conversation_store",
    "ConversationStore",
    "pydantic-ai-slim>=2.66",
)
class MemoryConversations(_Base):
    """A ``ConversationStore`` below *namespace* of a *store*; the store stays open.

    A save is a transaction, and so is a ``delete``: messages of a single conversation are forgotten
    with the conversation, and stay in the journal until erased. A failed run is not saved. A bad
    *namespace* raises ``ValidationError``.
    """

    def __init__(self, store: StoreOrPath, *, namespace: str = "conversations") -> None:
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self._heads = f"{self.namespace}/heads"

    def namespace_of(self, scope: str | None = None) -> str:
        """Return the namespace, for recalls, of the messages saved with *scope* (or without)."""
        place = f"{self.namespace}/messages"
        return place if scope is None else f"{place}/{segment(scope)}"

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation, None for an unknown conversation."""
        head = await asyncio.to_thread(self._head, conversation_id)
        return None if head is None else _record_of(head)

    async def read_records(
        self, *, scope: str | None = None, limit: int | None = None
    ) -> Sequence[ConversationRecord]:
        """Return the records of all conversations, or of *scope* only, last saved first."""
        can_filter = scope is not None and scope == storable(scope, MAX_CONTENT)
        where = {"value.scope": scope} if can_filter else None
        heads = await asyncio.to_thread(self.store.all, namespace=self._heads, where=where)
        records = [_record_of(head) for head in heads]
        chosen = [record for record in records if scope is None or record.scope == scope]
        return sorted(chosen, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store the record and the new messages of a conversation in a transaction.

        Raises ``ConversationConflict`` unless the stored revision is *expected_revision* (None: no
        stored record) and the message ``record.head_id`` is stored or new.
        """
        await finish_in_thread(self._write, record, new_entries, expected_revision)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Forget a conversation, and the messages that no second conversation shares.

        Raises ``ConversationConflict`` unless the stored revision is *expected_revision*.
        """
        await finish_in_thread(self._delete, conversation_id, expected_revision)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return a message; an unknown id raises ``NotFoundError``."""
        return (await self.read_history(entry_id, limit=1))[0]

    async def read_history(
        self, head_id: str | None, *, limit: int | None = None
    ) -> list[ConversationEntry]:
        """Return the messages up to *head_id*, oldest first, or only the last *limit* messages.

        An unknown id raises ``NotFoundError``.
        """
        return await asyncio.to_thread(self._history, head_id, limit)

    def _write(
        self,
        record: ConversationRecord,
        new_entries: Sequence[ConversationEntry],
        expected_revision: str | None,
    ) -> None:
        from pydantic_ai.conversation_store import ConversationConflict

        head = self._head(record.conversation_id)
        forked = record.forked_from if head is None else None
        origin = None if forked is None else self._head(forked)
        is_new = not record.head_id or record.head_id in {entry.id for entry in new_entries}
        if _revision(head) != expected_revision or not (is_new or self._message(record.head_id)):
            raise ConversationConflict(record.conversation_id)
        items = [*self._items(record, new_entries), self._head_item(record, head)]
        if origin is not None:  # a new head of the origin makes a parallel delete try again
            same = {"namespace": self._heads, "key": origin.key, "value": origin.value}
            items.append({**same, "supersedes": origin.id})
        try:
            self.store.store_many(items)
        except NotFoundError:
            raise ConversationConflict(record.conversation_id) from None
        except ValidationError:
            if self._head(record.conversation_id) != head:
                raise ConversationConflict(record.conversation_id) from None
            raise

    def _delete(self, conversation_id: str, expected_revision: str) -> None:
        from pydantic_ai.conversation_store import ConversationConflict

        while (head := self._head(conversation_id)) and _revision(head) == expected_revision:
            gone = {"namespace": self._heads, "supersedes": head.id, **_TOMBSTONE}
            messages = self._unshared_ids(head)
            try:
                self.store.store_many([gone], forget=messages)
            except NotFoundError:
                continue  # a parallel save or fork has replaced the head
            return
        raise ConversationConflict(conversation_id)

    def _head(self, conversation_id: str) -> MemoryRecord | None:
        return self.store.get(namespace=self._heads, key=_key(conversation_id))

    def _head_item(self, record: ConversationRecord, head: MemoryRecord | None) -> dict[str, Any]:
        """Return *record* as an item to store in place of *head*, or as the first head."""
        key = _key(record.conversation_id)
        known = _record_adapter().dump_python(record, mode="json")
        item = {"namespace": self._heads, "key": key, "value": known}
        if head is not None:
            return item | {"supersedes": head.id}
        ids = (f"{self._heads}/{key}#{number}" for number in count())
        return item | {"id": next(id for id in ids if not self.store.log(id=id, limit=1))}

    def _items(
        self, record: ConversationRecord, entries: Sequence[ConversationEntry]
    ) -> Iterator[dict[str, Any]]:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        thread = storable(record.conversation_id, MAX_LABEL)
        for entry in entries:
            said = list(spoken_texts([entry.message]))
            (message,) = ModelMessagesTypeAdapter.dump_python([entry.message], mode="json")
            yield {
                "id": self._id(entry.id),
                "namespace": self.namespace_of(record.scope),
                "content": storable("\n".join(text for _, text in said), MAX_CONTENT),
                "value": {"id": entry.id, "parent_id": entry.parent_id, "message": message},
                "author": said[0][0] if said else None,
                "thread": thread,
            }

    def _id(self, entry_id: str) -> str:
        return f"{self.namespace}/messages#{segment(entry_id)}"

    def _message(self, entry_id: str | None) -> MemoryRecord | None:
        return None if entry_id is None else self.store.get(self._id(entry_id))

    def _messages(self, entry_id: str | None) -> Iterator[MemoryRecord]:
        """Yield a message and all messages before, newest first."""
        while entry_id is not None:
            message = self._message(entry_id)
            if message is None:
                raise NotFoundError("entry", entry_id)
            yield message
            entry_id = message.value["parent_id"]

    def _history(self, head_id: str | None, limit: int | None) -> list[ConversationEntry]:
        from pydantic_ai.conversation_store import ConversationEntry
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        kept = list(islice(self._messages(head_id), limit))[::-1]
        history = ModelMessagesTypeAdapter.validate_python([each.value["message"] for each in kept])
        return [
            ConversationEntry(
                id=each.value["id"],
                parent_id=each.value["parent_id"],
                message=with_words(message, each.content) if is_changed(each) else message,
            )
            for each, message in zip(kept, history, strict=True)
        ]

    def _unshared_ids(self, head: MemoryRecord) -> list[str]:
        """Return the ids of the messages that the conversation shares with no second conversation.

        Only a fork can share messages, with the conversations that wrote the messages.
        """
        own = self._all_messages(head.value)
        writers = {message.thread for message in own.values()}
        for other in self.store.all(namespace=self._heads):
            name = storable(other.value["conversation_id"], MAX_LABEL)
            if other.key != head.key and (other.value["forked_from"] or name in writers):
                for id in self._all_messages(other.value):
                    own.pop(id, None)
        return list(own)

    def _all_messages(self, head: Mapping[str, Any]) -> dict[str, MemoryRecord]:
        """Return the messages of a conversation and of the left branches, by id."""
        found: dict[str, MemoryRecord] = {}
        for tip in [head["head_id"], *head["branches"]]:
            with suppress(NotFoundError):  # a message may be forgotten
                for message in self._messages(tip):
                    if message.id in found:
                        break
                    found[message.id] = message
        return found


@explaining
def erase_user(
    store: StoreOrPath,
    scope: str,
    *,
    namespace: str | None = None,
    conversations: str = "conversations",
) -> int:
    """Erase a user without a byte left; return the number of records.

    The user's conversations were saved with *scope* by a ``MemoryConversations`` in the namespace
    *conversations*; the user's memories are in *namespace* and below.
    """
    heads = {"value.scope": scope}
    opened = open_store(store)
    count = opened.erase(namespace=f"{conversations}/heads", where=heads)
    count += opened.erase(namespace=f"{conversations}/messages/{segment(scope)}")
    return count + (0 if namespace is None else opened.erase(namespace=Subtree(namespace)))


def _key(conversation_id: str) -> str:
    """Return the key of a conversation's head, also for a blank name."""
    if not isinstance(conversation_id, str):
        kind = type(conversation_id).__name__
        raise ValidationError(f"conversation_id must be a str, not {kind}")
    name = segment(conversation_id)
    return name if name.strip() else str(thread_name(conversation_id))


def _revision(head: MemoryRecord | None) -> str | None:
    return None if head is None else str(head.value["revision"])


def _record_of(head: MemoryRecord) -> ConversationRecord:
    return _record_adapter().validate_python(head.value)


@cache
def _record_adapter() -> TypeAdapter[ConversationRecord]:
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import ConversationRecord

    return TypeAdapter(ConversationRecord)
