"""Installing from the command line: what is asked, shown, changed, and told."""

import json
from pathlib import Path

import pytest

from .conftest import Run

pytestmark = pytest.mark.usefixtures("file")


@pytest.fixture
def home(folder: Path) -> Path:
    """A home with Cursor and Codex."""
    home = folder.parent / "home"
    (home / ".cursor").mkdir()
    (home / ".codex").mkdir()
    return home


def test_hosts_are_named_or_all_or_asked_for(run: Run, home: Path) -> None:
    refused = run("install")
    assert (refused.code, "here are: codex, cursor" in refused.err) == (2, True)
    asked = run("install", text="y\nn\n", terminal=True)
    assert "install Codex? [y/N] install Cursor? [y/N] " in asked.err
    assert (home / ".codex" / "config.toml").exists()
    assert not (home / ".cursor" / "mcp.json").exists()
    assert [each["host"] for each in run("install", "--all", "--json").data] == ["codex", "cursor"]
    assert (home / ".cursor" / "mcp.json").exists()
    assert "nothing to change" in run("install", "cursor").out


def test_no_to_every_question_is_told_as_no_change(run: Run, home: Path) -> None:
    refused = run("install", text="n\nn\n", terminal=True)
    assert (refused.code, refused.err.splitlines()[-1][-19:]) == (0, "no host was changed")


def test_a_folder_that_cannot_be_made_is_told_without_a_number(run: Run, home: Path) -> None:
    (home / ".cursor").rmdir()
    (home / ".cursor").write_text("a file")
    done = run("install", "cursor", "--json")
    assert done.code == 1
    assert "Errno" not in done.out


def test_what_the_host_still_wants_is_told(run: Run, home: Path) -> None:
    done = run("install", "codex", "cursor")
    assert "run /hooks once and trust the hooks" in done.out
    assert "next: restart Cursor" in done.out


def test_a_dry_run_shows_a_diff_and_changes_nothing(run: Run, home: Path) -> None:
    done = run("install", "cursor", "--dry-run")
    assert '+  "mcpServers": {' in done.out
    assert list((home / ".cursor").iterdir()) == []


def test_hooks_may_be_left_out_and_projects_have_settings(
    run: Run, home: Path, folder: Path
) -> None:
    run("install", "cursor", "--no-hooks", "--project")
    assert [each.name for each in (folder / ".cursor").iterdir()] == ["mcp.json"]
    assert list((home / ".cursor").iterdir()) == []
    assert "has no settings of projects" in run("install", "windsurf", "--project").out


def test_the_host_starts_bethink_by_absolute_paths_with_the_file(
    run: Run, home: Path, file: Path
) -> None:
    run("install", "cursor")
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["bethink"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-3:] == ["mcp", "--db", str(file)]


def test_the_host_gets_the_url_of_a_database_as_given_but_no_password(run: Run, home: Path) -> None:
    url = "postgresql://ann@db.example:5432/memories?schema=demo"
    run("--db", url, "install", "cursor")
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["bethink"]
    assert entry["args"][-3:] == ["mcp", "--db", url]
    assert (
        f"--db '{url}'"
        in json.loads((home / ".cursor" / "hooks.json").read_text())["hooks"]["sessionStart"][0][
            "command"
        ]
    )
    done = run("--db", url.replace("ann@", "ann:s3cret@"), "install", "codex", "--dry-run")
    assert done.code == 2
    assert "would show the URL's password; use ~/.pgpass" in done.err
    assert "s3cret" not in done.out + done.err
    looked = run("--db", url.replace("ann@db.example:5432", "ann:s3cret@[::1]:1"), "doctor")
    assert looked.code == 1
    assert "FAIL  file: " in looked.out
    assert "s3cret" not in looked.out + looked.err


def test_a_file_that_cannot_be_changed_is_told_with_the_entry_and_the_rest_is_done(
    run: Run, home: Path
) -> None:
    (home / ".codex" / "config.toml").write_text("[broken")
    done = run("install", "--all")
    assert done.code == 1
    assert "the file was left as it is\nadd by hand:\n[mcp_servers.bethink]" in done.out
    assert "Cursor: installed in" in done.out
    assert (home / ".codex" / "config.toml").read_text() == "[broken"
    assert run("uninstall", "--all").code == 1
    assert not (home / ".cursor").exists()


def test_uninstalling_needs_no_arguments_of_the_installation(run: Run, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    file.write_text("{ }\n")
    run("install", "cursor", "--db", "elsewhere.db", "--no-hooks")
    assert "elsewhere.db" in file.read_text()
    assert "Cursor: uninstalled in" in run("uninstall", "cursor").out
    assert [each.read_text() for each in (home / ".cursor").iterdir()] == ["{ }\n"]
    assert run("uninstall", "cursor").out == "Cursor: nothing to change\n"


def test_what_was_written_by_hand_is_told_to_stay(run: Run, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    text = '{"mcpServers": {"bethink": {"command": "bethink", "args": ["mcp"]}}}'
    file.write_text(text)
    stays = "  what was written by hand stays\n"
    assert run("uninstall", "cursor").out == f"Cursor: nothing to change\n{stays}"
    run("install", "cursor", "--no-hooks")
    assert run("uninstall", "cursor").out == f"Cursor: uninstalled in {file}\n{stays}"
    assert file.read_text() == text


def test_a_folder_that_installing_made_is_no_host_afterwards(run: Run, home: Path) -> None:
    run("install", "kiro", "lm-studio", "antigravity", "zed")
    run("uninstall", "--all")
    assert sorted(each.name for each in home.iterdir()) == [".codex", ".cursor"]
    assert [each["host"] for each in run("install", "--all", "--json").data] == ["codex", "cursor"]


def test_the_doctor_starts_the_server_and_looks_at_the_hosts(run: Run, home: Path) -> None:
    looked = run("doctor")
    assert looked.code == 0
    assert "server: bethink answers after" in looked.out
    assert "Cursor: not installed" in looked.out
    run("install", "cursor")
    assert "Cursor: installed; restart Cursor" in run("doctor").out
    assert "Cursor: out of date in " in run("doctor", "--db", "elsewhere.db").out
    run("uninstall", "cursor")
    assert "Codex: not installed in " in run("doctor").out
    run("--db", "one.db", "store", "Ann likes tea")
    assert "one.db: 1 memory, " in run("--db", "one.db", "doctor").out
    run("install", "cursor", "--no-hooks")
    assert "Cursor: server installed, hooks missing" in run("doctor").out
    (home / ".cursor" / "mcp.json").write_text("{broken")
    done = run("doctor", "--json")
    assert done.code == 1
    assert {each["what"]: each["ok"] for each in done.data}["Cursor"] is False
    Path("notes.txt").write_text("no store " * 99)
    assert "FAIL  file: " in run("doctor", "--db", "notes.txt").out


def test_without_hosts_the_known_are_named(run: Run) -> None:
    done = run("install", "--all", "--json")
    assert (done.code, done.data) == (0, [])
    assert "name one of claude-code" in run("install").err
