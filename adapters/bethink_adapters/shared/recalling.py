"""What an agent is shown before its model is called: the memories that its last question recalls.

The block is fenced, within a budget, and leaves out what the conversation says anyway. A store that
fails is logged, and the run goes on without it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from bethink import MemoryStore, RecallResult, context_block
from bethink.adapting import (
    Budget,
    Packed,
    Scope,
    TokenCounter,
    Where,
    check_scope,
    check_store,
    integer,
    make_async,
    number,
    pack,
)

from .texts import askable

_logger: Final = logging.getLogger(__name__)

_MANY: Final = 1024
"""Once more than so many were asked for, what there is is enough."""

DEFAULT_K: Final = 5
"""The number of memories that an adapter recalls unless told otherwise."""

DEFAULT_BUDGET_TOKENS: Final = 800
"""The most tokens of an adapter's block unless told otherwise."""

NOTHING: Final = Packed("", 0, (), ())


@dataclass(frozen=True, slots=True)
class Recalling:
    """The best *k* memories of *namespace* that score at least *min_score*, as one block.

    The block has at most *budget_tokens*, as *count_tokens* counts them (default: an estimate).
    """

    store: MemoryStore
    namespace: Scope = "default"
    k: int = DEFAULT_K
    min_score: float = 0.0
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    count_tokens: TokenCounter | None = None

    def __post_init__(self) -> None:
        check_store(self.store)
        integer("k", self.k, 1)
        number("min_score", self.min_score, -1e9, 1e9)
        check_scope(self.namespace)
        Budget(self.budget_tokens, self.count_tokens)

    def block(
        self,
        query: str,
        said: Collection[str] = (),
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> Packed:
        """Return what *query* recalls without what is *said* already, each a stripped text.

        What one author said several times is in it once. *namespace* takes the place of the usual
        one, *where* is as in ``recall``. What is in the block counts as accessed.
        """
        if not query.strip():
            return NOTHING
        fresh = self.best(query, said, namespace=namespace, where=where)
        packed = pack(fresh, Budget(self.budget_tokens, self.count_tokens))
        if packed.results:
            self.store.touch([hit.memory.id for hit in packed.results])
        return packed

    def safely(
        self, query: str, said: Collection[str] = (), *, namespace: Scope | None = None
    ) -> Packed:
        """Return what ``block`` does; nothing, and a line in the log, when the store fails."""
        try:
            return self.block(query, said, namespace=namespace)
        except Exception:
            _logger.exception("nothing could be recalled; the run goes on without it")
            return NOTHING

    asafely = make_async(safely)

    def answer(self, query: str, *, namespace: Scope | None = None) -> str:
        """Return the best as what a tool tells the model that asked; they count as accessed."""
        found = self.best(query, namespace=namespace)
        self.store.touch([hit.memory.id for hit in found])
        return context_block(found) or "Nothing is known about that."

    def best(
        self,
        query: str,
        said: Collection[str] = (),
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> list[RecallResult]:
        """Return the best *k* that are not *said*, each text of an author once.

        What was said often is recalled as often, so more are asked for until there are enough.
        """
        asked = askable(query)
        scope = self.namespace if namespace is None else namespace
        most = self.k + len(said)
        while True:
            found = self.store.recall(
                asked, k=most, namespace=scope, where=where, min_score=self.min_score, touch=False
            )
            fresh: dict[tuple[str | None, str], RecallResult] = {}
            for hit in found:
                if (text := hit.memory.content.strip()) not in said:
                    fresh.setdefault((hit.memory.author, text), hit)
            if len(fresh) >= self.k or len(found) < most or most > _MANY:
                return list(fresh.values())[: self.k]
            most *= 4
