"""LangGraph's long-term memory in a bethink store. Works with langgraph 0.6 to 1.2."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from bethink import ValidationError, WhyNot
from bethink.adapting import finish_in_thread, number, one_of

from ..shared.opening import StoreOrPath
from ..shared.subclassing import made_on
from .batches import Batches
from .embedding import Index
from .items import MINUTE
from .opened import Opened
from .places import Places
from .searching import Mode
from .sweeping import Sweeper

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore as _Base
    from langgraph.store.base import IndexConfig, Op, Result, TTLConfig
else:
    _Base = object  # at run time the class is joined with LangGraph's when the first store is made

_MODES: Final = ("semantic", "hybrid", "keyword")


@made_on("langgraph", "langgraph.store.base", "BaseStore")
class BethinkStore(Opened, _Base):
    """A LangGraph store: ``graph.compile(store=BethinkStore("agent.db"))``.

    *store* is an open ``MemoryStore``, or a location to open until ``close``. The items live
    below *namespace*, with nothing else. *index* is LangGraph's ``{"dims", "embed", "fields"}``;
    without *index* the store's own embedder serves. A search with a query ranks by *mode*:
    "semantic" with an index (the score is the cosine), else "hybrid"; then come unlike items. With
    *min_score*, items with a lower score are left out. *ttl* is LangGraph's, too; expired items
    never show, swept or not. ``delete`` forgets an item; with *erase* no byte of a deleted item and
    of earlier values stays.
    """

    supports_ttl = True

    def __init__(
        self,
        store: StoreOrPath = ":memory:",
        *,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
        mode: Mode | None = None,
        min_score: float | None = None,
        namespace: str = "langgraph",
        erase: bool = False,
    ) -> None:
        if not isinstance(ttl, Mapping | None):
            kind = type(ttl).__name__
            raise ValidationError(
                f"ttl must be a mapping such as {{'default_ttl': 60}}, not {kind}"
            )
        places, indexed = Places(namespace), Index(index)
        places.below(())
        default: Mode = "hybrid" if indexed.embeddings is None else "semantic"
        ranked = one_of("mode", mode or default, _MODES)
        least = None if min_score is None else number("min_score", min_score, -1e9, 1e9)
        self._open(store)
        self._sweeper = Sweeper(self.sweep_ttl)
        self._batches = Batches(self.store, places, indexed, ranked, least, erase)
        try:
            indexed.check(self.store)
        except BaseException:
            self.close()
            raise
        self.index_config = index
        self.embeddings = indexed.embeddings
        self.ttl_config = ttl

    # -- LangGraph's basic method: get, put, search and more are derived

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer *ops* in order: first all reads, then all writes in one transaction.

        Of two puts of an item the last counts. After a bad op nothing is written.
        """
        batches = self._batches
        asked = batches.checked(ops)
        vectors = batches.index.vectors(batches.documents(asked), batches.queries(asked))
        return batches.answer(asked, vectors)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the work of ``batch`` without blocking the event loop."""
        batches = self._batches
        asked = batches.checked(ops)
        vectors = await batches.index.avectors(batches.documents(asked), batches.queries(asked))
        if not batches.writes(asked):
            return await asyncio.to_thread(batches.answer, asked, vectors)
        return await finish_in_thread(batches.answer, asked, vectors)

    # -- expiry

    def sweep_ttl(self) -> int:
        """Forget expired records in the whole ``MemoryStore``; return the number of records."""
        return self.store.expire()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep every so many minutes (default: as *ttl* says, else 5) in a thread."""
        config = self.ttl_config or {}
        given = sweep_interval_minutes or config.get("sweep_interval_minutes") or 5
        return self._sweeper.start(number("sweep_interval_minutes", given, 0.0, 1e6) * MINUTE)

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the thread, waiting at most *timeout* seconds; return whether the thread ended."""
        return self._sweeper.stop(timeout)

    # -- more than LangGraph asks for

    def why(self, namespace: Sequence[str], key: str, query: str, *, limit: int = 10) -> WhyNot:
        """Return place, score and signals of the item in a search of the item's namespace."""
        from langgraph.store.base import SearchOp

        batches, op = self._batches, SearchOp(tuple(namespace), query=query)
        batches.checked([op])
        record = batches.record(namespace, key)
        if record is None:
            return WhyNot(str(key), "unknown")
        search = batches.search(op, batches.index.vectors((), batches.queries([op])))
        told = [self.store.why_not(record.id, k=limit, **asked) for asked in search.questions()]
        return max(told, key=lambda each: -1.0 if each.score is None else each.score)

    def close(self) -> None:
        """Stop the sweeper; close the store if opened by the path."""
        self._sweeper.stop(None)
        super().close()
