"""The command line as a user meets it first."""

import json
from pathlib import Path

import pytest

from bethink_adapters.cli import main


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BETHINK_DB", str(tmp_path / "memory.db"))
    monkeypatch.delenv("BETHINK_NAMESPACE", raising=False)
    return tmp_path


def test_a_stored_text_is_recalled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "Standup is at 10:00"]) == 0
    assert main(["recall", "when is standup?"]) == 0
    assert "Standup is at 10:00" in capsys.readouterr().out


def test_json_is_the_form_of_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    main(["store", "Standup is at 10:00"])
    capsys.readouterr()
    assert main(["--json", "recall", "standup"]) == 0
    [hit] = json.loads(capsys.readouterr().out)
    assert hit["memory"]["content"] == "Standup is at 10:00"


def test_reading_makes_no_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recall", "standup"]) == 1
    assert "no memory at" in capsys.readouterr().err
    assert not list(here.iterdir())


def test_a_short_id_names_the_memory(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--json", "store", "Standup is at 10:00"])
    id = json.loads(capsys.readouterr().out)["id"]
    assert main(["forget", id[-8:]]) == 0
    assert main(["get", id[-8:]]) == 1
