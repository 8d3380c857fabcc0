"""The block of memories that an agent is shown before the model is called.

The last question recalls the memories; in a team, so does the task. The block is fenced, within a
budget, and leaves out the texts of the conversation. A store that fails is logged, and the run goes
on without memories.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Final

from bethink import MemoryStore, RecallResult, ValidationError, context_block
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

from .defaults import DEFAULT_BUDGET_TOKENS, DEFAULT_K
from .texts import askable

_logger: Final = logging.getLogger(__name__)

_MANY: Final = 1024
"""Above this number of memories asked for, any number found is enough."""

NOTHING: Final = Packed("", 0, (), ())

Queries = str | Sequence[str]
"""The text that recalls, or several texts, each recalled and merged."""

_Said = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class Recalling:
    """The best *k* memories of *namespace* that score at least *min_score*, as one block.

    *min_share* is that of ``recall``. The block has at most *budget_tokens*, as *count_tokens*
    counts (default: an estimate).
    """

    store: MemoryStore
    namespace: Scope = "default"
    k: int = DEFAULT_K
    min_score: float = 0.0
    budget_tokens: int = DEFAULT_BUDGET_TOKENS
    count_tokens: TokenCounter | None = None
    min_share: float = 0.0

    def __post_init__(self) -> None:
        check_store(self.store)
        integer("k", self.k, 1)
        number("min_score", self.min_score, -1e9, 1e9)
        number("min_share", self.min_share, 0.0, 1.0)
        check_scope(self.namespace)
        Budget(self.budget_tokens, self.count_tokens)

    def block(
        self,
        query: Queries,
        said: Collection[str] = (),
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> Packed:
        """Return the block that *query* recalls, without the stripped texts *said* already.

        The block holds a text of an author once. *namespace* takes the place of the usual
        namespace, *where* is as in ``recall``. The memories in the block count as accessed.
        """
        fresh = self.best(query, said, namespace=namespace, where=where)
        if not fresh:
            return NOTHING
        packed = pack(fresh, Budget(self.budget_tokens, self.count_tokens))
        if packed.results:
            self.store.touch([hit.memory.id for hit in packed.results])
        return packed

    def safely(
        self, query: Queries, said: Collection[str] = (), *, namespace: Scope | None = None
    ) -> Packed:
        """Return the same as ``block``; nothing, and a line in the log, when the store fails."""
        try:
            return self.block(query, said, namespace=namespace)
        except Exception:
            _logger.exception("nothing could be recalled; the run goes on without it")
            return NOTHING

    asafely = make_async(safely)

    def answer(self, query: str, *, namespace: Scope | None = None) -> str:
        """Return the best memories, for a model that called a tool, and count an access of each."""
        return (
            context_block(self.hits(query, namespace=namespace)) or "Nothing is known about that."
        )

    def hits(
        self, query: str, *, namespace: Scope | None = None, where: Where = None
    ) -> list[RecallResult]:
        """Return the same as ``best``, and count an access of each memory."""
        found = self.best(query, namespace=namespace, where=where)
        self.store.touch([hit.memory.id for hit in found])
        return found

    def best(
        self,
        query: Queries,
        said: Collection[str] = (),
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> list[RecallResult]:
        """Return the best *k* memories that are not *said*, each text of an author once.

        Of several queries come the best of each first, then the second of each, and so on. A memory
        that several queries recall has the best of the scores. Blank queries recall nothing.
        """
        texts = [query] if isinstance(query, str) else query
        if not isinstance(texts, Sequence):
            raise ValidationError(f"query must be a str, not {type(query).__name__}")
        asked = dict.fromkeys(texts)
        scope = self.namespace if namespace is None else namespace
        ranked = [self._fresh(each, said, scope, where) for each in asked if each.strip()]
        best: dict[_Said, RecallResult] = {}
        for hit in filter(None, chain.from_iterable(zip_longest(*ranked))):
            known = best.setdefault(_said(hit), hit)
            if hit.score > known.score:
                best[_said(hit)] = hit
        return list(best.values())[: self.k]

    def _fresh(
        self, query: str, said: Collection[str], scope: Scope, where: Where
    ) -> list[RecallResult]:
        """Return the best *k* memories for one query.

        A text that was said often is recalled as often: more are asked for until enough are found.
        """
        asked = askable(query)
        most = self.k + len(said)
        while True:
            found = self.store.recall(
                asked,
                k=most,
                namespace=scope,
                where=where,
                min_score=self.min_score,
                min_share=self.min_share,
                touch=False,
            )
            fresh: dict[_Said, RecallResult] = {}
            for hit in found:
                if _said(hit)[1] not in said:
                    fresh.setdefault(_said(hit), hit)
            if len(fresh) >= self.k or len(found) < most or most > _MANY:
                return list(fresh.values())[: self.k]
            most *= 4


def _said(hit: RecallResult) -> _Said:
    return hit.memory.author, hit.memory.content.strip()
