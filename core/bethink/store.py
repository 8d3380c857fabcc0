"""MemoryStore: the one façade. It checks arguments and forwards; the work is done elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, Unpack

import numpy as np
import numpy.typing as npt

from . import asking, exchange, fields, history
from .asking import Asked, NamedVector
from .backends import open_backend
from .backends.anchors import Anchor
from .conflicts import Conflict, Tier
from .embedders import Embedder, embedder_for
from .embedders import checked as checked_embedder
from .engine import Engine
from .fields import Changes, Fields
from .filters import parse
from .forks import opening, watch
from .history import Diff, Moments, Past, Version, When
from .ids import IdFactory
from .index import MAX_RESIDENT
from .integrity import repair, verify
from .namespaces import EVERYWHERE, Scope, check_namespace, check_scope
from .packing import Budget, Packed, TokenCounter
from .ranking import Ranking, WeightedSum
from .ranking import checked as checked_ranking
from .recall import Mode
from .records import (
    Integrity,
    LogEntry,
    MemoryRecord,
    RecallResult,
    Repair,
    Snapshot,
    WhyNot,
)
from .verbs import (
    consolidation,
    contradictions,
    erasure,
    joining,
    lifecycle,
    links,
    outcomes,
    reading,
)
from .verbs.consolidation import Consolidated
from .verbs.contradictions import TIERS
from .verbs.joining import Merged
from .verbs.lifecycle import ON_SIMILAR, OnSimilar
from .verbs.outcomes import OutcomeEntry, Verdict
from .view import View, Where


class MemoryStore(View):
    """The memories at *location*: ":memory:", a path, or a URL such as ``sqlite:///agent.db``.

    *embedder* defaults to the one the file was made with, if bethink can build it, else to the
    default one. *ranking* turns signals into scores. *clock* gives Unix seconds. With *durability*
    "full" an acknowledged write survives a power cut, with "normal" only a crash of the process.
    *new_id* makes ids. What recall holds in memory takes about *max_resident* bytes at most (None:
    any number): beyond that the scope recalled longest ago goes, and is read again on its next
    recall. The scope in use stays, even if it alone takes more.

    With an *integrity_key*, secret bytes, everything written carries a code that only the key can
    make, and what was changed by somebody else raises ``TamperedError`` instead of being returned.
    *anchor*, a path out of reach of whoever can change the store's file, or an ``Anchor``, keeps
    the last journal position: a file put back to an earlier state is refused. The key belongs to
    the file from the start; another or none raises ``IntegrityKeyError``.

    A store may be used from many threads and its file by many processes. After ``close`` every verb
    raises ``StoreClosedError``; a wrong argument raises ``ValidationError`` before anything is
    written.
    """

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
                chosen = embedder_for(backend.fact("embedder"), given)
                self._engine = Engine(backend, chosen, tell_time, make_id, most)
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
        chosen = fields.one_of("on_similar", on_similar, ON_SIMILAR)
        return lifecycle.store_many(self._engine, items, {}, on_similar=chosen)[0]

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
        chosen = fields.one_of("on_similar", on_similar, ON_SIMILAR)
        return lifecycle.store_many(self._engine, items, shared, fields.ids(forget), chosen)

    def update(self, id: str, **changes: Unpack[Changes]) -> MemoryRecord:
        """Change fields of a live record; the others, and its statistics, stay.

        An unknown or no longer live *id* raises ``NotFoundError``. To one that has expired all that
        can be given, until ``expire`` takes it, is a later ``expires_at``, with whatever else.
        """
        return lifecycle.update(self._engine, fields.identifier("id", id), changes)

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
        return lifecycle.forget(
            self._engine, None if ids is None else fields.ids(ids), scope, parse(where)
        )

    def restore(self, ids: str | Iterable[str]) -> int:
        """Bring forgotten records back; return how many were forgotten.

        One that was superseded is so again, unless its successor is forgotten or erased by now;
        all others are live. A live record whose key is held by another by now raises
        ``ValidationError``, an unknown id ``NotFoundError``. An expiry that has passed is lifted.
        """
        return lifecycle.restore(self._engine, fields.ids(ids))

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
        return erasure.erase(
            self._engine, None if ids is None else fields.ids(ids), scope, parse(where)
        )

    def expire(self) -> int:
        """Forget what has expired; return how many records that were.

        Expired records are hidden as they are. This takes them out of the statistics of words, and
        of ``recall`` with an earlier ``now``.
        """
        return lifecycle.expire(self._engine)

    def archive(self, ids: str | Iterable[str]) -> int:
        """Hide live records from ``recall`` and ``all`` without forgetting them.

        Return how many were live; an unknown id raises ``NotFoundError``.
        """
        return lifecycle.archive(self._engine, fields.ids(ids))

    def unarchive(self, ids: str | Iterable[str]) -> int:
        """Bring archived records back as ``restore`` does forgotten ones; return how many."""
        return lifecycle.unarchive(self._engine, fields.ids(ids))

    def reinforce(self, id: str, amount: float = 0.1) -> MemoryRecord:
        """Raise a live record's importance by *amount*, to at most 1; that counts as an access.

        *amount* lies in [0, 1]. An unknown, expired or no longer live *id* raises
        ``NotFoundError``.
        """
        raised = fields.number("amount", amount, 0.0, 1.0)
        return lifecycle.reinforce(self._engine, fields.identifier("id", id), raised)

    def record_outcome(self, id: str, outcome: Verdict, session: str | None = None) -> MemoryRecord:
        """Say that following a memory "worked" (+0.2), "failed" (-0.3) or was "partial" (+0.05).

        That moves its ``outcome``, within [-1, 1]; below -0.5 it is archived until it is back at
        -0.5. The fourth failure that a *session* reports within an hour raises ``RateLimitError``,
        from whichever process; all that name no session share one. An *id* that ``get`` does not
        return raises ``NotFoundError``.
        """
        verdict = fields.one_of("outcome", outcome, outcomes.VERDICTS)
        named = None if session is None else fields.label("session", session)
        return outcomes.record_outcome(self._engine, fields.identifier("id", id), verdict, named)

    def mark_useful(self, ids: str | Iterable[str]) -> list[MemoryRecord]:
        """Say that memories were of use: +0.1 to the outcome of each, to 0.5 at most."""
        return outcomes.mark(self._engine, fields.ids(ids), useful=True)

    def mark_useless(self, ids: str | Iterable[str]) -> list[MemoryRecord]:
        """Say that memories were of no use: -0.1 to the outcome of each, to -0.5 at least.

        So marks alone never archive, and there is no limit to them.
        """
        return outcomes.mark(self._engine, fields.ids(ids), useful=False)

    def outcomes(self, id: str) -> list[OutcomeEntry]:
        """Return how a record's outcome came about, oldest first, whatever its state.

        An unknown *id* raises ``NotFoundError``; of an erased record nothing is left to tell.
        """
        return outcomes.history(self._engine, fields.identifier("id", id))

    def drift(self) -> int:
        """Bring outcomes of memories unused for 30 days back to 0; return how many that were.

        Unused is what was neither recalled nor judged nor changed. What a low outcome had archived
        is live again. Recording outcomes and marking does this, too, once a day; recall never does.
        """
        return outcomes.drift(self._engine)

    def relate(self, source: str, target: str, kind: str) -> bool:
        """Link one live record to another, such as "fixes" or "contradicts"; tell if that is new.

        *kind* is a label of yours. The records need not share a namespace, nor do they change.
        Forgetting either end hides the link until it is restored, erasing it ends it for good. An
        id that is unknown or no longer live raises ``NotFoundError``.
        """
        ends = fields.identifier("id", source), fields.identifier("id", target)
        return links.relate(self._engine, *ends, links.checked_kind(kind))

    def unrelate(self, source: str, target: str, kind: str) -> bool:
        """Take such a link back; tell whether there was one."""
        ends = fields.identifier("id", source), fields.identifier("id", target)
        return links.unrelate(self._engine, *ends, links.checked_kind(kind))

    def conflicts(
        self,
        query: str | None = None,
        *,
        namespace: Scope = "default",
        where: Where = None,
        k: int = 50,
        min_tier: Tier = "possible",
        limit: int | None = None,
        as_of: When | None = None,
    ) -> list[Conflict]:
        """Return the pairs of live memories that hardly both hold, for you to judge.

        With a *query* they are sought among its *k* most relevant memories, else in the whole
        scope. "likely" ones come before "possible" ones, then the more similar first. Each memory
        is held against the 32 of its namespace that share the most telling words with it. With
        *as_of* they are those of that moment.
        """
        tier, most = fields.one_of("min_tier", min_tier, TIERS), fields.limit("limit", limit)
        k, engine = fields.integer("k", k, 0), self._engine_at(as_of)
        if query is None:
            records = reading.listed(
                engine, check_scope(namespace), parse(where), None, 0, newest_first=False
            )
        else:
            found = self.recall(
                query, k=k, namespace=namespace, where=where, touch=False, as_of=as_of
            )
            records = [result.memory for result in found]
        return contradictions.conflicts(engine, records, tier, most)

    def resolve(self, keep: str, drop: str | Iterable[str], reason: str | None = None) -> int:
        """Settle a conflict: the memory *keep* supersedes those to *drop*; return how many.

        The log has the *reason*, and ``undo`` of its entry takes it back. An id that is unknown or
        no longer live raises ``NotFoundError``.
        """
        why = None if reason is None else fields.text("reason", reason, fields.MAX_CONTENT)
        return contradictions.resolve(
            self._engine, fields.identifier("id", keep), fields.ids(drop), why
        )

    def consolidate(
        self, *, namespace: Scope = "default", where: Where = None
    ) -> list[Consolidated]:
        """Merge memories that nearly repeat each other; return what was merged.

        Of each group the memory that says most stays, of equals the oldest, with all tags and
        metadata (the later counts), the highest importance and confidence, and the sum of accesses
        and outcomes. It supersedes the others, and ``undo`` of its entry "merge" brings them back.
        What differs in a number, a date, a denial, a key, a value, an author or the day it happened
        stays apart, and so do turns of a conversation (records with a ``thread``).
        """
        return consolidation.consolidate(self._engine, check_scope(namespace), parse(where))

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
        request = asking.request(
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
        **asked: Unpack[Asked],
    ) -> WhyNot:
        """Tell what keeps the record with *id* out of the answer of ``recall``, and its rank.

        The arguments are those of ``recall``; nothing counts as accessed. An *id* that is unknown
        is a reason, too, and not an error.
        """
        request = asking.request(query, k, False, **asked)
        name = fields.identifier("id", id)
        return reading.why_not(self._engine_at(as_of), self._ranking(ranking), name, request)

    def pack(
        self,
        query: str | None,
        *,
        budget_tokens: int = 800,
        count_tokens: TokenCounter | None = None,
        k: int = 100,
        touch: bool = True,
        ranking: Ranking | None = None,
        as_of: When | None = None,
        **asked: Unpack[Asked],
    ) -> Packed:
        """Recall *k* memories and put the best of them into one block of text for a prompt.

        The block as a whole has at most *budget_tokens*, as *count_tokens* counts them (default:
        ``estimate_tokens``); within that its memories have the greatest sum of scores. The best
        memory that fits is in it, what only repeats another is not. The text is fenced, so that a
        memory cannot pass for an instruction. With *touch* the memories in it count as accessed;
        the other arguments are those of ``recall``.
        """
        budget = Budget(budget_tokens, count_tokens)
        request = asking.request(query, k, touch and as_of is None, **asked)
        return reading.pack(self._engine_at(as_of), self._ranking(ranking), request, budget)

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

    def as_of(self, when: When) -> Past:
        """Return what the store held at a moment, to be read.

        *when* is a snapshot or its name, a journal entry or its number (right after it), or a time:
        a float or an aware datetime, for the last entry in the journal's order made by then.
        Accesses count from when they were written, which a snapshot sees to. An unknown name raises
        ``NotFoundError``.
        """
        moment = self._moments.find(when)
        return Past(self._moments.engine(moment), moment)

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

    def export(
        self, target: exchange.Target, *, namespace: Scope = EVERYWHERE, where: Where = None
    ) -> int:
        """Write all records, in any state, and all that led to them, as lines of JSON.

        *target* is a path, where the file appears at once and for its owner only, or a file open
        for writing. With *namespace* or *where* it is what the store would be had it never held
        other records than those that are there and pass. Return how many records that were.
        """
        return exchange.dump(self._engine, target, check_scope(namespace), parse(where))

    def import_(self, source: exchange.Source, *, max_line: int = exchange.LONGEST_LINE) -> Merged:
        """Take in what ``export`` wrote, from a path or a file open for reading; all or nothing.

        An empty store becomes what was exported, with its past. One that holds anything merges in
        the records, as ``merge_from`` does, and not their past. What another embedder made is made
        anew. Another file raises ``NotABethinkFileError``, a damaged one ``CorruptStoreError``,
        which names the line; so does a line of more than *max_line* bytes.
        """
        return exchange.load(self._engine, source, fields.integer("max_line", max_line, 1))

    def merge_from(self, other: MemoryStore | str | os.PathLike[str]) -> Merged:
        """Bring in what another store, open or in a file, holds: all of it or nothing.

        Records come with their ids, times and statistics, be they live, archived or superseded. The
        same id with the same text is one record: the later change of it counts, and the higher
        number of accesses, but namespace, key and state stay those it has here, unless it has been
        superseded there. The same id with another text is kept under a new one. Of two records that
        say nearly the same (see ``store``'s *on_similar*) the fuller, else the one that was here,
        absorbs and supersedes the other; of two facts with one key, and of two texts in ``Files``
        with one path, the one that occurred or came to say something else later supersedes the
        other. Merging again adds nothing. Vectors of another embedder are made anew.
        """
        return joining.merge_from(
            self._engine, other._engine if isinstance(other, MemoryStore) else other
        )

    def undo(self, entry: int | LogEntry) -> MemoryRecord:
        """Take back the mutation of journal *entry*, by a new entry; return its record.

        An entry is given itself or by its number. Undoing the storing of a fact gives the fact back
        to the record it was taken from. An entry whose work a later one changed raises
        ``ValidationError``, as do touches, snapshots and erasures, an unknown one
        ``NotFoundError``.
        """
        seq = entry.seq if isinstance(entry, LogEntry) else entry
        return history.undo(self._engine, fields.integer("entry", seq, 1))

    def verify(self) -> Integrity:
        """Check everything the file holds and name what is damaged; nothing is changed.

        Pages and tables, the journal's chain, every record against what the journal tells of it,
        vectors, links, snapshots, the saved index; with an integrity key all codes and the anchor.
        """
        return verify(self._engine)

    def repair(self) -> Repair:
        """Make indexes and the embedder's vectors again, if ``verify`` finds any damaged.

        Texts, fields, the journal and your own named vectors are left as they are: the report tells
        what was mended and what could not be.
        """
        return repair(self._engine)

    def close(self) -> None:
        """Write what is pending and release the file; closing twice is fine."""
        self._engine.close()

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


def check_store(store: object) -> MemoryStore:
    """Return *store*; raise ``ValidationError`` if it is none, such as the path of one."""
    if isinstance(store, MemoryStore):
        return store
    what = type(store).__name__
    fields.fail(f"store must be a MemoryStore, not {what}; MemoryStore(path) opens one")
