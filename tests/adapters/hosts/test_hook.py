"""The hook of each host brings memories, learns outcomes, and never disturbs the host."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bethink import MemoryStore
from bethink_adapters.hosts import hook
from bethink_adapters.hosts.hook import run
from bethink_adapters.surface.location import Location

EVENTS = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent"),
    "cursor": ("sessionStart", "beforeSubmitPrompt", "stop"),
}
PROMPT = "From which pier does the ferry leave?"
Call = Callable[..., str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        store.store("The ferry leaves from pier 3")
        store.store("Deploy with `make ship`", namespace="projects/harbour", category="command")
        store.store("Ann drinks tea", namespace="projects/kitchen")
    return path


@pytest.fixture
def call(file: Path, tmp_path: Path) -> Call:
    """A function that calls the hook of a host, in the project "harbour"."""
    project = tmp_path / "harbour" / "src"
    project.mkdir(parents=True)
    (tmp_path / "harbour" / ".git").mkdir()

    def call(host: str, moment: int, path: Path = file, seconds: float = 30.0, **more: Any) -> str:
        event = {
            "hook_event_name": EVENTS[host][moment],
            "session_id": "s1",
            "cwd": str(project),
            **more,
        }
        environment = {"HOME": str(tmp_path)}
        return run(
            host, json.dumps(event), Location(path), environment=environment, seconds=seconds
        )

    return call


def context(host: str, reply: str) -> str:
    """Return the text for the model in *reply*, whose form must be the host's."""
    data = json.loads(reply)
    if host == "cursor":
        assert data.keys() <= {"continue", "additional_context"}
        return str(data["additional_context"])
    assert data.keys() == {"hookSpecificOutput"}
    assert data["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert data["hookSpecificOutput"]["hookEventName"] in EVENTS[host]
    return str(data["hookSpecificOutput"]["additionalContext"])


def log_of(tmp_path: Path) -> str:
    found = list(tmp_path.rglob("hooks.log"))
    return found[0].read_text("utf-8") if found else ""


@pytest.mark.parametrize("host", EVENTS)
def test_a_session_starts_with_the_memories_of_the_project_and_the_user(
    host: str, call: Call
) -> None:
    text = context(host, call(host, 0))
    assert "The ferry leaves from pier 3" in text
    assert "make ship" in text
    assert "Ann drinks tea" not in text
    assert "memory_outcome takes these ids" in text


@pytest.mark.parametrize("host", EVENTS)
def test_a_prompt_brings_what_matches_once_in_a_session(host: str, call: Call) -> None:
    text = context(host, call(host, 1, prompt=PROMPT))
    assert "The ferry leaves from pier 3" in text
    assert "make ship" not in text
    assert call(host, 1, prompt=PROMPT) == ""
    assert "pier 3" in call(host, 1, prompt=PROMPT, session_id="s2")
    assert "pier 3" in call(host, 0, source="compact")  # the text is gone: shown again


@pytest.mark.parametrize("prompt", ["", "go on", "/clear the pier ferry", "Is the moon of cheese?"])
def test_a_prompt_without_a_match_brings_nothing(prompt: str, call: Call) -> None:
    assert call("claude-code", 1, prompt=prompt) == ""


def test_a_reply_stays_below_the_limit_of_hosts(file: Path, call: Call) -> None:
    with MemoryStore(file) as store:
        store.store_many([f"The ferry leaves from pier {n}. {'Long ' * 99}" for n in range(40)])
    for moment in (0, 1):
        reply = call("claude-code", moment, prompt=PROMPT, session_id=f"long{moment}")
        assert 0 < len(context("claude-code", reply)) <= hook.MAX_CHARACTERS == 9_000
    assert hook._fitting(["a" * 8_000, "b" * 1_000]) == "a" * 8_000
    assert hook._fitting(["a" * 9_001]) == ""


def test_open_conflicts_are_counted(file: Path, call: Call) -> None:
    with MemoryStore(file) as store:
        store.store("The ferry leaves from pier 4")
    assert "Open conflicts: 1" in context("claude-code", call("claude-code", 0))


@pytest.mark.parametrize("host", EVENTS)
def test_the_end_of_a_turn_judges_the_memories_of_the_session(
    host: str, call: Call, file: Path, tmp_path: Path
) -> None:
    call(host, 0)
    with MemoryStore(file) as store:
        [command] = store.all(namespace="projects/harbour")
    transcript = tmp_path / "transcript.jsonl"
    used = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make ship"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "shipped", "is_error": False}
    lines = [
        {"type": "user", "message": {"role": "user", "content": "Deploy, please"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [used]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    transcript.write_text("\n".join(map(json.dumps, lines)))
    assert call(host, 2, transcript_path=str(transcript), stop_hook_active=True) == ""
    assert call(host, 2, transcript_path=str(transcript), session_id="s9") == ""
    assert outcomes(file, command.id) == []
    assert call(host, 2, transcript_path=str(transcript)) == ""
    assert outcomes(file, command.id) == [(0.2, f"{host}:s1")]


def outcomes(file: Path, id: str) -> list[tuple[float, str | None]]:
    with MemoryStore(file) as store:
        return [(each.outcome, each.session) for each in store.outcomes(id)]


@pytest.mark.parametrize("host", EVENTS)
def test_no_file_is_ever_made(host: str, call: Call, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    for moment in range(3):
        assert call(host, moment, path=tmp_path / "none" / "memory.db", prompt=PROMPT) == ""
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "given",
    [
        "",
        "no JSON",
        "[]",
        "null",
        '{"hook_event_name": 7}',
        "{}",
        '{"hook_event_name": "PreCompact"}',
    ],
)
def test_what_is_no_event_is_passed_over(given: str, file: Path, tmp_path: Path) -> None:
    assert run("claude-code", given, Location(file), environment={"HOME": str(tmp_path)}) == ""


def test_a_fault_is_silent_and_in_the_log(call: Call, tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_text("no database " * 100)
    assert call("claude-code", 0, path=broken) == ""
    assert "claude-code: " in log_of(tmp_path)
    assert call("claude-code", 2, transcript_path=str(tmp_path / "missing.jsonl")) == ""


def test_a_hook_that_takes_too_long_says_nothing(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = threading.Event()
    monkeypatch.setattr(hook, "_answer", lambda *_: waiting.wait(30) and "late")
    assert call("claude-code", 0, seconds=0.05) == ""
    waiting.set()


def test_tasks_are_left_out(file: Path, call: Call) -> None:
    with MemoryStore(file) as store:
        store.store("The ferry task: paint the pier", tags=["task"], key="task:beads:bd-1")
    assert "paint the pier" not in call("claude-code", 1, prompt=PROMPT)
    assert "paint the pier" not in call("claude-code", 0)


def test_the_environment_names_file_and_namespace(file: Path, tmp_path: Path) -> None:
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "bethink_adapters.cli", "hook", "claude-code"],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "BETHINK_DB": str(file),
            "BETHINK_NAMESPACE": "projects/kitchen",
        },
    )
    text = context("claude-code", done.stdout)
    assert "Ann drinks tea" in text
    assert "pier" not in text
    assert done.stderr == ""


def test_cursor_names_the_folder_by_workspace_roots(file: Path, tmp_path: Path) -> None:
    event = {"hook_event_name": "sessionStart", "workspace_roots": [str(tmp_path / "kitchen")]}
    reply = run(
        "cursor",
        json.dumps(event),
        Location(file),
        environment={"HOME": str(tmp_path)},
        seconds=30.0,
    )
    assert "Ann drinks tea" in context("cursor", reply)
