from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import EVERYWHERE, MemoryStore, Subtree, ValidationError, segment
from bethink.model.namespaces import MAX_NAMESPACE, check_namespace, check_scope, covers, unsegment

anything = st.text(st.characters() | st.sampled_from("/%\x00\x1f\x7f\x85\ud800\udfff"), max_size=12)
HOSTILE = ("", "/", "//", "a/b", "%", "%2F", "a%2Fb", "\x00", "\ud800", "\ud800\udc00", "用户", " ")


@given(anything)
def test_any_text_becomes_one_segment_and_back(text: str) -> None:
    quoted = segment(text)
    assert check_namespace(quoted) == quoted
    assert "/" not in quoted
    assert unsegment(quoted) == text


@given(anything, anything)
def test_different_texts_give_different_segments(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) == (one == other)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_segments_of_their_own(text: str) -> None:
    assert unsegment(segment(text)) == text
    assert len({segment(each) for each in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize("text", ["default", "user@example.org", "用户", "a b", "42"])
def test_harmless_texts_stay_as_they_are(text: str) -> None:
    assert segment(text) == text


@pytest.mark.parametrize("text", [None, 42, b"a"])
def test_only_text_can_be_quoted(text: Any) -> None:
    with pytest.raises(ValidationError):
        segment(text)


@pytest.mark.parametrize(
    "name", ["", "/", "a/", "/a", "a//b", "a\nb", "\x00", "a\x7f", "\x85", "\ud800", None, 3, b"a"]
)
def test_what_is_no_namespace_is_refused(name: Any) -> None:
    with pytest.raises(ValidationError):
        check_namespace(name)


def test_a_namespace_has_a_longest_length() -> None:
    assert check_namespace("x" * MAX_NAMESPACE)
    with pytest.raises(ValidationError, match="longer than"):
        check_namespace("x" * (MAX_NAMESPACE + 1))


def test_none_is_never_everywhere() -> None:
    with pytest.raises(ValidationError, match="EVERYWHERE"):
        check_scope(None)


@pytest.mark.parametrize("path", ["", "a/", None, 3])
def test_a_subtree_starts_at_a_namespace(path: Any) -> None:
    with pytest.raises(ValidationError):
        Subtree(path)


@pytest.mark.parametrize(
    ("namespace", "covered"),
    [("a", True), ("a/b", True), ("a/b/c", True), ("ab", False), ("a.b", False), ("b/a", False)],
)
def test_a_subtree_covers_whole_segments_only(namespace: str, covered: bool) -> None:
    assert covers(Subtree("a"), namespace) is covered
    assert covers(EVERYWHERE, namespace)


def test_several_scopes_cover_what_each_covers() -> None:
    scope = check_scope(["a", Subtree("b"), "a"])
    assert [covers(scope, name) for name in ("a", "a/x", "b", "b/x", "c")] == [1, 0, 1, 1, 0]
    assert scope == check_scope({Subtree("b"), "a"})
    assert check_scope(["a"]) == "a"


@pytest.mark.parametrize("scope", [[], [None], [["a"]], [EVERYWHERE], ["a//b"], [3], {"a": 1}])
def test_a_list_of_scopes_holds_namespaces_and_subtrees(scope: Any) -> None:
    with pytest.raises(ValidationError):
        check_scope(scope)


def test_a_path_with_an_empty_segment_names_segment() -> None:
    with pytest.raises(ValidationError, match=r"segment\('/home/ann/api'\)"):
        check_namespace("/home/ann/api")


def test_a_name_covers_itself_only() -> None:
    assert covers("a", "a")
    assert not covers("a", "a/b")


def test_everywhere_is_one_and_stays_one() -> None:
    assert pickle.loads(pickle.dumps(EVERYWHERE)) is copy.deepcopy(EVERYWHERE) is EVERYWHERE
    assert repr(EVERYWHERE) == "EVERYWHERE"


names = st.lists(st.sampled_from(["a", "b", "ab", "a0", "a.", "é", " ", "\U0001f600", "\uffff"]))


paths = names.filter(bool).map("/".join)
scopes = paths | paths.map(Subtree)


@pytest.mark.slow
@given(st.lists(paths, min_size=1, max_size=8), paths.map(Subtree) | st.lists(scopes, min_size=1))
def test_storage_and_covers_agree_on_every_scope(spaces: list[str], scope: Any) -> None:
    scope = check_scope(scope)
    with MemoryStore() as store:
        store.store_many({"content": "a cat", "namespace": space} for space in spaces)
        expected = [space for space in spaces if covers(scope, space)]
        assert [record.namespace for record in store.all(namespace=scope)] == expected
        assert list(store.namespaces(scope)) == sorted(set(expected))
        assert len(store.recall("cat", namespace=scope, k=99)) == len(expected)
