"""Words as users type them, also misspelt, and what the command line answers."""

from pathlib import Path

import pytest

from .conftest import Run, ids

STANDUP = ids()[1]


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["namespaces"],
        ["get", "--key", "none"],
        ["audit", "none"],
        ["archive-to", "other.db", "--yes"],
        ["export", "other.jsonl"],
    ],
)
def test_the_namespaces_most_like_a_misspelt_one_are_named_first(
    run: Run, file: Path, words: list[str]
) -> None:
    done = run(*words, "-n", "usr/ann")
    assert "; memories are in users/ann (1), default (3)" in done.out + done.err


def test_a_search_its_block_and_its_reasons_take_the_same_arguments(run: Run, file: Path) -> None:
    for more, told in (
        (["--mode", "keyword"], "returned"),
        (["--mode", "keyword", "--min-similarity", "1"], "below min_similarity"),
        (["--min-score", "0.99"], "below min_score"),
    ):
        shown = told == "returned"
        assert ("10:00" in run("recall", "standup", *more).out) is shown
        assert ("10:00" in run("context", "standup", *more).out) is shown
        assert told in run("why", STANDUP, "standup", *more).out


def test_an_empty_log_of_a_namespace_tells_where_memories_are(run: Run, file: Path) -> None:
    assert "nothing in '3'; memories are in default (3)" in run("log", "-n", "3").err


@pytest.mark.parametrize("words", [["get"], ["forget"], ["update", "--content", "x"]])
def test_a_key_in_place_of_an_id_is_answered_by_the_id(
    run: Run, file: Path, words: list[str]
) -> None:
    done = run(*words, "standup")
    assert done.code == 1
    assert f"; the memory with the key 'standup' is {STANDUP[-8:]}\n" in done.err


def test_several_tags_may_be_given_at_once(run: Run, file: Path) -> None:
    told = run("store", "Deploy on Tuesday", "--tag", "crew, work", "--tag", "ops", "--json").data
    assert told["tags"] == ["crew", "work", "ops"]
    for tags, count in (("crew", 1), ("crew,ops", 1), ("crew,team", 0)):
        assert len(run("list", "--tag", tags, "--json").data) == count
    assert run("store", "x", "--tag", "a,,b").code == 2


@pytest.mark.parametrize(
    ("word", "meant"),
    [("find", "recall"), ("remember", "store"), ("ls", "list"), ("recal", "recall")],
)
def test_a_command_of_another_name_is_named(run: Run, word: str, meant: str) -> None:
    assert f"no command {word!r}; perhaps `bethink {meant}`;" in run(word, "standup").err


def test_the_new_text_of_a_memory_stands_after_the_id(run: Run, file: Path) -> None:
    for words in (["Standup is at 11:00"], ["--content", "Standup is at 12:00"]):
        run("update", STANDUP[-8:], *words)
        assert run("get", STANDUP, "--json").data["content"] == words[-1]
    assert "give TEXT or --content" in run("update", STANDUP, "a", "--content", "b").err
    assert "put a text of several words in quotes" in run("update", STANDUP, "at", "noon").err


def test_a_word_too_many_is_called_a_text_only_where_a_text_is_taken(run: Run, file: Path) -> None:
    assert "in quotes" not in run("reinforce", STANDUP, "0.2").err
    assert "are required: TARGET" in run("relate", STANDUP, "causes").err


def test_a_log_begins_and_ends_at_any_moment(run: Run, file: Path) -> None:
    run("store", "Ann plays chess")
    newest = run("log", "--limit", "1", "--json").data[0]["seq"]
    for moment in (str(newest - 1), f"#{newest - 1}"):
        assert [each["seq"] for each in run("log", "--since", moment, "--json").data] == [newest]
        assert run("log", "--until", moment, "--json").data[0]["seq"] == newest - 1
    named = run("snapshot", "--json").data[0]
    since = run("log", "--since", named["name"], "--json").data
    assert since[-1]["seq"] == named["seq"] + 1
    assert run("log", "--since", "2d", "--json").data == run("log", "--json").data
    assert run("log", "--until", "2d", "--json").data == []
    assert run("recall", "chess", "--as-of", str(newest), "--json").data
    assert "snapshot 'monday' was not found" in run("log", "--since", "monday").err


@pytest.mark.parametrize("words", [["get", "--key", "drink"], ["audit", "drink"]])
def test_a_key_of_another_namespace_is_told(run: Run, file: Path, words: list[str]) -> None:
    run("store", "Ann drinks tea", "--key", "drink", "-n", "users/ann")
    assert "'drink' in 'default'; the key is in users/ann\n" in run(*words).err


def test_a_fact_is_listed_and_forgotten_by_its_key(run: Run, file: Path) -> None:
    assert [each["id"] for each in run("list", "--key", "standup", "--json").data] == [STANDUP]
    assert "would forget 1" in run("forget", "--key", "standup", "--dry-run").out
    assert run("forget", "--key", "standup", "--yes", "--json").data == {"count": 1}


def test_an_erasure_is_not_passed_over_by_an_undo_of_the_last_change(run: Run, file: Path) -> None:
    run("store", "Lunch is at noon")
    run("erase", STANDUP, "--yes")
    done = run("undo")
    assert (done.code, "erased for good; name an entry to undo" in done.err) == (1, True)
    assert "Lunch is at noon" in run("list").out


@pytest.mark.parametrize("name", ["users/ann/", "/users/ann", "users//ann"])
def test_a_slash_too_many_is_answered_by_the_namespace(run: Run, file: Path, name: str) -> None:
    for words in (["list"], ["store", "Ann drinks tea"], ["forget", "--yes"]):
        done = run(*words, "-n", name)
        assert (done.code, done.err) == (
            2,
            f"bethink: {name!r} has a slash too many; write users/ann\n",
        )
