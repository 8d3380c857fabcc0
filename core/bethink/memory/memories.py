"""Memories: the kernel verbs, checked and passed on to writing, reading and history."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, TypedDict, TypeVar, Unpack, get_args

import numpy as np
import numpy.typing as npt

from ..embedders import Embedder, StaticEmbedder, embedder_for
from ..embedders import checked as checked_embedder
from ..index import MAX_RESIDENT
from ..model import fields
from ..model.fields import Changes, Fields
from ..model.filters import parse
from ..model.forks import opening, watch
from ..model.ids import IdFactory
from ..model.namespaces import EVERYWHERE, Scope, check_namespace, check_scope
from ..model.records import Listed, LogEntry, MemoryRecord, RecallResult, Snapshot, WhyNot
from ..model.replay import Moment
from ..storage import Anchor, open_backend
from . import history, reading, writing
from .engine import Engine, Transaction
from .history import Diff, Moments, Version, When
from .ranking import Ranking, WeightedSum
from .ranking import checked as checked_ranking
from .reading import Request
from .search import Mode
from .writing import DuplicateFinder, OnSimilar

Where = Mapping[str, Any] | None
NamedVector = tuple[str, Sequence[float] | npt.NDArray[np.floating[Any]]]


class RecallOptions(TypedDict, total=False):
    """The arguments that all three take; see ``MemoryStore.recall``."""

    namespace: Scope
    mode: Mode
    where: Where
    min_score: float
    min_similarity: float
    now: float | None
    vector: NamedVector | None


def recall_request(
    query: str | None,
    k: int,
    touch: bool,
    /,
    *,
    namespace: Scope = "default",
    mode: Mode = "hybrid",
    where: Where = None,
    min_score: float = 0.0,
    min_similarity: float = 0.0,
    now: float | None = None,
    vector: NamedVector | None = None,
    **unknown: object,
) -> Request:
    """Return the arguments of ``recall``, checked."""
    if unknown:
        fields.fail(f"unknown argument {next(iter(unknown))!r}")
    return Request(
        query=query if query is None else fields.text("query", query, fields.MAX_CONTENT),
        k=fields.integer("k", k, 0),
        scope=check_scope(namespace),
        mode=fields.one_of("mode", mode, ("hybrid", "keyword", "semantic")),
        where=parse(where),
        min_score=fields.number("min_score", min_score, -1e9, 1e9),
        min_similarity=fields.number("min_similarity", min_similarity, 0.0, 1.0),
        now=None if now is None else fields.timestamp("now", now),
        touch=touch,
        vector=None if vector is None else fields.named_vector(vector),
    )


class View:
    """What can be read of the records behind *engine* without looking for anything."""

    _engine: Engine

    def get(
        self, id: str | None = None, *, namespace: str = "default", key: str | None = None
    ) -> MemoryRecord | None:
        """Return the record with *id*, or the live one that holds *key*; None if there is none.

        A superseded or archived record is returned by its id, a forgotten or expired one is not.
        """
        if (id is None) == (key is None):
            fields.fail("get needs an id or a key, and not both")
        if key is not None:
            return reading.by_key(
                self._engine, check_namespace(namespace), fields.label("key", key)
            )
        return reading.by_id(self._engine, fields.identifier("id", id))

    def all(
        self,
        *,
        namespace: Scope = "default",
        where: Where = None,
        limit: int | None = None,
        offset: int = 0,
        order: Literal["oldest", "newest"] = "oldest",
        state: Listed = "live",
    ) -> list[MemoryRecord]:
        """Return the live records of *namespace* that pass *where*, in order of insertion.

        What has expired is not among them, here as in all that reads. With another *state* return
        those that are "superseded", "archived", "forgotten" or "expired" instead.
        """
        fields.one_of("order", order, ("oldest", "newest"))
        fields.one_of("state", state, get_args(Listed))
        return reading.listed(
            self._engine,
            check_scope(namespace),
            parse(where),
            fields.limit("limit", limit),
            fields.integer("offset", offset, 0),
            newest_first=order == "newest",
            state=state,
        )

    def count(self, *, namespace: Scope = "default", where: Where = None) -> int:
        """Count the live records of *namespace* that pass *where*."""
        return reading.count(self._engine, check_scope(namespace), parse(where))

    def namespaces(self, within: Scope = EVERYWHERE) -> dict[str, int]:
        """Return the namespaces that have live records and how many, sorted by name."""
        return reading.namespaces(self._engine, check_scope(within))


class Past(View):
    """The records of a store as they were right after journal entry ``seq``, at the time ``at``.

    A past is read only. Its records have the accesses that were written by then.
    """

    def __init__(self, engine: Engine, moment: Moment) -> None:
        self._engine = engine
        self.seq = moment.seq
        self.at = moment.at

    def __repr__(self) -> str:
        return f"Past(seq={self.seq}, at={self.at})"


class Memories(View):
    """The kernel of a store: everything but the features; see ``MemoryStore``."""

    _embedders: ClassVar[Sequence[Callable[[], Embedder]]] = (StaticEmbedder,)
    """Embedders that a file's own note of its embedder suffices to make."""

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
        anchor: str | os.PathLike[str] | Anchor | None = None,
    ) -> None:
        self.ranking: Ranking = WeightedSum() if ranking is None else checked_ranking(ranking)
        most = fields.limit("max_resident", max_resident)
        given = None if embedder is None else checked_embedder(embedder)
        make_id = fields.function("new_id", IdFactory(clock) if new_id is None else new_id)
        tell_time = fields.function("clock", clock)
        with opening:
            backend = open_backend(location, durability, integrity_key, anchor)
            try:
                chosen = embedder_for(backend.fact("embedder"), given, self._embedders)
                self._engine = Engine(backend, chosen, tell_time, make_id, most, self._guards)
                watch(self._engine)
            except BaseException:
                backend.close()
                raise
        self._moments = Moments(self._engine)
        self.location = backend.location
        self.embedder = chosen
        self.clock = self._engine.clock

    def store(
        self, content: str, *, on_similar: OnSimilar = "keep", **given: Unpack[Fields]
    ) -> MemoryRecord:
        """Remember *content*; the fields are those of ``fields.Common``, and the ``id``.

        Storing a ``key`` that a live record of the namespace holds supersedes that record, and so
        does naming a live record's id as ``supersedes`` (``NotFoundError`` if there is none).
        *content* may be empty only if a ``value`` is given. An ``id`` that exists raises
        ``ValidationError``.

        *on_similar* says what becomes of a memory that a live one of the namespace nearly repeats:
        it is kept beside it ("keep"), refused by ``SimilarMemoryError`` ("raise"), or merged into
        it ("merge"). The record that was there is then returned, with an access more and what the
        new one has besides, as ``consolidate`` would leave it, but with its own named vectors. What
        ``consolidate`` would keep apart is not similar.
        """
        items = [{**given, "content": content}]
        finder = self._duplicate_finder(on_similar)
        return writing.store_many(self._engine, items, {}, finder=finder)[0]

    def store_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        forget: str | Iterable[str] = (),
        on_similar: OnSimilar = "keep",
        **shared: Unpack[Fields],
    ) -> list[MemoryRecord]:
        """Remember all *items* or, if one is wrong, none; return each as it is when all are in.

        An item is a content or a mapping of ``store``'s arguments; *shared* fields hold for items
        without them. The records with the ids in *forget* are forgotten in the same transaction; an
        unknown one raises ``NotFoundError``. *on_similar* is as in ``store``, and counts among the
        items, too.
        """
        finder = self._duplicate_finder(on_similar)
        return writing.store_many(self._engine, items, shared, fields.ids(forget), finder)

    def update(self, id: str, **changes: Unpack[Changes]) -> MemoryRecord:
        """Change fields of a live record; the others, and its statistics, stay.

        An unknown or no longer live *id* raises ``NotFoundError``. To one that has expired all that
        can be given, until ``expire`` takes it, is a later ``expires_at``, with whatever else.
        """
        return writing.update(self._engine, fields.identifier("id", id), changes)

    def forget(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> int:
        """Forget the records that satisfy every given criterion; return how many.

        Those that have expired go, too, but do not count. With no criterion, or only a filter that
        anything passes, it raises ``ValidationError``, for an unknown id ``NotFoundError``.
        """
        scope = None if namespace is None else check_scope(namespace)
        return writing.forget(
            self._engine, None if ids is None else fields.ids(ids), scope, parse(where)
        )

    def restore(self, ids: str | Iterable[str]) -> int:
        """Bring forgotten records back; return how many were forgotten.

        One that was superseded is so again, unless its successor is forgotten or erased by now;
        all others are live. A live record whose key is held by another by now raises
        ``ValidationError``, an unknown id ``NotFoundError``. An expiry that has passed is lifted.
        """
        return writing.restore(self._engine, fields.ids(ids))

    def erase(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        namespace: Scope | None = None,
        where: Where = None,
    ) -> int:
        """Erase the records, in any state, that satisfy every given criterion; return how many.

        No byte of any version of their texts, values, fields and vectors remains in the file, its
        log or the copies that upgrades made, which are removed; there is no way back. What stays is
        a tombstone: id, namespace, and when it was stored, accessed and erased. The whole file is
        written anew, so erase at once what is to go. Criteria are those of ``forget``.

        ``StoreBusyError`` says that another process kept reading an older state, ``StorageError``
        that the disk is full: nothing finds the records any more, but bytes are left until the next
        ``erase`` or opening goes on.
        """
        scope = None if namespace is None else check_scope(namespace)
        return writing.erase(
            self._engine, None if ids is None else fields.ids(ids), scope, parse(where)
        )

    def expire(self) -> int:
        """Forget what has expired; return how many records that were.

        Expired records are hidden as they are. This takes them out of the statistics of words, and
        of ``recall`` with an earlier ``now``.
        """
        return writing.expire(self._engine)

    def archive(self, ids: str | Iterable[str]) -> int:
        """Hide live records from ``recall`` and ``all`` without forgetting them.

        Return how many were live; an unknown id raises ``NotFoundError``.
        """
        return writing.archive(self._engine, fields.ids(ids))

    def unarchive(self, ids: str | Iterable[str]) -> int:
        """Bring archived records back as ``restore`` does forgotten ones; return how many."""
        return writing.unarchive(self._engine, fields.ids(ids))

    def reinforce(self, id: str, amount: float = 0.1) -> MemoryRecord:
        """Raise a live record's importance by *amount*, to at most 1; that counts as an access.

        *amount* lies in [0, 1]. An unknown, expired or no longer live *id* raises
        ``NotFoundError``.
        """
        raised = fields.number("amount", amount, 0.0, 1.0)
        return writing.reinforce(self._engine, fields.identifier("id", id), raised)

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
        now: float | None = None,
        touch: bool = True,
        vector: NamedVector | None = None,
        ranking: Ranking | None = None,
        as_of: When | None = None,
    ) -> list[RecallResult]:
        """Return the *k* live memories most relevant to *query*, best first, ties by id.

        Only memories with similarity above *min_similarity* and a score of at least *min_score* are
        returned, so an unrelated query returns none. *mode* "keyword" leaves out vectors and
        synonyms, "semantic" words. *vector*, a name and numbers, compares with named vectors
        instead of the embedder's; *query* may then be None. *now* (Unix seconds) is the moment that
        age and expiry are judged at. With *touch* the returned memories count as accessed.
        *ranking* replaces the store's for this call.

        *as_of*, a moment as in ``as_of``, asks the store as it was then: the same memories with the
        same scores as it would have returned. *now* is then that moment, and nothing is touched.
        """
        request = recall_request(
            query,
            k,
            touch and as_of is None,
            namespace=namespace,
            mode=mode,
            where=where,
            min_score=min_score,
            min_similarity=min_similarity,
            now=now,
            vector=vector,
        )
        return reading.recall(self._engine_at(as_of), self._ranking(ranking), request)

    def why_not(
        self,
        id: str,
        query: str | None,
        *,
        k: int = 5,
        ranking: Ranking | None = None,
        as_of: When | None = None,
        **options: Unpack[RecallOptions],
    ) -> WhyNot:
        """Tell what keeps the record with *id* out of the answer of ``recall``, and its rank.

        The arguments are those of ``recall``; nothing counts as accessed. An *id* that is unknown
        is a reason, too, and not an error.
        """
        request = recall_request(query, k, False, **options)
        name = fields.identifier("id", id)
        return reading.why_not(self._engine_at(as_of), self._ranking(ranking), name, request)

    def touch(self, ids: str | Iterable[str]) -> None:
        """Count an access now of each of the records that is live; a later write takes it along."""
        reading.touch(self._engine, fields.ids(ids))

    def vectors(self, ids: str | Iterable[str], name: str) -> dict[str, npt.NDArray[np.float32]]:
        """Return the vectors called *name* as they were given, by id of the records with one."""
        return reading.vectors(self._engine, fields.ids(ids), fields.label("name", name))

    def dimension(self, name: str) -> int | None:
        """Return how many numbers the vectors called *name* have, None if there never was one."""
        self._engine.check_open()
        return self._engine.backend.dimension(fields.label("name", name))

    def log(
        self,
        *,
        limit: int | None = 100,
        id: str | None = None,
        namespace: Scope | None = None,
        since: int = 0,
    ) -> list[LogEntry]:
        """Return the journal, newest first: of a record, of a namespace, after entry *since*.

        Entries "touch" and "snapshot" are of no one record: their ``id`` and ``namespace`` are
        None.
        """
        self._engine.check_open()
        scope = None if namespace is None else check_scope(namespace)
        most = fields.limit("limit", limit)
        of = None if id is None else fields.identifier("id", id)
        return self._engine.backend.log(most, of, scope, fields.integer("since", since, 0))

    def snapshot(self, name: str) -> Snapshot:
        """Name the present, so that it can be asked for later; a name that is taken is refused.

        The journal gets an entry "snapshot" right after the moment that is named.
        """
        return self._moments.take(fields.label("name", name))

    def snapshots(self) -> list[Snapshot]:
        """Return the snapshots, oldest first."""
        return self._moments.all()

    def diff(self, since: When, until: When | None = None, *, namespace: Scope = "default") -> Diff:
        """Return which live records of *namespace* came, changed or went between two moments.

        *until* None is the present. With *until* before *since* it tells the way back. Accesses
        alone are no change.
        """
        first, scope = self._moments.find(since), check_scope(namespace)
        last = self._moments.now() if until is None else self._moments.find(until)
        return history.diff(self._engine.backend, first, last, scope)

    def audit(
        self, key: str, *, namespace: str = "default", as_of: When | None = None
    ) -> list[Version]:
        """Return every value the fact *key* ever had, when, and what replaced it, oldest first.

        With *as_of*, a moment as in ``as_of``, return what was known of it then.
        """
        place, name = check_namespace(namespace), fields.label("key", key)
        known = self._moments.now() if as_of is None else self._moments.find(as_of)
        return history.audit(self._engine.backend, place, name, known.seq)

    def close(self) -> None:
        """Write what is pending and release the file; closing twice is fine."""
        self._engine.close()

    def _duplicate_finder(self, on_similar: OnSimilar) -> DuplicateFinder | None:
        """Return the finder of near-duplicates of new records; the kernel keeps them all."""
        fields.one_of("on_similar", on_similar, ("keep",))
        return None

    def _engine_at(self, as_of: When | None) -> Engine:
        return self._engine if as_of is None else self._moments.engine(self._moments.find(as_of))

    def _ranking(self, ranking: Ranking | None) -> Ranking:
        return self.ranking if ranking is None else checked_ranking(ranking)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryStore({self.location!r})"


def check_store(store: StoreT) -> StoreT:
    """Return *store*; raise ``ValidationError`` if it is none, such as the path of one."""
    if isinstance(store, Memories):
        return store
    what = type(store).__name__
    fields.fail(f"store must be a MemoryStore, not {what}; MemoryStore(path) opens one")


StoreT = TypeVar("StoreT", bound=Memories)
