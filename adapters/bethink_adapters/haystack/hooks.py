"""Hooks of an agent: one shows what its question recalls, one remembers what was said."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from bethink import ValidationError
from bethink.adapting import Packed, Scope, add_turns, check_namespace, finish_in_thread

from ..shared.recalling import DEFAULT_BUDGET_TOKENS, DEFAULT_K, Recalling
from ..shared.turns import thread_name, turn
from .locations import Location, opened, path_of

if TYPE_CHECKING:
    from haystack.components.agents.state import State
    from haystack.dataclasses import ChatMessage

_logger: Final = logging.getLogger(__name__)

_MARK: Final = "bethink"
_COMPACTED: Final = "context_compaction"  # Haystack's mark of what stands for what it took out
_SPEAKERS: Final = ("user", "assistant")


def memory_hooks(
    store: Location, *, namespace: str = "default", remember: bool = True, **options: Any
) -> dict[Any, list[Any]]:
    """Return the ``hooks`` that let an ``Agent`` recall from, and remember in, a namespace.

    The *options* are those of ``RecallHook``. A run may have a namespace of its own:
    ``agent.run(messages, hook_context={"memory_namespace": "users/42"})``; "memory_thread" in it
    names the conversation. With *remember* False nothing is remembered.
    """
    recall = RecallHook(store, namespace=namespace, **options)
    kept = RememberHook(recall.store, namespace=namespace if remember else None)
    return {"before_llm": [recall], "after_run": [kept]}


class _OnStore:
    """A hook on a *store* that is open and stays so, or on that of a file, open until ``close``."""

    def __init__(self, store: Location) -> None:
        self.store = opened(store)
        self._owns_store = self.store is not store

    def close(self) -> None:
        """Close the store if this hook opened it; the agent calls this when it is closed."""
        if self._owns_store:
            self.store.close()


class RecallHook(_OnStore):
    """Show the model what the last user message recalls, in front of that message.

    The best *k* memories of *namespace* that score at least *min_score*, and that the conversation
    does not hold already, are shown: as many as fit into *budget_tokens*, as *count_tokens* counts
    them (default: an estimate). A store that fails is logged and shows nothing. Only a
    ``RememberHook`` takes what was shown out of the result, so an agent needs both.
    """

    allowed_hook_points: ClassVar = ("before_llm",)

    def __init__(
        self,
        store: Location,
        *,
        namespace: Scope = "default",
        k: int = DEFAULT_K,
        min_score: float = 0.0,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
        count_tokens: Callable[[str], float] | None = None,
    ) -> None:
        super().__init__(store)
        self._recalling = Recalling(
            self.store, namespace, k, min_score, budget_tokens, count_tokens
        )

    def run(self, state: State) -> None:
        """Show what is recalled, once for each question."""
        asked = _asked(state)
        if asked:
            self._show(
                state, self._recalling.safely(*asked, namespace=_context(state, "namespace"))
            )

    async def run_async(self, state: State) -> None:
        """Show what is recalled, without keeping the event loop waiting."""
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
        """Return what makes this hook again; *count_tokens* must be a function of a module."""
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
            budget_tokens=given.budget_tokens,
            count_tokens=None if counter is None else serialize_callable(counter),
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the hook that ``to_dict`` was asked of."""
        from haystack import default_from_dict
        from haystack.utils import deserialize_callable

        given = dict(data["init_parameters"])
        if given.get("count_tokens") is not None:
            given["count_tokens"] = deserialize_callable(given["count_tokens"])
        return default_from_dict(cls, {**data, "init_parameters": given})


class RememberHook(_OnStore):
    """Remember what was said in a run, and take what was only shown out of its result.

    *namespace* is where; None remembers nothing. A conversation that is handed over again adds
    nothing. A store that fails is logged.
    """

    allowed_hook_points: ClassVar = ("after_run",)

    def __init__(self, store: Location, *, namespace: str | None = "default") -> None:
        super().__init__(store)
        self.namespace = None if namespace is None else check_namespace(namespace)

    def run(self, state: State) -> None:
        """Remember what users and the agent said."""
        messages = _conversation(state)
        _replace(state, messages)
        if self.namespace is None:
            return
        namespace, thread = _context(state, "namespace"), _context(state, "thread")
        try:
            turns = [
                turn(
                    "\n".join(message.texts),
                    message.name or message.role.value,
                    is_answer=message.role.value == "assistant",
                )
                for message in messages
                if message.role.value in _SPEAKERS
                and _COMPACTED not in message.meta
                and "".join(message.texts).strip()
            ]
            place = self.namespace if namespace is None else namespace
            add_turns(self.store, turns, namespace=place, thread=thread_name(thread))
        except Exception:
            _logger.exception("what was said could not be remembered; the run goes on")

    async def run_async(self, state: State) -> None:
        """Remember what was said, without keeping the event loop waiting."""
        await finish_in_thread(self.run, state)

    def to_dict(self) -> dict[str, Any]:
        """Return what makes this hook again."""
        from haystack import default_to_dict

        return default_to_dict(self, store=path_of(self.store), namespace=self.namespace)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Make the hook that ``to_dict`` was asked of."""
        from haystack import default_from_dict

        return default_from_dict(cls, data)


def _asked(state: State) -> tuple[str, set[str]] | None:
    """Return the last question and all that is said; None if what it recalls is shown already."""
    messages = state.data["messages"]
    places = [place for place, message in enumerate(messages) if _is_question(message)]
    if not places or (places[-1] and _is_shown(messages[places[-1] - 1])):
        return None
    said = {"\n".join(message.texts).strip() for message in _conversation(state)}
    return "\n".join(messages[places[-1]].texts), said


def _conversation(state: State) -> list[ChatMessage]:
    return [message for message in state.data["messages"] if not _is_shown(message)]


def _is_question(message: ChatMessage) -> bool:
    is_said = not _is_shown(message) and _COMPACTED not in message.meta
    return message.role.value == "user" and is_said


def _is_shown(message: ChatMessage) -> bool:
    return _MARK in message.meta


def _replace(state: State, messages: list[ChatMessage]) -> None:
    state.set("messages", messages, handler_override=lambda _, new: new)


def _context(state: State, name: str) -> str | None:
    """Return what the run was told of its memory."""
    told: str | None = (state.data.get("hook_context") or {}).get(f"memory_{name}")
    return told
