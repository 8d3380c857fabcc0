"""SQLite's dialect, spelled for Postgres; and texts with characters that Postgres refuses.

The statements of ``storage.sql`` are written once. Here hints for SQLite's planner go, placeholders
and lists change form, and tables get the name of the schema in front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap
from psycopg.types.string import StrBinaryDumper, StrDumper, StrDumperUnknown, TextLoader

from ..sql.rows import LISTED, Listed
from .schema import TABLES

_RULES: Final = tuple(
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        ("%", "%%"),
        (f" NOT IN {re.escape(LISTED)}", " <> ALL(%s)"),
        (f" IN {re.escape(LISTED)}", " = ANY(%s)"),
        (r"json_each\(\?\)( AS tops)?", "unnest(%s::text[]) AS tops(value)"),
        (r" (NOT INDEXED|INDEXED BY \w+)", ""),
        (r"\+(\w+ IS NOT NULL)", r"\1"),
        (r"LIMIT \?", "LIMIT nullif(%s::bigint, -1)"),  # -1 stands for no limit
        (r"IN \(\)", "IN (NULL)"),
        (r"typeof\(\w+\) <> '\w+'", "FALSE"),  # columns have types
        (r"typeof\(\w+\) = '\w+'", "TRUE"),
        (r"json_extract\((\w+), '\$\.(\w+)'\)", r"(\1::json ->> '\2')"),
        (r"\?", "%s"),
        (r"(?<![:\w]):([a-z]\w*)", r"%(\1)s"),
    )
)
_FUNCTIONS: Final = ("last_entry", "time_of", "drop_wider_segments")
_TABLE: Final = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE) ({'|'.join((*TABLES, *_FUNCTIONS))})\b")
_KEPT_STATEMENTS: Final = 4096


@lru_cache(_KEPT_STATEMENTS)
def to_postgres(sql: str, schema: str) -> str:
    """Return a statement of ``storage.sql`` for the tables of *schema*, a quoted name."""
    for pattern, spelling in _RULES:
        sql = pattern.sub(spelling, sql)
    return _TABLE.sub(rf"\1 {schema}.\2", sql)


def to_parameters(given: Any) -> Any:
    """Return parameters with a list in place of each ``Listed``."""
    if isinstance(given, Mapping):
        return given
    return [each.items if type(each) is Listed else each for each in given]


def register_texts(adapters: AdaptersMap) -> None:
    """Let a connection's texts have any character.

    Postgres refuses U+0000, so U+0001 stands before U+0001 for U+0000, and before U+0002 for
    U+0001: the order of texts stays.
    """
    for dumper in (_BinaryDumper, _Dumper, _UnknownDumper):
        adapters.register_dumper(str, dumper)
    for name in ("text", "varchar"):
        adapters.register_loader(name, _Loader)
        adapters.register_loader(name, _BinaryLoader)


def _escape(text: str) -> str:
    if "\x00" in text or "\x01" in text:
        return text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")
    return text


class _Dumper(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_escape(obj))


class _UnknownDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_escape(obj))


class _BinaryDumper(StrBinaryDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_escape(obj))


class _Loader(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        text = super().load(data)
        if isinstance(text, str) and "\x01" in text:
            return text.replace("\x01\x01", "\x00").replace("\x01\x02", "\x01")
        return text


class _BinaryLoader(_Loader):
    format = TextLoader.format.BINARY
