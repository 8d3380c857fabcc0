"""Storing the words of an agent's run: new, known or edited turns, and turns of a new branch.

A run from an earlier checkpoint of the thread begins a new branch. The first question of the branch
takes the place of the question that followed the same message before. For that, the record of a
question has the ids of the message and of the message before in the metadata. An agent inside a
tool begins a conversation with each call: the first question of a call takes no place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryStore
from bethink.adapting import Turn, add_turns, turn_key

from ..shared.texts import plain_text
from ..shared.turns import thread_name, turn

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage

_MESSAGE: Final = "message"
_AFTER: Final = "after"
_INSIDE: Final = "|"  # between the node of a graph and the node of the graph inside


def store_turns(
    store: MemoryStore, said: Sequence[AnyMessage], after: Mapping[str, str], namespace: str
) -> None:
    """Store the words *said* in the run as turns of the run's thread; known turns stay once.

    *after* has the id of the message before each human message. The answers to a question that was
    forgotten or erased are not stored.
    """
    name, is_branch, is_inside = _run()
    thread = thread_name(name)
    if is_inside:
        after = {id: before for id, before in after.items() if before}
    turns = to_turns(said, {} if thread is None else after)
    is_answered = any(each.is_answer for each in turns)
    if is_branch or is_answered:
        turns = [_in_place(store, each, namespace, thread, is_branch) for each in turns]
    questions = [each for each in turns if not each.is_answer]
    if is_answered and not _is_live(store, questions[-1], namespace, thread):
        add_turns(store, questions, namespace=namespace, thread=thread)
        if not _is_live(store, questions[-1], namespace, thread):
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


def _is_live(store: MemoryStore, turn: Turn, namespace: str, thread: str | None) -> bool:
    """Return whether the turn is a memory; turns without an id are."""
    return turn.id is None or bool(store.get(namespace=namespace, key=turn_key(thread, turn.id)))


def _in_place(
    store: MemoryStore, turn: Turn, namespace: str, thread: str | None, is_branch: bool
) -> Turn:
    """Return an unknown question with the id of the question to supersede, if there is any.

    In a run that is resumed after an interrupt, only the same text is the same question: the run
    that was interrupted may have begun a branch.
    """
    told = turn.fields.get("metadata")
    if told is None or _is_live(store, turn, namespace, thread):
        return turn
    where = {"thread": thread, f"metadata.{_AFTER}": told[_AFTER]}
    found = store.all(namespace=namespace, where=where, order="newest", limit=1)
    if not found or not (is_branch or found[0].content == turn.text):
        return turn
    id = found[0].metadata[_MESSAGE]
    return replace(turn, id=id, fields={**turn.fields, "metadata": {**told, _MESSAGE: id}})


def _run() -> tuple[str | None, bool, bool]:
    """Return the id of the run's thread, if any, and two facts about the run.

    The facts: whether the run begins a branch, and whether the run is inside a node of a graph.
    LangGraph tells in the metadata of a run from which checkpoint the caller began.
    """
    from langgraph.config import get_config

    try:
        config = get_config()
    except RuntimeError:  # called outside of a run
        return None, False, False
    names = config.get("configurable", {})
    thread, is_branch = names.get("thread_id"), "checkpoint_id" in config.get("metadata", {})
    is_inside = _INSIDE in names.get("checkpoint_ns", "")
    return None if thread is None else str(thread), is_branch, is_inside
