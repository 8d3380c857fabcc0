"""Chat stores: the messages of each conversation, kept whole in a separate namespace.

LlamaIndex shows active messages to the model, and no longer shows archived messages. Any text is
the key of a conversation. Each of the two stores reads the messages of the other store.

LlamaIndex adds a question before the model answers, so a chat store keeps the question of a run
that failed; ``delete_message`` and ``delete_last_message`` take the question away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from bethink import MemoryRecord, MemoryStore, MessageLog
from bethink.adapting import (
    Held,
    Page,
    check_namespace,
    finish_in_thread,
    store_if,
    update_all,
    values,
)

from ..shared.opening import open_store
from ..shared.turns import alone, id_text
from .messages import edited, first_message, to_item, to_messages

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.storage.chat_store.base import BaseChatStore as _ChatStore
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore as _DBChatStore
    from llama_index.core.storage.chat_store.base_db import MessageStatus
else:
    _ChatStore = _DBChatStore = object  # see `models`

_ACTIVE: Final = cast("MessageStatus", "active")
_ARCHIVED: Final = cast("MessageStatus", "archived")


class BethinkDBChatStore(_DBChatStore):
    """The messages of conversations, for ``Memory``, below *namespace*.

    A position counts the active messages, oldest first. Deleting forgets messages; with *erase*, no
    byte of the messages stays. A message goes to a single taker. The *store* stays open.
    """

    model_config: ClassVar[Any] = {"arbitrary_types_allowed": True}

    store: Any  # a ``MemoryStore``, or a path to open
    namespace: str = "messages"
    erase: bool = False

    def model_post_init(self, context: Any, /) -> None:
        """Open a path, and refuse a wrong namespace at once."""
        self.store = open_store(self.store)
        check_namespace(self.namespace)

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = _ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the messages of a conversation, oldest first; a status of None is any status."""
        return await asyncio.to_thread(self._kept(key).shown, status, Page(limit, offset or 0))

    async def count_messages(
        self,
        key: str,
        status: MessageStatus | None = _ACTIVE,
    ) -> int:
        """Count the messages of a conversation."""
        return await asyncio.to_thread(self._kept(key).number, status)

    async def add_message(
        self,
        key: str,
        message: ChatMessage,
        status: MessageStatus = _ACTIVE,
    ) -> None:
        """Add a message."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self,
        key: str,
        messages: list[ChatMessage],
        status: MessageStatus = _ACTIVE,
    ) -> None:
        """Add all *messages* or none."""
        await finish_in_thread(self._kept(key).add, messages, status)

    async def set_messages(
        self,
        key: str,
        messages: list[ChatMessage],
        status: MessageStatus = _ACTIVE,
    ) -> None:
        """Put *messages* in the place of all messages of the conversation."""
        await finish_in_thread(self._kept(key).replace, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete and return the active message at position *idx*; None for no message."""
        return first_message(await finish_in_thread(self._kept(key).take_at, idx, _ACTIVE))

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a conversation that have *status*; None is any status."""
        await finish_in_thread(self._kept(key).delete, status)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete and return the oldest *n* active messages."""
        return to_messages(await finish_in_thread(self._kept(key).take, _ACTIVE, n))

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive and return the oldest *n* active messages."""
        return to_messages(await finish_in_thread(self._kept(key).archive, n))

    async def get_keys(self) -> list[str]:
        """Return the keys of all conversations, sorted."""
        return await asyncio.to_thread(MessageLog.sessions, self.store, namespace=self.namespace)

    def _kept(self, key: str) -> _Kept:
        return _Kept(self.store, key, namespace=self.namespace, erase=self.erase)

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of the class."""
        return "BethinkDBChatStore"


class BethinkChatStore(_ChatStore):
    """The messages of conversations, for ``ChatMemoryBuffer``, active and archived alike.

    Deleting forgets messages; with *erase*, no byte of the messages stays. A message goes to a
    single taker.
    """

    model_config: ClassVar[Any] = {"arbitrary_types_allowed": True}

    store: Any  # a ``MemoryStore``, or a path to open
    namespace: str = "messages"
    erase: bool = False

    model_post_init = BethinkDBChatStore.model_post_init

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Put *messages* in the place of all messages of the conversation."""
        self._kept(key).replace(messages)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a conversation, oldest first."""
        return self._kept(key).shown()

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message."""
        self._kept(key).add([message])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete and return the messages of a conversation; None without messages."""
        return to_messages(self._kept(key).take()) or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete and return the message at position *idx*; None for no message."""
        return first_message(self._kept(key).take_at(idx))

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete and return the last message; None without messages."""
        return first_message(self._kept(key).take_last())

    def get_keys(self) -> list[str]:
        """Return the keys of all conversations, sorted."""
        return MessageLog.sessions(self.store, namespace=self.namespace)

    def _kept(self, key: str) -> _Kept:
        return _Kept(self.store, key, namespace=self.namespace, erase=self.erase)

    @classmethod
    def class_name(cls) -> str:
        """Return LlamaIndex's name of the class."""
        return "BethinkChatStore"


class _Kept(MessageLog):
    """The messages of one conversation; a *status* of None is any status."""

    def __init__(self, store: MemoryStore, key: str, *, namespace: str, erase: bool) -> None:
        super().__init__(store, id_text("key", key), namespace=namespace)
        self.erase = erase

    def read(
        self,
        status: MessageStatus | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[MemoryRecord]:
        return self.store.all(
            namespace=self.namespace, where=_has(status), limit=limit, offset=offset or 0
        )

    def shown(
        self, status: MessageStatus | None = None, page: Page | None = None
    ) -> list[ChatMessage]:
        from llama_index.core.llms import ChatMessage

        where = _has(status)
        found = values(self.store, namespace=self.namespace, where=where, page=page, edit=edited)
        return list(map(ChatMessage.model_validate, found))

    def number(self, status: MessageStatus | None) -> int:
        return self.store.count(namespace=self.namespace, where=_has(status))

    def add(self, messages: Iterable[ChatMessage], status: MessageStatus = _ACTIVE) -> None:
        self.append(to_item(message, _category(status)) for message in messages)

    def replace(self, messages: Iterable[ChatMessage], status: MessageStatus = _ACTIVE) -> None:
        """Put *messages* in the place of all other messages, in one transaction."""
        items = [to_item(message, _category(status)) for message in messages]
        with alone(self.namespace):
            gone = [record.id for record in self.read()]
            self.store.store_many(items, forget=gone, namespace=self.namespace, thread=self.thread)
        self._erase(gone)

    def take(
        self, status: MessageStatus | None = None, limit: int | None = None, offset: int = 0
    ) -> list[MemoryRecord]:
        return self._take(lambda: self.read(status, limit, offset))

    def take_at(self, place: int, status: MessageStatus | None = None) -> list[MemoryRecord]:
        return self.take(status, 1, place) if place >= 0 else []

    def take_last(self) -> list[MemoryRecord]:
        return self._take(lambda: self.messages(last=1))

    def delete(self, status: MessageStatus | None) -> None:
        delete = self.store.erase if self.erase else self.store.forget
        delete(namespace=self.namespace, where=_has(status))

    def archive(self, most: int) -> list[MemoryRecord]:
        """Archive the oldest active messages, the oldest first."""
        archived = {"category": _category(_ARCHIVED)}
        with alone(self.namespace):
            oldest = self.read(_ACTIVE, most)
            return update_all(self.store, {record.id: archived for record in oldest})

    def _take(self, read: Callable[[], list[MemoryRecord]]) -> list[MemoryRecord]:
        """Delete and return the messages that *read* finds, as a single step."""
        while taken := read():
            ids = [record.id for record in taken]

            def are_there(held: Held, ids: Sequence[str] = ids) -> bool:
                return held.are_live(ids)

            kept = store_if(self.store, are_there, [], namespace=self.namespace, forget=ids)
            if kept is not None:
                self._erase(ids)
                return taken
        return []

    def _erase(self, ids: Sequence[str]) -> None:
        if self.erase and ids:
            self.store.erase(ids)


def _has(status: MessageStatus | None) -> dict[str, Any] | None:
    return None if status is None else {"category": _category(status)}


def _category(status: MessageStatus) -> str:
    """Return the category of messages with *status*: a filter of a column reads no further."""
    return str(getattr(status, "value", status))
