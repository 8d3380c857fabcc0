"""The tools over an open store: each method takes checked arguments and returns an ``Answer``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from bethink import (
    MemoryRecord,
    MemoryStore,
    NotFoundError,
    SimilarMemoryError,
    Subtree,
    ValidationError,
)
from bethink.adapting import Verdict, covers

from .answers import Answer, as_json, brief, got, recalled, shown, within

Arguments = Mapping[str, Any]
Records = list[MemoryRecord]
Ids = list[str]
Listed = Literal["archived", "forgotten"]
_MARKS = ("useful", "useless")


class Calls:
    """The tools on *store*; a fixed *namespace* hides everything outside of the namespace."""

    def __init__(self, store: MemoryStore, namespace: str | None = None) -> None:
        self._memories = store
        self._fixed = namespace

    def call(self, tool: str, arguments: Arguments) -> Answer:
        """Return the answer of ``memory_<tool>`` to *arguments* that fit the tool's schema."""
        answer: Answer = getattr(self, tool)(**arguments)
        return answer

    def recall(
        self,
        query: str,
        k: int = 8,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        as_of: str | None = None,
        budget_tokens: int = 2_000,
    ) -> Answer:
        """Search; answer as many hits as fit into *budget_tokens*."""
        hits = self._memories.recall(
            query, k=k, namespace=self._scope(namespace), where=where, as_of=as_of
        )
        return recalled(hits, budget_tokens)

    def context(
        self, query: str = "", namespace: str | None = None, budget_tokens: int = 800
    ) -> Answer:
        """Pack memories into one block."""
        packed = self._memories.pack(
            query, budget_tokens=budget_tokens, namespace=self._scope(namespace)
        )
        ids = [hit.memory.id for hit in packed.results]
        data = {"text": packed.text, "tokens": packed.tokens, "ids": ids}
        return Answer(packed.text or "Nothing is remembered that helps.", data)

    def store(self, content: str, on_similar: str = "ask", **fields: Any) -> Answer:
        """Store a text, or show the memory that says nearly the same."""
        fields["namespace"] = self._place(fields.get("namespace"))
        if fields.get("supersedes"):
            self._one(fields["supersedes"])
        status = "created"
        try:
            record = self._memories.store(
                content, on_similar="keep" if on_similar == "keep" else "raise", **fields
            )
        except SimilarMemoryError as error:
            if on_similar == "ask":
                text = (
                    f"Not stored: a memory says nearly the same. {brief(error.record)}\n"
                    "Use memory_update to correct it, or store again with on_similar 'keep'."
                )
                return Answer(text, {"status": "similar", "memory": shown(error.record)})
            record, status = self._memories.store(content, on_similar="merge", **fields), "merged"
        return Answer(
            f"Memory {status}: id {record.id}.", {"status": status, "memory": shown(record)}
        )

    def get(
        self, ids: Iterable[str] = (), key: str | None = None, namespace: str | None = None
    ) -> Answer:
        """Return whole memories."""
        if not ids and key is None:
            raise ValidationError("memory_get needs ids or a key")
        records, missing = self._known(ids)
        if key is not None:
            record = self._memories.get(namespace=self._place(namespace), key=key)
            if record is None:
                missing.append(f"key {key}")
            else:
                records.append(record)
        return got(records, missing)

    def update(self, id: str, **changes: Any) -> Answer:
        """Change the given fields of a memory."""
        if not changes:
            raise ValidationError("memory_update needs a field to change")
        record = self._memories.update(self._one(id).id, **changes)
        return Answer(f"Updated. {brief(record)}", {"memory": shown(record)})

    def forget(self, ids: Iterable[str], reason: str | None = None) -> Answer:
        """Forget memories; *reason* is for the reader of the transcript."""
        records, missing = self._known(ids)
        forgotten = self._memories.forget([each.id for each in records]) if records else 0
        lines = [f"Forgot {forgotten}; memory_restore or `bethink restore` brings them back."]
        lines += [f"No memory has the id {each}." for each in missing]
        return Answer("\n".join(lines), {"forgotten": forgotten, "missing": missing})

    def outcome(self, ids: Iterable[str], outcome: str, session: str | None = None) -> Answer:
        """Record a verdict or a mark for each memory."""
        own = [self._one(each).id for each in ids]
        if outcome in _MARKS:
            mark = (
                self._memories.mark_useful if outcome == "useful" else self._memories.mark_useless
            )
            records = mark(own)
        else:
            verdict = cast("Verdict", outcome)
            records = [self._memories.record_outcome(each, verdict, session) for each in own]
        lines = [
            f"Outcome now {each.outcome:+.2f} ({each.state}): {brief(each)}" for each in records
        ]
        return Answer("\n".join(lines), {"memories": [shown(each) for each in records]})

    def conflicts(
        self,
        query: str | None = None,
        namespace: str | None = None,
        min_tier: Literal["likely", "possible"] = "likely",
        limit: int = 5,
    ) -> Answer:
        """Return pairs that can hardly both hold."""
        found = self._memories.conflicts(
            query or None,
            namespace=self._scope(namespace),
            min_tier=min_tier,
            limit=limit,
        )
        lines = [
            f"{each.tier}:\n  older {brief(each.older)}\n  newer {brief(each.newer)}"
            for each in found
        ]
        data = [
            {
                "tier": each.tier,
                "similarity": round(each.similarity, 4),
                "older": shown(each.older),
                "newer": shown(each.newer),
            }
            for each in found
        ]
        return Answer("\n".join(lines) or "No conflicts.", {"conflicts": data})

    def resolve(self, keep: str, drop: str, reason: str | None = None) -> Answer:
        """Let *keep* supersede *drop*."""
        count = self._memories.resolve(self._one(keep).id, self._one(drop).id, reason)
        return Answer(f"Resolved: {keep} stays, {drop} is superseded.", {"resolved": count})

    def list(
        self,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Answer:
        """Return a page of memories, newest first."""
        scope = self._scope(namespace)
        total = self._memories.count(namespace=scope, where=where)
        records = self._memories.all(
            namespace=scope, where=where, limit=limit, offset=offset, order="newest"
        )
        lines, data, _ = within(2_000, records, [None] * len(records))
        end = offset + len(data)
        lines.append(f"({end} of {total}" + (f"; next offset {end})" if end < total else ")"))
        return Answer("\n".join(lines), {"memories": data, "total": total})

    def history(
        self,
        id: str | None = None,
        key: str | None = None,
        namespace: str | None = None,
        limit: int = 20,
    ) -> Answer:
        """Return the versions of a key, or entries of the journal."""
        if key is not None:
            versions = self._memories.audit(key, namespace=self._place(namespace))[-limit:]
            entries = [each.to_dict() for each in versions]
            lines = [f"entry {each.seq}: {each.content[:200]}" for each in versions]
        else:
            if id is not None:
                self._one(id)
            log = self._memories.log(limit=limit, id=id, namespace=self._scope(namespace))
            entries = [each.to_dict() for each in log]
            lines = [f"entry {each.seq}: {each.action} {each.id or ''}" for each in log]
        return Answer("\n".join(lines) or "No history.", {"entries": entries})

    def relate(self, source: str, target: str, kind: str, remove: bool = False) -> Answer:
        """Link two memories, or remove the link."""
        verb = self._memories.unrelate if remove else self._memories.relate
        changed = verb(self._one(source).id, self._one(target).id, kind)
        text = ("Unlinked." if remove else "Linked.") if changed else "Nothing to change."
        return Answer(text, {"changed": changed})

    def restore(self, ids: Iterable[str] = (), entry: int | None = None) -> Answer:
        """Bring memories back, or undo a journal entry."""
        if not ids and entry is None:
            raise ValidationError("memory_restore needs ids or an entry")
        count = 0
        if entry is not None:
            since = self._memories.log(limit=None, since=entry - 1, namespace=self._scope(None))
            if not since or since[-1].seq != entry:
                raise NotFoundError("journal entry", str(entry))
            self._memories.undo(entry)
            count += 1
        if ids:
            count += self._memories.unarchive(self._in_state("archived", ids))
            count += self._memories.restore(self._in_state("forgotten", ids))
        return Answer(f"Restored {count}.", {"restored": count})

    def resource(self, uri: str) -> tuple[str, str]:
        """Return the text and the MIME type of a resource; raise ``LookupError`` for others."""
        if uri == "bethink://stats":
            return as_json(self._memories.stats().to_dict()), "application/json"
        if uri == "bethink://recent":
            newest = self._memories.all(namespace=self._scope(None), limit=20, order="newest")
            return "\n".join(map(brief, newest)), "text/plain"
        if not uri.startswith("bethink://memory/"):
            raise LookupError(uri)
        record = self._one(uri.removeprefix("bethink://memory/"))
        return as_json(record.to_dict()), "application/json"

    def close(self) -> None:
        """Close the store."""
        self._memories.close()

    def _place(self, namespace: str | None) -> str:
        """Return the namespace to write to."""
        return self._fixed or namespace or "default"

    def _scope(self, namespace: str | None) -> Subtree:
        """Return the scope to read: a namespace with everything below."""
        return Subtree(self._place(namespace))

    def _known(self, ids: Iterable[str]) -> tuple[Records, Ids]:
        """Return the visible records with *ids*, and the ids without such a record."""
        records, missing = [], []
        for each in dict.fromkeys(ids):
            record = self._memories.get(each)
            if record is None or not self._visible(record):
                missing.append(each)
            else:
                records.append(record)
        return records, missing

    def _in_state(self, state: Listed, ids: Iterable[str]) -> Sequence[str]:
        """Return those of *ids* that belong to records in *state*."""
        found = self._memories.all(
            namespace=self._scope(None), where={"id": {"$in": list(ids)}}, state=state
        )
        return [each.id for each in found]

    def _one(self, id: str) -> MemoryRecord:
        """Return the visible record with *id*, or raise ``NotFoundError``."""
        records, _ = self._known([id])
        if not records:
            raise NotFoundError("memory", id)
        return records[0]

    def _visible(self, record: MemoryRecord) -> bool:
        return self._fixed is None or covers(Subtree(self._fixed), record.namespace)
