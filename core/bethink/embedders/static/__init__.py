"""Texts into vectors with a table that ships with bethink: no model, no download.

The table has a vector for every word piece of an English vocabulary. A text's vector is the sum
of the pieces' vectors, scaled to length 1. A piece with much meaning has a long vector, a piece
with little meaning a short vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from string import punctuation
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..base import Embedder, check_texts, normalise
from .wordpiece import WordPieces, vocabulary

FILE: Final = Path(__file__).with_name("table.npy")
DIMENSION: Final = 128
HIGHEST: Final = 7
"""Numbers are kept in four bits each, from -HIGHEST to HIGHEST, and a scale for each piece."""

_LONGEST: Final = 16_384
_TOGETHER: Final = 1024  # pieces: their vectors stay in the cache of a processor


class StaticEmbedder(Embedder):
    """Look up the meaning of English words in a table: fast, offline, equal everywhere.

    Words of scripts outside the vocabulary add nothing, and are left to keyword search, and so do
    punctuation marks beside words. Of a long text the first 16,384 characters count.
    """

    floor = 0.4  # of two texts without a common word, 1 pair in 6,000 comes out above
    zero = 0.1
    share = 0.15

    def __repr__(self) -> str:
        return "StaticEmbedder()"

    @property
    def name(self) -> str:
        """The name of the table."""
        return "static-minilm-128-v1"

    @property
    def dimension(self) -> int:
        """Give the length of each vector."""
        return DIMENSION

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Embed the texts; a text without any word of the vocabulary gives a zero row."""
        cut, silent = word_pieces(), _silent()
        sums = np.zeros((len(check_texts(texts)), DIMENSION), np.float32)
        pieces: list[int] = []
        waiting: list[tuple[npt.NDArray[np.float32], int]] = []
        for text, total in zip(texts, sums, strict=True):
            if not silent.issuperset(own := cut(text[:_LONGEST])):
                pieces += own
                waiting.append((total, len(own)))
            if len(pieces) >= _TOGETHER:
                _add_up(pieces, waiting)
                pieces, waiting = [], []
        if pieces:
            _add_up(pieces, waiting)
        return normalise(sums)


def _add_up(pieces: list[int], totals: Iterable[tuple[npt.NDArray[np.float32], int]]) -> None:
    """Write the sum of the next vectors of *pieces*, as many as told, into each of *totals*."""
    codes, scale = _table()
    found = np.array(pieces)
    vectors = codes.take(found, 0) * scale.take(found, 0)
    start = 0
    for total, count in totals:
        np.add.reduce(vectors[start : start + count], axis=0, out=total)
        start += count


@cache
def word_pieces() -> WordPieces:
    """Return the tokenizer for the vocabulary that ships with bethink."""
    return WordPieces(vocabulary())


@cache
def _silent() -> frozenset[int]:
    """Return the pieces without meaning: marks, and pieces without a vector."""
    return frozenset(word_pieces()(punctuation)).union(np.flatnonzero(_table()[1] == 0).tolist())


@cache
def _table() -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    return unpacked(np.load(FILE))


def unpacked(table: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return each piece's numbers in *table*, and the scale as a column."""
    codes = np.empty((len(table), DIMENSION), np.int8)
    codes[:, ::2] = table["codes"] & 15
    codes[:, 1::2] = table["codes"] >> 4
    codes -= HIGHEST + 1
    return codes, table["scale"].astype(np.float32)[:, None]
