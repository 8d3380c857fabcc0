"""The tools over an open store: each method takes checked arguments and returns an ``Answer``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any, Literal

from bethink import SimilarMemoryError
from bethink.adapting import Mode, Scope

from ..shared.defaults import DEFAULT_BUDGET_TOKENS
from ..surface.verbs import Judgement, elsewhere, judge, with_key
from .advice import check_place, no_key, not_found
from .answers import (
    ANSWER_TOKENS,
    Answer,
    Page,
    brief,
    clipped,
    cut,
    got,
    recalled,
    sketch,
    tokens,
)
from .schema import ArgumentError
from .view import View

Arguments = Mapping[str, Any]


class Calls:
    """The tools on the store of *view*; with *touch*, memories that a tool returns are accessed."""

    def __init__(self, view: View, *, touch: bool = True) -> None:
        self._view = view
        self._memories = view.store
        self._touch = touch

    def call(self, tool: str, arguments: Arguments) -> Answer:
        """Return the answer of ``memory_<tool>`` to *arguments* that fit the tool's schema."""
        check_place(arguments.get("namespace"))
        answer: Answer = getattr(self, tool)(**arguments)
        return answer

    def recall(
        self,
        query: str,
        k: int = 8,
        namespace: str | None = None,
        mode: Mode = "hybrid",
        where: Mapping[str, Any] | None = None,
        as_of: str | None = None,
        budget_tokens: int = 2_000,
    ) -> Answer:
        """Search; answer as many hits as fit into *budget_tokens*."""
        scope = self._view.within(namespace)
        hits = self._memories.recall(
            query,
            k=k,
            namespace=scope,
            mode=mode,
            where=where,
            as_of=as_of,
            touch=self._touch,
        )
        return recalled(hits, budget_tokens, "" if hits else self._elsewhere(scope))

    def _elsewhere(self, scope: Scope) -> str:
        """Return a sentence about where memories are if *scope* holds none; else no text."""
        others = elsewhere(self._memories, scope, self._view.seen)
        return f" The namespace is empty; memories are in {others}." if others else ""

    def context(
        self,
        query: str = "",
        namespace: str | None = None,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
    ) -> Answer:
        """Pack memories into one block."""
        room, scope = budget_tokens, self._view.within(namespace)
        while True:
            packed = self._memories.pack(
                query,
                budget_tokens=max(room, 1),
                namespace=scope,
                touch=self._touch,
            )
            ids = [hit.memory.id for hit in packed.results]
            data = {"text": packed.text, "tokens": packed.tokens, "ids": ids}
            excess = tokens(data) - budget_tokens
            if excess <= 0 or not ids:
                none = "" if packed.text else self._elsewhere(scope)
                empty = cut(f"Nothing is remembered that helps.{none}", budget_tokens)
                return Answer(packed.text or empty, data)
            room -= max(1, ceil(excess))

    def store(self, content: str, on_similar: str = "ask", **fields: Any) -> Answer:
        """Store a text, or show the memory that says nearly the same."""
        fields["namespace"] = self._view.place(fields.get("namespace"))
        if fields.get("supersedes"):
            self._view.one(fields["supersedes"])
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
                return Answer(text, {"status": "similar", "memory": sketch(error.record)})
            record, status = self._memories.store(content, on_similar="merge", **fields), "merged"
        return Answer(
            f"Memory {status}: id {record.id}.", {"status": status, "memory": sketch(record)}
        )

    def get(
        self, ids: Iterable[str] = (), key: str | None = None, namespace: str | None = None
    ) -> Answer:
        """Return whole memories."""
        if not ids and key is None:
            raise ArgumentError("give memory_get ids or a key")
        records, missing = self._view.find(ids)
        told = not_found(missing)
        if key is not None:
            place = self._view.place(namespace)
            record = self._memories.get(namespace=place, key=key)
            if record is None:
                missing.append(f"key {key}")
                others = with_key(self._memories, key, place, self._view.seen)
                where = f" The key is in {others}." if others else self._elsewhere(place)
                told.append(no_key(key, place) + where)
            else:
                records.append(record)
        return got(records, missing, told)

    def update(self, id: str, **changes: Any) -> Answer:
        """Change the given fields of a memory."""
        if not changes:
            raise ArgumentError("give memory_update a field to change, such as content")
        record = self._memories.update(self._view.one(id).id, **changes)
        return Answer(f"Updated. {brief(record)}", {"memory": sketch(record)})

    def forget(self, ids: Iterable[str], reason: str | None = None) -> Answer:
        """Forget memories; *reason* is for the reader of the transcript."""
        records, missing = self._view.find(ids)
        forgotten = self._memories.forget([each.id for each in records]) if records else 0
        back = "; `bethink restore` brings back what was forgotten" if forgotten else ""
        lines = [f"Forgot {forgotten}{back}.", *not_found(missing)]
        return Answer("\n".join(lines), {"forgotten": forgotten, "missing": missing})

    def outcome(self, ids: Iterable[str], outcome: Judgement, session: str | None = None) -> Answer:
        """Record a verdict or a mark for each memory."""
        own = [self._view.one(each).id for each in ids]
        records = judge(self._memories, own, outcome, session)
        page = Page(ANSWER_TOKENS)
        page.add_all(
            (f"Outcome now {each.outcome:+.2f} ({each.state}): {brief(each)}", sketch(each))
            for each in records
        )
        if page.full:
            page.lines.append(f"({len(records) - len(page.items)} more, recorded too.)")
        return Answer("\n".join(page.lines), {"memories": page.items})

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
            namespace=self._view.within(namespace),
            min_tier=min_tier,
            limit=limit,
        )
        page = Page(ANSWER_TOKENS)
        page.add_all(
            (
                f"{each.tier}:\n  older {brief(each.older)}\n  newer {brief(each.newer)}",
                {
                    "tier": each.tier,
                    "similarity": round(each.similarity, 4),
                    "older": sketch(each.older),
                    "newer": sketch(each.newer),
                },
            )
            for each in found
        )
        return Answer("\n".join(page.lines) or "No conflicts.", {"conflicts": page.items})

    def resolve(self, keep: str, drop: str, reason: str | None = None) -> Answer:
        """Let *keep* supersede *drop*."""
        count = self._memories.resolve(self._view.one(keep).id, self._view.one(drop).id, reason)
        return Answer(f"Resolved: {keep} stays, {drop} is superseded.", {"resolved": count})

    def list(
        self,
        namespace: str | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Answer:
        """Return a page of memories, newest first."""
        scope = self._view.within(namespace)
        total = self._memories.count(namespace=scope, where=where)
        records = self._memories.all(
            namespace=scope, where=where, limit=limit, offset=offset, order="newest"
        )
        page = Page(ANSWER_TOKENS)
        page.add_all((brief(each), sketch(each)) for each in records)
        end = offset + len(page.items)
        if offset and not records:
            page.lines.append(f"(none from offset {offset} on)")
        page.lines.append(f"({end} of {total}" + (f"; next offset {end})" if end < total else ")"))
        page.lines[-1] += "" if total else self._elsewhere(scope)
        return Answer("\n".join(page.lines), {"memories": page.items, "total": total})

    def history(
        self,
        id: str | None = None,
        key: str | None = None,
        namespace: str | None = None,
        limit: int = 20,
    ) -> Answer:
        """Return the versions of a key, or entries of the journal, the newest first."""
        page = Page(ANSWER_TOKENS)
        if key is not None:
            place = self._view.place(namespace)
            versions = self._memories.audit(key, namespace=place, limit=limit)
            page.add_all(
                (f"entry {each.seq}: {clipped(each.content)}", clipped(each.to_dict()))
                for each in reversed(versions)
            )
        else:
            scope = self._view.scope(namespace, subtree=True)
            log = self._memories.log(limit=limit, id=id, namespace=scope)
            page.add_all(
                (f"entry {each.seq}: {each.action} {each.id or ''}", clipped(each.to_dict()))
                for each in log
            )
        what = f" of the key {key}" if key is not None else f" of the id {id}" if id else ""
        return Answer("\n".join(page.lines) or f"No history{what}.", {"entries": page.items})

    def relate(self, source: str, target: str, kind: str, remove: bool = False) -> Answer:
        """Link two memories, or remove the link."""
        verb = self._memories.unrelate if remove else self._memories.relate
        changed = verb(self._view.one(source).id, self._view.one(target).id, kind)
        text = ("Unlinked." if remove else "Linked.") if changed else "Nothing to change."
        return Answer(text, {"changed": changed})

    def restore(self, ids: Iterable[str] = (), entry: int | None = None) -> Answer:
        """Bring memories back, or undo a journal entry."""
        if not ids and entry is None:
            raise ArgumentError("give memory_restore ids, or an entry of memory_history")
        count, lines = 0, list[str]()
        if entry is not None:
            record = self._memories.undo(self._view.entry(entry))
            count += record.state == "live"
            lines.append(f"Undid entry {entry}. {brief(record)}")
        if ids:
            archived = self._view.in_state("archived", ids)
            forgotten = self._view.in_state("forgotten", ids)
            back = self._memories.unarchive(archived) + self._memories.restore(forgotten)
            count += back
            others = [each for each in ids if each not in (*archived, *forgotten)]
            lines.append(f"Restored {back}.")
            lines += [f"No forgotten or archived memory has the id {each}." for each in others]
        return Answer("\n".join(lines), {"restored": count})

    def tasks(
        self,
        action: str,
        task: str | None = None,
        ids: Iterable[str] = (),
        namespace: str | None = None,
        budget_tokens: int = DEFAULT_BUDGET_TOKENS,
    ) -> Answer:
        """List tasks, show what helps with them, link tasks with memories, or score closed ones."""
        from .task_calls import tasks

        return tasks(self._view, namespace, action, task, [*ids], budget_tokens)
