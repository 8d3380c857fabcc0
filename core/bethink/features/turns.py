"""Turns of conversations, remembered once and in order, however a framework hands turns over.

Some frameworks hand over each turn once, some the same turn again after a failure, a window of the
latest turns, or the whole conversation. ``add_turns`` tells new turns from known turns:

- A turn with an id of the framework is known by the id. The same id with a different text is an
  edit, or a later state of the message: the new text supersedes the old text.
- An answer to a question with an id is known by the place behind the question. A different answer
  to the same question supersedes the old answer.
- Turns without ids are known by the place in the conversation: see ``align``. Turns marked as new
  are compared with nothing.

A known turn that was forgotten or erased stays away; once ``compact`` has removed the record of a
forgotten turn with an id, only an erased turn does. The key of a turn is a hash of the
conversation's name and of the id or the place, never of the text, so that the tombstone of an
erased turn can keep the key.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ..memory.memories import check_store
from ..model.namespaces import check_namespace
from ..model.port import LogQuery
from ..model.records import MemoryRecord
from .keys import Held, keys_between, store_if

if TYPE_CHECKING:
    from ..store import MemoryStore

_PLACE_DIGITS: Final = 9
_MIN_SHARED_TURNS: Final = 3  # a shorter run of equal turns may be an honest repetition
_EXTRA_TURNS: Final = 8  # read beyond twice the turns handed over

Said = tuple[str, str]
"""Author and text of a turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The *text* that *author* said, with further ``store`` arguments in *fields*.

    *id* is the framework's id of the message, unique in the conversation. *is_answer* marks an
    answer of a model that is always handed over together with the question. *is_old* marks a turn
    of the history that the framework handed over before. *is_new* marks a turn without an id that
    the framework hands over for the first time, behind all turns that are not new.
    """

    text: str
    author: str
    id: str | None = None
    is_answer: bool = False
    is_old: bool = False
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class _Conversation:
    """The turns of the conversation *thread* in one namespace of *store*.

    The keys of turns without ids lie from *low* to before *high*.
    """

    store: MemoryStore
    namespace: str
    thread: str | None
    low: str
    high: str

    def key_at(self, place: int) -> str:
        """Return the key of the turn number *place*."""
        return f"{self.low}{place:0{_PLACE_DIGITS}}"

    def holders(self, key: str) -> list[MemoryRecord]:
        """Return the records that have or ever had *key*, in any state, in order of insertion."""
        backend = self.store._engine.backend
        found = backend.journal_reader.key_holders(self.namespace, key, backend.head())
        return [each.record for each in sorted(found, key=lambda each: each.ordinal)]

    def first_free(self, start: int) -> int:
        """Return the first place from *start* on that no turn ever had; there are no gaps."""

        def is_held(place: int) -> bool:
            return bool(self.holders(self.key_at(place)))

        if not is_held(start):
            return start
        step = 1
        while is_held(start + step):
            step *= 2
        places = range(start + step // 2 + 1, start + step)
        return places.start + bisect_left(places, True, key=lambda place: not is_held(place))

    def said(self, record: MemoryRecord) -> Said | None:
        """Return author and text of *record* as first stored; None for an erased record."""
        if record.state == "erased":
            return None
        first: Mapping[str, Any] = {"author": record.author, "content": record.content}
        if record.updated_at != record.created_at:
            first = self.store._engine.backend.log(LogQuery(id=record.id))[-1].changes
        return first.get("author") or "", first.get("content") or ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The turns to store, by key, and the live records that the decision rests on.

    ``live`` are the ids of the live records by key; ``last`` is the id of the last live turn
    without an id, if the decision rests on the turn's place.
    """

    items: tuple[tuple[str, Turn], ...]
    live: Mapping[str, str | None]
    last: str | None = None
    rests_on_last: bool = False

    def holds(self, conversation: _Conversation, held: Held) -> bool:
        """Return whether the same records are live inside the transaction."""
        namespace, low, high = conversation.namespace, conversation.low, conversation.high
        if any(_id(held.by_key(namespace, key)) != id for key, id in self.live.items()):
            return False
        return not self.rests_on_last or _id(held.last_between(namespace, low, high)) == self.last


def add_turns(
    store: MemoryStore, turns: Iterable[Turn], *, namespace: str, thread: str | None = None
) -> list[MemoryRecord]:
    """Remember the new turns among *turns*; return the new records, in the order of *turns*.

    *turns* are turns of the conversation *thread*, oldest first. One transaction stores all new
    turns, or none. Turns without a visible character are left out.
    """
    prefix = f"turn:{_digest(thread)}"
    conversation = _Conversation(
        check_store(store), check_namespace(namespace), thread, f"{prefix}:", f"{prefix};"
    )
    given = [turn for turn in turns if turn.text.strip()]
    while (plan := _plan(conversation, given)).items:
        holds = partial(plan.holds, conversation)
        items = [
            {**turn.fields, "content": turn.text, "author": turn.author, "key": key}
            for key, turn in plan.items
        ]
        stored = store_if(store, holds, items, namespace=namespace, thread=thread)
        if stored is not None:
            return stored
    return []


def turn_key(thread: str | None, id: str) -> str:
    """Return the key of the turn with the framework's *id* in the conversation *thread*."""
    return f"turn:{_digest(thread, 'id', id)}"


def align(
    known: Sequence[Said | None],
    given: Sequence[Said],
    *,
    models: Container[str] = (),
    old: int = 0,
    is_named: bool = True,
) -> list[int | None]:
    """Return, for each *given* turn, the index of the same *known* turn; None for a new turn.

    *known* are the latest turns of a conversation, None for an erased turn, which equals any turn.
    The known end of the conversation must lie in *given*: a turn said before is new unless all
    known turns after the turn are given, too. So A, B, A is A, B, A, and the whole conversation
    again is nothing new. Where one of *models* answers the last question of a named conversation
    anew, the new answers take the indexes of the known answers. Many turns in common without a
    common end, as after parallel runs, are matched by the number of times that each turn stands in
    both. Both need *old* turns or an answer before a question: lone questions may be asked again.
    Where all known turns were erased, the first *old* given turns are known.
    """
    if known and not any(known):
        return [min(at, len(known) - 1) if at < old else None for at in range(len(given))]
    size, asked = len(known), _last_question(known, models)
    again = _overlap(known, given)
    has_history = _has_history(given, models, old)
    anew = _overlap(known[: asked + 1], given) if is_named and has_history else None
    if anew is not None and (again is None or asked + 1 - max(anew, 0) > size - max(again, 0)):
        answers = _answers_anew(known, given, anew, asked)
        if answers:
            return [
                at if 0 <= at <= asked or at - anew in answers else None
                for at in range(anew, anew + len(given))
            ]
    if again is not None:
        return [at if 0 <= at < size else None for at in range(again, again + len(given))]
    return _match_by_count(known, given, old) if has_history else [None] * len(given)


def _overlap(known: Sequence[Said | None], given: Sequence[Said]) -> int | None:
    """Return the index in *known* of the first given turn, if *given* holds the known end.

    The index is negative if *given* begins earlier. Of several, return the index with the most
    shared turns, and then with the fewest given turns before the known turns.
    """
    size = len(known)
    for start in sorted(range(size - len(given), size), key=lambda at: (max(at, 0), -at)):
        shared = range(max(start, 0), size)
        same = all(known[at] is None or known[at] == given[at - start] for at in shared)
        if same and any(known[at] is not None for at in shared):
            return start
    return None


def _has_history(given: Sequence[Said], models: Container[str], old: int) -> bool:
    """Return whether *given* may have turns of earlier runs: no lone questions with the answers."""
    by_model = [author in models for author, _ in given]
    is_lone = any(by_model) and all(by_model[by_model.index(True) :])
    return old > 0 or not is_lone


def _last_question(known: Sequence[Said | None], models: Container[str]) -> int:
    """Return the index of the turn before the last answers of a model; -1 without answers."""
    author = known[-1][0] if known and known[-1] is not None else None
    if author not in models:
        return -1
    others = (at for at, turn in enumerate(known) if turn is not None and turn[0] != author)
    return max(others, default=-1)


def _answers_anew(
    known: Sequence[Said | None], given: Sequence[Said], start: int, asked: int
) -> Sequence[int]:
    """Return the numbers of the given turns that take the places of the known last answers.

    None do if the answers are the same.
    """
    author = None if known[-1] is None else known[-1][0]
    numbers = range(asked + 1 - start, min(len(known) - start, len(given)))
    anew = list(takewhile(lambda number: given[number][0] == author, numbers))
    return anew if any(given[number] != known[number + start] for number in anew) else ()


def _match_by_count(
    known: Sequence[Said | None], given: Sequence[Said], old: int
) -> list[int | None]:
    """Match turns by number of occurrences, if enough turns are in common; else the *old* turns.

    Enough are most of the given turns, or two at the beginning of both with a new turn behind. A
    turn without a match before the last match is known, too, as long as known erased turns are
    left: the turn was erased.
    """
    places: dict[Said | None, list[int]] = {}
    for at, turn in enumerate(known):
        places.setdefault(turn, []).append(at)
    left = places.pop(None, [])
    found = [places[turn].pop(0) if places.get(turn) else None for turn in given]
    matched = [number for number, at in enumerate(found) if at is not None]
    begins_alike = len(given) > 2 and list(known[:2]) == list(given[:2])
    if not begins_alike and len(matched) < max(_MIN_SHARED_TURNS, (len(given) + 1) // 2):
        return [at if number < old else None for number, at in enumerate(found)]
    for number in range(matched[-1]):
        if found[number] is None and left:
            found[number] = left.pop(0)
    return found


def _plan(conversation: _Conversation, turns: Sequence[Turn]) -> _Plan:
    """Return the decision about each of *turns*."""
    keys = _named_keys(conversation.thread, turns)
    latest = dict(zip(keys, turns, strict=True))  # of several states of a turn, the last
    latest.pop(None, None)
    store, namespace = conversation.store, conversation.namespace
    live = {key: store.get(namespace=namespace, key=key) for key in latest if key is not None}
    new = {
        key for key, turn in latest.items() if key and _is_new(conversation, key, live[key], turn)
    }
    unnamed = [turn for key, turn in zip(keys, turns, strict=True) if key is None]
    last, found = _place(conversation, unnamed) if unnamed else (None, [])
    places, items = iter(found), dict[str, Turn]()
    for key, turn in zip(keys, turns, strict=True):
        if key is None and (place := next(places)) is not None:
            items[place] = turn
        elif key is not None and key in new:
            items[key] = latest[key]
    ids = {key: _id(record) for key, record in live.items()}
    return _Plan(tuple(items.items()), ids, last, bool(unnamed))


def _named_keys(thread: str | None, turns: Iterable[Turn]) -> list[str | None]:
    """Return the keys of *turns* with an id, or with a question that has an id; else None."""
    keys: list[str | None] = []
    question, answers = None, Counter[str]()
    for turn in turns:
        if not turn.is_answer:
            question, answers = turn.id, Counter()
        if turn.is_answer and question is not None:
            number, answers[turn.author] = answers[turn.author], answers[turn.author] + 1
            keys.append(f"turn:{_digest(thread, 'answer', question, turn.author, number)}")
        else:
            keys.append(None if turn.id is None else turn_key(thread, turn.id))
    return keys


def _is_new(conversation: _Conversation, key: str, live: MemoryRecord | None, turn: Turn) -> bool:
    """Return whether *turn* says what the record *live* and former records with *key* do not."""
    said = (turn.author, turn.text)
    if live is not None:
        return conversation.said(live) != said
    former = conversation.holders(key)
    return not any(conversation.said(each) in (None, said) for each in former)


def _place(
    conversation: _Conversation, turns: Sequence[Turn]
) -> tuple[str | None, list[str | None]]:
    """Return the id of the last live turn, and the key of each turn; None for a known turn.

    The latest known turns that are read are more than twice the given turns: enough to hold a whole
    conversation that is given again.
    """
    store, namespace = conversation.store, conversation.namespace
    last = keys_between(store, namespace, conversation.low, conversation.high, last=1)
    start = int(str(last[0].key)[len(conversation.low) :]) + 1 if last else 0
    size = conversation.first_free(start)
    first = max(0, size - 2 * len(turns) - _EXTRA_TURNS)
    latest = keys_between(store, namespace, conversation.key_at(first), conversation.high)
    live = {record.key: record for record in latest}
    known: list[Said | None] = []
    for key in map(conversation.key_at, range(first, size)):
        held = [live[key]] if key in live else conversation.holders(key)
        # Compacting and merging drop forgotten turns: such a place is like that of an erased turn.
        known.append(conversation.said(held[-1]) if held else None)
    given = [(turn.author, turn.text) for turn in turns]
    maybe_known = len(turns) - sum(turn.is_new for turn in turns)
    models = {turn.author for turn in turns if turn.is_answer}
    old = sum(turn.is_old for turn in turns)
    is_named = conversation.thread is not None
    found = align(known, given[:maybe_known], models=models, old=old, is_named=is_named)
    found += [None] * (len(turns) - maybe_known)
    keys: list[str | None] = []
    for said, at in zip(given, found, strict=True):
        if at is None:
            keys.append(conversation.key_at(size))
            size += 1
        else:
            keys.append(None if known[at] in (None, said) else conversation.key_at(first + at))
    return (last[0].id if last else None), keys


def _id(record: MemoryRecord | None) -> str | None:
    return None if record is None else record.id


def _digest(*parts: object) -> str:
    """Return 32 hexadecimal digits of a hash of *parts*."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
