"""Conversations exported from ChatGPT."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore, StorageError
from bethink_adapters.formats import import_from, read_chatgpt, read_claude

from ...stored import contents


def node(
    id: str, parent: str | None, text: object, role: str = "user", **more: Any
) -> dict[str, Any]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    said = {"id": id, "author": {"role": role}, "content": content, "recipient": "all"}
    return {"id": id, "message": said | more, "parent": parent, "children": []}


def talk(*nodes: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {"conversation_id": "c1", "title": "Pizza", "create_time": 1700000000.25}
    leaf = {"current_node": nodes[-1]["id"]} if nodes else {}
    return {**told, **leaf, "mapping": {each["id"]: each for each in nodes}, **more}


def written(folder: Path, *talks: object) -> Path:
    path = folder / "conversations.json"
    path.write_text(json.dumps(talks))
    return path


ROOT = {"id": "r", "message": None, "parent": None, "children": ["u1"]}
QUESTION = node("u1", "r", "Which pizza?", create_time=1700000001.5)
ANSWER = node("a1", "u1", "Margherita.", "assistant", metadata={"model_slug": "gpt-4o"})


def test_turns_keep_who_said_them_when_and_where(tmp_path: Path, store: MemoryStore) -> None:
    path = written(tmp_path, talk(ROOT, QUESTION, ANSWER))
    assert import_from(store, read_chatgpt(path, user="Ann")).imported == 2
    first, second = store.all()
    assert (first.content, first.author, first.thread) == ("Which pizza?", "Ann", "c1")
    assert (first.occurred_at, first.source) == (1700000001.5, "chatgpt:c1/u1")
    assert (second.author, second.occurred_at) == ("assistant", 1700000001.5)
    assert second.metadata == {"title": "Pizza", "model": "gpt-4o"}
    assert import_from(store, read_chatgpt(path, user="Ann")).known == 2


def test_only_the_current_branch_was_said(tmp_path: Path, store: MemoryStore) -> None:
    again = node("a2", "u1", "Funghi.", "assistant")
    path = written(tmp_path, talk(ROOT, QUESTION, ANSWER, again, current_node="a2"))
    import_from(store, read_chatgpt(path))
    assert contents(store) == ["Which pizza?", "Funghi."]


def test_without_a_current_node_the_newest_leaf_is_it(tmp_path: Path, store: MemoryStore) -> None:
    newest = node("a2", "u1", "Funghi.", "assistant", create_time=1700000009)
    older = node("a3", "u1", "Tonno.", "assistant", create_time=1700000003)
    path = written(tmp_path, talk(ROOT, QUESTION, newest, older, current_node=None))
    import_from(store, read_chatgpt(path))
    assert contents(store) == ["Which pizza?", "Funghi."]


def test_a_circle_of_parents_ends(tmp_path: Path, store: MemoryStore) -> None:
    path = written(tmp_path, talk(node("a", "b", "one"), node("b", "a", "two")))
    assert import_from(store, read_chatgpt(path)).imported == 2


@pytest.mark.parametrize(
    "hidden",
    [
        node("x", "u1", "be brief", "system"),
        node("x", "u1", "{}", "tool"),
        node("x", "u1", "search()", "assistant", recipient="browser"),
        node("x", "u1", "hm", "assistant", channel="analysis"),
        node(
            "x", "u1", "psst", "assistant", metadata={"is_visually_hidden_from_conversation": True}
        ),
        node("x", "u1", {"content_type": "thoughts", "thoughts": []}, "assistant"),
        node("x", "u1", {"content_type": "code", "text": "1"}, "assistant", recipient="python"),
        node("x", "u1", {"content_type": "execution_output", "text": "1"}, "tool"),
        node("x", "u1", {"content_type": "tether_quote", "text": "a page"}, "tool"),
        node("x", "u1", {"content_type": "reasoning_recap", "content": "8 s"}, "assistant"),
        node("x", "u1", {"content_type": "model_editable_context"}, "assistant"),
        node("x", "u1", "", "assistant"),
        {"id": "x", "message": {"author": None, "content": None}, "parent": "u1"},
    ],
)
def test_what_was_not_said_is_left_out(
    tmp_path: Path, store: MemoryStore, hidden: dict[str, Any]
) -> None:
    after = node("a1", "x", "Margherita.", "assistant")
    path = written(tmp_path, talk(ROOT, QUESTION, hidden, after))
    report = import_from(store, read_chatgpt(path))
    assert contents(store) == ["Which pizza?", "Margherita."]
    assert report.skipped == ()


def test_the_text_of_mixed_parts_is_kept_and_a_mere_picture_listed(
    tmp_path: Path, store: MemoryStore
) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://1"}
    spoken = {"content_type": "audio_transcription", "text": "and this?"}
    kind = {"content_type": "multimodal_text"}
    mixed = node("u2", "u1", {**kind, "parts": [picture, "What is this", spoken]})
    alone = node("u3", "u2", {**kind, "parts": [picture]})
    report = import_from(store, read_chatgpt(written(tmp_path, talk(ROOT, QUESTION, mixed, alone))))
    assert contents(store) == ["Which pizza?", "What is this\n\nand this?"]
    assert [str(each) for each in report.skipped] == ["item 1, message u3: it holds no text"]


def test_bad_conversations_are_listed(tmp_path: Path, store: MemoryStore) -> None:
    bad = [5, {}, {"mapping": []}, talk(create_time="soon")]
    path = written(tmp_path, *bad, talk(), talk(ROOT, QUESTION))
    report = import_from(store, read_chatgpt(path))
    assert contents(store) == ["Which pizza?"]
    assert [each.place for each in report.skipped] == [f"item {n}" for n in range(1, 4)]
    assert [each.place for each in report.incomplete] == ["item 4"]


def test_a_conversation_with_a_bad_time_takes_the_times_of_its_messages(
    tmp_path: Path, store: MemoryStore
) -> None:
    before = node("u0", "r", "Hello")
    told = talk(ROOT, before, {**QUESTION, "parent": "u0"}, ANSWER, create_time="soon")
    report = import_from(store, read_chatgpt(written(tmp_path, told)))
    assert (report.imported, report.skipped) == (3, ())
    assert [record.occurred_at for record in store.all()] == [1700000001.5] * 3


def test_the_archive_can_be_read_as_it_comes(tmp_path: Path, store: MemoryStore) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("shared_conversations.json", "[0]")
        archive.writestr("conversations-000.json", json.dumps([talk(ROOT, QUESTION)]))
    report = import_from(store, read_chatgpt(path))
    assert (report.imported, report.skipped) == (1, ())


def test_the_unpacked_archive_is_read_alike(tmp_path: Path, store: MemoryStore) -> None:
    for number, said in enumerate([QUESTION, ANSWER]):
        told = json.dumps([talk(ROOT, {**said, "parent": "r"}, conversation_id=f"c{number}")])
        (tmp_path / f"conversations-{number:03}.json").write_text(told)
    (tmp_path / "shared_conversations.json").write_text("[0]")
    report = import_from(store, read_chatgpt(tmp_path))
    assert (report.imported, report.skipped) == (2, ())
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match="in this folder"):
        list(read_claude(tmp_path / "empty"))


def test_what_has_no_id_or_author_of_its_own_takes_what_there_is(
    tmp_path: Path, store: MemoryStore
) -> None:
    said = node("u1", "r", "Which?", channel="final")
    said["message"]["id"] = None
    told = talk(ROOT, said, conversation_id=None, id="c2", title=None)
    told["mapping"]["x"] = "no node"
    assert import_from(store, read_chatgpt(written(tmp_path, told))).skipped == ()
    (record,) = store.all()
    assert (record.author, record.thread, record.source) == ("user", "c2", "chatgpt:c2/u1")
    assert (record.occurred_at, record.metadata) == (1700000000.25, {})


def test_a_conversation_without_any_id_is_named_by_its_last_node(
    tmp_path: Path, store: MemoryStore
) -> None:
    told = talk(ROOT, QUESTION, conversation_id=None)
    import_from(store, read_chatgpt(written(tmp_path, told)))
    assert [record.thread for record in store.all()] == ["u1"]


def test_blank_parts_are_left_out(tmp_path: Path, store: MemoryStore) -> None:
    parts = ["", " ", "Which", None, 5, "pizza?"]
    mixed = node("u1", "r", {"content_type": "text", "parts": parts})
    blank = node("u2", "u1", {"content_type": "text", "parts": [" "]})
    without = node("u3", "u2", {"content_type": "text", "parts": "?"})
    report = import_from(store, read_chatgpt(written(tmp_path, talk(ROOT, mixed, blank, without))))
    assert contents(store) == ["Which\n\npizza?"]
    assert report.skipped == ()


@pytest.mark.parametrize(
    ("written_as", "read_as"),
    [
        (
            "It rained.\ue200cite\ue202turn0search2\ue202turn0news1\ue201 Then not.",
            "It rained. Then not.",
        ),
        ('In \ue200entity\ue202["city","Graz",0]\ue201 it rained.', "In Graz it rained."),
        ('\ue200entity\ue202["city"]\ue201Rain.\ue200entity\ue202{broken\ue201', "Rain."),
        ("An \ue200 alone", "An \ue200 alone"),
    ],
)  # fmt: skip
def test_marks_for_programs_are_read_as_people_see_them(
    tmp_path: Path, store: MemoryStore, written_as: str, read_as: str
) -> None:
    said = [node("u1", "r", written_as), node("u2", "u1", "\ue200cite\ue202turn0\ue201")]
    told = node("u3", "u2", {"content_type": "text", "text": "not in parts"})
    report = import_from(store, read_chatgpt(written(tmp_path, talk(ROOT, *said, told))))
    assert contents(store) == [read_as, "not in parts"]
    assert report.skipped == ()


def test_why_a_conversation_cannot_be_read_is_told(tmp_path: Path, store: MemoryStore) -> None:
    report = import_from(store, read_chatgpt(written(tmp_path, {})))
    reason = "not a conversation of ChatGPT: it has no mapping"
    assert [each.reason for each in report.skipped] == [reason]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"content_type": "code", "language": "python", "text": "print(1)"}, "print(1)"),
        ({"content_type": "not yet known", "parts": ["Hello"]}, "Hello"),
        (
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "audio_transcription", "text": "Hi", "direction": "out"},
                    {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://1"},
                ],
            },
            "Hi",
        ),
    ],
)
def test_whatever_the_assistant_says_to_all_is_kept(
    tmp_path: Path, store: MemoryStore, said: dict[str, Any], text: str
) -> None:
    told = talk(ROOT, QUESTION, node("a1", "u1", said, "assistant"))
    assert import_from(store, read_chatgpt(written(tmp_path, told))).skipped == ()
    assert contents(store) == ["Which pizza?", text]


def test_a_preamble_and_a_report_of_deep_research_are_words_of_the_assistant(
    tmp_path: Path, store: MemoryStore
) -> None:
    preamble = node("a1", "u1", "Let me look.", "assistant", channel="commentary")
    about = {"is_async_task_result_message": True}
    report = node("t1", "a1", "Pizza was born in Naples.", "tool", metadata=about)
    import_from(store, read_chatgpt(written(tmp_path, talk(ROOT, QUESTION, preamble, report))))
    assert contents(store) == ["Which pizza?", "Let me look.", "Pizza was born in Naples."]
    assert store.all()[-1].author == "assistant"


def canvas(id: str, parent: str, verb: str, call: object) -> dict[str, Any]:
    said = {"content_type": "code", "text": json.dumps(call)}
    return node(id, parent, said, "assistant", recipient=f"canmore.{verb}")


def test_a_canvas_is_its_last_whole_text_and_the_comments(
    tmp_path: Path, store: MemoryStore
) -> None:
    first = canvas("c1", "u1", "create_textdoc", {"name": "menu", "content": "Tonno 8"})
    whole = [{"pattern": ".*", "multiple": False, "replacement": "Tonno 9"}]
    second = canvas("c2", "c1", "update_textdoc", {"updates": whole})
    part = [{"pattern": "x.*", "replacement": "Funghi 7"}, {"pattern": "y"}]
    third = canvas("c3", "c2", "update_textdoc", {"updates": part})
    notes = canvas("c4", "c3", "comment_textdoc", {"comments": [{"comment": "Dear!"}, 5]})
    nothing = canvas("c5", "c4", "update_textdoc", {"updates": []})
    broken = canvas("c6", "c5", "create_textdoc", 5)
    talked = [talk(ROOT, QUESTION, *turns) for turns in ([first], [first, second, third])]
    import_from(store, read_chatgpt(written(tmp_path, talked[0])))
    import_from(store, read_chatgpt(written(tmp_path, talked[1])))
    told = talk(ROOT, QUESTION, first, second, third, notes, nothing, broken)
    report = import_from(store, read_chatgpt(written(tmp_path, told)))
    assert contents(store) == ["Which pizza?", "Tonno 9", "Funghi 7", "Dear!"]
    assert [record.metadata.get("canvas") for record in store.all()] == [None, *["menu"] * 3]
    assert [str(each) for each in report.skipped] == [
        "item 1, message c6: its canvas cannot be read"
    ]
    assert import_from(store, read_chatgpt(tmp_path / "conversations.json")).imported == 0


def test_custom_instructions_and_notes_are_one_memory_for_all_conversations(
    tmp_path: Path, store: MemoryStore
) -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    given = {"content_type": "user_editable_context", "user_profile": "I am Ann."}
    raw = {"about_user_message": "I like tea.", "about_model_message": "Be brief."}
    notes = {"content_type": "model_editable_context", "model_set_context": "1. Has a cat."}
    nodes = [
        node("x1", "r", given, metadata=hidden),
        node("x2", "x1", given, "system", metadata={**hidden, "user_context_message_data": raw}),
        node("x3", "x2", notes, "assistant"),
    ]
    said = {**QUESTION, "parent": "x3"}
    path = written(
        tmp_path, *(talk(ROOT, *nodes, said, conversation_id=name) for name in ("c1", "c2"))
    )
    assert import_from(store, read_chatgpt(path, user="Ann")).skipped == ()
    told = [(record.content, record.author) for record in store.all(where={"thread": None})]
    assert told == [
        ("I am Ann.", "Ann"),
        ("I like tea.\n\nBe brief.", "Ann"),
        ("1. Has a cat.", "assistant"),
    ]
    assert store.count(where={"thread": "c2"}) == 1
    assert import_from(store, read_chatgpt(path, user="Ann")).imported == 0
