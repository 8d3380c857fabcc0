"""Credit for recalled memories: mark the memories that helped a task as useful.

A memory whose command the agent ran gets the verdict of the command's visible result, as in any
transcript. A memory that the answer repeats, beyond the words of the question, is useful, or
useless if the answer was refused. The remaining memories get no signal: a verdict on every recalled
memory would reward memories for frequent recall.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bethink import MemoryRecord
from bethink.adapting import Verdict, read_query, terms

from ..surface.verbs import Judgement
from ..transcripts import attribute
from .runs import TaskResult

if TYPE_CHECKING:
    from crewai.tasks.task_output import TaskOutput

Judge: TypeAlias = "Callable[[TaskOutput], Verdict | None]"

_MIN_SHARE: Final = 2 / 3  # of the terms of the text with fewer terms
# The call and the result of a tool in the text of a model without tool calls (ReAct).
_REACT: Final = re.compile(r"Action Input:\s*(.*?)\s*\nObservation:[ \t]?(.*)", re.DOTALL)


def credit(
    result: TaskResult, records: Sequence[MemoryRecord], judge: Judge | None = None
) -> dict[str, Judgement]:
    """Return the judgements by id for the *records* with a command or words in *result*.

    *judge* is called at most once, and only if the answer repeats a record.
    """
    found: dict[str, Judgement] = {
        each.id: each.verdict for each in attribute(list(_last_attempt(result.messages)), records)
    }
    repeated = [
        record.id
        for record in records
        if record.id not in found and overlaps(result.answer, record.content, result.question)
    ]
    if repeated:
        found |= dict.fromkeys(repeated, _judgement(result, judge))
    return found


def overlaps(answer: str, content: str, question: str = "") -> bool:
    """Return whether *answer* repeats *content*, not counting the words of *question*.

    The text with fewer distinct terms must share two thirds of the terms with the longer text, at
    least a single term, and every term with a digit.
    """
    known = set(terms(question))
    few, many = sorted(({*read_query(text).terms} - known for text in (answer, content)), key=len)
    numbers = {term for term in few if any(map(str.isdigit, term))}
    shared = few & many
    return bool(shared) and len(shared) >= _MIN_SHARE * len(few) and numbers <= many


def _judgement(result: TaskResult, judge: Judge | None) -> Judgement:
    if result.output is None:
        return "useless"
    return (judge(result.output) if judge else None) or "useful"


def _last_attempt(messages: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of agent and tools in the last attempt, from the last system message on.

    The messages of the user are left out: crewAI's prompts, memories included.
    """
    every = list(messages)
    starts = [place for place, each in enumerate(every) if each.get("role") == "system"]
    for message in every[starts[-1] if starts else 0 :]:
        if message.get("role") in ("assistant", "tool"):
            yield from _steps(message)


def _steps(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield *message*, or the call and the result of a tool that a model wrote as text."""
    content = message.get("content")
    found = _REACT.search(content) if isinstance(content, str) else None
    if found is None:
        yield message
    else:
        yield {"type": "function_call", "arguments": found[1], "call_id": "react"}
        yield {"type": "function_call_output", "output": found[2], "call_id": "react"}
