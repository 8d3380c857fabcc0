"""Credit: which of the memories that a task recalled helped it, and how that shows.

A memory is judged if its command was run and the result is to be seen, as in any transcript. Else
it is of use, or of none, if the answer says what it says beyond the question. The rest gets
nothing: a verdict for all that was recalled would reward what is recalled often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from bethink import MemoryRecord
from bethink.adapting import Verdict, read_query, terms

from ..transcripts import attribute
from .traces import Result

if TYPE_CHECKING:
    from crewai.tasks.task_output import TaskOutput

Judge: TypeAlias = "Callable[[TaskOutput], Verdict | None]"
Signal: TypeAlias = Verdict | Literal["useful", "useless"]

_SHARE: Final = 2 / 3
_REACT: Final = re.compile(r"Action Input:\s*(.*?)\s*\nObservation:[ \t]?(.*)", re.DOTALL)


def credit(
    result: Result, records: Sequence[MemoryRecord], judge: Judge | None = None
) -> dict[str, Signal]:
    """Return the signal for each of the *records* that *result* tells something of, by id.

    *judge* is asked at most once, and only of an output that says what a memory says.
    """
    found: dict[str, Signal] = {
        each.id: each.verdict for each in attribute(list(_done(result.messages)), records)
    }
    said = [
        record.id
        for record in records
        if record.id not in found and says(result.answer, record.content, result.asked)
    ]
    if said:
        found |= dict.fromkeys(said, _signal(result, judge))
    return found


def says(answer: str, content: str, asked: str = "") -> bool:
    """Tell whether *answer* says what *content* says, besides the words of what was *asked*.

    Of the one with fewer telling words two thirds must be in the other, and all of its numbers.
    """
    known = set(terms(asked))
    one, other = sorted(({*read_query(text).terms} - known for text in (answer, content)), key=len)
    numbers = {term for term in one if any(map(str.isdigit, term))}
    shared = one & other
    return bool(shared) and len(shared) >= _SHARE * len(one) and numbers <= other


def _signal(result: Result, judge: Judge | None) -> Signal:
    if result.output is None:
        return "useless"
    return (judge(result.output) if judge else None) or "useful"


def _done(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield what agent and tools said in the last attempt, which begins with a system message.

    What the user said is crewAI's prompt, memories included.
    """
    every = list(messages)
    begun = [place for place, each in enumerate(every) if each.get("role") == "system"]
    for message in every[begun[-1] if begun else 0 :]:
        if message.get("role") in ("assistant", "tool"):
            yield from _steps(message)


def _steps(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Split a message in which a model without tool calls wrote down an action and its result."""
    content = message.get("content")
    found = _REACT.search(content) if isinstance(content, str) else None
    if found is None:
        yield message
    else:
        yield {"type": "function_call", "arguments": found[1], "call_id": "react"}
        yield {"type": "function_call_output", "output": found[2], "call_id": "react"}
