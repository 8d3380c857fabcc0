"""The cut of a compacted journal: the position before which the history is gone.

Up to the cut the journal has *bases* only: one entry for each remaining record, with all fields as
of the cut, and the entries of the links that held. A base stands at the row of the record. Each of
these entries is chained to nothing. The sum of the links proves the entries together, and changes
entry by entry. The first entry after the cut follows from the link of the original entry.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any, Final

from ...errors import CorruptStoreError
from ..journal import START
from .connection import Connection, Cursor
from .rows import RowTypes, ask_setting, from_json, to_setting

CUT: Final = "cut"
"""The setting with the cut as JSON, and the change of an entry "compact"."""

CUT_SQL: Final = (
    "(SELECT coalesce(max(CAST(json_extract(value, '$.seq') AS BIGINT)), 0) "
    f"FROM facts WHERE name = '{CUT}')"
)
"""The journal position of the cut, 0 without a cut."""

_SUMS: Final = 1 << 256
_TYPES: Final = RowTypes(int, float, str, str, int, str)


@dataclass(frozen=True, slots=True)
class CutMark:
    """A cut after entry *seq*, made at the time *at*.

    *link* is the link of the entry, *bases* the sum of the links of the entries up to the cut, both
    hexadecimal. *records* is the number of records ever stored up to the cut, for codes; *erased*
    the sum of the digests of erased records without a tombstone, hexadecimal.
    """

    seq: int = 0
    at: float = 0.0
    link: str = START.hex()
    bases: str = "0"
    records: int = 0
    erased: str = "0"

    def told(self) -> dict[str, Any]:
        """Return the cut as the setting and an entry "compact" tell the cut."""
        return asdict(self)


NO_CUT: Final = CutMark()


def read_cut(connection: Connection) -> CutMark:
    """Return the cut of the file, ``NO_CUT`` for a whole journal."""
    with closing(ask_setting(connection, CUT)) as asked:
        return to_cut(asked)


def to_cut(asked: Cursor) -> CutMark:
    """Return the cut of the answer to ``ask_setting``."""
    text = to_setting(asked)
    if text is None:
        return NO_CUT
    try:
        cut = CutMark(**from_json(text, dict))
        _TYPES(tuple(cut.told().values()))
        bytes.fromhex(cut.link), int(cut.bases, 16), int(cut.erased, 16)
    except (TypeError, ValueError) as error:
        raise CorruptStoreError(None, f"the fact {CUT!r} is damaged") from error
    return cut


def changed_sum(bases: str, gone: list[bytes], new: list[bytes]) -> str:
    """Return the sum *bases* without the links *gone* and with the links *new*."""
    left = int(bases, 16) - sum(map(_number, gone)) + sum(map(_number, new))
    return f"{left % _SUMS:x}"


def _number(link: bytes) -> int:
    return int.from_bytes(link, "big")
