from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.index import keyword
from bethink.index.bm25 import K1, B, Bm25
from bethink.index.keyword import Block, KeywordIndex, author_term

Documents = list[list[str]]

documents = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=9)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "BLOCK_DOCUMENTS", 4)
    monkeypatch.setattr(keyword, "MERGED_BLOCKS", 2)


def shares(index: KeywordIndex, kept: Documents, alive: list[bool], term: str) -> dict[int, float]:
    """Return the share of *term* by position, as the index weighs it; check its idf, too."""
    lengths = np.array([len(each) for each in kept], dtype=np.int32)
    living = np.array(alive, dtype=bool)
    total = int(lengths[living].sum())
    weighed = Bm25(index, lengths, living, int(living.sum()), total).score_terms([term])
    frequency = sum(term in each for each, lives in zip(kept, alive, strict=True) if lives)
    if weighed:
        expected = math.log(1 + (sum(alive) - frequency + 0.5) / (frequency + 0.5))
        assert weighed.weights == pytest.approx([expected])
    found = zip(weighed.documents.tolist(), weighed.shares.tolist(), strict=True) if weighed else ()
    return {at: share for at, share in found if share}


def naive(kept: Documents, alive: list[bool], term: str) -> dict[int, float]:
    living = [each for each, lives in zip(kept, alive, strict=True) if lives]
    average = sum(map(len, living)) / len(living) if any(living) else 1.0
    return {
        at: Counter(each)[term] / (Counter(each)[term] + K1 * (1 - B + B * len(each) / average))
        for at, each in enumerate(kept)
        if alive[at] and term in each
    }


@pytest.mark.slow
@given(st.lists(documents, max_size=6), st.randoms(use_true_random=False))
def test_postings_are_exact_however_they_came_in(batches: list[Documents], dice: object) -> None:
    index, kept = KeywordIndex(), []
    for batch in batches:
        index.extend(batch)
        kept += batch
        alive = [dice.random() < 0.7 for _ in kept]  # type: ignore[attr-defined]
        for term in "abz":
            assert shares(index, kept, alive, term) == pytest.approx(naive(kept, alive, term))
    if batches and dice.random() < 0.5:  # type: ignore[attr-defined]
        index.freeze()
        assert index.tail_size == 0
        alive = [True] * len(kept)
        assert shares(index, kept, alive, "a") == pytest.approx(naive(kept, alive, "a"))


def test_a_full_tail_is_sealed_and_equals_merge() -> None:
    index = KeywordIndex()
    sizes = []
    for _ in range(16):
        index.extend([["a"]])
        sizes.append([block.size for block in index.blocks])
    assert sizes[2:4] == [[], [4]]
    assert sizes[7] == [8]
    assert sizes[15] == [16]


def test_a_whole_batch_is_sealed_as_it_is() -> None:
    one, other = KeywordIndex(), KeywordIndex()
    batch = [["a", "b"], ["b"], [], ["c", "c"]]
    one.extend(batch)
    for each in batch:
        other.extend([each])
    assert [block.size for block in one.blocks] == [4]
    for name in ("starts", "documents", "counts"):
        arrays = [getattr(index.blocks[0], name) for index in (one, other)]
        assert arrays[0].tolist() == arrays[1].tolist()
        assert arrays[0].dtype == arrays[1].dtype
    assert one.blocks[0].terms == other.blocks[0].terms


def test_documents_without_terms_can_be_sealed_and_merged() -> None:
    index = KeywordIndex()
    index.extend([[]] * 16)
    index.extend([["a"]])
    index.freeze()
    assert sum(block.size for block in index.blocks) == 17
    assert list(shares(index, [[]] * 16 + [["a"]], [True] * 17, "a")) == [16]


def test_sealing_nothing_makes_no_block() -> None:
    index = KeywordIndex()
    index.freeze()
    assert index.blocks == []
    assert not index.has_new_blocks


def test_a_block_is_settled_once_and_again_after_merging() -> None:
    index = KeywordIndex()
    index.extend([["a"]] * 4)
    assert index.has_new_blocks
    assert index.unsaved == 4
    index.mark_saved(0, 7)
    assert not index.has_new_blocks
    assert index.unsaved == 0
    assert index.blocks[0].saved == (7,)
    index.extend([["b"]] * 4)
    assert index.has_new_blocks
    assert index.blocks[0].saved == (7,)
    index.mark_saved(0, None)
    assert (index.has_new_blocks, index.unsaved, index.blocks[0].saved) == (False, 8, ())


def test_an_adopted_block_comes_before_what_follows() -> None:
    saved = KeywordIndex()
    saved.extend([["a"], ["b"], ["a", "b"], []])
    index = KeywordIndex()
    index.adopt(saved.blocks[0], 3)
    index.adopt(saved.blocks[0], 4)
    assert index.nbytes == 2 * saved.nbytes
    index.extend([["b"]])
    kept = [["a"], ["b"], ["a", "b"], []] * 2 + [["b"]]
    assert [block.saved for block in index.blocks] == [(3,), (4,)]
    for term in "ab":
        alive = [True] * 9
        assert shares(index, kept, alive, term) == pytest.approx(naive(kept, alive, term))


def test_a_block_does_not_change() -> None:
    block = Block(0, 0, {}, np.zeros(1), np.empty(0), np.empty(0))
    with pytest.raises(AttributeError):
        block.size = 1  # type: ignore[misc]


@pytest.mark.slow
@given(documents, st.lists(st.booleans(), min_size=9, max_size=9), documents)
def test_what_is_kept_is_weighed_as_if_it_had_come_alone(
    batch: Documents, choice: list[bool], more: Documents
) -> None:
    choice = [*choice[: len(batch)], True]
    batch = [*batch, ["a"]]
    index = KeywordIndex()
    index.extend(batch)
    index.keep(np.array(choice))
    kept = [each for each, stays in zip(batch, choice, strict=True) if stays]
    for rest in ([], more):
        index.extend(rest)
        kept += rest
        for term in "abz":
            alive = [True] * len(kept)
            assert shares(index, kept, alive, term) == pytest.approx(naive(kept, alive, term))


def test_what_is_kept_replaces_all_that_was_saved() -> None:
    index = KeywordIndex()
    for number in range(3):
        index.extend([["a", f"only {number}"]] * 4)
        index.mark_saved(len(index.blocks) - 1, number)
    index.keep(np.arange(12) == 9)
    (block,) = index.blocks
    assert (block.start, block.size, list(block.terms)) == (0, 1, ["a", "only 2"])
    assert index.has_new_blocks
    assert block.saved == (1, 2)


def test_no_block_grows_beyond_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword, "MAX_BLOCK_DOCUMENTS", 8)
    index = KeywordIndex()
    index.extend([["a"]] * 64)
    assert [block.size for block in index.blocks] == [8] * 8
    index.keep(np.arange(64) % 8 != 0)
    assert [block.size for block in index.blocks] == [7] * 8
    index.keep(np.arange(56) % 7 == 0)
    assert [block.size for block in index.blocks] == [8]


def test_the_bytes_told_follow_what_is_held() -> None:
    index, told = KeywordIndex(), [0]
    for number in range(9):
        index.extend([["a", f"b{number}"]])
        told.append(index.nbytes)
    assert told[1:4] == sorted(set(told[1:4]))
    assert index.nbytes > sum(block.nbytes for block in index.blocks)
    index.keep(np.arange(9) == 0)
    assert index.nbytes == sum(block.nbytes for block in index.blocks)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [({"a"}, [0, 1, 2, 3]), ({"a", "b"}, [1, 3]), ({"b", "c"}, [3]), ({"c", "z"}, []), (set(), [])],
)
def test_documents_that_have_all_terms_are_told(terms: set[str], expected: list[int]) -> None:
    index = KeywordIndex()
    index.extend([["a"], ["b", "a"]])
    index.freeze()
    index.extend([["a", "a"], ["c", "b", "a"]])
    assert index.with_all(terms).tolist() == expected


@pytest.mark.parametrize("before", [0, 1, 3, 4])
def test_it_is_signed_once_a_document_has_an_author(before: int) -> None:
    index = KeywordIndex()
    index.extend([["a@b"]] * before)
    assert not index.has_authors
    assert index.by_authors(["ann"]).tolist() == []
    index.extend([["a", author_term("ann")], *[["b"]] * 4])
    assert index.has_authors
    assert index.by_authors(["ann"]).tolist() == [before]
    saved = KeywordIndex()
    saved.adopt(index.blocks[0], 1)
    assert saved.has_authors
