"""The server as a process of its own: bytes in, bytes out."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from bethink import MemoryStore
from bethink_adapters.mcp import MemoryServer, Options, stdio
from bethink_adapters.mcp.tools import MORE, USUAL

from .calling import META, SERVER, environment, request

JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=20),
    lambda inner: (
        some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
"""Also what is no JSON for others: NaN, infinities, lone surrogates."""
NAMES = [each["name"] for each in (*USUAL, *MORE) if each["name"] != "memory_tasks"]
FIELDS = sorted({name for each in (*USUAL, *MORE) for name in each["inputSchema"]["properties"]})
METHODS = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/read",
    "prompts/get",
    "notifications/initialized",
]


def run(
    path: Path, data: bytes, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*SERVER, "--db", str(path), *arguments],
        input=data,
        capture_output=True,
        timeout=60,
        env=environment(**variables),
    )


def lines(*messages: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in messages)


def replies(output: bytes) -> list[dict[str, Any]]:
    """Return the messages of *output*, every byte of which must be JSON-RPC."""
    found = [json.loads(line, parse_constant=pytest.fail) for line in output.splitlines()]
    for each in found:
        assert each["jsonrpc"] == "2.0"
        assert ("result" in each) != ("error" in each)
    return found


def test_a_whole_session(tmp_path: Path) -> None:
    store = {"name": "memory_store", "arguments": {"content": "Standup is at 10:00 in Zürich"}}
    recall = {"name": "memory_recall", "arguments": {"query": "standup"}}
    found = run(
        tmp_path / "new" / "memory.db",
        lines(
            request("initialize", {"protocolVersion": "2025-11-25"}),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            request("tools/call", store, 2),
            request("tools/call", recall, 3),
        ),
    )
    assert found.returncode == 0
    assert found.stderr == b""
    one, two, three = replies(found.stdout)
    assert [one["id"], two["id"], three["id"]] == [1, 2, 3]
    [hit] = three["result"]["structuredContent"]["memories"]
    assert hit["content"] == "Standup is at 10:00 in Zürich"


def test_listing_makes_no_file(tmp_path: Path) -> None:
    found = run(tmp_path / "memory.db", lines(request("tools/list"), request("prompts/list")))
    assert len(replies(found.stdout)) == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe\xfa", -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
        (b"[" * 100_000, -32700),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, -32700),
        (b"1" * 5_000, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
    ],
)
def test_a_bad_line_is_answered_and_the_next_line_is_read(
    tmp_path: Path, line: bytes, code: int
) -> None:
    found = exchange(tmp_path, line + b"\n" + lines(request("ping", id=7)))
    assert found[0]["error"]["code"] == code
    assert found[1] == {"jsonrpc": "2.0", "id": 7, "result": {}}


@pytest.mark.parametrize("depth", [100, 127, 128, 900])
def test_a_deep_filter_is_refused_or_run(tmp_path: Path, depth: int) -> None:
    where = b'{"$not": ' * depth + b'{"key": "a"}' + b"}" * depth
    call = lines(request("tools/call", {"name": "memory_recall", "arguments": {"query": "x"}}))
    [reply] = exchange(tmp_path, call.replace(b'"query": "x"', b'"query": "x", "where": ' + where))
    assert reply["result"]["isError"] == (depth >= 128)


def test_a_line_beyond_the_limit_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "MAX_LINE", 100)
    long = b'{"jsonrpc": "2.0", "id": 1, "x": "' + b"y" * 1_000 + b'"}\n'
    found = exchange(tmp_path, long + lines(request("ping", id=7)) + long[:500])
    assert [each.get("error", {}).get("code") for each in found] == [-32600, None, -32600]


def test_lone_surrogates_return_as_they_came(tmp_path: Path) -> None:
    [reply] = exchange(tmp_path, b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}\n')
    assert reply["id"] == "\ud800"


def test_unknown_variables_are_told_on_the_standard_error(tmp_path: Path) -> None:
    found = run(tmp_path / "memory.db", b"", BETHINK_DATABASE="/x", BETHINK_DB="/y")
    assert found.returncode == 0
    assert b"BETHINK_DATABASE has no meaning; known: BETHINK_DB" in found.stderr
    assert found.stderr.count(b"\n") == 1
    assert found.stdout == b""


@pytest.mark.parametrize("content", [b"no database", None])
def test_a_file_that_cannot_be_opened_is_told_by_the_tools(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "memory.db"
    if content is None:
        file = tmp_path / "note" / "memory.db"
        file.parent.write_text("a file where a folder should be")
    else:
        file.write_bytes(content)
    call = request("tools/call", {"name": "memory_context", "arguments": {}}, 2)
    listed, called = replies(run(file, lines(request("tools/list"), call)).stdout)
    assert len(listed["result"]["tools"]) == 9
    assert called["result"]["isError"]
    assert str(tmp_path) in called["result"]["content"][0]["text"]


def test_a_port_that_does_not_exist_is_wrong_usage(tmp_path: Path) -> None:
    found = run(tmp_path / "memory.db", b"", "--http", "99999")
    assert found.returncode == 2
    assert b"from 0 to 65535" in found.stderr


def test_what_others_print_does_not_reach_the_wire(tmp_path: Path) -> None:
    noisy = (
        "import os, sys; from bethink_adapters.mcp import MemoryServer, Options, stdio;"
        "from pathlib import Path; server = MemoryServer(Options(Path(sys.argv[1])));"
        "server.warm = lambda: (print('printed'), os.write(1, b'written'), os.system('echo said'));"
        "stdio.serve(server)"
    )
    found = subprocess.run(
        [sys.executable, "-c", noisy, str(tmp_path / "memory.db")],
        input=lines(request("ping"), request("ping", id=2)),
        capture_output=True,
        env=environment(),
    )
    assert [each["id"] for each in replies(found.stdout)] == [1, 2]
    for word in (b"printed", b"written", b"said"):
        assert word in found.stderr


def test_a_reader_that_leaves_ends_the_server(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [*SERVER, "--db", str(tmp_path / "memory.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdout.close()
    _, errors = server.communicate(lines(*[request("tools/list")] * 20), timeout=60)
    assert (server.returncode, errors) == (0, b"")


def test_the_first_answer_needs_no_memory_core(tmp_path: Path) -> None:
    script = (
        "import sys; from bethink_adapters.mcp import MemoryServer, Options;"
        "from pathlib import Path; server = MemoryServer(Options(Path(sys.argv[1]))).protocol;"
        "ask = lambda m: server.reply({'jsonrpc': '2.0', 'id': 1, 'method': m, 'params':"
        " {'protocolVersion': '2025-11-25'}});"
        "[ask(m) for m in ('initialize', 'tools/list', 'resources/list', 'prompts/list')];"
        "print([m for m in ('bethink.store', 'numpy', 'asyncio', 'http') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "memory.db")],
        capture_output=True,
        env=environment(),
    )
    assert found.stdout == b"[]\n"


def test_writes_of_another_process_are_seen_at_once(tmp_path: Path) -> None:
    server = subprocess.Popen(
        [*SERVER, "--db", str(tmp_path / "memory.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    wire, answers = server.stdin, server.stdout
    assert wire is not None
    assert answers is not None
    recall = {"name": "memory_recall", "arguments": {"query": "standup"}}

    def hits() -> list[str]:
        wire.write(lines(request("tools/call", recall)))
        wire.flush()
        result = json.loads(answers.readline())["result"]
        return [each["content"] for each in result["structuredContent"]["memories"]]

    with MemoryStore(tmp_path / "memory.db") as store:
        assert hits() == []
        id = store.store("Standup is at 10:00").id
        assert hits() == ["Standup is at 10:00"]
        store.update(id, content="Standup is at 11:00")
        assert hits() == ["Standup is at 11:00"]
    server.communicate(timeout=60)
    assert server.returncode == 0


def exchange(folder: Path, data: bytes) -> list[dict[str, Any]]:
    """Return the replies to *data* of a server in this process."""
    server = MemoryServer(Options(folder / "memory.db", everything=True))
    wire = BytesIO()
    try:
        stdio.exchange(server, BytesIO(data), wire)
    finally:
        server.close()
    return replies(wire.getvalue())


messages = some.fixed_dictionaries(
    {"jsonrpc": some.just("2.0"), "id": some.integers() | some.text(max_size=5) | JSON},
    optional={"method": some.sampled_from(METHODS) | some.text(max_size=9), "params": JSON},
)
calls = some.builds(
    lambda name, arguments, modern: request(
        "tools/call", {"name": name, "arguments": arguments, **({"_meta": META} if modern else {})}
    ),
    some.sampled_from(NAMES),
    some.dictionaries(some.sampled_from(FIELDS), JSON | some.text(max_size=9), max_size=4) | JSON,
    some.booleans(),
)
texts = (messages | calls | JSON).map(lambda each: json.dumps(each).encode())
"""Messages, right and wrong, as bytes."""


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(texts | some.binary(max_size=60), max_size=12))
def test_whatever_comes_in_only_messages_go_out(tmp_path: Path, incoming: Sequence[bytes]) -> None:
    for reply in exchange(tmp_path, b"\n".join(incoming)):
        assert reply.get("error", {}).get("code") != -32603, reply


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(some.lists(texts | some.binary(max_size=60), min_size=40, max_size=80))
def test_a_process_answers_whatever_comes_in_and_ends_well(
    tmp_path: Path, incoming: Sequence[bytes]
) -> None:
    found = run(tmp_path / "memory.db", b"\n".join(incoming), "--tools", "all")
    assert found.returncode == 0
    assert found.stderr == b""
    replies(found.stdout)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_without_a_loss(tmp_path: Path, sent: signal.Signals) -> None:
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        id = store.store("Standup is at 10:00").id
    server = subprocess.Popen(
        [*SERVER, "--db", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    recall = {"name": "memory_recall", "arguments": {"query": "standup"}}
    server.stdin.write(lines(request("tools/call", recall)))
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["result"]
    server.send_signal(sent)
    server.communicate(timeout=60)
    assert server.returncode == 0
    with MemoryStore(path) as store:
        assert store[id].access_count == 1
