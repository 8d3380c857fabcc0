"""Logs tell counts and seconds, and no text, key, namespace or id."""

import io
import logging

import pytest

from bethink import HashEmbedder, MemoryStore

SECRET = "zebra"


def test_a_workload_logs_what_was_done_and_no_contents(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "bethink")
    place = f"users/{SECRET}"
    with (
        MemoryStore(embedder=HashEmbedder(64)) as store,
        MemoryStore(embedder=HashEmbedder(64)) as other,
    ):
        record = store.store(f"the {SECRET} sleeps", namespace=place, key=SECRET, tags=[SECRET])
        store.store_many([f"{SECRET} {number}" for number in range(5)], namespace=place)
        store.update(record.id, content=f"the {SECRET} wakes")
        store.recall(SECRET, namespace=place)
        store.consolidate(namespace=place)
        exported = io.StringIO()
        store.export(exported)
        exported.seek(0)
        other.import_(exported)
        other.merge_from(store)
        store.reembed(HashEmbedder(96))
        store.forget(record.id)
        store.erase(record.id)
        store.verify()
        store.expire()
    logged = [each.getMessage() for each in caplog.records]
    assert any(text.startswith("wrote 5 journal entries in ") for text in logged)
    assert not any(text.startswith("wrote 0 ") for text in logged)
    assert any(text.startswith("recalled 5 of at most 5 records in ") for text in logged)
    assert any(text.startswith("reembedded ") for text in logged)
    assert not any(SECRET in text or record.id in text for text in logged)
