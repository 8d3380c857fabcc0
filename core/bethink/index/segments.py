"""Segments: frozen pieces of the index as bytes, so that opening need not tokenise texts again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..model.arrays import Column
from .columns import MUTABLE
from .keyword import Block

STORED: Final = (
    *("row", "ordinal", "live", "length", "words", "content_words", "is_question", "tells_time"),
    *("is_instruction", "thread", "occurred", *MUTABLE),
)
_NAMES: Final = {
    "live": "alive",
    "content_words": "telling",
    "is_question": "asks",
    "is_instruction": "instructs",
}
"""The names of columns in segments, where the names differ."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The parts of a segment: columns, postings, names of threads, and quantised vectors.

    The ``thread`` column numbers the entries of ``threads``, -1 for none.
    """

    columns: Mapping[str, Column]
    block: Block
    threads: Sequence[str]
    vectors: tuple[Column, Column, float]


def pack(piece: Piece) -> bytes:
    """Return *piece* as bytes."""
    codes, scale, error = piece.vectors
    block = piece.block
    arrays = {
        **{_NAMES.get(name, name): column for name, column in piece.columns.items()},
        "starts": block.starts,
        "documents": block.documents - np.int32(block.start),
        "counts": block.counts,
        "terms": np.frombuffer("\n".join(block.terms).encode(), dtype=np.uint8),
        "codes": codes,
        "scale": scale,
    }
    shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    header = json.dumps({"arrays": shapes, "threads": list(piece.threads), "error": error}).encode()
    return b"".join(
        [
            len(header).to_bytes(8, "little"),
            header,
            *(np.ascontiguousarray(array).tobytes() for array in arrays.values()),
        ]
    )


def unpack(data: bytes | memoryview) -> Piece:
    """Return the piece written by ``pack``; all but the postings are views of *data*."""
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8:start]))
    arrays = {}
    for name, (kind, shape) in header["arrays"].items():
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, dtype=kind, count=count, offset=start).reshape(shape)
        start += arrays[name].nbytes
    terms = arrays["terms"].tobytes().decode()
    numbers = {term: number for number, term in enumerate(terms.split("\n"))} if terms else {}
    return Piece(
        columns={name: arrays[_NAMES.get(name, name)] for name in STORED},
        block=Block(
            start=0,
            size=len(arrays["row"]),
            terms=numbers,
            starts=arrays["starts"].copy(),
            documents=arrays["documents"],
            counts=arrays["counts"].copy(),
        ),
        threads=header["threads"],
        vectors=(arrays["codes"], arrays["scale"], header["error"]),
    )
