"""Only what an agent used gets a verdict, and only what is to be seen gives one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryRecord, MemoryStore, ValidationError, context_block
from bethink.testing import FrozenClock
from bethink_adapters.transcripts import Attribution, attribute, record_outcomes, verdict_of

USED, OTHER = "0197f3aa10bb7000a1b2c3d4e5f60718", "0197f3ab99cc7000ffeeddccbbaa9988"
PASSED = "..........  [100%]\n\n===== 10 passed, 1 warning in 0.42s =====\n"
FAILED = "E   assert 1 == 2\nFAILED tests/test_a.py::test_x\n2 failed, 8 passed in 0.40s\n"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(clock=FrozenClock()) as store:
        store.store("Migrate with `make db` before the tests", id=USED)
        store.store("Never run `rm -rf build`; use `make clean`, not `make all`", id=OTHER)
        yield store


@pytest.fixture
def recalled(store: MemoryStore) -> list[MemoryRecord]:
    return store.all()


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "content": list(parts) if len(parts) > 1 else parts[0]}


def ran(command: str, output: Any, id: str = "t1", **told: Any) -> list[dict[str, Any]]:
    """Return a call of a shell and its result, as Anthropic has them."""
    use = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": id, "content": output, **told}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, use]},
        {"role": "user", "content": [result]},
    ]


def verdicts(transcript: Any, recalled: list[MemoryRecord]) -> dict[str, str]:
    return {each.id: each.verdict for each in attribute(transcript, recalled)}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("It works now.", "worked"),
        ("That fixed it, thanks!", "worked"),
        ("All tests pass", "worked"),
        ("No, it's fine now", "worked"),
        ("it no longer fails", "worked"),
        ("It doesn\u2019t fail any more.", "worked"),
        ("the tests are not failing anymore", "worked"),
        ("No errors, no warnings", "worked"),
        ("it runs without errors", "worked"),
        ("no tests failed", "worked"),
        ("nothing crashed", "worked"),
        ("it stopped crashing", "worked"),
        ("it isn't broken any more", "worked"),
        ("It no longer fails or crashes", "worked"),
        ("I got it to work", "worked"),
        ("that did the trick", "worked"),
        ("it never fails to work", "worked"),
        ("Not only does it work, it is fast", "worked"),
        ("not fixed", "failed"),
        ("this is not fixed", "failed"),
        ("still failing", "failed"),
        ("Still broken.", "failed"),
        ("Great, it is still not working", "failed"),
        ("thanks but that's wrong", "failed"),
        ("doesn't work any more", "failed"),
        ("It dont work", "failed"),
        ("it stopped working", "failed"),
        ("it used to work", "failed"),
        ("it fails to work", "failed"),
        ("can't get it to work", "failed"),
        ("the tests no longer pass", "failed"),
        ("not a single test passes", "failed"),
        ("it never worked", "failed"),
        ("nothing works", "failed"),
        ("I still get the same error", "failed"),
        ("the error is still there", "failed"),
        ("that didn't help, please try again", "failed"),
        ("it won't work", "failed"),
        ("it partially works", "partial"),
        ("mostly fixed", "partial"),
        ("the first is fixed but the second still fails", "partial"),
        ("It works on Linux, but crashes on Windows", "partial"),
        ("Great, thanks!", None),
        ("Does it work?", None),
        ("it should work", None),
        ("I want it to work", None),
        ("if it fails, run make clean", None),
        ("Please fix the failing test", None),
        ("Fix failing tests in core", None),
        ("the working directory is clean", None),
        ("pass the argument to the function", None),
        ("the tests help a lot", None),
        ("work on the error case", None),
        ("write `it works` there", None),
        ("", None),
    ],
)
def test_what_people_say_is_read_with_its_negations(text: str, verdict: str | None) -> None:
    assert verdict_of(text) == verdict
    assert verdict_of(text.upper()) == verdict


def test_only_the_cited_memory_is_scored(recalled: list[MemoryRecord]) -> None:
    text = f"As memory {USED} says, the schema was old.\n$ pytest -q\n{PASSED}"
    assert attribute(text, recalled) == [
        Attribution(USED, "worked", "cited", "10 passed, 1 warning in 0.42s")
    ]
    assert verdicts(text.replace(PASSED, FAILED), recalled) == {USED: "failed"}
    assert verdicts(PASSED, recalled) == {}
    assert verdicts(f"I used {USED}.", recalled) == {}


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        ("\x1b[32m=== \x1b[1m3 passed\x1b[0m in 1.20s (0:00:01) ===\x1b[0m", "worked"),
        ("3 passed, 2 skipped in 0.1s", "worked"),
        ("1 error in 0.21s", "failed"),
        ("no tests ran in 0.01s", None),
        ("Ran 5 tests in 0.001s\n\nOK (skipped=1)", "worked"),
        ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1)", "failed"),
        ("Tests:       4 passed, 4 total", "worked"),
        ("Tests:       1 failed, 3 passed, 4 total", "failed"),
        (" Test Files  1 passed (1)\n      Tests  2 failed | 2 passed (4)", "failed"),
        ("  12 passing (8ms)\n", "worked"),
        ("  12 passing (8ms)\n  1 failing\n", "failed"),
        ("test result: ok. 5 passed; 0 failed; 0 ignored", "worked"),
        (
            "test result: FAILED. 4 passed; 1 failed;\ntest result: ok. 2 passed; 0 failed;",
            "failed",
        ),
        ("ok  \texample.org/a\t0.01s\nok  \texample.org/b\t(cached)", "worked"),
        ("--- FAIL: TestA\nFAIL\texample.org/a\t0.01s\nok  \texample.org/b\t0.01s", "failed"),
        ("1 failed, 2 passed in 0.1s\n...\n3 passed in 0.1s", "worked"),
        ("1 failed, 2 passed in 0.1s\nok  \texample.org/a\t0.01s", "worked"),
        ("Ran 2 tests in 0.001s\n\nOK (skipped=2)", None),
        ("collected 4 items", None),
        ("Ran 5 tests in 0.001s\n\nFAILED (unexpected successes=1)", "failed"),
        (f"Ran 5 tests in 0.001s\n\nFAILED ({'a ' * 50_000}=1, errors=1)", "failed"),
        (f"{'1' * 5000} passed in 0.1s", None),
        (f"Ran {'1' * 5000} tests in 0.1s\n\nOK", None),
        (f"Tests: {'1' * 5000} failed", None),
    ],
)
def test_runs_of_several_test_tools_are_read(
    recalled: list[MemoryRecord], output: str, verdict: str | None
) -> None:
    messages = [said("assistant", f"By {USED}: reset."), *ran("run the tests", output)]
    expected = {} if verdict is None else {USED: verdict}
    assert verdicts(messages, recalled) == expected


def test_fewer_failures_are_a_part_of_success(recalled: list[MemoryRecord]) -> None:
    before, after = "5 failed, 1 passed in 1.0s", "1 failed, 5 passed in 1.0s"
    for first, last, verdict in ((before, after, "partial"), (after, before, "failed")):
        messages = [*ran("pytest", first, "a"), said("assistant", USED), *ran("pytest", last, "b")]
        assert verdicts(messages, recalled) == {USED: verdict}


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Thanks, it works!", "worked"),
        ("Great, it is still not working", "failed"),
        ("Now add a button", "worked"),
        (f"Here is what I see:\n{FAILED}", "failed"),
        ("<system-reminder>it failed</system-reminder>", "worked"),
    ],
)
def test_the_human_has_the_last_word(
    recalled: list[MemoryRecord], answer: str, verdict: str
) -> None:
    messages = [
        said("user", "The tests fail, it is broken."),
        *ran("pytest", PASSED),
        said("assistant", f"Done, as memory {USED} told. It still fails, I guess."),
        said("user", answer),
    ]
    assert verdicts(messages, recalled) == {USED: verdict}


def test_each_turn_has_its_own_verdict_and_the_last_one_counts(
    recalled: list[MemoryRecord],
) -> None:
    one = [said("assistant", f"By {USED}."), *ran("pytest", PASSED), said("user", "Next: dogs.")]
    two = [said("assistant", f"By {OTHER}."), *ran("pytest", FAILED), said("user", "Hm.")]
    assert verdicts([*one, *two], recalled) == {USED: "worked", OTHER: "failed"}
    again = [said("assistant", f"Again {USED}."), said("user", "that's wrong")]
    assert verdicts([*one, *two, *again], recalled)[USED] == "failed"


def test_an_id_is_cited_by_the_agent_alone(store: MemoryStore) -> None:
    recalled = store.all()
    listed = json.dumps([{"id": record.id} for record in recalled])
    assert verdicts([said("user", f"Use {USED}."), *ran("pytest", PASSED)], recalled) == {}
    assert verdicts([*ran("recall", listed), *ran("pytest", PASSED, "b")], recalled) == {}
    assert verdicts([said("system", listed), *ran("pytest", PASSED)], recalled) == {}
    commit = ran(f"git commit -m 'fix, see {USED}'", "")
    assert verdicts([*commit, *ran("pytest", PASSED, "b")], recalled) == {USED: "worked"}
    text = "\n".join(f"{record.id} {record.content}" for record in recalled)
    assert verdicts(f"$ recall tests\n{text}\n\n{PASSED}", recalled) == {}


@pytest.mark.parametrize(
    ("cited", "found"),
    [
        (USED[:8], set()),  # both begin so
        (USED[:9], {USED}),
        (f"[{USED[:12]}]", {USED}),
        (f"{USED}0", set()),
        (f"x-{USED}", set()),
        (USED[:7], set()),
        (f"`{USED}`, {OTHER}.", {USED, OTHER}),
    ],
)
def test_an_id_may_be_shortened_while_it_is_clear(
    store: MemoryStore, cited: str, found: set[str]
) -> None:
    recalled = store.all()
    recalled[1] = store.store("x", id=f"{USED[:8]}{OTHER[8:]}")
    cited = cited.replace(OTHER, recalled[1].id)
    found = {each.replace(OTHER, recalled[1].id) for each in found}
    assert set(verdicts(f"I used {cited}\n{PASSED}", recalled)) == found
    assert verdicts(f"I used {USED[:7]}\n{PASSED}", recalled[:1]) == {}


@pytest.mark.parametrize(
    ("command", "output", "told", "verdict"),
    [
        ("make db", "migrated", {}, "worked"),
        ("make db", "", {"is_error": False}, "worked"),
        ("cd app && FOO=1 make  db 2>&1 | tail -3 && pytest -q", "ok", {}, "worked"),
        ("make db; make test", "Exit code 2\nmake: *** [db] Error 1", {"is_error": True}, "failed"),
        ("make db", "bash: make: command not found", {}, "failed"),
        ("make db", "Process exited with code 0\nerror: none at all", {}, "worked"),
        ("make db", "exit code: 1, so again\nexit code: 0", {}, "worked"),
        ("make db", "3 passed in 0.2s", {"is_error": True}, "worked"),
        ("make db", "1 failed, 3 passed in 0.2s", {"is_error": True}, None),
        ("make dbx", "migrated", {}, None),
        ("make db --force", "migrated", {}, None),
        ("echo 'make db'", "make db", {}, None),
        ("echo 'make db", "unclosed", {}, None),
    ],
)
def test_a_memory_whose_command_was_run_gets_its_result(
    recalled: list[MemoryRecord], command: str, output: str, told: Any, verdict: str | None
) -> None:
    found = attribute(ran(command, output, **told), recalled)
    assert [(each.id, each.verdict, each.reason) for each in found] == (
        [] if verdict is None else [(USED, verdict, "command")]
    )


def test_a_command_without_a_result_tells_nothing(recalled: list[MemoryRecord]) -> None:
    assert verdicts(ran("make db", "fine")[:1], recalled) == {}
    assert verdicts([*ran("make db", "fine"), *ran("make db", "fine", "t2")[:1]], recalled) == {}
    failing = [*ran("make db", "fine"), *ran("make db", "x", "t2", is_error=True)]
    assert verdicts(failing, recalled) == {USED: "failed"}


def test_what_a_memory_warns_of_is_no_advice(recalled: list[MemoryRecord]) -> None:
    for command in ("rm -rf build", "make all"):
        assert verdicts(ran(command, "x", is_error=True), recalled) == {}
    assert verdicts(ran("make clean", "x", is_error=True), recalled) == {OTHER: "failed"}


@pytest.mark.parametrize(
    ("content", "category", "command", "used"),
    [
        ("tox run -e py", "command", "tox run -e py", True),
        ("tox run -e py", None, "tox run -e py", False),
        ("Build:\n```sh\nnpm ci\nnpm run build\n```", None, "npm ci && npm run build", True),
        ("Build:\n```sh\nnpm ci\nnpm run build\n```", None, "npm run build", False),
        ("First\n$ npm ci\nthen wait", None, "npm ci", True),
        ("```\n$ npm ci \\\n  --quiet\n```", None, "npm ci --quiet >log 2>&1", True),
        ("If it does not start, run `npm ci`", None, "npm ci", True),
        ("You don't need `npm ci`", None, "npm ci", False),
        ("Never run `rm x; make` or `npm ci`", None, "npm ci", False),
        ("Run `pytest -k 'not slow'` and `npm ci`", None, "npm ci", True),
        ("Run `open a#b`", None, "open a#c", False),
        ("Go to `cd app`", None, "cd app", False),
        ("First `npm ci`", "command", "npm ci", True),
    ],
)
def test_commands_stand_in_quotes_or_alone(
    store: MemoryStore, content: str, category: str | None, command: str, used: bool
) -> None:
    record = store.store(content, category=category)
    assert bool(attribute(ran(command, "fine"), [record])) is used


def test_the_result_of_the_whole_outweighs_that_of_the_command(
    recalled: list[MemoryRecord],
) -> None:
    messages = [
        *ran("make db", "fine"),
        said("assistant", f"See {USED}."),
        said("user", "It fails"),
    ]
    assert attribute(messages, recalled) == [Attribution(USED, "failed", "cited", "It fails")]
    assert attribute(messages[:-1], recalled) == [
        Attribution(USED, "worked", "command", "make db: fine")
    ]


def openai(output: str) -> list[dict[str, Any]]:
    arguments = json.dumps({"command": ["bash", "-lc", "make db && pytest"]})
    function = {"name": "shell", "arguments": arguments}
    return [
        said("user", "Go on."),
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": output},
        {"role": "assistant", "content": [{"type": "text", "text": f"By {OTHER}."}]},
    ]  # fmt: skip


def responses(output: str) -> list[dict[str, Any]]:
    return [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "local_shell_call", "call_id": "c", "action": {"command": ["make", "db"]}},
        {"type": "local_shell_call_output", "call_id": "c", "output": output},
        {"type": "reasoning", "summary": []},
        {"role": "assistant", "content": [{"type": "output_text", "text": f"By {OTHER}."}]},
    ]


def claude_code(output: str) -> str:
    messages = [said("user", "Go on."), *ran("make db", output), said("assistant", f"By {OTHER}.")]
    lines: list[dict[str, Any]] = [{"type": "summary", "summary": "it failed"}]
    lines += [{"type": each["role"], "message": each, "uuid": "u"} for each in messages]
    aside = {"type": "user", "message": said("user", "it failed")}
    lines += [{**aside, "isMeta": True}, {**aside, "isSidechain": True}]
    lines[4]["isSidechain"] = True
    return "\n".join([*map(json.dumps, lines), '{"type": "assistant", "mess'])


def text(output: str) -> str:
    return f"User: Go on.\nAssistant: Well.\n$ make db\n{output}\n**Assistant:** By {OTHER}."


def shell(output: str) -> list[dict[str, Any]]:
    call = {"name": "run", "arguments": {"cmd": "make db"}}
    return [
        {"role": "assistant", "content": "", "function_call": call},
        {"role": "function", "name": "run", "content": output},
        {"role": "assistant", "content": f"By {OTHER}."},
    ]


@pytest.mark.parametrize("form", [openai, responses, claude_code, text, shell])
def test_every_form_of_a_transcript_tells_the_same(recalled: list[MemoryRecord], form: Any) -> None:
    for output, verdict in ((PASSED, "worked"), ("Exit code 2", "failed")):
        transcript = form(output)
        found = {each.id: each for each in attribute(transcript, recalled)}
        assert (found[USED].verdict, found[USED].reason) == (verdict, "command")
        assert (OTHER in found) is (verdict == "worked")
        if isinstance(transcript, list):
            assert attribute(json.dumps(transcript), recalled) == list(found.values())
            assert attribute(iter(transcript), recalled) == list(found.values())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029"])
def test_a_line_of_json_ends_only_where_the_line_does(
    recalled: list[MemoryRecord], mark: str, end: str
) -> None:
    messages = [said("assistant", f"By {USED}."), said("user", f"No,{mark}it still fails.")]
    lines = [json.dumps(each, ensure_ascii=False) for each in messages]
    assert verdicts(end.join(lines), recalled) == {USED: "failed"}


def test_what_was_recalled_is_no_answer(store: MemoryStore) -> None:
    block = context_block([store.store(f"The deploy failed, see {USED}")])
    recalled = store.all()
    messages = [said("assistant", f"By {USED}."), said("user", f"{block}\nNow the docs.")]
    assert verdicts(messages, recalled) == {}
    assert verdicts(f"Assistant: By {USED}.\nUser: {block}\nNow the docs.", recalled) == {}
    assert verdicts(f"{block}\n{PASSED}", recalled) == {}


@pytest.mark.parametrize("transcript", [None, 3, {"role": "user"}, ["x"], [None]])
def test_what_is_no_transcript_is_refused(transcript: Any) -> None:
    with pytest.raises(ValidationError):
        attribute(transcript, [])


@pytest.mark.parametrize("recalled", [None, 3, "x", ["a"], [None], [{"id": "a"}]])
def test_what_was_not_recalled_is_refused(recalled: Any) -> None:
    with pytest.raises(ValidationError, match="recalled must be"):
        attribute("x", recalled)


@pytest.mark.parametrize(
    "transcript",
    ["", [], "{not json", "Ran 5 tests in 0.1s\n\nFAILED (failures=x)", "[1, 2]",
     '{"a": 1}', [{}], [{"role": 3, "content": 3}],
     [{"role": "assistant", "content": [None, 3, {"type": "image"}], "tool_calls": None}],
     [{"role": "tool"}, {"type": "tool_use"}, {"type": "function_call", "arguments": "[]"}]],
)  # fmt: skip
def test_what_tells_nothing_scores_nothing(recalled: list[MemoryRecord], transcript: Any) -> None:
    assert attribute(transcript, recalled) == []


names = st.sampled_from(
    ["role", "content", "type", "text", "tool_calls", "function_call", "input", "id", "message"]
)
values = st.sampled_from(
    ["user", "assistant", "tool", "tool_use", "tool_result", "function_call", "it works", None, 3]
)
parts = st.recursive(
    values, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4)
)


@pytest.mark.slow
@given(st.lists(st.dictionaries(names, parts, max_size=4), max_size=4))
def test_messages_of_any_shape_are_read(messages: list[dict[str, Any]]) -> None:
    record = MemoryRecord(USED, "default", "Use `make db`", 0.0, 0.0, 0.0)
    found = attribute(messages, [record])
    assert found == attribute(json.dumps(messages), [record]) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *("\n" * 50_000, "1 a11 " * 10_000, "3 passed, " * 10_000),
        *("<system-reminder>" * 50_000, "[" * 200_000, '{"content": 3}\n' + '{"a":' * 200_000),
    ],
    ids=lambda text: text[:9],
)
def test_a_long_text_is_read_in_passing(recalled: list[MemoryRecord], text: str) -> None:
    assert attribute(text, recalled) == []


@pytest.mark.slow
def test_a_memory_with_many_quotes_is_read_in_passing() -> None:
    warning = MemoryRecord(USED, "default", f"never {'`make db` ' * 50_000}, but `ls`", 0, 0, 0)
    assert verdicts(ran("make db", "done"), [warning]) == {}
    assert verdicts(ran("ls", "done"), [warning]) == {USED: "worked"}


def test_a_message_that_is_nested_too_deeply_is_refused() -> None:
    content: list[Any] = []
    for _ in range(100_000):
        content = [content]
    with pytest.raises(ValidationError, match="too deeply"):
        attribute([{"role": "tool", "content": content}], [])


def test_a_code_of_any_length_is_read(recalled: list[MemoryRecord]) -> None:
    for code, verdict in (("1" * 5000, "failed"), ("0" * 5000, "worked")):
        assert verdicts(ran("make db", f"exit code: {code}"), recalled) == {USED: verdict}


def test_recalled_results_are_as_good_as_records(store: MemoryStore) -> None:
    hits = store.recall("migrate before the tests")
    assert attribute(ran("make db", "fine"), hits) == attribute(ran("make db", "fine"), store.all())


def test_verdicts_become_outcomes(store: MemoryStore, recalled: list[MemoryRecord]) -> None:
    found = attribute([said("assistant", f"{USED} {OTHER}"), said("user", "It works")], recalled)
    assert record_outcomes(store, found) == found
    assert [record.outcome for record in store.all()] == [0.2, 0.2]
    assert store.log(limit=1)[0].action == "worked"


def test_a_session_is_recorded_once_however_often_it_is_read(
    store: MemoryStore, recalled: list[MemoryRecord]
) -> None:
    short = ran("make db", "fine")
    longer = [*short, said("assistant", f"See {USED}."), said("user", "it fails")]
    recorded = [
        len(record_outcomes(store, attribute(each, recalled), "s"))
        for each in (short, short, longer, longer)
    ]
    assert recorded == [1, 0, 1, 0]
    assert [entry.action for entry in store.outcomes(USED)] == ["worked", "failed"]
    assert len(record_outcomes(store, attribute(short, recalled), "another")) == 1


def test_what_cannot_be_recorded_is_left_out_and_told(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    records = store.store_many(f"fact {number}" for number in range(5))
    store.forget(records[0].id)
    found = [Attribution(each.id, "failed", "cited", "") for each in records]
    found.append(Attribution("none", "worked", "cited", ""))
    assert record_outcomes(store, found, "s") == found[1:4]
    assert [record.getMessage().split()[3] for record in caplog.records] == [
        each.id for each in (found[0], found[4], found[5])
    ]
