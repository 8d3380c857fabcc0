"""Chat stores: the messages of each conversation, kept whole in a namespace of its own.

LlamaIndex tells active messages, which the model is shown, from archived ones, which it is no
longer. Any text is the key of a conversation. Both stores read what the other one wrote.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from bethink import MemoryRecord, MemoryStore, MessageLog, NotFoundError
from bethink.adapting import MAX_CONTENT, MAX_LABEL, check_namespace, finish_in_thread

from ..shared.texts import storable

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage
    from llama_index.core.storage.chat_store.base import BaseChatStore as _ChatStore
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore as _DBChatStore
    from llama_index.core.storage.chat_store.base_db import MessageStatus
else:
    _ChatStore = _DBChatStore = object  # see `models`

_ACTIVE: Final = cast("MessageStatus", "active")
_ARCHIVED: Final = cast("MessageStatus", "archived")

_replacing: Final = threading.Lock()  # of two sets at once both would stay


class BethinkDBChatStore(_DBChatStore):
    """The messages of conversations, for ``Memory``; *namespace* is where they are kept.

    A position counts the active messages, oldest first. The *store* stays the caller's to close.
    """

    model_config: ClassVar[Any] = {"arbitrary_types_allowed": True}

    store: MemoryStore
    namespace: str = "messages"

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a wrong namespace at once."""
        check_namespace(self.namespace)

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = _ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """Return the messages of a conversation, oldest first; with status None, all of them."""
        return _messages(await asyncio.to_thread(self._kept(key).read, status, limit, offset))

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
        """Add *messages*, all of them or none."""
        await finish_in_thread(self._kept(key).add, messages, status)

    async def set_messages(
        self,
        key: str,
        messages: list[ChatMessage],
        status: MessageStatus = _ACTIVE,
    ) -> None:
        """Put *messages* in the place of all that the conversation had."""
        await finish_in_thread(self._kept(key).replace, messages, status)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Forget the active message at position *idx* and return it; None if there is none."""
        return _first(await finish_in_thread(self._kept(key).take_at, idx, _ACTIVE))

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Forget the messages of a conversation, or those of one status."""
        await finish_in_thread(self._kept(key).forget, status)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Forget the oldest *n* active messages and return them."""
        return _messages(await finish_in_thread(self._kept(key).take, _ACTIVE, n))

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the oldest *n* active messages and return them."""
        return _messages(await finish_in_thread(self._kept(key).archive, n))

    async def get_keys(self) -> list[str]:
        """Return the keys of all conversations, sorted."""
        return await asyncio.to_thread(MessageLog.sessions, self.store, namespace=self.namespace)

    def _kept(self, key: str) -> _Kept:
        return _Kept(self.store, key, namespace=self.namespace)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex knows the class by."""
        return "BethinkDBChatStore"


class BethinkChatStore(_ChatStore):
    """The messages of conversations, for ``ChatMemoryBuffer``; archived ones count like others."""

    model_config: ClassVar[Any] = {"arbitrary_types_allowed": True}

    store: MemoryStore
    namespace: str = "messages"

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a wrong namespace at once."""
        check_namespace(self.namespace)

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Put *messages* in the place of all that the conversation had."""
        self._kept(key).replace(messages)

    def get_messages(self, key: str) -> list[ChatMessage]:
        """Return the messages of a conversation, oldest first."""
        return _messages(self._kept(key).read())

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Add a message."""
        self._kept(key).add([message])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Forget the messages of a conversation and return them; None if there are none."""
        return _messages(self._kept(key).take()) or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Forget the message at position *idx* and return it; None if there is none."""
        return _first(self._kept(key).take_at(idx))

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Forget the last message and return it; None if there is none."""
        last = self._kept(key).pop()
        return _first([] if last is None else [last])

    def get_keys(self) -> list[str]:
        """Return the keys of all conversations, sorted."""
        return MessageLog.sessions(self.store, namespace=self.namespace)

    def _kept(self, key: str) -> _Kept:
        return _Kept(self.store, key, namespace=self.namespace)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex knows the class by."""
        return "BethinkChatStore"


class _Kept(MessageLog):
    """The messages of one conversation; a *status* of None is any."""

    def read(
        self,
        status: MessageStatus | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[MemoryRecord]:
        return self.store.all(
            namespace=self.namespace, where=_has(status), limit=limit, offset=offset or 0
        )

    def number(self, status: MessageStatus | None) -> int:
        return self.store.count(namespace=self.namespace, where=_has(status))

    def add(self, messages: Iterable[ChatMessage], status: MessageStatus = _ACTIVE) -> None:
        self.append(_item(message, status) for message in messages)

    def replace(self, messages: Iterable[ChatMessage], status: MessageStatus = _ACTIVE) -> None:
        """Put *messages* in the place of the others, in one transaction."""
        items = [_item(message, status) for message in messages]
        with _replacing:
            gone = [record.id for record in self.read()]
            self.store.store_many(items, forget=gone, namespace=self.namespace, thread=self.thread)

    def take(
        self, status: MessageStatus | None = None, limit: int | None = None, offset: int = 0
    ) -> list[MemoryRecord]:
        taken = self.read(status, limit, offset)
        self.store.forget([record.id for record in taken])
        return taken

    def take_at(self, place: int, status: MessageStatus | None = None) -> list[MemoryRecord]:
        return self.take(status, 1, place) if place >= 0 else []

    def forget(self, status: MessageStatus | None) -> None:
        self.store.forget(namespace=self.namespace, where=_has(status))

    def archive(self, most: int) -> list[MemoryRecord]:
        """Archive the oldest active messages, the oldest first."""
        archived = []
        for record in self.read(_ACTIVE, most):
            with suppress(NotFoundError):  # somebody forgot it meanwhile
                archived.append(self.store.update(record.id, metadata=_marked(_ARCHIVED)))
        return archived


def _has(status: MessageStatus | None) -> dict[str, Any] | None:
    return None if status is None else {"metadata.status": _marked(status)["status"]}


def _marked(status: MessageStatus) -> dict[str, str]:
    return {"status": str(getattr(status, "value", status))}


def _item(message: ChatMessage, status: MessageStatus) -> dict[str, Any]:
    """Return *message* as arguments of ``MemoryStore.store``: whole, and the text to find it by."""
    return {
        "content": storable(message.content or "", MAX_CONTENT),
        "value": message.model_dump(mode="json"),
        "author": storable(message.role.value, MAX_LABEL),
        "metadata": _marked(status),
    }


def _messages(records: Sequence[MemoryRecord]) -> list[ChatMessage]:
    from llama_index.core.llms import ChatMessage

    return [ChatMessage.model_validate(record.value) for record in records]


def _first(records: Sequence[MemoryRecord]) -> ChatMessage | None:
    return next(iter(_messages(records)), None)
