"""Anthropic's memory tool against the SDK itself, whose answers come from a script."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.tools.memory")

import anyio
import httpx2
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError
from anthropic.tools.memory import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    BetaLocalFilesystemMemoryTool,
)

from bethink import EVERYWHERE, Files, MemoryStore, segment
from bethink.features.files import FileEntry
from bethink_adapters.anthropic_memory import AsyncMemoryTool, MemoryTool

from .contract import (
    LOOKALIKES,
    GatedStore,
    SlowFiles,
    SlowStore,
    cancel_at_gate,
    cancel_in_write,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "anthropic_notes.py"
CREATE = {"command": "create", "path": "/memories/ann.md", "file_text": "Ann takes oat milk."}
VIEW = {"command": "view", "path": "/memories/ann.md"}


def do(tool: BetaAbstractMemoryTool, command: str, **arguments: Any) -> str:
    return str(tool.call({"command": command, **arguments}))


def message(*content: dict[str, Any]) -> dict[str, Any]:
    reason = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "msg",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


class Script:
    """A server that answers with commands of the memory tool, one a request, then with "done"."""

    def __init__(self, *commands: dict[str, Any]) -> None:
        self.requests: list[Any] = []
        self._answers: Iterator[dict[str, Any]] = iter(
            {"type": "tool_use", "id": f"t{number}", "name": "memory", "input": command}
            for number, command in enumerate(commands)
        )

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        told = next(self._answers, {"type": "text", "text": "done"})
        return httpx2.Response(200, json=message(told))

    @property
    def results(self) -> list[tuple[str, bool]]:
        """What the model was told of its commands, and whether as an error."""
        parts = [part for each in self.requests[1:] for part in each["messages"][-1]["content"]]
        return [(part["content"], part.get("is_error", False)) for part in parts]


def run(tool: MemoryTool, *commands: dict[str, Any]) -> Script:
    """Let a model give *commands*; return what it saw."""
    script = Script(*commands)
    transport = httpx2.MockTransport(script)
    with Anthropic(api_key="x", http_client=httpx2.Client(transport=transport)) as client:
        runner = client.beta.messages.tool_runner(
            model="scripted",
            max_tokens=99,
            messages=[{"role": "user", "content": "Hello."}],
            tools=[tool],
        )
        last: Any = runner.until_done().content[0]
        assert last.text == "done"
    return script


def test_it_passes_for_the_sdks_own_classes(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories", cache_control={"type": "ephemeral"})
    assert isinstance(tool, BetaAbstractMemoryTool)
    assert isinstance(AsyncMemoryTool(store, namespace="memories"), BetaAsyncAbstractMemoryTool)
    told: Any = tool.to_dict()
    assert told == {
        "type": "memory_20250818",
        "name": "memory",
        "cache_control": {"type": "ephemeral"},
    }


def test_a_later_run_reads_what_an_earlier_one_wrote(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db") as store:
        written = run(MemoryTool(store, namespace="memories"), CREATE)
    with MemoryStore(tmp_path / "memory.db") as store:
        seen = run(MemoryTool(store, namespace="memories"), VIEW)
        recalled = store.recall("Which milk?", namespace="memories")
    assert written.results == [("File created successfully at: /memories/ann.md", False)]
    assert "     1\tAnn takes oat milk." in seen.results[0][0]
    assert recalled[0].memory.key == "/ann.md"


def test_a_mistake_is_told_to_the_model_and_changes_nothing(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories")
    script = run(tool, VIEW, CREATE, CREATE, {**VIEW, "path": "/memories/../x"})
    assert [error for _, error in script.results] == [True, False, True, True]
    assert tool.files.read("/ann.md") == CREATE["file_text"]
    assert store.count(namespace="memories") == 1


def test_a_failing_store_is_told_to_the_model_and_the_run_goes_on(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories")
    store.close()
    ((told, error),) = run(tool, VIEW).results
    assert error
    assert "closed" in told


def test_folders_show_sizes_and_two_levels(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories")
    for path, size in (("/a.md", 1000), ("/d/b.md", 1536), ("/d/e/c.md", 1), ("/.hidden", 5)):
        do(tool, "create", path=f"/memories{path}", file_text="x" * size)
    shown = do(tool, "view", path="/memories").splitlines()
    assert shown[1:] == [
        "2.5K\t/memories",
        "1000B\t/memories/a.md",
        "1.5K\t/memories/d/",
        "1.5K\t/memories/d/b.md",
        "1B\t/memories/d/e/",
    ]
    assert do(tool, "view", path="/memories/d/e/").splitlines()[1:] == [
        "1B\t/memories/d/e",
        "1B\t/memories/d/e/c.md",
    ]


@pytest.mark.parametrize("folder", ["/memories/.drafts", "/memories/Cafe\u0301"])
def test_a_folder_is_shown_by_the_name_it_was_made_with(store: MemoryStore, folder: str) -> None:
    tool = MemoryTool(store, namespace="memories")
    do(tool, "create", path=f"{folder}/a.md", file_text="xx")
    do(tool, "create", path=f"{folder}/.hidden", file_text="x")
    shown = do(tool, "view", path=folder).splitlines()[1:]
    assert shown == [f"2B\t{folder}", f"2B\t{folder}/a.md"]


def test_an_empty_memory_is_an_empty_folder(store: MemoryStore) -> None:
    assert do(MemoryTool(store, namespace="memories"), "view", path="/memories/").endswith(
        ":\n0B\t/memories"
    )


@pytest.mark.parametrize(
    ("span", "lines"),
    [
        *[([2, 3], [2, 3]), ([3, -1], [3, 4]), ([4, 9], [4]), ([9, 12], [])],
        *[([0, 1], [1]), ([3], [1, 2, 3, 4])],
    ],
)
def test_a_part_of_a_file_is_shown(store: MemoryStore, span: list[int], lines: list[int]) -> None:
    tool = MemoryTool(store, namespace="memories")
    do(tool, "create", path="/memories/f", file_text="1\n2\n3\n4")
    shown = do(tool, "view", path="/memories/f", view_range=span).splitlines()[1:]
    assert shown == [f"     {line}\t{line}" for line in lines]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"command": "create", "path": "/memories/f/g", "file_text": ""}, "'/memories/f'"),
        ({"command": "create", "path": "/memoriesx", "file_text": ""}, "must start with"),
        ({"command": "create", "path": "/memories/../g", "file_text": ""}, "would escape"),
        ({"command": "create", "path": "/memories/%2e%2e/g", "file_text": ""}, "hides"),
        ({"command": "view", "path": "/memories/%2e%2e/g"}, "hides"),
        ({"command": "delete", "path": "/memories/\x00"}, "control"),
        ({"command": "rename", "old_path": "/memories/f", "new_path": "/memories/f/g"}, "into"),
        ({"command": "str_replace", "path": "/memories/d", "old_str": "a", "new_str": "b"}, "not"),
        ({"command": "insert", "path": "/memories/d", "insert_line": 0, "insert_text": "b"}, "not"),
        (
            {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/f/g"},
            "there is a file at '/memories/f' already",
        ),
        (
            {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/d"},
            "'/memories/d' cannot be moved into itself, to '/memories/d/d'",
        ),
        (
            {"command": "str_replace", "path": "/memories/f", "old_str": "", "new_str": "b"},
            "old_str must not be empty",
        ),
        (
            {"command": "str_replace", "path": "/memories/f", "old_str": "z", "new_str": ""},
            "not app",
        ),
        ({"command": "str_replace", "path": "/memories/f", "old_str": "t", "new_str": ""}, "Mult"),
    ],
    ids=lambda it: it if isinstance(it, str) else f"{it['command']}",
)
def test_what_cannot_be_done_is_refused(
    store: MemoryStore, command: dict[str, Any], said: str
) -> None:
    tool = MemoryTool(store, namespace="memories")
    do(tool, "create", path="/memories/f", file_text="text")
    do(tool, "create", path="/memories/d/e", file_text="text")
    before = store.log()
    with pytest.raises(ToolError, match=said):
        tool.call(command)
    assert store.log() == before


BAD_NAMES = ["x\\y", " x", "x /y", "...", "%2e%2e/x", "a\0", "\u2028"]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize(
    "command",
    [
        {"command": "view", "path": "bad"},
        {"command": "create", "path": "bad", "file_text": ""},
        {"command": "str_replace", "path": "bad", "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": "bad", "insert_line": 0, "insert_text": "b"},
        {"command": "delete", "path": "bad"},
        {"command": "rename", "old_path": "bad", "new_path": "/memories/new"},
        {"command": "rename", "old_path": "/memories/old", "new_path": "bad"},
    ],
)
def test_a_bad_path_is_named_as_the_model_wrote_it(
    store: MemoryStore, command: dict[str, Any], name: str
) -> None:
    path = f"/memories/{name}"
    given = {key: path if value == "bad" else value for key, value in command.items()}
    with pytest.raises(ToolError) as refused:
        MemoryTool(store, namespace="memories").call(given)
    assert str(refused.value).startswith(f"path {path!r} h")


@pytest.mark.parametrize("text", ["\udc80", "x" * 524_289], ids=["surrogate", "long"])
@pytest.mark.parametrize(
    ("command", "parameter"),
    [
        ({"command": "view"}, "path"),
        ({"command": "create", "path": "/memories/f"}, "file_text"),
        ({"command": "str_replace", "path": "/memories/f"}, "old_str"),
        ({"command": "str_replace", "path": "/memories/f", "old_str": "a"}, "new_str"),
        ({"command": "insert", "path": "/memories/f", "insert_line": 0}, "insert_text"),
        ({"command": "rename", "new_path": "/memories/f"}, "old_path"),
        ({"command": "rename", "old_path": "/memories/f"}, "new_path"),
    ],
)
def test_a_bad_text_is_named_by_its_parameter(
    store: MemoryStore, command: dict[str, Any], parameter: str, text: str
) -> None:
    given = command | {parameter: f"/memories/{text}" if parameter.endswith("path") else text}
    with pytest.raises(ToolError, match=f"^{parameter} (holds a lone surrogate|is [0-9,]+ char)"):
        MemoryTool(store, namespace="memories").call(given)


def test_a_path_has_as_many_characters_as_a_file_allows(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories")
    longest = "/memories/" + "x" * 1008
    do(tool, "create", path=longest, file_text="text")
    assert "text" in do(tool, "view", path=longest)
    with pytest.raises(ToolError, match=r"^path is 1,019 characters long; the limit is 1,018"):
        do(tool, "create", path=f"{longest}x", file_text="text")


def test_a_file_with_a_hole_is_named_as_the_model_knows_it(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories")
    tool.files.write("/long", "a line of text\n" * 1000)
    second = store.all(namespace="memories", order="oldest")[1]
    store.erase(second.id)
    for command in ({"command": "view"}, {"command": "insert", "insert_line": 0}):
        with pytest.raises(ToolError, match="the file '/memories/long' lacks"):
            tool.call({"path": "/memories/long", "insert_text": "b", **command})


@pytest.mark.parametrize(
    "command",
    [
        {"command": "create", "path": "/memories", "file_text": "a"},
        {"command": "str_replace", "path": "/memories", "old_str": "a", "new_str": "b"},
        {"command": "insert", "path": "/memories", "insert_line": 0, "insert_text": "b"},
        {"command": "rename", "old_path": "/memories/f", "new_path": "/memories"},
    ],
    ids=lambda command: f"{command['command']}",
)
def test_the_top_folder_refuses_as_one_on_disk(
    store: MemoryStore, tmp_path: Path, command: dict[str, Any]
) -> None:
    told = []
    for tool in (
        MemoryTool(store, namespace="memories"),
        BetaLocalFilesystemMemoryTool(base_path=str(tmp_path)),
    ):
        do(tool, "create", path="/memories/f", file_text="text")
        with pytest.raises(ToolError) as refused:
            tool.call(command)
        told.append(str(refused.value))
    assert told[0] == told[1]


def test_everything_can_be_forgotten(store: MemoryStore) -> None:
    tool = MemoryTool(store, namespace="memories")
    do(tool, **CREATE)
    store.store("Not a file of this tool.")
    assert tool.clear_all_memory() == "All memory cleared"
    assert store.count() == 1
    assert store.count(namespace="memories") == 0


def test_nobody_sees_the_files_of_another(store: MemoryStore) -> None:
    tools = [MemoryTool(store, namespace=f"notes/{segment(user)}") for user in LOOKALIKES]
    for number, tool in enumerate(tools):
        do(tool, "create", path="/memories/secret", file_text=f"{number}")
    told = [do(tool, "view", path="/memories/secret") for tool in tools]
    assert [each.split("\t")[-1] for each in told] == [str(n) for n in range(len(tools))]


def test_twenty_runs_at_once_lose_nothing(tmp_path: Path) -> None:
    line = {"command": "insert", "path": "/memories/log", "insert_line": 0}
    with MemoryStore(tmp_path / "memory.db") as store:
        do(MemoryTool(store, namespace="memories"), "create", path="/memories/log", file_text="")
        with ThreadPoolExecutor(20) as pool:
            for _ in pool.map(
                lambda n: run(
                    MemoryTool(store, namespace="memories"), {**line, "insert_text": f"n{n}"}
                ),
                range(20),
            ):
                pass
        lines = MemoryTool(store, namespace="memories").files.read("/log").split()
    assert sorted(lines) == sorted(f"n{number}" for number in range(20))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_asynchronous_tool_does_the_same(store: MemoryStore, backend: str) -> None:
    commands: list[dict[str, Any]] = [
        CREATE,
        {"command": "str_replace", "path": VIEW["path"], "old_str": "oat", "new_str": "soy"},
        {"command": "insert", "path": VIEW["path"], "insert_line": 1, "insert_text": "Bob: none."},
        {"command": "rename", "old_path": VIEW["path"], "new_path": "/memories/all.md"},
        {"command": "view", "path": "/memories/all.md"},
        {"command": "delete", "path": "/memories/all.md"},
        VIEW,
    ]

    async def both() -> list[tuple[str, bool]]:
        script = Script(*commands)
        transport = httpx2.MockTransport(script)
        http = httpx2.AsyncClient(transport=transport)
        async with AsyncAnthropic(api_key="x", http_client=http) as client:
            runner = client.beta.messages.tool_runner(
                model="scripted",
                max_tokens=99,
                messages=[{"role": "user", "content": "Hello."}],
                tools=[AsyncMemoryTool(store, namespace="async")],
            )
            await runner.until_done()
        return script.results

    synchronous = run(MemoryTool(store, namespace="sync"), *commands)
    assert anyio.run(both, backend=backend) == synchronous.results


class GatedFiles(Files):
    """Files that wait at the gate of their store before they list a folder."""

    def list(self, path: str = "/", *, depth: int | None = 1) -> tuple[FileEntry, ...]:
        self.store.all(limit=1)
        return super().list(path, depth=depth)


def test_a_cancelled_call_leaves_the_store_usable(tmp_path: Path) -> None:
    with GatedStore(str(tmp_path / "memory.db")) as store:
        tool = AsyncMemoryTool(store, namespace="memories")
        tool.files = GatedFiles(store, "memories")
        view = {"command": "view", "path": "/memories"}
        asyncio.run(cancel_at_gate(store, tool.call(view)))  # type: ignore[arg-type, unused-ignore]
        assert asyncio.run(tool.clear_all_memory()) == "All memory cleared"


def test_a_cancelled_command_does_not_overtake_the_next() -> None:
    async def clearing(slow: SlowStore) -> None:
        tool = AsyncMemoryTool(slow, namespace="memories")
        tool.files = SlowFiles(slow, "memories")
        create = tool.call(CREATE)  # type: ignore[arg-type, unused-ignore]
        await cancel_in_write(slow, create, tool.clear_all_memory())

    with SlowStore() as slow:
        asyncio.run(clearing(slow))
        assert not slow.count(namespace=EVERYWHERE)


def test_the_example_keeps_notes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "     1\tAnn takes oat milk." in done.stdout


WRONG: list[tuple[Any, str]] = [
    ({"command": "view"}, "needs the parameter `path`"),
    ({"command": "view", "path": 5}, "`path` parameter: 5"),
    ({"command": "view", "path": "/memories/ann.md", "view_range": ["1", 2]}, "`view_range`"),
    ({"command": "create", "path": "/memories/b"}, "needs the parameter `file_text`"),
    ({"command": "str_replace", "path": "/memories/ann.md"}, "needs the parameter `old_str`"),
    ({"command": "insert", "path": "/memories/ann.md", "insert_line": 0}, "`insert_text`"),
    (
        {"command": "insert", "path": "/memories/ann.md", "insert_line": "1", "insert_text": "x"},
        "`insert_line` parameter: '1'. It should be a whole number",
    ),
    ({"command": "delete"}, "needs the parameter `path`"),
    ({"command": "rename", "old_path": "/memories/ann.md"}, "needs the parameter `new_path`"),
    ({"command": "fly"}, "Use one of: view, create"),
    ({}, "Unknown command: None"),
]


@pytest.mark.parametrize(("command", "told"), WRONG)
def test_a_wrong_command_is_answered_with_a_sentence(
    store: MemoryStore, command: dict[str, Any], told: str
) -> None:
    tool = MemoryTool(store, namespace="memories")
    tool.call(CREATE)
    with pytest.raises(ToolError, match=told):
        tool.call(command)
    with pytest.raises(ToolError, match=told):
        asyncio.run(AsyncMemoryTool(store, namespace="memories").call(command))
    assert tool.files.read("/ann.md") == "Ann takes oat milk."


@pytest.mark.parametrize("left_out", [{}, {"new_str": None}, {"new_str": ""}])
def test_replacing_by_nothing_deletes_the_text(
    store: MemoryStore, left_out: dict[str, Any]
) -> None:
    tool = MemoryTool(store, namespace="memories")
    tool.call(CREATE)
    do(tool, "str_replace", path="/memories/ann.md", old_str=" oat", **left_out)
    assert tool.files.read("/ann.md") == "Ann takes milk."


@pytest.mark.parametrize("erase", [False, True])
@pytest.mark.parametrize("clear", [False, True])
def test_deleting_forgets_or_erases_as_the_tool_is_told(
    tmp_path: Path, erase: bool, clear: bool
) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        tool = MemoryTool(store, namespace="memories", erase=erase)
        do(tool, "create", path="/memories/a.md", file_text="secret one\n" * 300)
        do(tool, "create", path="/memories/keep.md", file_text="kept")
        if clear:
            tool.clear_all_memory()
        else:
            do(tool, "delete", path="/memories/a.md")
        assert [each.path for each in tool.files.list()] == ([] if clear else ["/keep.md"])
        assert store.verify().ok
    assert (b"secret one" in path.read_bytes()) is not erase


def test_a_tool_without_a_namespace_is_refused(store: MemoryStore) -> None:
    for kind in (MemoryTool, AsyncMemoryTool):
        with pytest.raises(TypeError, match="namespace"):
            kind(store)  # type: ignore[call-arg]
