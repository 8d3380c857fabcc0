"""Zeros in the unused bytes of the pages of a file, where copies of erased cells may be left.

``secure_delete`` lets SQLite overwrite each removed cell and each freed page. But SQLite also moves
cells within pages and between pages, and leaves the former bytes in the gap between the pointers to
cells and the cells. Zeros are written into the gaps only, so that a page written by half is as good
as before and after. The format of pages: https://sqlite.org/fileformat2.html#b_tree_pages
"""

from __future__ import annotations

import os
from collections import Counter
from struct import Struct
from threading import Lock
from typing import Final, TypeAlias

FileId: TypeAlias = tuple[int, int]
"""Device and inode of a file."""

_MAX_PAGES: Final = 2 << 24
"""In a larger file the first byte of an overflow page, a page number, may look like a type."""
_STEP_BYTES: Final = 1 << 22
_FILE_HEADER_BYTES: Final = 100  # on the first page
_HEADER: Final = Struct(">BHHH")  # type, first free block, number of cells, start of the cells
_HEADER_BYTES: Final = {2: 12, 5: 12, 10: 8, 13: 8}  # by type; inner pages know a last child
_POINTER_BYTES: Final = 2

_lock = Lock()
_stores: Counter[FileId] = Counter()
_descriptors: dict[FileId, int] = {}


class UnusedBytes:
    """The unused bytes of the file at *path*, for one of the stores of this process.

    The descriptor stays open until the last of these stores is closed: closing any descriptor of a
    file drops the locks of all connections of the process.
    """

    def __init__(self, path: str, file_id: FileId) -> None:
        self._path = path
        self._file_id = file_id
        with _lock:
            _stores[file_id] += 1

    @staticmethod
    def can_blank(pages: int) -> bool:
        """Return whether gaps in a file of so many pages can be found and written to."""
        return pages < _MAX_PAGES and hasattr(os, "pwrite")

    def blank(self, page_bytes: int) -> None:
        """Write zeros into all gaps, and sync.

        Nobody else may write to the file, and the log must be empty.
        """
        with _lock:
            if self._file_id not in _descriptors:
                _descriptors[self._file_id] = os.open(self._path, os.O_RDWR)
            descriptor = _descriptors[self._file_id]
        zeros = bytes(page_bytes)
        for start in range(0, os.fstat(descriptor).st_size, _STEP_BYTES):
            pages = os.pread(descriptor, _STEP_BYTES, start)
            for at in range(0, len(pages), page_bytes):
                first, end = _find_gap(pages, at, 0 if start + at else _FILE_HEADER_BYTES)
                if end <= page_bytes and pages[at + first : at + end] != zeros[first:end]:
                    os.pwrite(descriptor, zeros[first:end], start + at + first)
        os.fsync(descriptor)

    def close(self) -> None:
        """Close the descriptor, if no other store of the process has the file open."""
        with _lock:
            _stores[self._file_id] -= 1
            if not _stores[self._file_id]:
                del _stores[self._file_id]
                if (descriptor := _descriptors.pop(self._file_id, None)) is not None:
                    os.close(descriptor)


def _find_gap(pages: bytes, at: int, header: int) -> tuple[int, int]:
    """Return start and end of the gap in the page at *at*, equal for a page without a gap."""
    kind, _, cells, end = _HEADER.unpack_from(pages, at + header)
    if kind not in _HEADER_BYTES:
        return 0, 0
    start = header + _HEADER_BYTES[kind] + _POINTER_BYTES * cells
    return start, max(start, end or 1 << 16)
