"""The history for ``RunnableWithMessageHistory``, of langchain-core 0.2 to 1.8."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Sequence, Set
from contextlib import nullcontext
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryRecord, MessageLog, ValidationError, segment
from bethink.adapting import explaining, finish_in_thread, integer, suggesting

from ..shared.opening import StoreOrPath, open_store
from ..shared.turns import alone, id_text, listed
from .documents import part
from .messages import as_message, role_of, to_item, to_message

if TYPE_CHECKING:
    from langchain_core.chat_history import BaseChatMessageHistory as _Base
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
else:
    _Base = object  # a type checker sees LangChain's base class; at run time it is not needed

_REMOVE_ALL: Final = "__remove_all__"
_HUMAN: Final = ("human", "user")


@suggesting
class ChatMessageHistory(_Base):
    """The messages of a session as LangChain's chat history; the constructor does no I/O.

    At most the *last* messages are shown, from a human message on. With *erase* ``clear`` erases:
    no byte stays in the file. Without *erase* ``clear`` forgets, and ``restore`` brings messages
    back. A failed run adds nothing: no question stays without an answer.

    Within a run of ``RunnableWithMessageHistory`` the messages stay as at the beginning, so that
    parallel runs of a session lose nothing. Each run needs a separate instance, as made by
    ``message_history_factory``.
    """

    def __init__(
        self,
        store: StoreOrPath,
        session_id: str | int,
        *,
        namespace: str = "messages",
        last: int | None = None,
        erase: bool = False,
    ) -> None:
        self.erase = erase
        self._require()
        self.session_id = id_text("session_id", session_id)
        self.log = MessageLog(open_store(store), self.session_id, namespace=namespace)
        self.last = None if last is None else integer("last", last, 0)
        self._as_run_began: list[BaseMessage] | None = None

    def _require(self) -> None:
        """Register ``ChatMessageHistory`` as a virtual subclass of LangChain's base class."""
        part("chat_history").BaseChatMessageHistory.register(ChatMessageHistory)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages, oldest first, as a new list."""
        if not self._in_its_run():
            return self._read()
        if self._as_run_began is None:
            self._as_run_began = self._read()
        return list(self._as_run_began)

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first."""
        return await asyncio.to_thread(lambda: self.messages)

    def add_messages(self, messages: Sequence[BaseMessage | str]) -> None:
        """Add *messages* in one transaction.

        A ``RemoveMessage`` removes the message with its id, or all with the id "__remove_all__".
        Messages with ids that are the newest of the session already are not added again.
        """
        given = [as_message(message) for message in listed("messages", messages)]
        looks = all(each.id for each in given) or any(each.type == "remove" for each in given)
        with alone(self.log.namespace) if looks else nullcontext():
            items, gone = self._changed(given)
            self.log.append([] if self._ends_with(items, gone) else items, forget=gone)
        self._as_run_began = None

    async def aadd_messages(self, messages: Sequence[BaseMessage | str]) -> None:
        """Add *messages* in one transaction; see ``add_messages``."""
        await finish_in_thread(self.add_messages, listed("messages", messages))

    def add_message(self, message: BaseMessage | str) -> None:
        """Add a message."""
        self.add_messages([message])

    def add_user_message(self, message: HumanMessage | str) -> None:
        """Add the words of the user."""
        core = part("messages")
        self.add_message(
            message
            if isinstance(message, core.HumanMessage)
            else core.HumanMessage(content=message)
        )

    def add_ai_message(self, message: AIMessage | str) -> None:
        """Add the words of the model."""
        core = part("messages")
        self.add_message(
            message if isinstance(message, core.AIMessage) else core.AIMessage(content=message)
        )

    def clear(self) -> None:
        """Forget, or with ``erase`` erase, all messages of the session."""
        if self.erase:
            self.log.store.erase(namespace=self.log.namespace)
        else:
            self.log.clear()
        self._as_run_began = None

    async def aclear(self) -> None:
        """Forget, or with ``erase`` erase, all messages of the session."""
        await finish_in_thread(self.clear)

    def __str__(self) -> str:
        text: str = part("messages").get_buffer_string(self.messages)
        return text

    def __repr__(self) -> str:
        return f"{type(self).__name__}(session_id={self.session_id!r})"

    def _read(self) -> list[BaseMessage]:
        return [to_message(record) for record in self.shown()]

    def shown(self) -> list[MemoryRecord]:
        """Return the records of the shown messages, oldest first."""
        records = self.log.messages(self.last)
        if self.last is None:
            return records
        return list(dropwhile(lambda record: role_of(record) not in _HUMAN, records))

    def _in_its_run(self) -> bool:
        """Return whether the caller is a ``RunnableWithMessageHistory`` with the instance."""
        if "langchain_core.runnables.history" not in sys.modules:
            return False
        from langchain_core.runnables import ensure_config

        return ensure_config().get("configurable", {}).get("message_history") is self

    def _changed(self, given: Sequence[BaseMessage]) -> tuple[list[dict[str, Any]], set[str]]:
        """Return the items to add, and the ids of the records to remove."""
        items: list[dict[str, Any]] = []
        gone = set[str]()
        for message in given:
            if message.type != "remove":
                items.append(to_item(message))
                continue
            id, every = message.id, message.id == _REMOVE_ALL
            items = [] if every else [each for each in items if each["value"]["data"]["id"] != id]
            where = None if every else {"value.data.id": id}
            found = self.log.store.all(namespace=self.log.namespace, where=where)
            gone.update(record.id for record in found)
        return items, gone

    def _ends_with(self, items: list[dict[str, Any]], gone: Set[str]) -> bool:
        values = [item["value"] for item in items]
        if not all(value["data"]["id"] for value in values):
            return False
        found = self.log.messages(None if gone else len(values))
        left = [record.value for record in found if record.id not in gone]
        return left[len(left) - len(values) :] == values


@explaining
def message_history_factory(
    store: StoreOrPath,
    keys: Sequence[str] = ("session_id",),
    *,
    namespace: str = "messages",
    last: int | None = None,
    erase: bool = False,
) -> Callable[..., ChatMessageHistory]:
    """Return the ``get_session_history`` for ``RunnableWithMessageHistory``.

    The parameters, texts or whole numbers, are *keys*, as listed in ``history_factory_config``. The
    last key names the session, the keys before name owners: sessions of two owners are kept apart.
    """
    if not keys or isinstance(keys, str):
        raise ValidationError(f"keys must be a list of at least one key, not {keys!r}")
    opened = open_store(store)
    part("chat_history")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(key, kind, annotation=str) for key in keys])

    def get_session_history(*args: str | int, **kwargs: str | int) -> ChatMessageHistory:
        given = signature.bind(*args, **kwargs).arguments
        *owners, session_id = (id_text(key, each) for key, each in given.items())
        path = "/".join([namespace, *map(segment, owners)])
        return ChatMessageHistory(opened, session_id, namespace=path, last=last, erase=erase)

    get_session_history.__signature__ = signature  # type: ignore[attr-defined]
    return get_session_history
