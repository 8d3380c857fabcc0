"""Hooks of an agent: ``RecallHook`` shows memories, ``RememberHook`` remembers the words said."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from bethink import ValidationError
from bethink.adapting import (
    Packed,
    Scope,
    add_turns,
    check_namespace,
    explaining,
    finish_in_thread,
    suggesting,
)

from ..shared.defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from ..shared.extras import require
from ..shared.opening import StoreOrPath, open_store, path_of
from ..shared.recalling import Recalling
from ..shared.turns import thread_name, turn

if TYPE_CHECKING:
    from haystack.components.agents.state import State
    from haystack.dataclasses import ChatMessage

_logger: Final = logging.getLogger(__name__)

_MARK: Final = "bethink"
_COMPACTED: Final = "context_compaction"  # Haystack's mark of a text in place of messages
_SPEAKERS: Final = ("user", "assistant")

_NOTICE: Final = re.compile(
    r"The parameters for tool '[^']*' were updated by the user to:"
    r"|The Agent stopped because the token budget was exceeded\.$"
)
"""The beginnings of the texts of Haystack's hooks that stand among the words without a mark."""


@explaining
def memory_hooks(
    store: StoreOrPath, *, namespace: str, remember: bool = True, **options: Any
) -> dict[Any, list[Any]]:
    """Return the ``hooks`` that let an ``Agent`` recall from, and remember in, a namespace.

    The *options* are options of ``RecallHook``. A run may name a different namespace:
    ``agent.run(messages, hook_context={"memory_namespace": "users/42"})``; "memory_thread" names
    the conversation. With *remember* False nothing is remembered.
    """
    recall = RecallHook(store, namespace=namespace, **options)
    kept = RememberHook(recall.store, namespace=namespace if remember else None)
    return {"before_llm": [recall], "after_run": [kept]}


class _OnStore:
    """A hook on an open *store*, which stays open, or on a file, open until ``close``."""

    def __init__(self, store: StoreOrPath) -> None:
        require("haystack", "haystack.components.agents")
        self.store = open_store(store, shared=False)
        self._owns_store = self.store is not store

    def close(self) -> None:
        """Close the store if the hook opened the store; a closing agent calls this method."""
        if self._owns_store:
            self.store.close()


@suggesting
class RecallHook(_OnStore):
    """Show the model the memories that the last user message recalls, in front of the message.

    The best *k* memories of *namespace* that score at least *min_score*, and that the conversation
    does not hold already, are shown: as many as fit into *budget_tokens*, as *count_tokens* counts
    (default: an estimate). *min_share* is that of ``recall``. A store that fails is logged and
    shows nothing. Only a ``RememberHook`` takes the shown memories out of the result, so an agent
    needs both hooks.
    """

    allowed_hook_points: ClassVar = ("before_llm",)

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: Scope,
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        min_share: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        super().__init__(store)
        self._recalling = Recalling(
            self.store, namespace, k, min_score, budget_tokens, count_tokens, min_share
        )

    def run(self, state: State) -> None:
        """Show the recalled memories, once for each question."""
        asked = _asked(state)
        if asked:
            self._show(
                state, self._recalling.safely(*asked, namespace=_context(state, "namespace"))
            )

    async def run_async(self, state: State) -> None:
        """Show the recalled memories, without keeping the event loop waiting."""
        asked = _asked(state)
        if asked:
            namespace = _context(state, "namespace")
            self._show(state, await self._recalling.asafely(*asked, namespace=namespace))

    def _show(self, state: State, packed: Packed) -> None:
        from haystack.dataclasses import ChatMessage

        messages = _conversation(state)
        if packed.text:
            place = max(at for at, message in enumerate(messages) if _is_question(message))
            messages.insert(place, ChatMessage.from_user(packed.text, meta={_MARK: "recalled"}))
        _replace(state, messages)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as data; *count_tokens* must be a function of a module."""
        from haystack import default_to_dict
        from haystack.utils import serialize_callable

        given = self._recalling
        if not isinstance(given.namespace, str):
            raise ValidationError(f"only a plain namespace can be dumped, not {given.namespace!r}")
        counter = given.count_tokens
        return default_to_dict(
            self,
            store=path_of(self.store),
            namespace=given.namespace,
            k=given.k,
            min_score=given.min_score,
            min_share=given.min_share,
            budget_tokens=given.budget_tokens,
            count_tokens=None if counter is None else serialize_callable(counter),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a hook from the data of ``to_dict``."""
        from haystack import default_from_dict
        from haystack.utils import deserialize_callable

        given = dict(data["init_parameters"])
        if given.get("count_tokens") is not None:
            given["count_tokens"] = deserialize_callable(given["count_tokens"])
        return default_from_dict(cls, {**data, "init_parameters": given})


@suggesting
class RememberHook(_OnStore):
    """Remember the words of a run in *namespace*, and take shown memories out of the result.

    A *namespace* of None remembers nothing. A conversation that is handed over again adds nothing,
    and erased turns of the history stay away. In a conversation with a history and a name, an
    answer made anew supersedes the earlier answer; any other answer is new. Texts of Haystack's
    hooks, for compaction, budgets and changed calls, and texts beside calls of tools are no words
    of a speaker. A store that fails is logged.

    Haystack hands over no run that failed: the words are remembered with the next run that has the
    words among the messages.
    """

    allowed_hook_points: ClassVar = ("after_run",)

    def __init__(self, store: StoreOrPath, *, namespace: str | None) -> None:
        super().__init__(store)
        self.namespace = None if namespace is None else check_namespace(namespace)

    def run(self, state: State) -> None:
        """Remember the words of users and the agent."""
        messages = _conversation(state)
        _replace(state, messages)
        if self.namespace is None:
            return
        namespace, thread = _context(state, "namespace"), _context(state, "thread")
        try:
            asked = max((at for at, each in enumerate(messages) if _is_question(each)), default=0)
            while asked and _is_question(messages[asked - 1]):
                asked -= 1
            turns = [
                turn(
                    "\n".join(message.texts),
                    message.name or message.role.value,
                    is_answer=message.role.value == "assistant",
                    is_old=number < asked,
                )
                for number, message in enumerate(messages)
                if _is_spoken(message)
            ]
            place = self.namespace if namespace is None else namespace
            add_turns(self.store, turns, namespace=place, thread=thread_name(thread))
        except Exception:
            _logger.exception("the words could not be remembered; the run goes on")

    async def run_async(self, state: State) -> None:
        """Remember the words, without keeping the event loop waiting."""
        await finish_in_thread(self.run, state)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as data."""
        from haystack import default_to_dict

        return default_to_dict(self, store=path_of(self.store), namespace=self.namespace)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make a hook from the data of ``to_dict``."""
        from haystack import default_from_dict

        return default_from_dict(cls, data)


def _asked(state: State) -> tuple[str, set[str]] | None:
    """Return the last question and all texts; None if memories for the question are shown."""
    messages = state.data["messages"]
    places = [place for place, message in enumerate(messages) if _is_question(message)]
    if not places or (places[-1] and _is_shown(messages[places[-1] - 1])):
        return None
    said = {"\n".join(message.texts).strip() for message in _conversation(state)}
    return "\n".join(messages[places[-1]].texts), said


def _conversation(state: State) -> list[ChatMessage]:
    return [message for message in state.data["messages"] if not _is_shown(message)]


def _is_question(message: ChatMessage) -> bool:
    return message.role.value == "user" and not _is_shown(message) and not _is_notice(message)


def _is_spoken(message: ChatMessage) -> bool:
    has_words = bool("".join(message.texts).strip()) and not message.tool_calls
    return message.role.value in _SPEAKERS and has_words and not _is_notice(message)


def _is_notice(message: ChatMessage) -> bool:
    """Return whether a hook of Haystack wrote *message*."""
    return _COMPACTED in message.meta or bool(_NOTICE.match("\n".join(message.texts)))


def _is_shown(message: ChatMessage) -> bool:
    return _MARK in message.meta


def _replace(state: State, messages: list[ChatMessage]) -> None:
    state.set("messages", messages, handler_override=lambda _, new: new)


def _context(state: State, name: str) -> str | None:
    """Return the namespace or the thread of the run, as *name* says."""
    told: str | None = (state.data.get("hook_context") or {}).get(f"memory_{name}")
    return told
