"""transcripts: verdicts on recalled memories, from the words and commands of an agent.

    recalled = store.recall("the ferry's tests fail", k=10)
    ...                                              # the agent works
    found = attribute(Path(transcript).read_text(), recalled)
    record_outcomes(store, found, session="4711")

Only a memory in use is scored: the agent cited the id, or ran the command of the memory. And only
with a visible result: a test run, the command's output, or the next words of the human. The same
verdict for every recalled memory would teach the store nothing.

A transcript is text or a list of messages; see ``transcripts.events``. Everything is done by rules,
in English, and no model is asked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from bethink import (
    MemoryRecord,
    MemoryStore,
    NotFoundError,
    RateLimitError,
    RecallResult,
    ValidationError,
)
from bethink.adapting import Verdict

from .commands import Steps, advised, ran
from .events import Event, Transcript, events
from .phrases import verdict_of
from .results import TestRun, last_test_run, went_wrong

__all__ = ["Attribution", "Transcript", "attribute", "record_outcomes", "verdict_of"]

_logger = logging.getLogger(__name__)

_SHORTENED: Final = re.compile(r"[0-9a-f][0-9a-f-]{7,}")
_LONGEST: Final = 200
_TOLD_BY: Final = 40


@dataclass(frozen=True, slots=True)
class Attribution:
    """The verdict on the memory ``id``, the reason, and the words of the transcript.

    The agent "cited" the id, or ran a "command" of the memory.
    """

    id: str
    verdict: Verdict
    reason: Literal["cited", "command"]
    evidence: str


@dataclass(slots=True)
class _Turn:
    """The events until the human spoke again, and the answer of the human."""

    events: list[Event] = field(default_factory=list)
    answer: list[Event] = field(default_factory=list)


_Told = tuple[Verdict, str]


def attribute(
    transcript: Transcript, recalled: Iterable[MemoryRecord | RecallResult]
) -> list[Attribution]:
    """Return a verdict for each of the *recalled* memories that was used with a visible result.

    An id may be shortened to eight characters or more, if only a single memory has the short id. A
    cited memory gets the last verdict of the turn: of a test run, or of the human's answer;
    "partial" is a run that still fails, but less than the first. A command gets the verdict of the
    command's result; failing tests do not tell against the command that runs the tests. The last
    turn counts.
    """
    records = _records(recalled)
    advice = {record.id: advised(record) for record in records}
    found: dict[str, Attribution] = {}
    for turn in _turns(events(transcript)):
        cited, told = _cited(turn, records), _judged(turn)
        for id, commands in advice.items():
            if id in cited and told is not None:
                found[id] = Attribution(id, told[0], "cited", told[1])
            elif (own := _outcome(turn, commands)) is not None:
                found[id] = Attribution(id, own[0], "command", own[1])
    return [found[id] for id in advice if id in found]


def record_outcomes(
    store: MemoryStore, found: Iterable[Attribution], session: str | None = None
) -> list[Attribution]:
    """Record the verdicts as outcomes; return the recorded verdicts.

    Left out are verdicts equal to the last verdict of *session* on a memory, so reading a longer
    transcript again does no harm; verdicts on memories that are gone; and failures beyond the limit
    of a session.
    """
    recorded = []
    for each in found:
        try:
            known = [entry for entry in store.outcomes(each.id) if entry.session == session]
            if session is not None and known and known[-1].action == each.verdict:
                continue
            store.record_outcome(each.id, each.verdict, session)
            recorded.append(each)
        except (NotFoundError, RateLimitError) as error:
            _logger.warning("an outcome of %s is not recorded: %s", each.id, error)
    return recorded


def _records(recalled: object) -> list[MemoryRecord]:
    if not isinstance(recalled, Iterable):
        raise ValidationError(f"recalled must be a list, not {type(recalled).__name__}")
    records = [each.memory if isinstance(each, RecallResult) else each for each in recalled]
    for each in records:
        if not isinstance(each, MemoryRecord):
            kind = type(each).__name__
            raise ValidationError(f"recalled must be MemoryRecord or RecallResult, not {kind}")
    return records


def _turns(found: Sequence[Event]) -> list[_Turn]:
    turns = [_Turn()]
    for event in found:
        if event.kind == "human":
            if turns[-1].events:
                turns.append(_Turn())
            if len(turns) > 1:
                turns[-2].answer.append(event)
        else:
            turns[-1].events.append(event)
    return turns


def _cited(turn: _Turn, records: Sequence[MemoryRecord]) -> set[str]:
    """Return the ids that the agent named."""
    said = "\n".join(filter(None, (_own_words(event, records) for event in turn.events)))
    ids = {record.id for record in records}
    found = {id for id in ids if re.search(rf"(?<![\w-]){re.escape(id)}(?![\w-])", said)}
    for short in {match.group() for match in _SHORTENED.finditer(said)} - ids:
        meant = [id for id in ids if id.startswith(short)]
        if len(meant) == 1:
            found.update(meant)
    return found


def _own_words(event: Event, records: Sequence[MemoryRecord]) -> str:
    """Return the agent's own words in *event*, as far as can be told."""
    if event.kind in ("agent", "call"):
        return event.text
    if event.kind != "text":
        return ""
    text = event.text.partition("\n\n")[2] if event.call else event.text
    listed = [(record.id, record.content[:_TOLD_BY]) for record in records if record.content]
    return "\n".join(
        line
        for line in text.splitlines()
        if not any(id in line and content in line for id, content in listed)
    )


def _judged(turn: _Turn) -> _Told | None:
    told: _Told | None = None
    first: TestRun | None = None
    for event in (*turn.events, *turn.answer):
        if event.kind not in ("result", "text", "human"):
            continue
        rest = event.text
        if (run := last_test_run(rest)) is not None:
            first, rest = first or run, rest[run.end :]
            told = _of_run(run, first), run.said
        if event.kind != "result":
            parts = [rest] if event.kind == "human" else rest.splitlines()
            said = [(verdict, part) for part in parts if (verdict := verdict_of(part)) is not None]
            told = (said[-1][0], _excerpt(said[-1][1])) if said else told
    return told


def _of_run(run: TestRun, first: TestRun) -> Verdict:
    if not run.failed:
        return "worked"
    return "partial" if run.failed < first.failed else "failed"


def _outcome(turn: _Turn, advice: list[Steps]) -> _Told | None:
    """Return the result of the last run in *turn* of a command of a memory."""
    told = None
    for place, event in enumerate(turn.events):
        if event.command and ran(advice, event.command):
            results = _results(turn.events, place)
            told = _of_command(event.command, results) if results else None
    return told


def _results(found: Sequence[Event], place: int) -> list[Event]:
    """Return the results of the call at *place*: by the id or, without an id, the next event."""
    call, later = found[place].call, found[place + 1 :]
    if call:
        return [each for each in later if each.call == call and each.kind in ("result", "text")]
    return [each for each in later[:1] if each.kind == "result"]


def _of_command(command: str, results: Sequence[Event]) -> _Told | None:
    output = "\n".join(result.text for result in results)
    run = last_test_run(output)
    if run is not None:
        return None if run.failed else ("worked", run.said)
    told = [result.failed for result in results if result.failed is not None]
    wrong = any(told) if told else went_wrong(output)
    last = output.strip().rpartition("\n")[2] or "no output"
    return "failed" if wrong else "worked", _excerpt(f"{command.strip()}: {last}")


def _excerpt(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= _LONGEST else f"{short[: _LONGEST - 1]}…"
