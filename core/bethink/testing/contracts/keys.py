"""What every backend promises about keys; ``BackendContract`` has these tests, too."""

from __future__ import annotations

from ...features.keys import key_range
from ...model.namespaces import EVERYWHERE, Subtree
from ...model.port import Stored
from ...storage import FullBackend as Backend
from .samples import insert, patch, record


class KeyContract:
    """The tests of keys, on one backend that is new and empty."""

    def test_only_a_live_record_holds_a_key(self, backend: Backend) -> None:
        insert(backend, record("r1", key="k"), record("r2", key="k", namespace="other"))
        assert backend.by_key("default", "k") == (1, record("r1", key="k"))
        patch(backend, 1, record("r1", key="k", state="superseded"), "supersede")
        assert backend.by_key("default", "k") is None
        insert(backend, record("r3", key="k"))
        assert backend.by_key("default", "k") == (4, record("r3", key="k"))

    def test_a_span_holds_the_keys_from_its_low_end_to_before_its_high_one(
        self, backend: Backend
    ) -> None:
        insert(backend, *(record(key, key=key) for key in ("d", "b0", "c", "é", "a", "b")))
        insert(backend, record("other", key="b", namespace="other"), record("none"))
        insert(backend, record("gone", key="bb", state="forgotten"))
        insert(backend, record("past", key="cc", expires_at=5.0))
        for low, high, found in (("b", "d", ["b", "b0", "c"]), ("d", "\U0010ffff", ["d", "é"]),
                                 ("e", "f", []), ("c", "b", [])):  # fmt: skip
            rows = backend.rows_of(found)
            wanted = [(rows[id], record(id, key=id)) for id in found]
            with backend.write() as writer:
                for reader in (backend, writer):
                    assert key_range(reader, "default", low, high, 5.0) == wanted
                    assert key_range(reader, "default", low, high, 5.0, last=True) == wanted[-1:]
        earlier = key_range(backend, "default", "c", "d", 4.0)
        assert [each.record.id for each in earlier] == ["c", "past"]

    def test_the_last_keys_of_a_subtree_come_from_all_namespaces(self, backend: Backend) -> None:
        insert(backend, *(record(key, key=key, namespace=f"a/{key}") for key in ("c", "a", "d")))
        insert(backend, record("b", key="b", namespace="a"), record("other", key="c"))
        for scope, found in (("a", ["b"]), (Subtree("a"), ["c", "b"]), (EVERYWHERE, ["c", "c"])):
            last = key_range(backend, scope, "a", "d", 0.0, last=2)
            assert [each.record.key for each in last] == found

    def test_the_holders_of_keys_are_told_as_of_now(self, backend: Backend) -> None:
        first, second = record("r1", key="k"), record("r2", key="k\0", namespace="other")
        insert(backend, first, second, record("r3", key="gone", state="forgotten"))
        places = [("default", "k"), ("other", "k\0"), ("default", "gone"), ("none", "k")]
        held = {places[0]: Stored(1, first), places[1]: Stored(2, second)}
        for asked in ((), places[:1], places):
            with backend.write(asked) as writer:
                assert writer.by_keys(places) == held
                assert writer.by_key(*places[1]) == held[places[1]]
                assert writer.by_keys([]) == {}
        with backend.write(places) as writer:
            gone = record("r1", key="k", state="superseded")
            writer.patch(1, gone)
            writer.journal("supersede", 101.0, gone, 1, 1, {})
            assert writer.by_keys(places) == {places[1]: Stored(2, second)}
            row = writer.insert(record("r4", key="k"), {}).row
            writer.journal("store", 101.0, record("r4", key="k"), None, row, {})
            assert writer.by_key("default", "k") == Stored(row, record("r4", key="k"))
