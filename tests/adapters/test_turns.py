"""Whatever a framework gives as a turn or a conversation, a store can hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryStore, ValidationError
from bethink.adapting import MAX_CONTENT, add_turns
from bethink_adapters.shared.turns import thread_name, turn

ODD = ["", " ", "  ", "\n", "%", "%20", "%%", "\ud800", "\x00", "用户", "é", "x" * 1024, "x" * 5000]


@pytest.mark.parametrize("conversation", [None, *ODD], ids=repr)
def test_any_text_names_a_conversation(store: MemoryStore, conversation: str | None) -> None:
    thread = thread_name(conversation)
    for _ in range(2):
        add_turns(store, [turn("Hello.", "ann")], namespace="default", thread=thread)
    assert [record.thread for record in store.all()] == [thread]


@pytest.mark.parametrize("number", [0, -7, 10**30])
def test_a_whole_number_names_a_conversation_by_the_digits(number: int) -> None:
    assert thread_name(number) == thread_name(str(number))


@pytest.mark.parametrize("wrong", [True, 1.5, b"monday", ["monday"]], ids=repr)
def test_anything_else_is_refused_by_the_name_of_the_parameter(wrong: object) -> None:
    with pytest.raises(ValidationError, match=f"session_id .* not {type(wrong).__name__}"):
        thread_name(wrong, "session_id")


@given(st.lists(st.one_of(st.text(max_size=8), st.sampled_from(ODD)), unique=True))
def test_no_two_conversations_have_one_name(conversations: list[str]) -> None:
    assert len(set(map(thread_name, conversations))) == len(conversations)


def test_a_turn_is_cut_to_what_a_record_holds(store: MemoryStore) -> None:
    said = turn("\ud800" + "x" * MAX_CONTENT, "a" * 2000, "id", is_answer=True, category="chat")
    (record,) = add_turns(store, [said], namespace="default")
    assert len(record.content) == MAX_CONTENT
    assert record.content.startswith("\N{REPLACEMENT CHARACTER}x")
    assert (record.category, len(record.author or "")) == ("chat", 1024)
