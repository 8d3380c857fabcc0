"""Conversations exported from Claude."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.formats import import_from, read_claude

from ...stored import contents
from .test_chatgpt import written

TOP = "00000000-0000-4000-8000-000000000000"


def message(id: str, text: str, sender: str = "human", **more: Any) -> dict[str, Any]:
    at = {"created_at": "2024-01-15T12:00:00.500000Z"}
    return {"uuid": id, "text": text, "sender": sender, "content": [], **at, **more}


def talk(*messages: object, **more: Any) -> dict[str, Any]:
    return {"uuid": "c1", "name": "Pizza", "chat_messages": messages, **more}


def test_turns_keep_who_said_them_when_and_where(tmp_path: Path, store: MemoryStore) -> None:
    told = talk(message("u1", "Which pizza?"), message("a1", "Margherita.", "assistant"))
    path = written(tmp_path, told)
    assert import_from(store, read_claude(path, user="Ann")).imported == 2
    first, second = store.all()
    assert (first.content, first.author, first.thread) == ("Which pizza?", "Ann", "c1")
    assert (first.occurred_at, first.source) == (1705320000.5, "claude:c1/u1")
    assert (second.author, second.metadata) == ("assistant", {"title": "Pizza"})
    assert import_from(store, read_claude(path, user="Ann")).known == 2


def test_text_blocks_are_the_text_and_tools_and_thoughts_are_not(
    tmp_path: Path, store: MemoryStore
) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "text", "text": "Margherita."},
    ]
    told = message("a1", "This block is not supported.", "assistant", content=blocks)
    silent = message("a2", "This block is not supported.", "assistant", content=blocks[:1])
    import_from(store, read_claude(written(tmp_path, talk(told, silent))))
    assert contents(store) == ["Let me look.\n\nMargherita."]


def test_pasted_texts_are_memories_of_their_own(tmp_path: Path, store: MemoryStore) -> None:
    pasted = [
        {"file_name": "menu.txt", "extracted_content": "Margherita 8, Funghi 9"},
        {"file_name": "photo.png", "extracted_content": ""},
        {"file_name": "", "extracted_content": "pasted"},
    ]
    path = written(tmp_path, talk(message("u1", "", attachments=pasted)))
    assert import_from(store, read_claude(path)).imported == 2
    menu, other = store.all()
    assert (menu.content, menu.metadata["file"]) == ("Margherita 8, Funghi 9", "menu.txt")
    assert (other.content, other.thread) == ("pasted", "c1")
    assert import_from(store, read_claude(path)).known == 2


def test_only_the_current_branch_was_said(tmp_path: Path, store: MemoryStore) -> None:
    turns = [
        message("u1", "Which pizza?", parent_message_uuid=TOP),
        message("a1", "Tonno.", "assistant", parent_message_uuid="u1"),
        message("a2", "Funghi.", "assistant", parent_message_uuid="u1"),
        message("u2", "Thanks.", parent_message_uuid="a1"),
    ]
    import_from(store, read_claude(written(tmp_path, talk(*turns, current_leaf_message_uuid="a2"))))
    assert contents(store) == ["Which pizza?", "Funghi."]
    with MemoryStore() as newest:
        import_from(newest, read_claude(written(tmp_path, talk(*turns))))
        assert contents(newest) == ["Which pizza?", "Tonno.", "Thanks."]


def test_bad_conversations_and_messages_are_listed(tmp_path: Path, store: MemoryStore) -> None:
    bad = [5, {"uuid": "c0"}, {"chat_messages": []}]
    broken = message("u1", "When?", created_at="soon")
    path = written(tmp_path, *bad, talk("?", broken, message("u2", "Which?")))
    report = import_from(store, read_claude(path))
    assert contents(store) == ["When?", "Which?"]  # kept, though without a time
    assert [each.place for each in report.skipped] == [
        *["item 1", "item 2", "item 3"],
        "item 4, message u1",
    ]


def test_without_a_known_leaf_the_newest_one_is_it(tmp_path: Path, store: MemoryStore) -> None:
    turns = [
        message("u1", "Which pizza?", parent_message_uuid=TOP),
        message("a1", "T.", "assistant", parent_message_uuid="u1", created_at="2024-01-17T00:00Z"),
        message("a2", "F.", "assistant", parent_message_uuid="u1", created_at="2024-01-16T00:00Z"),
        message("a3", "M.", "assistant", parent_message_uuid="u1", created_at="soon"),
    ]
    told = talk(*turns, current_leaf_message_uuid="gone")
    import_from(store, read_claude(written(tmp_path, told)))
    assert contents(store) == ["Which pizza?", "T."]


def test_what_has_no_name_id_or_time_takes_what_there_is(
    tmp_path: Path, store: MemoryStore
) -> None:
    turns: list[object] = [message("", " \n"), message("", "Which?", created_at=None), 5]
    told = talk(*turns, name="", created_at="2024-01-15T12:00:00Z")
    report = import_from(store, read_claude(written(tmp_path, told)))
    (record,) = store.all()
    assert (record.author, record.occurred_at, record.metadata) == ("user", 1705320000.0, {})
    assert (record.source, report.skipped) == ("claude:c1/2", ())


@pytest.mark.parametrize("ids", [[None] * 3, ["u1", None, "u3"], ["u1", "u2", ""]])
def test_where_messages_have_no_ids_all_are_kept_in_their_order(
    tmp_path: Path, store: MemoryStore, ids: list[Any]
) -> None:
    texts = ["Which?", "Tonno.", "Thanks."]
    told = [message(id, text) for id, text in zip(ids, texts, strict=True)]
    told[1]["parent_message_uuid"] = ids[0]
    path = written(tmp_path, talk(*told))
    assert import_from(store, read_claude(path)).imported == 3
    assert contents(store) == texts
    assert import_from(store, read_claude(path)).known == 3


def test_messages_that_answer_each_other_in_a_circle_are_all_kept(
    tmp_path: Path, store: MemoryStore
) -> None:
    told = [message("u1", "a", parent_message_uuid="u2")]
    told.append(message("u2", "b", parent_message_uuid="u1"))
    import_from(store, read_claude(written(tmp_path, talk(*told))))
    assert contents(store) == ["a", "b"]


def test_blocks_and_attachments_that_are_none_are_left_out(
    tmp_path: Path, store: MemoryStore
) -> None:
    blocks = [
        "hm",
        {"type": "text", "text": 5},
        {"text": "untyped"},
        {"type": "text", "text": "Hi"},
    ]
    attached = ["x", {"file_name": "a"}, {"extracted_content": 5}, {"extracted_content": "pasted"}]
    told = [
        message("u1", "", content=blocks, attachments=attached),
        message("u2", "Bye", content="?", attachments="?"),
    ]
    assert import_from(store, read_claude(written(tmp_path, talk(*told)))).skipped == ()
    assert contents(store) == ["Hi", "pasted", "Bye"]
    assert [record.metadata for record in store.all()] == [{"title": "Pizza"}] * 3


def test_why_a_conversation_cannot_be_read_is_told(tmp_path: Path, store: MemoryStore) -> None:
    path = written(tmp_path, {"uuid": "c0"}, {"chat_messages": []})
    report = import_from(store, read_claude(path))
    assert [each.reason for each in report.skipped] == [
        "not a conversation of Claude: it has no chat_messages",
        "a conversation without a uuid",
    ]
