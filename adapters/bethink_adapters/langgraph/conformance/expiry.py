"""Items with a lifetime: the right behaviour of a store with a TTL configuration."""

from __future__ import annotations

import time

from .opening import NS, Contract, keys

SECOND = 1 / 60


class ExpiryContract(Contract):
    """The behaviour of a store opened with ``ttl={"default_ttl", …}``."""

    def advance(self, seconds: float) -> None:
        """Let time pass; a store with a clock of its own need not wait."""
        time.sleep(seconds)

    def test_what_has_expired_does_not_show(self) -> None:
        with self.open(ttl={"default_ttl": 2 * SECOND, "omit_expired": True}) as store:
            store.put(NS, "k", {"n": 1})
            assert store.get(NS, "k", refresh_ttl=False) is not None
            self.advance(4)
            assert store.get(NS, "k") is None
            assert store.search(NS) == []
            assert store.list_namespaces() == []

    def test_a_sweep_tells_how_many_were_gone(self) -> None:
        with self.open(ttl={"default_ttl": 2 * SECOND}) as store:
            store.put(NS, "a", {"n": 1})
            store.put(NS, "b", {"n": 1}, ttl=1.0)
            store.put(NS, "c", {"n": 1}, ttl=None)
            assert store.sweep_ttl() == 0
            self.advance(4)
            assert store.sweep_ttl() == 1
            assert sorted(keys(store.search(NS))) == ["b", "c"]

    def test_a_read_lets_an_item_live_on(self) -> None:
        with self.open(ttl={"default_ttl": 6 * SECOND, "refresh_on_read": True}) as store:
            for key in ("got", "found", "seen", "left"):
                store.put(NS, key, {"key": key})
            self.advance(4)
            store.get(NS, "got")
            store.search(NS, filter={"key": "found"})
            store.get(NS, "seen", refresh_ttl=False)
            self.advance(4)
            store.sweep_ttl()
            assert sorted(keys(store.search(NS))) == ["found", "got"]

    def test_reading_changes_nothing_else(self) -> None:
        with self.open(ttl={"default_ttl": 60.0, "refresh_on_read": True}) as store:
            for key in ("a", "b"):
                store.put(NS, key, {"n": 1})
            first, listed = store.get(NS, "a"), keys(store.search(NS))
            self.advance(2)
            store.get(NS, "a")
            again = store.get(NS, "a")
            assert keys(store.search(NS)) == listed
        assert (again.created_at, again.updated_at) == (first.created_at, first.updated_at)

    def test_putting_anew_begins_a_new_life(self) -> None:
        with self.open(ttl={"default_ttl": None}) as store:
            store.put(NS, "k", {"n": 1}, ttl=2 * SECOND)
            store.put(NS, "k", {"n": 2})
            self.advance(4)
            store.sweep_ttl()
            assert store.get(NS, "k") is not None

    def test_the_sweeper_starts_and_stops(self) -> None:
        with self.open(ttl={"default_ttl": 1.0, "sweep_interval_minutes": 1}) as store:
            done = store.start_ttl_sweeper()
            assert not done.done()
            assert store.stop_ttl_sweeper(timeout=10)
            assert done.result(10) is None
