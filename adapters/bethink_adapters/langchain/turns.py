"""Storing the words of an agent's run: new, known or edited turns, and turns of a new branch.

A run from an earlier checkpoint of the thread begins a new branch. The first question of the branch
takes the place of the question that followed the same message before. For that, the record of a
question has the ids of the message and of the message before in the metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryStore
from bethink.adapting import Turn, add_turns, turn_key

from ..shared.turns import thread_name, turn
from .messages import plain_text

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

_MESSAGE: Final = "message"
_AFTER: Final = "after"


def store_turns(
    store: MemoryStore, said: Sequence[AnyMessage], after: Mapping[str, str], namespace: str
) -> None:
    """Store the words *said* in the run as turns of the run's thread; known turns stay once.

    *after* has the id of the message before each human message. The answers to a question that was
    forgotten or erased are not stored.
    """
    name, is_branch = _run()
    thread = thread_name(name)
    turns = to_turns(said, {} if thread is None else after)
    if is_branch:
        turns = [_in_place(store, each, namespace, thread) for each in turns]
    questions = [each for each in turns if not each.is_answer]
    id = questions[-1].id if 0 < len(questions) < len(turns) else None
    key = None if id is None else turn_key(thread, id)
    if key and store.get(namespace=namespace, key=key) is None:
        add_turns(store, questions, namespace=namespace, thread=thread)
        if store.get(namespace=namespace, key=key) is None:
            return
    add_turns(store, turns, namespace=namespace, thread=thread)


def to_turns(messages: Sequence[AnyMessage], after: Mapping[str, str]) -> list[Turn]:
    """Return *messages* as turns; each AI message after a human message is an answer."""
    asked, turns = False, list[Turn]()
    for each in messages:
        is_answer = asked and each.type == "ai"
        asked = asked or each.type == "human"
        author, fields = str(each.name or each.type), dict[str, Any]()
        if each.type == "human" and each.id in after:
            fields["metadata"] = {_MESSAGE: each.id, _AFTER: after[str(each.id)]}
        text = plain_text(each.content)
        turns.append(turn(text, author, each.id, is_answer=is_answer, **fields))
    return turns


def _in_place(store: MemoryStore, turn: Turn, namespace: str, thread: str | None) -> Turn:
    """Return *turn* with the id of the question to supersede, if the thread has such a question."""
    told = turn.fields.get("metadata")
    if told is None or turn.id is None:
        return turn
    if store.get(namespace=namespace, key=turn_key(thread, turn.id)) is not None:
        return turn
    where = {"thread": thread, f"metadata.{_AFTER}": told[_AFTER]}
    found = store.all(namespace=namespace, where=where, order="newest", limit=1)
    if not found:
        return turn
    id = found[0].metadata[_MESSAGE]
    return replace(turn, id=id, fields={**turn.fields, "metadata": {**told, _MESSAGE: id}})


def _run() -> tuple[str | None, bool]:
    """Return the id of the run's thread, if any, and whether the run begins a branch.

    LangGraph tells in the metadata of a run from which checkpoint the caller began.
    """
    from langgraph.config import get_config

    try:
        config = get_config()
    except RuntimeError:  # called outside of a run
        return None, False
    thread = config.get("configurable", {}).get("thread_id")
    is_branch = "checkpoint_id" in config.get("metadata", {})
    return None if thread is None else str(thread), is_branch
