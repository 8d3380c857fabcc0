from __future__ import annotations

from bethink.index.scope import ScopeIndex
from bethink.index.scope_lru import ScopeLRU
from bethink.model.namespaces import EVERYWHERE, Scope, Subtree

from .shelf import Shelf

EMPTY = ScopeIndex(Shelf(), 8).nbytes
PACKED = 250  # an empty index


def filled(most: int | None, *scopes: Scope) -> ScopeLRU:
    residents = ScopeLRU(most)
    for scope in scopes:
        residents.add(ScopeIndex(Shelf(scope=scope), 8))
    return residents


def gone(residents: ScopeLRU, *changed: ScopeIndex) -> list[Scope]:
    return [index.scope for index in residents.evict(changed)]


def test_the_one_not_used_for_longest_goes_first() -> None:
    residents = filled(2 * EMPTY + 2 * PACKED, "a", "b", "c", "d")
    residents.get("a")
    assert gone(residents) == ["b", "c"]
    assert list(residents.indexes) == ["d", "a"]
    assert "b" not in residents.indexes
    assert gone(residents) == []


def test_the_one_used_last_always_stays() -> None:
    residents = filled(0, "a", "b")
    assert gone(residents) == ["a"]
    assert residents.get("b") is not None
    assert residents.get("a") is None


def test_small_namespaces_are_packed_until_the_packed_take_the_room() -> None:
    residents = filled(2 * EMPTY + 2 * PACKED, *"abcd")
    residents.evict()
    assert residents.nbytes == 2 * EMPTY + 2 * PACKED
    assert residents.unpack("a") == b""
    assert residents.unpack("a") is None
    assert residents.nbytes == 2 * EMPTY + PACKED
    for number in range(60):
        residents.add(ScopeIndex(Shelf(scope=f"n/{number}"), 8))
        residents.evict()
    assert residents.nbytes <= 2 * EMPTY + 2 * PACKED
    assert residents.unpack("b") is None
    assert residents.unpack("n/50") == b""
    assert residents.unpack(EVERYWHERE) is None


def test_what_is_packed_is_forgotten_by_name_or_all() -> None:
    residents = filled(EMPTY, *"abc", Subtree("d"), "e")
    assert gone(residents) == ["a", "b", "c", Subtree("d")]
    residents = filled(EMPTY + 3 * PACKED, *"abcd")
    assert gone(residents) == ["a", "b", "c"]
    residents.forget(["a", "unknown"])
    assert residents.unpack("a") is None
    assert residents.unpack("b") == b""
    residents.forget()
    assert residents.unpack("c") is None
    assert residents.nbytes == EMPTY


def test_a_new_one_is_counted_at_once() -> None:
    residents = filled(3 * EMPTY, "a")
    residents.add(ScopeIndex(Shelf(scope="b"), 8, room=10 * EMPTY))
    assert gone(residents) == ["a"]


def test_without_a_bound_everything_stays() -> None:
    residents = filled(None, *"abcdefgh")
    assert gone(residents) == []
    assert len(residents.indexes) == 8


def test_what_has_changed_is_counted_anew() -> None:
    residents = filled(3 * EMPTY, "a", "b", "c")
    grown = residents.indexes["b"]
    assert gone(residents, grown) == []
    grown.vectors["v"] = grown.vectors[""].__class__(8, 10 * EMPTY)
    assert gone(residents, grown) == ["a", "b"]


def test_what_the_one_in_use_came_to_take_is_counted_when_another_is_used() -> None:
    residents = filled(3 * EMPTY, "a", "b", "c")
    used = residents.indexes["c"]
    used.vectors["v"] = used.vectors[""].__class__(8, 10 * EMPTY)
    assert gone(residents) == []
    residents.get("b")
    assert gone(residents) == ["a", "c"]


def test_the_scopes_that_contain_a_namespace() -> None:
    residents = filled(None, "a", "a/b", Subtree("a"), EVERYWHERE, ("a/b", "c"), Subtree("c"))
    assert residents.containing("a/b") == [EVERYWHERE, "a/b", Subtree("a"), ("a/b", "c")]
    residents.drop(residents.indexes["a/b", "c"])
    assert residents.containing("c") == [EVERYWHERE, Subtree("c")]
