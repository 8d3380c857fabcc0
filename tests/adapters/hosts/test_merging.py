"""Settings of hosts keep everything that bethink does not own."""

import json
import os
import tomllib
from pathlib import Path

import pytest

from bethink_adapters.hosts import HOSTS, Place, Program, SettingsError, install, uninstall
from bethink_adapters.hosts.table import place

PROGRAM = Program(["/opt/my tools/bethink"])


@pytest.fixture
def where(tmp_path: Path) -> Place:
    return Place({"HOME": str(tmp_path)})


def write(where: Place, host: str, text: str, *, hooks: bool = False) -> Path:
    file = where.hooks(HOSTS[host]) if hooks else where.server(HOSTS[host])
    assert file is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def apply(where: Place, host: str, program: Program = PROGRAM, *, out: bool = False) -> None:
    known = HOSTS[host]
    for change in uninstall(known, where) if out else install(known, program, where):
        if change:
            change.apply()


def test_other_hooks_keys_and_their_order_stay(where: Place) -> None:
    own = {"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}]}
    text = json.dumps({"model": "opus", "hooks": own, "zeta": [1, {"b": 2}]}, indent=4)
    file = write(where, "claude-code", text, hooks=True)
    apply(where, "claude-code")
    data = json.loads(file.read_bytes())
    assert list(data) == ["model", "hooks", "zeta"]
    assert data["hooks"]["Stop"][0] == own["Stop"][0]
    command = data["hooks"]["Stop"][1]["hooks"][0]["command"]
    assert command == "'/opt/my tools/bethink' hook claude-code"
    assert '\n    "model": "opus"' in file.read_text()


def test_a_foreign_hook_of_a_like_name_stays(where: Place) -> None:
    foreign = {"hooks": [{"type": "command", "command": "other-memory hook claude-code"}]}
    file = write(where, "claude-code", json.dumps({"hooks": {"Stop": [foreign]}}), hooks=True)
    apply(where, "claude-code")
    assert json.loads(file.read_bytes())["hooks"]["Stop"][0] == foreign
    apply(where, "claude-code", out=True)
    assert json.loads(file.read_bytes()) == {"hooks": {"Stop": [foreign]}}


def test_a_new_program_replaces_the_old_in_place(where: Place) -> None:
    file = write(where, "cursor", '{"mcpServers": {"bethink": {"command": "old"}, "x": {}}}')
    apply(where, "cursor", Program(["/new/bethink"], Path("/data/memory.db"), "work"))
    data = json.loads(file.read_bytes())["mcpServers"]
    assert list(data) == ["bethink", "x"]
    assert data["bethink"] == {
        "command": "/new/bethink",
        "args": ["mcp", "--db", "/data/memory.db", "--namespace", "work"],
    }
    hooks = where.hooks(HOSTS["cursor"])
    assert hooks is not None
    apply(where, "cursor", PROGRAM)
    [stop] = json.loads(hooks.read_bytes())["hooks"]["stop"]
    assert stop == {"command": "'/opt/my tools/bethink' hook cursor"}


def test_uninstalling_keeps_what_came_since_and_drops_containers_of_bethink(where: Place) -> None:
    file = write(where, "gemini", '{\n  // mine\n  "theme": "dark"\n}\n')
    apply(where, "gemini")
    file.write_text(file.read_text().replace('"dark"', '"light"'))
    apply(where, "gemini", out=True)
    assert file.read_text() == '{\n  // mine\n  "theme": "light"\n}\n'


def test_the_first_state_is_kept_once_and_goes_when_restored(where: Place) -> None:
    file = write(where, "cursor", '{"a": 1}')
    backup = file.with_name(f"{file.name}.bethink-backup")
    apply(where, "cursor")
    assert backup.read_text() == '{"a": 1}'
    apply(where, "cursor", Program(["/new/bethink"]))
    assert backup.read_text() == '{"a": 1}'
    apply(where, "cursor", out=True)
    assert file.read_text() == '{"a": 1}'
    assert not backup.exists()
    assert {each.name for each in file.parent.iterdir()} == {"mcp.json"}


@pytest.mark.skipif(os.name == "nt", reason="links and modes of POSIX")
def test_a_link_stays_a_link_and_the_mode_stays(where: Place, tmp_path: Path) -> None:
    file = write(where, "cursor", "{}\n")
    kept = tmp_path / "dotfiles" / "mcp.json"
    kept.parent.mkdir()
    file.rename(kept)
    file.symlink_to(kept)
    kept.chmod(0o640)
    apply(where, "cursor")
    assert file.is_symlink()
    assert "bethink" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o640


def test_a_read_only_file_is_left_alone(where: Place) -> None:
    file = write(where, "cursor", "{}\n")
    file.chmod(0o444)
    with pytest.raises(SettingsError, match="is read-only; the file was left as it is"):
        list(install(HOSTS["cursor"], PROGRAM, where))
    file.chmod(0o644)
    apply(where, "cursor")
    file.chmod(0o444)
    assert not any(install(HOSTS["cursor"], PROGRAM, where))


def test_a_file_in_a_folder_that_cannot_be_written_is_left_alone(
    where: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed = tmp_path / ".cursor"
    file = write(where, "cursor", "{}\n")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and allowed(path, mode))
    with pytest.raises(SettingsError, match=r"\.cursor cannot be written; the file was") as raised:
        list(install(HOSTS["cursor"], PROGRAM, where))
    assert "mcpServers" in raised.value.snippet
    file.unlink()
    with pytest.raises(SettingsError, match="cannot be written"):
        list(install(HOSTS["cursor"], PROGRAM, where))
    apply(where, "gemini")


def test_a_broken_file_of_hooks_is_no_matter_without_hooks(where: Place) -> None:
    write(where, "cursor", "{broken", hooks=True)
    [change] = install(HOSTS["cursor"], PROGRAM, where, hooks=False)
    assert change.path.name == "mcp.json"


def test_a_folder_in_the_place_of_a_file_is_told(where: Place, tmp_path: Path) -> None:
    (tmp_path / ".cursor" / "mcp.json").mkdir(parents=True)
    with pytest.raises(SettingsError):
        list(install(HOSTS["cursor"], PROGRAM, where))


def test_a_table_of_toml_is_replaced_with_its_subtables(where: Place) -> None:
    text = (
        "# mine\n[mcp_servers.bethink]\ncommand = 'old'\n[mcp_servers.bethink.env]\nA = '1'\n\n"
        "[profile]\nmodel = 'x'  # kept\n"
    )
    file = write(where, "codex", text)
    apply(where, "codex")
    changed = file.read_text()
    assert changed.startswith('# mine\n[mcp_servers.bethink]\ncommand = "/opt/my tools/bethink"\n')
    assert changed.endswith("\n[profile]\nmodel = 'x'  # kept\n")
    assert tomllib.loads(changed)["mcp_servers"]["bethink"]["args"] == ["mcp"]
    assert "env" not in changed


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { bethink = { command = "x" } }\n',
        '[mcp_servers]\nbethink.command = "x"\n',
        "[mcp_servers.bethink\n",
        'text = """\n[mcp_servers.bethink]\n"""\n[mcp_servers]\nbethink = 1\n',
    ],
)
def test_toml_that_is_no_block_of_its_own_is_left_alone(where: Place, text: str) -> None:
    file = write(where, "codex", text)
    with pytest.raises(SettingsError) as caught:
        list(install(HOSTS["codex"], PROGRAM, where))
    assert file.read_text() == text
    assert caught.value.snippet.startswith("[mcp_servers.bethink]\n")


def test_a_header_inside_a_text_of_toml_is_no_table(where: Place) -> None:
    text = 'text = """\n[mcp_servers.bethink]\ncommand = 1\n"""\n'
    file = write(where, "codex", text)
    apply(where, "codex")
    assert tomllib.loads(file.read_text())["text"] == "[mcp_servers.bethink]\ncommand = 1\n"
    apply(where, "codex", out=True)
    assert file.read_text() == text


def test_a_change_is_shown_as_a_diff_and_not_made(where: Place) -> None:
    file = write(where, "cursor", '{\n  "a": 1\n}\n')
    first, *_ = install(HOSTS["cursor"], PROGRAM, where, hooks=False)
    assert '+  "mcpServers": {' in first.diff().splitlines()
    assert file.read_text() == '{\n  "a": 1\n}\n'


# What each host reads, by its documentation: the root key, and the entry of a server.
COMMAND, ARGS = "/opt/my tools/bethink", ["mcp"]
PLAIN = {"command": COMMAND, "args": ARGS}
SHAPES = {
    "claude-code": ("mcpServers", {"type": "stdio", **PLAIN}),
    "vscode": ("servers", {"type": "stdio", **PLAIN}),
    "copilot-cli": ("mcpServers", {"type": "local", **PLAIN, "tools": ["*"]}),
    "opencode": ("mcp", {"type": "local", "command": [COMMAND, *ARGS], "enabled": True}),
    "codex": ("mcp_servers", PLAIN),
    "zed": ("context_servers", PLAIN),
}


@pytest.mark.parametrize("name", HOSTS)
def test_each_host_reads_its_own_form(name: str, where: Place) -> None:
    apply(where, name)
    file = where.server(HOSTS[name])
    assert file is not None
    text = file.read_text()
    data = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    root, entry = SHAPES.get(name, ("mcpServers", PLAIN))
    assert data[root] == {"bethink": entry}


@pytest.mark.parametrize(
    ("name", "events", "timeout"),
    [
        ("claude-code", ["SessionStart", "UserPromptSubmit", "Stop"], 5),
        ("codex", ["SessionStart", "UserPromptSubmit", "Stop"], 5),
        ("gemini", ["SessionStart", "BeforeAgent", "AfterAgent"], 5_000),
    ],
)
def test_nested_hooks_have_type_command_and_timeout(
    name: str, events: list[str], timeout: int, where: Place
) -> None:
    apply(where, name)
    file = where.hooks(HOSTS[name])
    assert file is not None
    hooks = json.loads(file.read_text())["hooks"]
    assert list(hooks) == events
    for [group] in hooks.values():
        [item] = group["hooks"]
        assert item["type"] == "command"
        assert item["command"] == f"'{COMMAND}' hook {name}"
        assert item["timeout"] == timeout
        assert (name == "gemini") == ("name" in item)


def test_hooks_of_cursor_are_flat_and_have_a_version(where: Place) -> None:
    apply(where, "cursor")
    file = where.hooks(HOSTS["cursor"])
    assert file is not None
    item = {"command": f"'{COMMAND}' hook cursor"}
    assert json.loads(file.read_text()) == {
        "version": 1,
        "hooks": {"sessionStart": [item], "beforeSubmitPrompt": [item], "stop": [item]},
    }


def test_settings_of_a_project_lie_in_the_project(tmp_path: Path) -> None:
    where = Place({"HOME": str(tmp_path / "home")}, tmp_path / "project")
    apply(where, "claude-code")
    found = {each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*.json")}
    assert found == {"project/.mcp.json", "project/.claude/settings.json"}


@pytest.mark.parametrize(
    ("path", "platform", "expected"),
    [
        ("$config/Claude/x.json", "linux", "/h/.config/Claude/x.json"),
        ("$config/Claude/x.json", "darwin", "/h/Library/Application Support/Claude/x.json"),
        ("$code/mcp.json", "darwin", "/h/Library/Application Support/Code/User/mcp.json"),
        ("$config/Claude/x.json", "win32", "/h/AppData/Roaming/Claude/x.json"),
        ("~/.cursor/mcp.json", "linux", "/h/.cursor/mcp.json"),
    ],
)
def test_paths_follow_the_platform(path: str, platform: str, expected: str) -> None:
    assert place(path, {"HOME": "/h"}, platform).as_posix() == expected


def test_hosts_may_be_moved_by_the_environment() -> None:
    moved = {"HOME": "/h", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "XDG_CONFIG_HOME": "/x"}
    assert place("~/.codex/config.toml", moved).as_posix() == "/c/config.toml"
    assert place("~/.claude/settings.json", moved).as_posix() == "/d/settings.json"
    assert place("~/.claude.json", moved).as_posix() == "/d/.claude.json"
    assert place("$config/Claude/x.json", moved, "linux").as_posix() == "/x/Claude/x.json"
