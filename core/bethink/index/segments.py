"""Segments: frozen pieces of the index as bytes, so that opening need not tokenise texts again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ..model.arrays import Column, Truths
from ..model.namespaces import from_pattern
from ..model.port import EMBEDDED, Segment
from ..model.records import MemoryRecord
from .columns import MUTABLE, numbers
from .keyword import Block, new_places, without

if TYPE_CHECKING:
    from .scope import ScopeIndex

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

    def surviving(self, alive: frozenset[int] | None) -> tuple[Piece, Truths]:
        """Return the piece, and which rows are live: those *alive*, or as saved if None.

        Of several namespaces only live rows stay, since a row may be in a second segment by now.
        """
        if alive is None:
            return self, self.columns["live"]
        living: Truths = np.isin(self.columns["row"], list(alive))
        return (self, living) if self.owners is None else (self._only(living), living[living])

    def _only(self, kept: Column) -> Piece:
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


def unsaved_segments(
    index: ScopeIndex, head: int, touched: Mapping[int, MemoryRecord]
) -> list[tuple[int, Segment]]:
    """Return the unsaved blocks of *index*, by number, as segments true at *head*.

    Rows *touched* lately have the accesses of the file: later accesses may never be written.
    """
    blocks = index.keyword.blocks
    if any(block.save_tried and not block.saved for block in blocks):
        return []  # what follows a block that came too late would leave a gap before it
    return [
        (number, to_segment(index, block, head, touched))
        for number, block in enumerate(blocks)
        if not block.save_tried
    ]


def to_segment(
    index: ScopeIndex, block: Block, head: int, touched: Mapping[int, MemoryRecord]
) -> Segment:
    """Return *block* of *index* as a segment; see ``unsaved_segments``."""
    span = slice(block.start, block.start + block.size)
    columns = {name: index.columns[name][span].copy() for name in STORED}
    places = index.positions(list(touched)) - block.start
    for place, record in zip(places, touched.values(), strict=True):
        if 0 <= place < block.size:
            for name, value in numbers(record).items():
                columns[name][place] = value
    threads, columns["thread"] = index.thread_names(columns["thread"])
    vectors = index.vectors[EMBEDDED].quantised(span.start, span.stop)
    piece = Piece(columns, block, [name for _, name in threads], vectors)
    if from_pattern(str(index.scope)) != index.scope:
        codes, owners = np.unique(index.columns["namespace"][span], return_inverse=True)
        known = list(index.namespaces)
        names = {known[code]: number for number, code in enumerate(codes.tolist())}
        held_by = np.array([names[name] for name, _ in threads], dtype=np.int32)
        piece = replace(piece, owners=Owners(list(names), owners.astype(np.int32), held_by))
    rows, count = columns["row"], int(columns["live"].sum())
    first, last, data = int(rows[0]), int(rows[-1]), pack(piece)
    return Segment(str(index.scope), first, last, count, head, data, 0, block.saved)
