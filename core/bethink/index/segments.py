"""Segments: frozen pieces of the index as bytes, so that opening need not tokenise texts again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from ..model.arrays import Column
from .columns import MUTABLE
from .keyword import Block, new_places, without

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


class Owners(NamedTuple):
    """Namespaces, and the number of the namespace of each row and of each thread."""

    names: Sequence[str]
    rows: Column
    threads: Column


@dataclass(frozen=True, slots=True)
class Piece:
    """The parts of a segment: columns, postings, names of threads, and quantised vectors.

    The ``thread`` column numbers the entries of ``threads``, -1 for none. A piece of several
    namespaces has ``owners``.
    """

    columns: Mapping[str, Column]
    block: Block
    threads: Sequence[str]
    vectors: tuple[Column, Column, float]
    owners: Owners | None = None

    def only(self, kept: Column) -> Piece:
        """Return the piece of the rows that are True in *kept*."""
        codes, scale, error = self.vectors
        owners = self.owners
        return replace(
            self,
            columns={name: column[kept] for name, column in self.columns.items()},
            block=without(self.block, new_places(kept)),
            vectors=(codes[kept], scale[kept], error),
            owners=None if owners is None else owners._replace(rows=owners.rows[kept]),
        )


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
    header = {"threads": list(piece.threads), "error": error}
    if piece.owners is not None:
        names, arrays["owner"], arrays["thread_owner"] = piece.owners
        header["namespaces"] = list(names)
    shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    head = json.dumps({"arrays": shapes, **header}).encode()
    return b"".join(
        [
            len(head).to_bytes(8, "little"),
            head,
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
    names = header.get("namespaces")
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
        owners=names and Owners(names, arrays["owner"], arrays["thread_owner"]),
    )
