"""Installing changes what bethink owns, twice the same, and uninstalling gives the bytes back."""

from pathlib import Path

import pytest

from bethink_adapters.hosts import HOSTS, Host, Place, Program, SettingsError, install, uninstall

PROGRAM = Program(["/opt/my tools/bethink"])
JSON = [
    None,
    "",
    "{}\n",
    '{"a": 1}',
    '{\n  // a comment\n  "a": 1,\n}\n',
    '\ufeff{\r\n\t"a": {"b": [1, 2]}\r\n}\r\n',
    '{"mcpServers": {"x": {"command": "y"}}, "hooks": {"Stop": [{"hooks": [{"command": "z"}]}]}}',
]
TOML = [None, "", "# a comment\n[a]\nb = 1\n", 'x = 1\r\n[mcp_servers.other]\r\ncommand = "y"\r\n']


def settings_of(host: Host, where: Place) -> dict[Path, str]:
    """Return the files of *host* with the kind of each."""
    found = {each: each.suffix for each in (where.server(host), where.hooks(host)) if each}
    return dict(sorted(found.items()))


def bytes_of(files: dict[Path, str]) -> dict[Path, bytes | None]:
    return {each: each.read_bytes() if each.exists() else None for each in files}


@pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))
def test_installing_twice_changes_nothing_and_uninstalling_gives_the_bytes_back(
    host: Host, tmp_path: Path
) -> None:
    for number, (json, toml) in enumerate(zip(JSON, [*TOML, *TOML], strict=False)):
        home = tmp_path / str(number)
        where = Place({"HOME": str(home)})
        files = settings_of(host, where)
        for file, kind in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            text = toml if kind == ".toml" else json
            if text is not None:
                file.write_bytes(text.encode())
        before = bytes_of(files)
        for change in install(host, PROGRAM, where):
            change.apply()
        assert all(value is not None for value in bytes_of(files).values())
        assert not any(install(host, PROGRAM, where))
        for change in uninstall(host, where):
            change.apply()
        assert bytes_of(files) == before


@pytest.mark.parametrize("text", ['{"a": ', "[1, 2]", '{"mcpServers": 3}', "\xff"])
def test_settings_that_cannot_be_read_are_left_alone(tmp_path: Path, text: str) -> None:
    where = Place({"HOME": str(tmp_path)})
    (tmp_path / ".cursor").mkdir()
    file = tmp_path / ".cursor" / "mcp.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(SettingsError) as caught:
        list(install(HOSTS["cursor"], PROGRAM, where))
    assert '"mcpServers"' in caught.value.snippet
    assert file.read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1, 2]", "the file holds no object"),
        ("null", "the file holds no object"),
        ('{"mcp": []}', "mcp holds no object"),
    ],
)
def test_a_value_in_the_place_of_an_object_is_named(tmp_path: Path, text: str, reason: str) -> None:
    where = Place({"HOME": str(tmp_path)})
    file = where.server(HOSTS["opencode"])
    assert file is not None
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        list(install(HOSTS["opencode"], PROGRAM, where))
    assert str(caught.value) == f"{file}: {reason}; the file was left as it is"
