"""The inverted index: postings that grow without a rebuild.

New documents go to a small tail of plain lists. A full tail is frozen into an immutable block of
compact arrays; eight blocks of one size class merge into one of the next, up to a largest.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, compress, count, islice, pairwise
from typing import Final, TypeAlias

import numpy as np

from ..model.arrays import Column

BLOCK_DOCUMENTS: Final = 4096  # in the tail before the tail is frozen
MERGED_BLOCKS: Final = 8  # neighbours of one size class

# With vectors of 3,000 dimensions a segment takes 800 MB; SQLite holds 1 GB in one value.
MAX_BLOCK_DOCUMENTS: Final = 64 * BLOCK_DOCUMENTS

_TERM_BYTES: Final = 130  # of a term in a block: a string, its number, a place in a dict; measured
_TAIL_TERM_BYTES: Final = 130  # of a term in the tail, with one posting; measured
_TAIL_BYTES: Final = 20  # of a further posting in the tail, in a small array; measured
_COUNT_BITS: Final = 16
_MAX_TERM_COUNT: Final = (1 << _COUNT_BITS) - 1  # in a document
_AUTHOR_MARK: Final = "@"
_NO_POSITIONS: Final = np.empty(0, dtype=np.int32)

Postings = list[tuple[Column, Column]]
_Tail: TypeAlias = "dict[str, int | array[int]]"
"""One or more postings of each term: the number of the document in the tail, and a count."""


@dataclass(frozen=True, slots=True)
class Block:
    """Frozen postings of the documents at positions ``start`` to ``start + size``.

    The postings of the term numbered t are ``documents[starts[t]:starts[t + 1]]`` (positions)
    with the term's frequencies in ``counts``. ``saved`` names the saved segments with the block's
    postings; a ``save_tried`` block needs no saving.
    """

    start: int
    size: int
    terms: dict[str, int]
    starts: Column
    documents: Column
    counts: Column
    saved: tuple[int, ...] = ()
    save_tried: bool = False
    _order: list[str] = field(default_factory=list, init=False, compare=False)

    @property
    def nbytes(self) -> int:
        """The approximate bytes in use."""
        arrays = self.starts.nbytes + self.documents.nbytes + self.counts.nbytes
        return arrays + _TERM_BYTES * len(self.terms)

    def order(self) -> list[str]:
        """Return the terms in order; sorted on first use."""
        if not self._order:
            self._order[:] = sorted(self.terms)
        return self._order


class KeywordIndex:
    """Postings of one scope; positions are positions in the scope's columns.

    ``has_authors`` is set once a document has an author.
    """

    def __init__(self) -> None:
        self.has_authors = False
        self.blocks: list[Block] = []
        self._tail: _Tail = {}
        self._order: tuple[_Tail, list[str]] = (self._tail, [])
        self._postings = 0
        self._block_bytes = 0
        self._start = 0
        self._end = 0

    @property
    def nbytes(self) -> int:
        """The approximate bytes in use."""
        further = self._postings - len(self._tail)
        return _TAIL_TERM_BYTES * len(self._tail) + _TAIL_BYTES * further + self._block_bytes

    @property
    def size(self) -> int:
        """The number of documents, dead documents included."""
        return self._end

    @property
    def tail_size(self) -> int:
        """How many documents are in no block yet."""
        return self._end - self._start

    @property
    def unsaved(self) -> int:
        """How many documents no saved segment holds, as far as is known."""
        return self.tail_size + sum(block.size for block in self.blocks if not block.saved)

    @property
    def has_new_blocks(self) -> bool:
        """Whether a block waits to be saved."""
        return any(not block.save_tried for block in self.blocks)

    def shared(self) -> KeywordIndex:
        """Return a copy that shares the blocks; the tail becomes a block of the copy."""
        twin = KeywordIndex()
        twin.has_authors = self.has_authors
        twin.blocks = [*self.blocks]
        if self.tail_size:
            twin.blocks.append(_frozen(self._start, self.tail_size, self._tail))
        twin._block_bytes = sum(block.nbytes for block in twin.blocks)
        twin._start = twin._end = self._end
        return twin

    def shared_bytes(self, origin: KeywordIndex) -> int:
        """Return the bytes of the blocks that are also in use by *origin*."""
        known = {id(block.documents) for block in origin.blocks}
        return sum(block.nbytes for block in self.blocks if id(block.documents) in known)

    def mark_saved(self, number: int, saved: int | None) -> None:
        """Mark block *number* as saved in segment *saved*, or as impossible to save."""
        self.blocks[number] = replace(
            self.blocks[number], saved=() if saved is None else (saved,), save_tried=True
        )

    def adopt(self, block: Block, number: int) -> None:
        """Add the block of saved segment *number*, which starts at 0, as the next documents.

        The tail must be empty.
        """
        self.has_authors = self.has_authors or _has_author_terms(block.terms)
        documents = block.documents + np.int32(self._end)
        self.blocks.append(
            replace(block, start=self._end, documents=documents, saved=(number,), save_tried=True)
        )
        self._block_bytes += block.nbytes
        self._start = self._end = self._end + block.size

    def extend(self, documents: Sequence[Sequence[str]]) -> None:
        """Index the next documents, each given as a list of terms."""
        start = 0
        while start < len(documents):
            if not self.tail_size and len(documents) - start >= BLOCK_DOCUMENTS:
                block = _block(self._end, documents[start : start + BLOCK_DOCUMENTS])
                self.has_authors = self.has_authors or _has_author_terms(block.terms)
                self._add_block(block)
                start += BLOCK_DOCUMENTS
                continue
            self._append(documents[start])
            start += 1
            if self.tail_size >= BLOCK_DOCUMENTS:
                self.freeze()

    def _append(self, terms: Sequence[str]) -> None:
        document = self.tail_size << _COUNT_BITS
        counted = Counter(terms)
        self._postings += len(counted)
        for term, times in counted.items():
            posting = document | (times if times < _MAX_TERM_COUNT else _MAX_TERM_COUNT)
            known = self._tail.get(term)
            if known is None:
                self._tail[term] = posting
                self.has_authors = self.has_authors or term[:1] == _AUTHOR_MARK
            elif isinstance(known, int):
                self._tail[term] = array("I", (known, posting))
            else:
                known.append(posting)
        self._end += 1

    def freeze(self) -> None:
        """Turn the tail into a block, and merge where eight blocks of a size class have met."""
        if self.tail_size:
            self._add_block(_frozen(self._start, self.tail_size, self._tail))

    def thaw(self) -> None:
        """Turn the only block back into the tail."""
        if not self.blocks:
            return
        (block,) = self.blocks
        self.blocks, self._block_bytes = [], 0
        self._start, self._end = 0, block.size
        packed = (block.documents.astype(np.uint32) << _COUNT_BITS) | block.counts
        ends, postings = block.starts.tolist(), packed.tolist()
        for number, term in enumerate(block.terms):
            own = postings[ends[number] : ends[number + 1]]
            self._tail[term] = own[0] if len(own) == 1 else array("I", own)
        self._postings = len(postings)

    def _add_block(self, block: Block) -> None:
        self.blocks.append(block)
        self._tail, self._postings = {}, 0
        self._start = block.start + block.size
        self._end = self._start
        while run := _mergeable(self.blocks):
            self.blocks[run] = [_merged(self.blocks[run])]
        self._block_bytes = sum(block.nbytes for block in self.blocks)

    def keep(self, kept: Column) -> None:
        """Remove the documents that are False in *kept* (bool by position, at least one True)."""
        self.freeze()
        places = new_places(kept)
        runs: list[list[Block]] = []
        for block in (without(block, places) for block in self.blocks):
            if runs and sum(each.size for each in runs[-1]) + block.size <= MAX_BLOCK_DOCUMENTS:
                runs[-1].append(block)
            else:
                runs.append([block])
        self.blocks = [_merged(run) for run in runs]
        self._block_bytes = sum(block.nbytes for block in self.blocks)
        self._start = self._end = int(kept.sum())

    def by_authors(self, names: Iterable[str]) -> Column:
        """Return the positions, dead documents included, with a term in the author's name."""
        found = self.postings(map(author_term, names)) if self.has_authors else []
        return np.concatenate(
            [_NO_POSITIONS, *(part for postings in found for part, _ in postings)]
        )

    def with_all(self, terms: Collection[str]) -> Column:
        """Return the positions, dead documents included, that have all of *terms*."""
        found = self.postings(terms)
        lists = [
            np.concatenate([_NO_POSITIONS, *(part for part, _ in postings)]) for postings in found
        ]
        common = partial(np.intersect1d, assume_unique=True)
        return reduce(common, sorted(lists, key=len)) if lists else _NO_POSITIONS

    def starting_with(self, head: str) -> list[str]:
        """Return the terms, of dead documents too, that begin with *head*."""
        found: dict[str, None] = {}
        for terms in (*(block.order() for block in self.blocks), self._tail_order()):
            start, end = bisect_left(terms, head), bisect_left(terms, f"{head}\U0010ffff")
            found.update(dict.fromkeys(terms[start:end]))
        return sorted(found)

    def _tail_order(self) -> list[str]:
        """Return the terms of the tail in order."""
        tail, (of, order) = self._tail, self._order
        known = order if of is tail else []
        if len(known) < len(tail):
            known = sorted([*known, *islice(tail, len(known), None)])
            self._order = tail, known
        return known

    def postings(self, terms: Iterable[str]) -> list[Postings]:
        """Return where each of *terms* occurs and how often, in each block and the tail."""
        terms = list(terms)
        found: list[Postings] = [[] for _ in terms]
        for block in self.blocks:
            for term, postings in zip(terms, found, strict=True):
                if (number := block.terms.get(term)) is not None:
                    start, end = block.starts[number], block.starts[number + 1]
                    postings.append((block.documents[start:end], block.counts[start:end]))
        if self._tail:
            self._add_tail(terms, found)
        return found

    def _add_tail(self, terms: Iterable[str], found: Iterable[list[tuple[Column, Column]]]) -> None:
        """Add to *found* the postings of the tail for each of *terms*; all are unpacked at once."""
        pairs = zip(found, map(self._tail.get, terms), strict=True)
        known = [(postings, tail) for postings, tail in pairs if tail is not None]
        packed, ends = _pack(tail for _, tail in known)
        documents, counts = _unpacked(packed, self._start)
        for (postings, _), (start, end) in zip(known, pairwise(ends), strict=True):
            postings.append((documents[start:end], counts[start:end]))


def author_term(term: str) -> str:
    """Return the indexed form of *term* as a part of an author's name."""
    return f"{_AUTHOR_MARK}{term}"


def _has_author_terms(terms: Iterable[str]) -> bool:
    """Tell whether any of *terms* is of an author's name."""
    return f"\n{_AUTHOR_MARK}" in "\n".join(["", *terms])


def _frozen(start: int, size: int, tail: _Tail) -> Block:
    packed, ends = _pack(tail.values())
    documents, counts = _unpacked(packed, start)
    return Block(
        start=start,
        size=size,
        terms={term: number for number, term in enumerate(tail)},
        starts=np.array(ends, dtype=np.int64),
        documents=documents,
        counts=counts,
    )


def _pack(lists: Iterable[int | Iterable[int]]) -> tuple[Column, list[int]]:
    """Return the postings of *lists*, in a row, and where each list starts and the last ends."""
    packed, ends = array("I"), [0]
    for postings in lists:
        if isinstance(postings, int):
            packed.append(postings)
        else:
            packed.extend(postings)
        ends.append(len(packed))
    return np.array(packed, dtype=np.uint32), ends


def _unpacked(postings: Column, start: int) -> tuple[Column, Column]:
    """Return the positions and counts of *postings* of a tail that starts at *start*."""
    documents = (postings >> _COUNT_BITS).astype(np.int32)
    documents += start
    return documents, postings.astype(np.uint16)  # of the lower bits


def _block(start: int, documents: Sequence[Sequence[str]]) -> Block:
    """Return the block of full *documents*, each given as a list of terms."""
    found = list(chain.from_iterable(documents))
    terms = defaultdict[str, int](count().__next__)  # numbered as they come
    numbers = np.fromiter(map(terms.__getitem__, found), dtype=np.int64, count=len(found))
    owners = np.repeat(np.arange(len(documents)), list(map(len, documents)))
    small = np.min_scalar_type(len(terms) * len(documents))  # sorted in half the time
    keys = (numbers * len(documents) + owners).astype(small)
    distinct, counts = np.unique(keys, return_counts=True)
    number, owner = np.divmod(distinct.astype(np.int64), len(documents))
    return Block(
        start=start,
        size=len(documents),
        terms=dict(terms),
        starts=np.searchsorted(number, np.arange(len(terms) + 1)).astype(np.int64),
        documents=(owner + start).astype(np.int32),
        counts=np.minimum(counts, _MAX_TERM_COUNT).astype(np.uint16),
    )


def _mergeable(blocks: Sequence[Block]) -> slice | None:
    """Return the last place where eight neighbouring blocks of one size class may merge."""
    sizes = [block.size for block in blocks]
    for end in range(len(sizes), MERGED_BLOCKS - 1, -1):
        run = sizes[end - MERGED_BLOCKS : end]
        if max(run) < MERGED_BLOCKS * min(run) and sum(run) <= MAX_BLOCK_DOCUMENTS:
            return slice(end - MERGED_BLOCKS, end)
    return None


def _merged(blocks: Sequence[Block]) -> Block:
    """Return one block with the postings of neighbouring *blocks*."""
    terms: dict[str, int] = {}
    numbers = [
        np.repeat(
            [terms.setdefault(term, len(terms)) for term in block.terms], np.diff(block.starts)
        )
        for block in blocks
    ]
    number = np.concatenate(numbers).astype(np.int32)
    order = np.argsort(number, kind="stable")
    documents = np.concatenate([block.documents for block in blocks])
    return Block(
        start=blocks[0].start,
        size=sum(block.size for block in blocks),
        terms=terms,
        starts=np.searchsorted(number[order], np.arange(len(terms) + 1)).astype(np.int64),
        documents=documents[order],
        counts=np.concatenate([block.counts for block in blocks])[order],
        saved=tuple(number for block in blocks for number in block.saved),
    )


def new_places(kept: Column) -> Column:
    """Return the new place of each document that is True in *kept*, -1 for the others."""
    places: Column = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    places[~kept] = -1
    return places


def without(block: Block, places: Column) -> Block:
    """Return *block* with the documents at new *places*; documents at -1 are removed."""
    documents = places[block.documents]
    kept = documents >= 0
    numbers = np.repeat(np.arange(len(block.terms)), np.diff(block.starts))[kept]
    lengths = np.bincount(numbers, minlength=len(block.terms))
    names = compress(block.terms, lengths > 0)
    return replace(
        block,
        start=int((places[: block.start] >= 0).sum()),
        size=int((places[block.start : block.start + block.size] >= 0).sum()),
        terms={term: number for number, term in enumerate(names)},
        starts=np.concatenate(([0], np.cumsum(lengths[lengths > 0], dtype=np.int64))),
        documents=documents[kept],
        counts=block.counts[kept],
    )
