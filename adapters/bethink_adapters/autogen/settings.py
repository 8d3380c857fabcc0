"""The settings of every recall for AutoGen: the store, the block, and the dumped configuration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from bethink import MemoryStore, Subtree
from bethink.adapting import Budget, finish_in_thread, integer, number, one_of

from ..shared.opening import StoreOrPath, open_store, path_of
from ..shared.recalling import Recalling

if TYPE_CHECKING:
    from autogen_core.models import LLMMessage

_MAX_SCORE = 1e9


class Settings:
    """The store, opened from a path if *store* is a path, and the settings of the recall."""

    def __init__(
        self,
        store: StoreOrPath,
        *,
        namespace: str,
        k: int,
        min_score: float,
        min_share: float,
        budget_tokens: int,
        count_tokens: Callable[[str], int] | None,
        inject_as: Literal["user", "system"],
    ) -> None:
        self.inject_as = one_of("inject_as", inject_as, ("user", "system"))
        self.namespace = Subtree(namespace).path
        self.k = integer("k", k, 1)
        self.min_score = number("min_score", min_score, -_MAX_SCORE, _MAX_SCORE)
        self.min_share = number("min_share", min_share, 0.0, 1.0)
        self.budget_tokens = Budget(budget_tokens, count_tokens).tokens
        self.count_tokens = count_tokens
        self._owns_store = not isinstance(store, MemoryStore)
        self.store = open_store(store, shared=False)

    async def close(self) -> None:
        """Close the store if *store* was a path; no memory is deleted."""
        if self._owns_store:
            await finish_in_thread(self.store.close)

    def _recalling(self) -> Recalling:
        return Recalling(
            self.store,
            self.namespace,
            self.k,
            self.min_score,
            self.budget_tokens,
            self.count_tokens,
            self.min_share,
        )

    def _block_message(self, text: str) -> LLMMessage:
        from autogen_core.models import SystemMessage, UserMessage

        if self.inject_as == "system":
            return SystemMessage(content=text)
        return UserMessage(content=text, source="memory")

    def _configuration(self) -> dict[str, Any]:
        """Return the arguments for making an equal object in a second process.

        Only a store in a file has a configuration; any other store raises ``ValidationError``.
        """
        path = path_of(self.store, "memory")
        if self.count_tokens is not None:
            warnings.warn("count_tokens is not dumped; set it after loading", stacklevel=4)
        kept = ("namespace", "k", "min_score", "min_share", "budget_tokens", "inject_as")
        return {"location": path} | {field: getattr(self, field) for field in kept}

    @classmethod
    def _arguments(cls, config: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the constructor for a configuration."""
        return {"store": config.pop("location"), **config}
