"""Every example but an adapter's runs as a reader would run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .examples import CONVERSATION, EXAMPLES, recall_of, run


@pytest.mark.slow
def test_quickstart_finds_the_newer_fact(tmp_path: Path) -> None:
    output = run("quickstart.py", folder=tmp_path)
    assert "10:00" in output.splitlines()[0]
    assert "9:30" not in output


@pytest.mark.slow
def test_an_export_moves_in_once_and_becomes_notes(tmp_path: Path) -> None:
    first = run("move_in.py", folder=tmp_path).splitlines()
    assert first == [
        "6 imported, 0 known, 0 skipped",
        "Ann: We booked the night train for 14 June, two bicycles included.",
        "6 notes written to vault/",
    ]
    assert run("move_in.py", folder=tmp_path).startswith("0 imported, 6 known, 0 skipped")
    assert len(list((tmp_path / "vault" / "users" / "ann").glob("*.md"))) == 6


@pytest.mark.slow
def test_a_screen_keeps_secrets_and_orders_out(tmp_path: Path) -> None:
    assert run("screen_secrets.py", folder=tmp_path).splitlines() == [
        "refused: an order to the model",
        "The password is [redacted], and OPENAI_API_KEY=[redacted]",
        "Ann signs the invoices: [redacted], [redacted]",
    ]
    assert b"hunter2" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.slow
def test_a_conversation_is_remembered_and_asked_about(tmp_path: Path) -> None:
    output = run("long_conversation.py", CONVERSATION, folder=tmp_path)
    assert "remembered 66 turns" in output
    assert "changed fact" in output
    assert recall_of(output) >= 0.7
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_database_that_is_kept_is_filled_once(tmp_path: Path) -> None:
    kept = ["--database", tmp_path / "kept.db", "--limit", 3]
    first = run("long_conversation.py", CONVERSATION, *kept, folder=tmp_path)
    again = run("long_conversation.py", CONVERSATION, *kept, folder=tmp_path)
    assert "remembered 0 turns of 0 conversations" in again
    assert recall_of(again) == recall_of(first)


@pytest.mark.slow
def test_an_app_of_fifty_lines_runs_twice(tmp_path: Path) -> None:
    assert len((EXAMPLES / "support_bot.py").read_text("utf-8").splitlines()) <= 50
    for _ in range(2):
        output = run("support_bot.py", folder=tmp_path)
        assert "Bot: Take the night train from Zurich; bicycles must be booked ahead." in output
        assert "4 turns of Bob erased" in output
