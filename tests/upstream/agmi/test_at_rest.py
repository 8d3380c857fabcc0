"""All nine edits of a keyed store are refused; without a key most would pass unseen."""

from __future__ import annotations

from agmi.check import run
from at_rest import KeyedStore, UnkeyedStore


def verdicts(adapter: KeyedStore) -> dict[str, str]:
    return {row["edit"]: row["verdict"] for row in run(adapter)}


def test_every_edit_of_a_keyed_store_is_refused() -> None:
    found = verdicts(KeyedStore())
    assert len(found) == 9
    assert set(found.values()) == {"REJECTED"}, found


def test_the_edits_reach_a_store_without_a_key() -> None:
    found = verdicts(UnkeyedStore())
    assert found["T1 content tamper"] == found["T9 snapshot rollback"] == "ACCEPTED"
    assert "ERROR" not in found.values()
