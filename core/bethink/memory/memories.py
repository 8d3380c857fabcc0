"""Memories: the kernel verbs, checked and passed on to writing, reading and moments."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeVar, Unpack, get_args

import numpy as np
import numpy.typing as npt

from ..calls import spelled_out
from ..embedders import Embedder, StaticEmbedder, check_embedder, embedder_for
from ..index import MAX_RESIDENT
from ..model import fields
from ..model.filters import Where, constant, parse
from ..model.forks import fork_lock, watch
from ..model.ids import IdFactory
from ..model.namespaces import EVERYWHERE, Scope, check_namespace, check_scope
from ..model.port import EMBEDDED, Page
from ..model.progress import Progress, Tell, telling
from ..model.records import (
    GIVEN_DEFAULTS,
    Changes,
    Fields,
    Listed,
    MemoryRecord,
    Order,
    RecallResult,
    When,
)
from ..storage import Anchor, open_backend, similar_scopes
from . import reading, writing
from .engine import Engine, Screen, Transaction
from .ranking import Ranking, WeightedSum, checked_ranking
from .reading import Answerer, NamedVector, RecallOptions, Request, recall_request
from .search import Mode
from .writing import FinderMaker, OnSimilar

_logger = logging.getLogger(__name__)


class View:
    """The verbs that read records and search nothing, of the present and of the past."""

    _engine: Engine

    def get(
        self, id: str | None = None, *, namespace: str | None = None, key: str | None = None
    ) -> MemoryRecord | None:
        """Return the record with *id*, or the live record with *key*; None without a match.

        An id also finds superseded and archived records, but no forgotten or expired record.
        Without a *namespace* an id finds a record anywhere, a key in "default".
        """
        if (id is None) == (key is None):
            fields.fail("get needs an id or a key, and not both")
        place = check_namespace("default" if namespace is None else namespace)
        if key is None:
            found = reading.by_ids(self._engine, [fields.identifier("id", id)])[0]
            return found if found and namespace in (None, found.namespace) else None
        name = fields.label("key", key)
        self._engine.check_open()
        held = self._engine.backend.by_key(place, name)
        return None if held is None else reading.visible(self._engine, held.record)

    def all(
        self,
        *,
        namespace: Scope = "default",
        where: Where = None,
        limit: int | None = None,
        offset: int = 0,
        order: Order = "oldest",
        state: Listed = "live",
    ) -> list[MemoryRecord]:
        """Return the live records of *namespace* that pass *where*, in order of insertion.

        *order* "oldest" lists the first inserted record first, "newest" the last; the name of a
        field lists the greatest value first. Expired records are hidden from every reading verb.
        The *state* "superseded", "archived", "forgotten" or "expired" returns the records in that
        state instead.
        """
        by = fields.one_of("order", order, get_args(Order))
        page = Page(
            fields.limit("limit", limit),
            fields.integer("offset", offset, 0),
            descending=by != "oldest",
            by="ordinal" if by == "oldest" or by == "newest" else by,
        )
        listed = fields.one_of("state", state, get_args(Listed))
        return reading.listed(self._engine, check_scope(namespace), parse(where), page, listed)

    def count(self, *, namespace: Scope = "default", where: Where = None) -> int:
        """Count the live records that pass *where*, in "default" alone without a *namespace*."""
        engine, scope, passing = self._engine, check_scope(namespace), parse(where)
        engine.flush_for(passing)
        return engine.backend.count(scope, passing, engine.clock())

    def namespaces(self, within: Scope = EVERYWHERE) -> dict[str, int]:
        """Return the number of live records for each namespace with any, sorted by name."""
        engine, scope = self._engine, check_scope(within)
        engine.check_open()
        return engine.backend.namespaces(scope, engine.clock())


class Closable:
    """An object whose ``close`` ends a ``with`` statement."""

    def close(self) -> None:
        """Release everything."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Memories(View, Closable):
    """The kernel of a store: every verb but the features'; see ``MemoryStore``."""

    _embedders: ClassVar[Sequence[Callable[[], Embedder]]] = (StaticEmbedder,)
    """Makers of the embedders that a file's note of the embedder's name suffices to make."""

    _guards: ClassVar[Sequence[Callable[[Transaction], None]]] = ()
    """Checks of every write before its commit."""

    def __init__(
        self,
        location: str | os.PathLike[str] = ":memory:",
        *,
        embedder: Embedder | None = None,
        ranking: Ranking | None = None,
        clock: Callable[[], float] = time.time,
        durability: Literal["full", "normal"] = "full",
        new_id: Callable[[], str] | None = None,
        max_resident: int | None = MAX_RESIDENT,
        integrity_key: bytes | None = None,
        anchor: str | os.PathLike[str] | Anchor | Literal[False] | None = None,
        screen: Screen | None = None,
    ) -> None:
        self.ranking: Ranking = WeightedSum() if ranking is None else checked_ranking(ranking)
        most = fields.limit("max_resident", max_resident)
        given = None if embedder is None else check_embedder(embedder)
        make_id = fields.function("new_id", IdFactory(clock) if new_id is None else new_id)
        tell_time = fields.function("clock", clock)
        if screen is not None:
            fields.function("screen", screen)
        with fork_lock:
            backend = open_backend(location, durability, integrity_key, anchor)
            try:
                chosen = embedder_for(backend.setting("embedder"), given, self._embedders)
                self._engine = Engine(backend, chosen, tell_time, make_id, most, self._guards)
                self._engine.screen = screen
                watch(self._engine)
            except BaseException:
                backend.close()
                raise
        self.clock = self._engine.clock

    @property
    def location(self) -> str:
        """The path, or the address of the database without a password."""
        return self._engine.backend.location

    @property
    def embedder(self) -> Embedder:
        """The embedder of the store."""
        return self._engine.embedder

    @spelled_out(Fields, GIVEN_DEFAULTS)
    def store(
        self,
        content: str,
        *,
        on_similar: OnSimilar = "keep",
        similarity: float = 0.92,
        **given: Unpack[Fields],
    ) -> MemoryRecord:
        """Remember *content* with fields of a ``MemoryRecord`` and *vectors*; return the record.

        The new record supersedes the live record of the namespace with the same ``key``, and the
        live record with the id *supersedes* (``NotFoundError`` without such a record). *content*
        has 1 to 524,288 characters, or 0 beside a *value*. A known *id* raises ``ValidationError``.

        *on_similar* decides about a new memory that nearly repeats a live memory of the namespace:
        "keep" stores both, "raise" raises ``SimilarMemoryError``, and "merge" merges the new memory
        into the live record and returns the live record. The merged record has one more access and
        the fields that ``consolidate`` would give, but keeps the named vectors. *similarity* is the
        least cosine of similar memories, in [0, 1]; below .92, a text is also similar to a longer
        text with all the words in a row, as "use tabs" to "always use tabs in Go". Other memories
        that ``consolidate`` would keep apart are never similar.
        """
        finder = self._duplicate_finder(on_similar, similarity)
        return self._store_items([{**given, "content": content}], {}, finder=finder)[0]

    @spelled_out(Fields, GIVEN_DEFAULTS)
    def store_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        forget: str | Iterable[str] = (),
        on_similar: OnSimilar = "keep",
        similarity: float = 0.92,
        progress: Progress = None,
        **shared: Unpack[Fields],
    ) -> list[MemoryRecord]:
        """Remember all *items*, or none if an item is wrong; return the records as stored.

        An item is a content, or a mapping of arguments of ``store``. Fields beside *items* apply to
        items without the field. The same transaction forgets the records with ids in *forget*; an
        unknown id raises ``NotFoundError``. *on_similar* also compares the items among themselves.
        *progress*, see ``reembed``, tells of the embedding; an error there leaves nothing stored.
        """
        finder = self._duplicate_finder(on_similar, similarity)
        with telling(progress) as tell:
            return self._store_items(items, shared, fields.ids(forget), finder, tell=tell)

    def _store_items(
        self,
        items: Iterable[str | Mapping[str, Any]],
        shared: Mapping[str, Any],
        gone: Sequence[str] = (),
        finder: FinderMaker | None = None,
        check: Callable[[Transaction], None] | None = None,
        tell: Tell | None = None,
    ) -> list[MemoryRecord]:
        """Store *items*; see ``writing.store_many``. Every verb that stores items calls this."""
        return writing.store_many(self._engine, items, shared, gone, finder, check, tell)

    @spelled_out(Changes, {})
    def update(self, id: str, **changes: Unpack[Changes]) -> MemoryRecord:
        """Change the given fields of a live record, no others; return the record.

        An *id* without a live record raises ``NotFoundError``. An expired record accepts changes
        only together with a later ``expires_at``, and only until ``expire`` forgets the record.
        """
        return writing.update(self._engine, fields.identifier("id", id), changes)

    def forget(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> int:
        """Forget the records that satisfy every given criterion; return the number of records.

        Expired records are forgotten, too, but not counted. No criterion, or only a filter that
        every record passes, raises ``ValidationError``; an unknown id raises ``NotFoundError``.
        A *namespace* that the store never had, but that is part of a known namespace, logs a
        warning.
        """
        return self._take_away(writing.forget, ids, namespace, where)

    def restore(self, ids: str | Iterable[str]) -> int:
        """Bring forgotten records back; return the number of records that were forgotten.

        A record that was superseded is superseded again, unless the successor is forgotten or
        erased by now. Every other record is live, without an expiry in the past. A key that
        another live record has by now raises ``ValidationError``, an unknown id ``NotFoundError``.
        """
        return writing.bring_back(self._engine, fields.ids(ids), "forgotten", "restore")

    def erase(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> int:
        """Erase the records, in any state, that satisfy every criterion; return the number.

        No byte of any version of the texts, values, fields and vectors remains in the file, in the
        file's log, or in the copies of upgrades, which are removed. There is no way back. A
        tombstone stays: id, namespace, and the times of storing, accesses and erasing. Criteria are
        those of ``forget``. All pages are read at the end, so erase many records in one call.

        ``StoreBusyError`` means that another process kept reading an older state, ``StorageError``
        that the disk is full. No verb finds the records then, but bytes remain until the next
        ``erase`` or the next opening goes on.
        """
        return self._take_away(writing.erase, ids, namespace, where)

    def recall(
        self,
        query: str | None,
        *,
        k: int = 5,
        namespace: Scope = "default",
        mode: Mode = "hybrid",
        where: Where = None,
        min_score: float = 0.0,
        min_similarity: float = 0.0,
        min_share: float = 0.0,
        trusted: Collection[str | None] | None = None,
        now: fields.Time | None = None,
        touch: bool = True,
        vector: NamedVector | None = None,
        ranking: Ranking | None = None,
        as_of: When | None = None,
        approximate: bool = False,
    ) -> list[RecallResult]:
        """Return the *k* live memories of *namespace* most relevant to *query*, best first.

        A memory has to pass the filter *where*, and needs a similarity above *min_similarity* and a
        score of at least *min_score*. *min_share* in [0, 1] also drops the memories with
        less than this share of the best score, as 0.5 drops scores below half. *mode* "keyword"
        leaves out vectors and synonyms, "semantic" leaves out words. *trusted*, a list of sources,
        leaves out memories of every other source; None in the list stands for memories without a
        source. *vector*, a name and numbers, compares with the named vectors instead of the
        embedder's vectors; *query* may then be None. Age and expiry are judged at the time *now*.
        With *touch* the returned memories count as accessed. *ranking* replaces the store's ranking
        for one call. *as_of*, a moment as in ``as_of``, returns the memories and scores that the
        store would have returned at the moment. *now* is then the moment, and no access is counted.
        *approximate* asks the index of ``build_vector_index`` for candidates, for a semantic recall
        in one namespace without *where*; nothing is kept in memory.
        """
        request = self._request(
            query,
            k,
            as_of is None and touch,
            namespace=namespace,
            mode=mode,
            where=where,
            min_score=min_score,
            min_similarity=min_similarity,
            min_share=min_share,
            trusted=trusted,
            now=now,
            vector=vector,
        )
        answer_by = self._answerer(request, approximate, past=as_of is not None)
        return reading.recall(self._engine_at(as_of), self._ranking(ranking), request, answer_by)

    def touch(self, ids: str | Iterable[str]) -> None:
        """Count an access of each live record now, for a later write; pass over unknown ids."""
        reading.touch(self._engine, fields.ids(ids))

    def vectors(
        self, ids: str | Iterable[str], name: str | None = None
    ) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors called *name*, as given, by the id of each record with any.

        Without a name, the vectors that the embedder made of the texts.
        """
        backend, wanted = self._engine.backend, fields.ids(ids)
        called = EMBEDDED if name is None else fields.label("name", name)
        self._engine.check_open()
        rows = backend.rows_of(wanted)
        found = backend.vectors(list(rows.values()), called)
        return {id: found[row] for id, row in rows.items() if row in found}

    def dimension(self, name: str) -> int | None:
        """Return the length of the vectors called *name*, None if no record ever had any."""
        self._engine.check_open()
        return self._engine.backend.dimension(fields.label("name", name))

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._engine.closed

    def close(self) -> None:
        """Write pending accesses, save the index, release the file; closing twice is fine."""
        self._engine.close()

    def _take_away(
        self,
        verb: Callable[..., int],
        ids: str | Iterable[str] | None,
        namespace: Scope | None,
        where: Where,
    ) -> int:
        """Call ``writing.forget`` or ``writing.erase``; hint at a misspelt *namespace*."""
        name, scope = verb.__name__, None if namespace is None else check_scope(namespace)
        wanted, passing = None if ids is None else fields.ids(ids), parse(where)
        if wanted is None and scope is None and constant(passing):
            fields.fail(f"{name} needs ids, a namespace or a filter that is not empty")
        self._engine.flush_for(passing)
        count = verb(self._engine, wanted, scope, passing)
        if not count and (meant := similar_scopes(self._engine.backend, scope)):
            hint = " or ".join(map(repr, meant))
            _logger.warning("%s matched nothing in %r; did you mean %s?", name, scope, hint)
        return count

    def _duplicate_finder(self, on_similar: OnSimilar, similarity: float) -> FinderMaker | None:
        """Return the maker of the finder of near-duplicates; the kernel keeps them all."""
        fields.one_of("on_similar", on_similar, ("keep",))
        return None

    def _answerer(self, request: Request, approximate: bool, *, past: bool) -> Answerer:
        """Return the function that answers *request*."""
        if fields.boolean("approximate", approximate):
            fields.fail("the kernel has no approximate indexes")
        return reading.answered

    def _engine_at(self, as_of: When | None) -> Engine:
        """Return the engine to read from."""
        if as_of is not None:
            fields.fail("the kernel knows the present only")
        return self._engine

    def _request(
        self, query: str | None, k: int, touch: bool, /, **options: Unpack[RecallOptions]
    ) -> Request:
        """Return the checked arguments of a recall."""
        return recall_request(query, k, touch, **options)

    def _ranking(self, ranking: Ranking | None) -> Ranking:
        return self.ranking if ranking is None else checked_ranking(ranking)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a store cannot be copied or pickled; pass its location and open the file again, use "
            "one store in all threads, or copy the file with backup"
        )

    def __repr__(self) -> str:
        return f"MemoryStore({self.location!r})"


def check_store(store: StoreT) -> StoreT:
    """Return *store*; raise ``ValidationError`` for anything else, such as a path."""
    if isinstance(store, Memories):
        return store
    what = type(store).__name__
    fields.fail(f"store must be a MemoryStore, not {what}; MemoryStore(path) opens one")


StoreT = TypeVar("StoreT", bound=Memories)
