"""Where the file is, what is shown, and what is asked before memories go."""

import json
import os
import unicodedata
from pathlib import Path

import pytest

from bethink import MemoryStore
from bethink.model.records import Common
from bethink_adapters.cli import output
from bethink_adapters.cli.arguments import FIELDS

from .conftest import Run, ids

OLD, STANDUP, PIER_3, PIER_4, ANN = ids()


def test_the_file_is_told_then_of_the_environment_then_of_the_project_then_of_the_user(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place() -> str:
        return str(run("stats", "--json").data["location"])

    user = folder.parent / "home" / ".local" / "share" / "bethink" / "memory.db"
    monkeypatch.setattr("sys.platform", "linux")
    assert run("store", "of the user").code == 0
    assert place() == str(user)
    (folder / ".bethink").mkdir()
    assert run("--db", ".bethink/memory.db", "store", "of the project").code == 0
    assert place() == str(folder / ".bethink" / "memory.db")
    monkeypatch.setenv("BETHINK_DB", "~/named.db")
    assert run("store", "named").code == 0
    assert place() == str(folder.parent / "home" / "named.db")
    assert run("--db", str(user), "list", "--json").data[0]["content"] == "of the user"
    assert run("list", "--json", "--db", str(user)).data[0]["content"] == "of the user"


def test_a_namespace_is_told_then_of_the_environment(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BETHINK_NAMESPACE", "users")
    assert run("store", "Users have names", "--json").data["namespace"] == "users"
    assert {each["namespace"] for each in run("list", "--json").data} == {"users", "users/ann"}
    assert run("list", "-n", "users/ann", "--json").data[0]["content"] == "Ann drinks tea"
    assert len(run("list", "--everywhere", "--json").data) == 5


@pytest.mark.parametrize("words", [["recall", "tea"], ["list"], ["conflicts"]])
def test_an_empty_namespace_tells_where_memories_are(
    run: Run, file: Path, words: list[str]
) -> None:
    done = run(*words, "-n", "users/bob")
    assert (done.code, done.out) == (0, "")
    assert "memories are in default (3), users/ann (1); -a reads all" in done.err
    assert run(*words, "-n", "users/bob", "--json").data == []


@pytest.mark.parametrize("verb", ["forget", "erase", "archive"])
def test_a_removal_in_an_empty_namespace_tells_where_memories_are(
    run: Run, file: Path, verb: str
) -> None:
    for last in ("--yes", "--dry-run"):
        done = run(verb, "--author", "Ann", "-n", "users/an", last)
        assert done.out.endswith(" 0; memories are in users/ann (1), default (3)\n")
        assert run(verb, "--author", "nobody", "-n", "users/ann", last).out.endswith(" 0\n")


def test_a_reader_of_an_empty_answer_hears_so_beside_the_answer(run: Run, file: Path) -> None:
    for words in (["recall", "parrot"], ["list", "--category", "none"], ["related", "c83f9e11"]):
        for terminal in (False, True):
            done = run(*words, terminal=terminal)
            assert (done.code, done.out, done.err[:13]) == (0, "", "nothing found")
            assert ("; `bethink why ID QUERY` tells why" in done.err) == (words[0] == "recall")
        assert run(*words, "--json").err == ""


def test_a_journal_entry_is_named_as_the_log_shows_the_entry(run: Run, file: Path) -> None:
    run("store", "Ann plays chess")
    newest = run("log", "--limit", "1").out.split()[0]
    assert newest.startswith("#")
    assert run("log", "--since", newest, "--json").data == []
    assert run("undo", newest).code == 0
    done = run("undo", "#x12")
    assert done.code == 2
    assert "an entry is a number such as 12 or #12, not '#x12'" in done.err


def test_an_expired_memory_is_shown_by_its_short_id_and_erased_as_previewed(
    run: Run, file: Path
) -> None:
    with MemoryStore(file) as store:
        id = store.store("The visa is valid", expires_at=-1e9, namespace="visas").id
    assert "expired" in run("get", id[-8:]).err
    assert run("erase", "-n", "visas", "--dry-run", "--json").data["ids"] == [id]
    assert run("erase", "-n", "visas", "--yes", "--json").data == {"count": 1}


def test_an_unknown_argument_names_the_help_of_the_command(run: Run, file: Path) -> None:
    done = run("recall", "ferry", "--colour")
    assert done.code == 2
    assert done.err == (
        "bethink: unrecognized arguments: --colour; `bethink recall --help` tells the arguments\n"
    )


@pytest.mark.parametrize("command", ["recall", "store"])
def test_a_pattern_of_namespaces_is_answered_in_the_words_of_the_command_line(
    run: Run, file: Path, command: str
) -> None:
    done = run(command, "ferry", "-n", "users/*")
    assert (done.code, done.out) == (2, "")
    assert "'users/*' is a pattern; -n NAME also reads all below, -a reads all" in done.err


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["recall", "when", "is", "standup"], "put a text of several words in quotes"),
        (["recall", "ferry", "--limit", "3"], "use -k"),
        (["list", "--filter={}"], "use --where"),
        (["store", "text", "--expires-on", "+2d"], "use --expires-at"),
    ],
)
def test_an_argument_of_another_tool_is_answered_with_the_right_one(
    run: Run, words: list[str], remedy: str
) -> None:
    assert f"; {remedy}; `bethink {words[0]} --help`" in run(*words).err


@pytest.mark.parametrize(
    "words", [["recall", "ferry", "--colour", "red"], ["list", "ferry"], ["list", "--a; use b"]]
)
def test_an_argument_without_a_known_remedy_gets_none(run: Run, words: list[str]) -> None:
    told = f"{words[-1]}; `bethink {words[0]} --help` tells the arguments\n"
    assert run(*words).err.endswith(told)


def test_a_text_comes_from_the_standard_input_or_a_file(run: Run, file: Path) -> None:
    assert run("store", "-", "--json", text="aus der Röhre\n").data["content"] == "aus der Röhre"
    Path("note.txt").write_text("from a file", encoding="utf-8")
    assert run("store", "--file", "note.txt", "--json").data["content"] == "from a file"
    assert run("store", "--file", "-", "--json", text="again").data["content"] == "again"
    assert run("recall", "-", "--json", text="Röhre").data
    Path("latin.txt").write_bytes("Röhre".encode("latin-1"))
    done = run("store", "--file", "latin.txt")
    assert (done.code, done.err) == (2, "bethink: the text is no UTF-8 at byte 1\n")
    assert run("store", "--file", ".").code == 1


def test_a_byte_order_mark_is_no_part_of_a_text(run: Run, file: Path) -> None:
    Path("note.txt").write_text("\ufefffrom Windows", encoding="utf-8")
    assert run("store", "--file", "note.txt", "--json").data["content"] == "from Windows"
    assert run("store", "-", "--json", text="\ufeffpiped").data["content"] == "piped"
    Path("lines.jsonl").write_text('\ufeff"one"\n"\ufefftwo"\n', encoding="utf-8")
    for source in ("lines.jsonl", "-"):
        stored = run("store", "--jsonl", source, "--json", text='\ufeff"one"\n"\ufefftwo"\n').data
        assert [each["content"] for each in stored] == ["one", "\ufefftwo"]
    Path("note.txt").write_text("\ufeff", encoding="utf-8")
    assert run("store", "--file", "note.txt").code == 2


def test_line_ends_of_windows_are_the_same_in_a_file_and_in_the_input(run: Run, file: Path) -> None:
    Path("note.txt").write_bytes(b"one\r\ntwo\r\n")
    assert run("store", "--file", "note.txt", "--json").data["content"] == "one\ntwo"
    assert run("store", "-", "--json", text="one\r\ntwo\r\n").data["content"] == "one\ntwo"


def test_many_memories_come_as_lines_of_json(run: Run, file: Path) -> None:
    lines = '"a text"\n\n{"content": "with fields", "key": "k", "importance": 0.9}\n'
    stored = run("store", "--jsonl", "-", "--category", "both", "--json", text=lines).data
    assert [each["content"] for each in stored] == ["a text", "with fields"]
    assert {each["category"] for each in stored} == {"both"}
    done = run("store", "--jsonl", "-", text='"fine"\n{"broken\n')
    assert done.code == 2
    assert done.err.startswith("bethink: standard input, line 2: ")  # no JSON, as none was asked
    assert run("recall", "fine", "--mode", "keyword", "--json").data == []


@pytest.mark.parametrize(("given", "kept"), [("a\nb\n", "a\nb"), ("a\n\n", "a\n"), ("a", "a")])
def test_the_end_of_the_last_line_is_no_part_of_a_text(run: Run, given: str, kept: str) -> None:
    Path("note.txt").write_text(given, encoding="utf-8")
    assert run("store", "-", "--json", text=given).data["content"] == kept
    assert run("store", "--file", "note.txt", "--json").data["content"] == kept


@pytest.mark.parametrize("before", ["", "\n", '"fine"\n', '\n"fine"\n\n'])
@pytest.mark.parametrize("wrong", ["[1]", '{"content": "x", "importance": "high"}', '{"wrong": 1}'])
def test_a_refused_memory_among_lines_is_named_by_the_line(
    run: Run, file: Path, before: str, wrong: str
) -> None:
    Path("lines.jsonl").write_text(f"{before}{wrong}\n", encoding="utf-8")
    done = run("store", "--jsonl", "lines.jsonl")
    assert done.code == 2
    assert done.err.startswith(f"bethink: lines.jsonl, line {before.count(chr(10)) + 1}: ")


@pytest.mark.parametrize("more", [["a text"], ["--file", "-"], ["--supersedes", "ef5a0645"]])
def test_lines_of_json_come_alone(run: Run, file: Path, more: list[str]) -> None:
    done = run("store", "--jsonl", "-", *more, text='"a line"\n')
    assert (done.code, "with --jsonl" in done.err) == (2, True)
    assert run("recall", "line", "--mode", "keyword", "--json").data == []


@pytest.mark.parametrize(
    "words",
    [
        ["erase", "-n", "users", "-a", "--yes"],
        ["-a", "archive-to", "old.db", "-n", "users", "--yes"],
        ["erase", "-n", "", "--yes"],
        ["--namespace=", "store", "x"],
        ["--db", "", "erase", "-a", "--yes"],
        ["serve", "--new-token", "-n", ""],
        ["serve", "--port", "70000"],
        ["serve", "--port", "-1"],
        ["mcp", "--http", "65536"],
    ],
)
def test_arguments_that_contradict_or_are_empty_change_nothing(
    run: Run, file: Path, words: list[str]
) -> None:
    before = file.read_bytes()
    assert run(*words).code == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize("words", [["store"], ["store", "--file", "none.txt"]])
def test_a_store_without_a_text_makes_no_file(run: Run, folder: Path, words: list[str]) -> None:
    assert run("--db", "new.db", *words).code != 0
    assert list(folder.iterdir()) == []


def test_a_block_without_memories_has_a_reason(run: Run, file: Path) -> None:
    small = run("context", "ferry", "--budget", "1")
    assert (small.code, small.out) == (0, "")
    assert small.err == "no memory matches and fits into the budget\n"
    assert "memories are in default (3)" in run("context", "ferry", "-n", "users/bob").err


def test_shards_without_servers_want_servers(run: Run, folder: Path) -> None:
    assert run("shards").err.endswith(": --server NAME=URL\n")


def test_an_empty_filter_filters(run: Run, file: Path) -> None:
    assert "would forget 0" in run("forget", "-n", "default", "--category", "", "--dry-run").out
    assert run("store", "x", "--supersedes", "").code == 2


def test_stats_and_namespaces_count_below_the_namespace(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("store", "Bob likes ham", "-n", "users/bob")
    assert run("namespaces", "--json").data == {"default": 3, "users/ann": 1, "users/bob": 1}
    assert run("namespaces", "-n", "users", "--json").data == {"users/ann": 1, "users/bob": 1}
    assert run("stats", "-n", "users/ann", "--json").data["states"]["live"] == 1
    monkeypatch.setenv("BETHINK_NAMESPACE", "users/bob")
    assert run("stats", "--json").data["namespaces"] == {"users/bob": 1}
    assert run("stats", "-a", "--json").data["states"]["live"] == 5


def test_the_preview_of_an_archive_counts_what_is_moved(run: Run, file: Path) -> None:
    words = ("archive-to", "old.db", "-n", "default", "--json")
    looked = run(*words, "--dry-run").data["forgotten"]
    assert run(*words, "--yes").data["forgotten"] == looked == 5


def test_an_archive_shows_asks_and_tells_what_is_moved_where(run: Run, file: Path) -> None:
    words = ("archive-to", "old.db", "-n", "users/ann")
    where = "1 memory of users/ann to old.db"
    assert "Ann drinks tea  " in run(*words, "--dry-run").out
    assert f"would move {where}\n" in run(*words, "--dry-run").out
    assert f"this would move {where}; add --yes" in run(*words).err
    refused = run(*words, text="n\n", terminal=True)
    assert (refused.code, "Ann drinks tea" in refused.err) == (1, True)
    assert f"moved {where}, with all history\n" in run(*words, "--yes").out
    for more in ("--yes", "--dry-run"):
        again = run(*words, more)
        assert again.code == 1
        assert again.err.startswith("bethink: nothing to move in 'users/ann'; memories are in ")


def test_a_short_id_names_a_memory_unless_several_end_so(run: Run, file: Path) -> None:
    assert run("get", STANDUP[-8:], "--json").data["id"] == STANDUP
    done = run("get", STANDUP[:12])
    assert done.code == 1
    assert f"could be any of:\n  {STANDUP}  Standup is at 10:00" in done.err
    assert run("get", OLD[-8:], "--json").data["state"] == "superseded"


def test_a_memory_that_is_gone_is_told_apart_from_none(run: Run, file: Path) -> None:
    run("forget", STANDUP)
    done = run("get", STANDUP[-8:])
    assert (done.code, "is forgotten, erased or expired; `bethink log " in done.err) == (1, True)
    assert "forget" in run("log", STANDUP[-8:]).out
    assert run("get", "--key", "standup").err.endswith("the key 'standup' in 'default'\n")


def test_forgetting_by_filter_shows_and_asks_first(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked = run("forget", "--category", "travel", "--dry-run")
    assert "The ferry leaves from pier 3" in looked.out
    assert looked.out.endswith("would forget 2\n")
    refused = run("forget", "--category", "travel")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    for typed, code, left in (("n\n", 1, 2), ("", 1, 2), ("yes\n", 0, 0)):
        done = run("forget", "--category", "travel", text=typed, terminal=True)
        assert "The ferry leaves from pier 4" in done.err
        assert "Forget 2 memories? [y/N]" in done.err
        assert done.code == code
        assert len(run("list", "--category", "travel", "--json").data) == left
    assert run("restore", PIER_3, PIER_4).out == "restored 2\n"


def test_what_was_changed_by_filter_is_brought_back_by_filter(run: Run, file: Path) -> None:
    travel = ("--category", "travel")
    for away, back in (("forget", "restore"), ("archive", "unarchive")):
        assert run(away, *travel, "--yes", "--json").data == {"count": 2}
        assert run("list", *travel, "--json").data == []
        looked = run(back, *travel, "--dry-run")
        assert "The ferry leaves from pier 3" in looked.out
        assert looked.out.endswith(f"would {back} 2\n")
        assert (run(back, *travel).code, run(back).code) == (2, 2)
        assert run(back, *travel, "--yes", "--json").data == {"count": 2}
        assert len(run("list", *travel, "--json").data) == 2
        assert run(back, *travel, "--yes").code == 1


def test_a_namespace_beside_ids_does_no_harm_unless_memories_go(run: Run, file: Path) -> None:
    for verb in ("archive", "unarchive"):
        assert run(verb, PIER_3, "-n", "work").out == f"{verb}d 1\n"
    for verb in ("forget", "erase"):
        assert run(verb, PIER_3, "-n", "work").code == 2


def test_erasing_asks_even_for_an_id(run: Run, file: Path) -> None:
    assert run("erase", PIER_3).code == 2
    assert run("erase", PIER_3, "--dry-run", "--json").data == {
        "count": 1,
        "ids": [PIER_3],
        "dry_run": True,
    }
    assert run("erase", PIER_3, "--yes").code == 0
    assert run("log", PIER_3).out.count("erase") >= 1


def test_a_trial_of_consolidate_and_tidy_changes_nothing(run: Run, file: Path) -> None:
    run("store", "The ferry leaves from pier 3.")
    before = file.read_bytes()
    looked = run("consolidate", "--dry-run")
    assert looked.out.startswith("keep")
    assert run("consolidate").code == 2
    assert "would forget 4" in run("tidy", "--unused", "0s", "--dry-run", "-n", "default").out
    assert file.read_bytes() == before
    assert run("consolidate", "--yes").out == looked.out
    assert run("tidy", "--unused", "0s", "-n", "default", "--yes").out.startswith("forgot 3")


def test_a_memory_has_a_history(run: Run, file: Path) -> None:
    run("outcome", "failed", STANDUP)
    data = run("get", "--key", "standup", "--history", "--json").data
    assert data["content"] == "Standup is at 10:00"
    assert [each["action"] for each in data["log"]][-1] == "store"
    assert len(data["outcomes"]) == 1
    text = run("get", STANDUP, "--history").out
    assert "history, newest first" in text
    assert "failed" in text


def test_a_recall_drops_what_is_far_below_the_best(run: Run, file: Path) -> None:
    query = "when is standup, and where does the ferry leave?"
    assert len(run("recall", query, "--json").data) > 1
    assert len(run("recall", query, "--min-share", "1", "--json").data) == 1


def test_a_recall_explains_and_answers_as_of_then(run: Run, file: Path) -> None:
    assert "keyword" in run("recall", "standup", "--explain").out
    run("update", STANDUP, "--content", "Standup is at 11:00")
    for moment in ("before-move", "#7"):
        [hit, *_] = run("recall", "standup", "--as-of", moment, "--json").data
        assert hit["memory"]["content"] == "Standup is at 10:00"
    [change] = run("diff", "before-move", "--json").data["changed"]
    assert change["after"]["content"] == "Standup is at 11:00"
    assert "[content]" in run("diff", "before-move").out


def test_recall_counts_no_access_unless_asked(run: Run, file: Path) -> None:
    for flags, count in ((), 0), (("--touch",), 1):
        run("recall", "standup", *flags)
        run("context", "standup")
        assert run("get", STANDUP, "--json").data["access_count"] == count


def test_context_without_a_query_shows_the_newest(run: Run, file: Path) -> None:
    assert "The ferry leaves from pier 4" in run("context").out
    assert run("context", "--budget", "60", "--json").data["tokens"] <= 60


def test_skipped_parts_of_an_import_are_named(run: Run, file: Path) -> None:
    lines = [
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["drinks tea"]},
        {"type": "riddle"},
    ]
    Path("mcp.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    done = run("import", "mcp.jsonl", "--from", "mcp")
    assert done.code == 0
    assert "imported          2" in done.out
    assert done.err.startswith("skipped: line 2: ")
    assert done.err.endswith("\nbethink: 1 of 3 were skipped, see above\n")
    Path("riddles.jsonl").write_text(json.dumps(lines[1]), encoding="utf-8")
    assert run("import", "riddles.jsonl", "--from", "mcp").code == 1
    again = run("import", "mcp.jsonl", "--from", "mcp", "--json").data
    assert (again["imported"], again["known"], again["skipped"]) == (0, 2, 1)


def test_an_export_goes_to_the_standard_output_and_comes_back(run: Run, file: Path) -> None:
    exported = run("export", "-").out
    done = run("--db", "copy.db", "import", "-", "--json", text=exported)
    assert done.data["added"] == 7
    assert run("--db", "copy.db", "log", "--json").data[0]["action"] == "snapshot"
    assert run("export", "notes", "--format", "md", "--json").data == {"written": 4}
    assert run("--db", "third.db", "import", "notes", "--from", "markdown").code == 0
    assert run("--db", "third.db", "recall", "ferry", "--json", "-a").data


def test_an_import_of_the_wrong_kind_names_the_right_way(run: Run, file: Path) -> None:
    Path("mem0.json").write_text("[]", encoding="utf-8")
    for source in ("mem0.json", "second.db"):
        done = run("import", source)
        assert (done.code, "--from" in done.err, "`bethink merge`" in done.err) == (1, True, True)
        assert "`bethink store --jsonl`" in done.err
    assert "--from markdown" in run("import", "notes").err
    assert "`bethink import`" in run("merge", "in.jsonl").err


def test_a_damaged_export_is_told_with_the_line(run: Run, file: Path) -> None:
    lines = Path("in.jsonl").read_text("utf-8").splitlines()
    Path("in.jsonl").write_text("\n".join([*lines[:2], "{", *lines[3:]]), encoding="utf-8")
    done = run("--db", "copy.db", "import", "in.jsonl")
    assert (done.code, "line 3" in done.err) == (1, True)
    assert run("--db", "copy.db", "list", "--json").data == []


def test_a_bar_shows_progress_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert output.bar("read") is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    tell = output.bar("read")
    assert tell is not None
    tell(1, 2)
    tell(2, 2)
    tell(1_000, None)
    shown = capsys.readouterr().err
    assert "[###############...............] 1 of 2 read" in shown
    assert "[##############################] 2 of 2 read" in shown
    assert "1,000 read" in shown


@pytest.mark.parametrize(
    ("environment", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
    ],
)
def test_colour_is_for_terminals(
    environment: dict[str, str], terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in output.bold("x")) == coloured


@pytest.mark.skipif(os.name == "nt", reason="the pager is a script of a shell")
def test_a_long_list_goes_through_the_pager_of_a_terminal(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pager = Path("pager")
    pager.write_text('#!/bin/sh\ncat > "paged.txt"\n')
    pager.chmod(0o755)
    monkeypatch.setenv("PAGER", str(pager.absolute()))
    monkeypatch.setenv("LINES", "3")
    with MemoryStore(file) as store:
        store.store_many([f"note {number}" for number in range(20)])
    assert "note 7" in run("list").out
    assert "note 7" in run("list", "--no-pager", terminal=True).out
    assert not Path("paged.txt").exists()
    assert run("list", terminal=True).out == ""
    assert "note 7" in Path("paged.txt").read_text("utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "plain words " * 12,
        "日本語のメモ、会議は月曜日の朝にあります。" * 4,
        "e\u0301" * 90,
        "🎉 party 🥳 " * 20,
        "❤️ love ☎️ " * 20,
        "tab\tand\nnewline\x1b[31m red " * 9,
    ],
)
def test_tables_fit_80_columns(text: str, run: Run, file: Path) -> None:
    run("store", text, "--category", "wide")
    for words in (
        ["list"],
        ["recall", text],
        ["log"],
        ["forget", "--category", "wide", "--dry-run"],
    ):
        lines = run(*words).out.splitlines()
        assert all(columns(line) <= 80 for line in lines)
        assert any(columns(line) >= 77 for line in lines)
        assert not any("\x1b" in line or "\t" in line for line in lines)


def test_long_namespaces_fit_and_stats_show_names_whole(run: Run, file: Path) -> None:
    long = "teams/harbour/crews/night-shift/ferries"
    run("store", "The night ferry leaves at 23:00 " * 3, "-n", long)
    lines = run("list", "-a").out.splitlines()
    assert all(columns(line) <= 80 for line in lines)
    assert any(line.endswith("…ews/night-shift/ferries") for line in lines)
    assert f"{long}  1" in run("stats").out


def columns(line: str) -> int:
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in line)
    marks = sum(unicodedata.combining(each) > 0 for each in line)
    return len(line) + wide - marks


def test_a_memory_named_twice_counts_once(run: Run, file: Path) -> None:
    assert "would forget 1" in run("forget", OLD, OLD, "--dry-run").out
    assert "forgot 1" in run("forget", OLD, OLD).out


def test_undo_passes_over_entries_that_cannot_be_undone(run: Run, file: Path) -> None:
    run("forget", PIER_3)
    with MemoryStore(file, durability="normal") as store:
        for number in range(100):  # more than the newest page of the log
            store.snapshot(f"before {number}")
    assert "is live" in run("undo").out


def test_undo_takes_the_last_entry_back(run: Run, file: Path) -> None:
    run("forget", PIER_3)
    assert "is live" in run("undo").out
    MemoryStore("fresh.db").close()
    done = run("--db", "fresh.db", "undo")
    assert (done.code, done.err) == (1, "bethink: nothing can be undone yet\n")


# Inner module: the names of the fields are stated there alone.
def test_every_field_of_a_memory_has_an_argument() -> None:
    names = {argument.flags[0][2:].replace("-", "_") for argument in FIELDS}
    assert names == {*Common.__annotations__, "tag"} - {"namespace", "tags", "vectors"}


def test_a_time_beyond_the_calendar_is_shown_as_a_number(run: Run, file: Path) -> None:
    run("store", "The sun is gone", "--key", "sun", "--occurred-at", "1e12")
    for words in (["list"], ["recall", "sun"], ["get", "--key", "sun"]):
        assert "1000000000000" in run(*words).out
