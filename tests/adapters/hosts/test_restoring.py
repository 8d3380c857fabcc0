"""Uninstalling brings back the first state: to the byte, or at least all that is not bethink's."""

import json
from pathlib import Path

import pytest

from bethink_adapters.hosts import HOSTS, Host, Place, Program, install, uninstall

PROGRAM = Program(["/opt/my tools/bethink"])
OTHERS = [
    Program(["/new/bethink"], Path("/data/memory.db"), "work"),
    Program([r"C:\Py\python.exe", "-m", "bethink_adapters.cli"], Path(r"C:\data\memory.db")),
    Program(["/usr/bin/python3", "-m", "bethink_adapters.cli"], namespace="a b"),
]
HAND_WRITTEN = [
    '{"command": "bethink", "args": ["mcp", "--db", "/home/ann/memory.db"]}',
    '{\n  // mine\n  "command": "/opt/bethink",\n  "args": ["mcp", "--tools", "all"],\n}',
    '{"command": "/opt/bethink", "args": ["mcp"], "env": {"BETHINK_DB": "/m.db"}}',
    '{"url": "http://127.0.0.1:8420/mcp"}',
    '{"command": ["bethink", "mcp"], "enabled": false}',
    "null",
]
JSON = {
    "absent": None,
    "empty": "",
    "blank": " \n\n",
    "object": "{}\n",
    "spaces": "{ }",
    "container": '{"ROOT":{}}',
    "containers": '{\r\n\t"ROOT": {\r\n\t},\r\n\t"hooks": { }, "a": 1}',
    "comments": '{ // top\n  "ROOT": { // none: see wiki\n }, /* { */ "hooks": {/* none */}, \n}\n',
    "others": '{"ROOT": {"x": {"command": "y"} /* x */ , }, "hooks": {"Stop": [{"hooks": []}]} }',
    "lines": '{\n    "ROOT": {\n        // other\n        "x": {}  // x\n    }\n}',
} | {f"by-hand-{n}": f'{{"a": 1, "ROOT": {{"bethink": {e}}}}}' for n, e in enumerate(HAND_WRITTEN)}
HOOKS = {
    "by-hand-0": '{"hooks": {"EVENT": [{"hooks": [{"command": "bethink hook HOST"}], "x": 1}]}}',
    "by-hand-1": '{"hooks": {"EVENT": [{"x": 1}, {"command": "env A=1 /o/bethink hook HOST"}]}}',
    "others": '{"version": 1, "hooks": {"EVENT": [{"command": "x"}], "y": []}}',
}
TOML = {
    "absent": None,
    "empty": "",
    "blank": "\n\n",
    "object": "# mine",
    "spaces": "a = 1",
    "container": "[mcp_servers]\n",
    "containers": "x = 1\r\n\r\n[mcp_servers]\r\n# none yet",
    "comments": "# top\n\n[mcp_servers] # none yet\n\n# end\n",
    "others": '[mcp_servers.x]\ncommand = "y"\n\n[profile]\n',
    "lines": 'mcp_servers.x = {command = "y"}\n',
    "by-hand-0": "[mcp_servers.bethink]\ncommand = 'bethink'\nargs = [\n  'mcp', # x\n]\n# end\n",
    "by-hand-1": "[mcp_servers.bethink]\ncommand = '/o/bethink'\nargs = ['mcp', '--tools', 'all']",
    "by-hand-2": "[mcp_servers.bethink]\ncommand = '/o/bethink'\nargs = ['mcp']\n\n"
    "[mcp_servers.bethink.env]\nBETHINK_DB = '/m.db'\n\n# next\n[profile]\n",
    "by-hand-3": "[a]\n[ mcp_servers . 'bethink' ]\nurl = 'http://127.0.0.1:8420/mcp'\n[b]\n",
    "by-hand-4": '[mcp_servers]\n\n[mcp_servers.bethink]\ncommand = """\nbethink"""\r\n',
    "by-hand-5": "[mcp_servers.bethink]\n",
}


def apply(where: Place, host: Host, program: Program | None, *, hooks: bool = True) -> None:
    changes = install(host, program, where, hooks=hooks) if program else uninstall(host, where)
    for change in filter(None, list(changes)):
        change.apply()


def state(folder: Path) -> dict[str, bytes]:
    """Return every file and folder below *folder* with the content."""
    return {
        each.relative_to(folder).as_posix(): each.read_bytes() if each.is_file() else b"/"
        for each in folder.rglob("*")
    }


def write(where: Place, host: Host, kind: str) -> None:
    """Write the files of *host* in the state *kind*."""
    servers, hooks = where.server(host), where.hooks(host)
    text = TOML[kind] if host.shape == "toml" else JSON[kind]
    texts = {servers: text and text.replace("ROOT", host.root)}
    if hooks is not None and host.hooks is not None and (hooks != servers or kind in HOOKS):
        text = HOOKS.get(kind, JSON[kind])
        texts[hooks] = text and text.replace("EVENT", host.hooks.stop).replace("HOST", host.name)
    for file, text in texts.items():
        if file is not None and text is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def where(home: Path) -> Place:
    return Place({"HOME": str(home)})


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_the_first_bytes_come_back_whatever_was_installed(
    host: Host, kind: str, tmp_path: Path
) -> None:
    many, work = [PROGRAM, *OTHERS, PROGRAM], tmp_path / "work"
    for project, programs in ((None, many), (work, [PROGRAM])):
        where = Place({"HOME": str(tmp_path / "home")}, project)
        for folder in (tmp_path / "home", work):
            folder.mkdir(exist_ok=True)
        write(where, host, kind)
        first = state(tmp_path)
        for number, program in enumerate(programs, 1):
            apply(where, host, program, hooks=number == len(programs))
        assert state(tmp_path) != first or where.server(host) is None
        apply(where, host, None)
        assert state(tmp_path) == first


@pytest.mark.parametrize("kind", JSON)
@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_what_was_not_installed_is_not_uninstalled(
    host: Host, kind: str, where: Place, home: Path
) -> None:
    write(where, host, kind)
    first = state(home)
    assert list(uninstall(host, where)) == []
    assert state(home) == first


@pytest.mark.parametrize("text", ['{"mcpServers":[]}', "[1, 2]", "null", '{"hooks": 3}', "[]"])
def test_a_file_without_bethink_has_nothing_to_change(where: Place, home: Path, text: str) -> None:
    for host in ("claude-code", "gemini", "cursor"):
        for file in (where.server(HOSTS[host]), where.hooks(HOSTS[host])):
            assert file is not None
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        assert list(uninstall(HOSTS[host], where)) == []


# The name of a host; the first state; what the user changes after the installation; the last state.
EDITS = [
    ("zed", '{"a": 1}', ('"a": 1', '"a": 2, "b": []'), '{"a": 2, "b": []}'),
    ("zed", '{"context_servers": { }}\n', ("{", '{"a": 1,'), '{"a": 1,"context_servers": { }}\n'),
    (
        "zed",
        '{ // top\n  "context_servers": { // none\n }\n}\n',
        ("// top", "// first"),
        '{ // first\n  "context_servers": { // none\n }\n}\n',
    ),
    (
        "zed",
        '{\n  "a": 1\n}\n',
        ('  "context', '  // a memory\n  "context'),
        '{\n  "a": 1\n  // a memory\n}\n',
    ),
    (
        "zed",
        '{\n  "a": 1\n}\n',
        ("}\n  }\n}", '}, // last\n    "x": {} }\n}'),
        '{\n  "a": 1,\n  "context_servers": { // last\n    "x": {} }\n}\n',
    ),
    ("zed", None, ("{", "// mine\n{"), "// mine\n{}\n"),
    ("zed", None, ("}\n  }\n}", '}\n  },\n  "a": 1\n}'), '{\n  "a": 1\n}\n'),
    (
        "zed",
        '{"context_servers": {"x": 1, "bethink": {"command": "bethink" /* mine */}}}',
        ('"x": 1', '"x": 2'),
        '{"context_servers": {"x": 2, "bethink": {"command": "bethink" /* mine */}}}',
    ),
    ("codex", "a = 1", ("a = 1", "a = 2"), "a = 2"),
    ("codex", "a = 1\n", ('["mcp"]\n', '["mcp"]\n\n# b\n[b]\n'), "a = 1\n\n# b\n[b]\n"),
    ("codex", None, ('["mcp"]\n', '["mcp"]\n# b\n'), "# b\n"),
    ("codex", "[mcp_servers]\n", ("]\n", "]\nx = {}\n"), "[mcp_servers]\nx = {}\n"),
    (
        "codex",
        "[mcp_servers.bethink]\nurl = 'x'",
        ('["mcp"]\n', '["mcp"]\n[b]\n'),
        "[mcp_servers.bethink]\nurl = 'x'\n[b]\n",
    ),
]


@pytest.mark.parametrize(("name", "first", "edit", "last"), EDITS)
def test_of_an_edited_file_only_what_is_bethinks_goes(
    name: str, first: str | None, edit: tuple[str, str], last: str, where: Place
) -> None:
    file = where.server(HOSTS[name])
    assert file is not None
    file.parent.mkdir(parents=True)
    if first is not None:
        file.write_text(first)
    apply(where, HOSTS[name], PROGRAM, hooks=False)
    assert edit[0] in file.read_text()
    file.write_text(file.read_text().replace(*edit, 1))
    apply(where, HOSTS[name], None)
    assert file.read_text() == last
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_later_hook_of_the_user_keeps_the_version_of_hooks(where: Place) -> None:
    file = where.hooks(HOSTS["cursor"])
    assert file is not None
    apply(where, HOSTS["cursor"], PROGRAM)
    data = json.loads(file.read_text())
    data["hooks"]["stop"].append({"command": "say done"})
    file.write_text(json.dumps(data))
    apply(where, HOSTS["cursor"], None)
    assert json.loads(file.read_text()) == {
        "version": 1,
        "hooks": {"stop": [{"command": "say done"}]},
    }


@pytest.mark.parametrize("program", [PROGRAM, *OTHERS])
@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_what_installing_made_is_never_a_first_state(
    host: Host, program: Program, where: Place, home: Path
) -> None:
    apply(where, host, program)
    apply(where, host, Program(["/newest/bethink"]))
    assert not list(home.rglob("*.bethink-backup"))
    apply(where, host, None)
    assert state(home) == {}


def test_a_copy_is_of_the_state_before_the_last_installation(where: Place, home: Path) -> None:
    cursor, file = HOSTS["cursor"], home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    for text in ('{"mcpServers": {}}', '{"b": 2}', None):
        file.unlink(missing_ok=True)  # by hand, and the copy stays
        if text:
            file.write_text(text)
        apply(where, cursor, PROGRAM)
    apply(where, cursor, None)
    assert state(home) == {}


def test_an_amended_entry_goes_when_a_copy_tells_the_first_state(where: Place, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text("{}")
    apply(where, HOSTS["cursor"], PROGRAM)
    file.write_text(file.read_text().replace('"mcp"', '"mcp", "--tools", "all"'))
    apply(where, HOSTS["cursor"], OTHERS[0])
    apply(where, HOSTS["cursor"], None)
    assert state(home) == {".cursor": b"/", ".cursor/mcp.json": b"{}"}


def test_folders_with_content_stay_and_empty_folders_go(where: Place, home: Path) -> None:
    (home / ".kiro").mkdir()
    (home / ".kiro" / "notes").touch()
    first = state(home)
    hosts = ["gemini", "vscode", "cline", "kiro", "antigravity", "zed"]
    for host in hosts:
        apply(where, HOSTS[host], PROGRAM)
    for host in hosts[:2]:
        apply(where, HOSTS[host], None)
    assert {each.name for each in where.found()} == set(hosts)
    for host in hosts[2:]:
        apply(where, HOSTS[host], None)
    assert state(home) == first


def test_home_project_and_settings_of_the_system_stay(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("home", "work", "config", "codex")]
    for folder in folders[:3]:
        folder.mkdir()
    home, work, config, codex = map(str, folders)
    moved = Place({"HOME": home, "XDG_CONFIG_HOME": config, "CODEX_HOME": codex})
    for where in (moved, Place({"HOME": home}, Path(work))):
        for host in HOSTS.values():
            apply(where, host, PROGRAM)
        for host in HOSTS.values():
            apply(where, host, None)
        assert state(tmp_path) == {"home": b"/", "work": b"/", "config": b"/"}


def test_a_linked_folder_stays(where: Place, home: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (home / ".cursor").symlink_to(tmp_path / "dotfiles")
    apply(where, HOSTS["cursor"], PROGRAM)
    assert (tmp_path / "dotfiles" / "mcp.json").exists()
    apply(where, HOSTS["cursor"], None)
    assert (home / ".cursor").is_dir()
    assert state(tmp_path / "dotfiles") == {}
