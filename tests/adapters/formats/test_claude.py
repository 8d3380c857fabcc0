"""Conversations exported from Claude."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
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
    assert [each.place for each in report.skipped] == ["item 1", "item 2", "item 3"]
    assert [each.place for each in report.incomplete] == ["item 4, message u1"]
    assert str(report).startswith("2 imported, 0 known, 3 skipped, 1 incomplete\nitem 1: ")


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


def artifact(**told: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "artifacts", "input": {"id": "menu", **told}}


def test_an_artifact_is_its_last_text(tmp_path: Path, store: MemoryStore) -> None:
    said = {"type": "text", "text": "Here."}
    turns = [
        [said, artifact(command="create", title="Menu", content="Tonno 8, Funghi 7")],
        [artifact(command="update", old_str="Tonno 8", new_str="Tonno 9")],
        [artifact(command="update", old_str="gone", new_str="lost"), artifact(command="update")],
        [artifact(command="rewrite", id="other", content="Wine")],
    ]
    told = [
        message(f"a{number}", "", "assistant", content=blocks)
        for number, blocks in enumerate(turns)
    ]
    import_from(store, read_claude(written(tmp_path, talk(*told[:1]))))
    assert contents(store) == ["Here.", "Tonno 8, Funghi 7"]
    assert store.all()[1].metadata == {"title": "Pizza", "artifact": "Menu"}
    import_from(store, read_claude(written(tmp_path, talk(*told[:2]))))
    assert contents(store) == ["Here.", "Tonno 9, Funghi 7"]
    path = written(tmp_path, talk(*told))
    assert import_from(store, read_claude(path)).skipped == ()
    assert contents(store) == ["Here.", "lost", "Wine"]
    assert import_from(store, read_claude(path)).imported == 0


def test_tags_of_older_artifacts_and_thoughts_are_left_out(
    tmp_path: Path, store: MemoryStore
) -> None:
    text = "A<antThinking>hm</antThinking>B <antArtifact title='x'>C</antArtifact> <antThinking>D"
    import_from(store, read_claude(written(tmp_path, talk(message("a1", text, "assistant")))))
    assert contents(store) == ["AB C D"]


def project(text: str) -> dict[str, Any]:
    at = {"created_at": "2024-01-15T12:00:00Z"}
    docs = [{"uuid": "d1", "filename": "menu.md", "content": text, **at}, 5, {"content": " "}]
    return {"uuid": "p1", "name": "Pizza", "prompt_template": "Be brief.", "docs": docs, **at}


MEMORIES = {
    "account_uuid": "u1",
    "conversations_memory": "Ann likes tea.",
    "project_memories": {"p1": "Opens in May."},
    "memory_files": [{"path": "/cats.md", "content": "Has a cat."}, 5],
}


def as_folder(folder: Path, text: str) -> Path:
    (folder / "projects").mkdir(exist_ok=True)
    (folder / "projects" / "p1.json").write_text(json.dumps(project(text)))
    (folder / "memories.json").write_text(json.dumps([MEMORIES]))
    (folder / "users.json").write_text("[5]")
    written(folder, talk(message("u1", "Which pizza?")))
    return folder


def as_archive(folder: Path, text: str) -> Path:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/projects.json", json.dumps([project(text)]))
        archive.writestr("data/memories/u1.json", json.dumps(MEMORIES))
        archive.writestr("data/users.json", "[5]")
        archive.writestr(
            "data/conversations.json", json.dumps([talk(message("u1", "Which pizza?"))])
        )
    return path


@pytest.mark.parametrize("form", [as_folder, as_archive])
def test_projects_and_memories_are_read_and_what_changed_supersedes(
    tmp_path: Path, store: MemoryStore, form: Callable[[Path, str], Path]
) -> None:
    kept = ["Which pizza?", "Ann likes tea.", "Opens in May.", "Has a cat.", "Be brief."]
    report = import_from(store, read_claude(form(tmp_path, "Tonno 8"), user="Ann"))
    assert report.skipped == ()
    assert sorted(contents(store)) == sorted([*kept, "Tonno 8"])
    (menu,) = store.all(where={"metadata.file": "menu.md"})
    assert (menu.author, menu.occurred_at) == ("Ann", 1705320000.0)
    assert menu.metadata == {"project": "Pizza", "file": "menu.md"}
    report = import_from(store, read_claude(form(tmp_path, "Tonno 9"), user="Ann"))
    assert (report.imported, report.known, report.skipped) == (1, 5, ())
    assert sorted(contents(store)) == sorted([*kept, "Tonno 9"])


def test_a_file_of_projects_or_memories_is_read_alone(tmp_path: Path, store: MemoryStore) -> None:
    starter = {**project("Welcome"), "uuid": "p0", "is_starter_project": True}
    path = tmp_path / "some.json"
    path.write_text(json.dumps([project("Tonno"), starter, {"docs": []}, MEMORIES]))
    report = import_from(store, read_claude(path))
    assert report.imported == 5
    assert [str(each) for each in report.skipped] == ["item 3: a project without a uuid"]


def test_a_broken_member_of_an_archive_is_named_and_passed_over(
    tmp_path: Path, store: MemoryStore
) -> None:
    path = as_archive(tmp_path, "Tonno")
    path.write_bytes(path.read_bytes().replace(b"Ann likes tea.", b"Bob likes tea."))
    report = import_from(store, read_claude(path))
    assert sorted(contents(store)) == ["Be brief.", "Tonno", "Which pizza?"]
    assert [each.place for each in report.skipped] == ["data/memories/u1.json"]
