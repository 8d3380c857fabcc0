from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.index.columns import JUDGED, TYPES
from bethink.index.keyword import KeywordIndex
from bethink.index.segments import STORED, Piece, pack, unpack

terms = st.lists(st.lists(st.sampled_from(["a", "é", "東京", "b2"]), max_size=4), max_size=6)


def piece(documents: list[list[str]], threads: list[str], dimension: int = 3) -> Piece:
    size = len(documents)
    index = KeywordIndex()
    index.extend(documents)
    index.freeze()
    types = {**TYPES, **dict.fromkeys(JUDGED, np.float64)}
    columns = {name: np.arange(size).astype(types[name]) for name in STORED}
    codes = np.arange(size * dimension, dtype=np.int8).reshape(size, dimension)
    return Piece(columns, index.blocks[0], threads, (codes, np.linspace(0, 1, size), 0.125))


@pytest.mark.slow
@given(terms.filter(bool), st.lists(st.text(), max_size=3))
def test_what_is_packed_comes_out_again(documents: list[list[str]], threads: list[str]) -> None:
    before = piece(documents, threads)
    after = unpack(pack(before))
    assert after.threads == threads
    assert after.block.terms == before.block.terms
    assert after.block.size == len(documents)
    for name in STORED:
        assert after.columns[name].tolist() == before.columns[name].tolist()
        assert after.columns[name].dtype == before.columns[name].dtype
    for name in ("starts", "documents", "counts"):
        assert getattr(after.block, name).tolist() == getattr(before.block, name).tolist()
    for one, other in zip(after.vectors[:2], before.vectors[:2], strict=True):
        assert (one.tolist(), one.dtype, one.shape) == (other.tolist(), other.dtype, other.shape)
    assert after.vectors[2] == before.vectors[2]


def test_packing_twice_gives_the_same_bytes() -> None:
    packed = pack(piece([["a"], ["b2", "a"]], ["s"]))
    assert pack(unpack(packed)) == packed


def test_what_is_unpacked_does_not_change() -> None:
    after = unpack(pack(piece([["a"]], [])))
    with pytest.raises(ValueError, match="read-only"):
        after.columns["row"][0] = 9
