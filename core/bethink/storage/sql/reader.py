"""Reads of the present: the same for a backend and for an open write transaction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from ...model.filters import Filter, matcher
from ...model.namespaces import EVERYWHERE, Scope
from ...model.port import Page, Stored
from ...model.records import LIVE, MemoryRecord, State
from ..abilities import cut_page
from .authenticator import Authenticator
from .rows import HOLDS_KEY, LISTED, OUTLINE, Listed, to_outline
from .where import Condition, selection

_SPARE_RECORDS: Final = 32
"""Read beyond twice a page, where SQL knows a filter only in part."""

_LAST_ROWS: Final = 4
"""So many times a page of the last rows, and the spare records, are asked for the newest."""


class SQLReader:
    """Find and select records; the methods are documented in ``Reader``."""

    _selection = staticmethod(selection)
    _auth: Authenticator

    @abstractmethod
    def _rows(self, sql: str, *parameters: object) -> list[Any]:
        """Return all rows of a single statement."""

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        if len(ids) == 1:  # SQLite prepares no list
            found = self.stored("id = ?", ids[0])
        else:
            found = self.stored(f"id IN {LISTED}", Listed(ids))
        by_id = {each.record.id: each for each in found}
        return {id: by_id[id] for id in ids if id in by_id}

    def by_key(self, namespace: str, key: str) -> Stored | None:
        found = self.stored(HOLDS_KEY, namespace, key)
        return found[0] if found else None

    def select(
        self,
        scope: Scope,
        where: Filter | None,
        page: Page | None = None,
        states: Collection[State] = LIVE,
    ) -> list[Stored]:
        page = page or Page()
        condition = self._selection(scope, where, states)
        if condition.exact:
            return self._page(condition, page, scope)
        passes, end = matcher(where), None if page.limit is None else page.offset + page.limit
        asked = None if end is None else 2 * end + _SPARE_RECORDS
        while True:  # until enough of the records pass the whole filter
            some = page._replace(limit=asked, offset=0)
            found = self._page(condition, some, scope)
            passing = [each for each in found if passes(each.record)]
            if end is None or asked is None or len(found) < asked or len(passing) >= end:
                return cut_page(page, passing)
            asked *= 4

    def outlines(
        self, scope: Scope, where: Filter | None, states: Collection[State] = LIVE
    ) -> list[Stored]:
        sql, parameters, exact, using = self._selection(scope, where, states)
        if self._auth.keyed or not exact:  # codes and such filters need whole records
            return self.select(scope, where, states=states)
        chosen = f"SELECT row, {OUTLINE} FROM records {using} WHERE {sql} ORDER BY ordinal"
        return _stored(self._rows(chosen, *parameters), to_outline)

    def _page(self, condition: Condition, page: Page, scope: Scope) -> list[Stored]:
        """Return the *page* of the records of *scope* that meet *condition*."""
        newest = scope is EVERYWHERE and page.by == "ordinal" and page.descending
        if newest and page.limit is not None:
            condition = _among_last_rows(condition, page.offset + page.limit)
        sql, parameters, _, using = condition
        order, parameters = order_sql(page), (*parameters, *limits(page))
        if page.by in ("ordinal", "row") or (page.by == "key" and isinstance(scope, str)):
            return self.stored(f"{sql} {order} LIMIT ? OFFSET ?", *parameters, using=using)
        # Sorted in a subquery, so that only the chosen records are read whole.
        chosen = f"SELECT row FROM records {using} WHERE {sql} {order} LIMIT ? OFFSET ?"
        return self.stored(f"row IN ({chosen}) {order}", *parameters)

    def stored(self, sql: str, *parameters: object, using: str = "") -> list[Stored]:
        """Return the records that satisfy *sql*."""
        found = self._rows(
            f"SELECT row, {self._auth.columns} FROM records {using} WHERE {sql}", *parameters
        )
        return _stored(found, self._auth.to_record)


def _stored(
    found: Iterable[Sequence[Any]], to_record: Callable[[Sequence[Any]], MemoryRecord]
) -> list[Stored]:
    """Return rows with a number first and the columns of *to_record* behind."""
    new = tuple.__new__  # ``Stored`` itself takes twice as long
    return [new(Stored, (values[0], to_record(values[1:]))) for values in found]


def _among_last_rows(condition: Condition, count: int) -> Condition:
    """Return *condition* for at least the *count* records with the greatest ordinals.

    No ordinal is greater than the row, so a record of an ordinal is not in an earlier row. Without
    an index of ordinals SQLite would sort all records.
    """
    last = f"SELECT ordinal FROM records WHERE {condition.sql} ORDER BY row DESC LIMIT ?"
    least = f"SELECT ordinal FROM ({last}) AS newest ORDER BY ordinal DESC LIMIT 1 OFFSET ?"
    some = _LAST_ROWS * count + _SPARE_RECORDS  # old records with new rows are among the last, too
    parameters = (*condition.parameters, *condition.parameters, some, max(count - 1, 0))
    sql = f"{condition.sql} AND row >= coalesce(({least}), 0)"
    return condition._replace(sql=sql, parameters=parameters)


def order_sql(page: Page) -> str:
    """Return the SQL order of a *page*."""
    way = "DESC" if page.descending else "ASC"
    if page.by in ("ordinal", "row", "key"):  # SQLite would sort twice
        return f"ORDER BY {page.by} {way}"
    nulls = "LAST" if page.descending else "FIRST"
    return f"ORDER BY {page.by} {way} NULLS {nulls}, ordinal {way}"


def limits(page: Page) -> tuple[int, int]:
    """Return the SQL limit and offset of a *page*."""
    return -1 if page.limit is None else page.limit, page.offset
