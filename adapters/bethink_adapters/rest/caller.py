"""A client of one request: the store, and the part of the store that the token opens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final, get_args

from fastapi import Depends, Request

from bethink import MemoryStore, NotFoundError, ValidationError
from bethink.adapting import Listed

from ..surface.visible import Visible
from .problems import Problem
from .tokens import Token

STATES: Final = get_args(Listed)


class Caller(Visible):
    """The *store* as seen with *token*; everything outside of the token's namespaces is absent."""

    def __init__(self, store: MemoryStore, token: Token, read_only: bool) -> None:
        super().__init__(store, token.namespaces)
        self.token = token
        self.read_only = read_only

    def known(self, ids: Iterable[str]) -> list[str]:
        """Return *ids* if each is of a visible record in any state, or raise ``NotFoundError``."""
        found = list(dict.fromkeys(ids))
        for id in found:
            entry = next(iter(self.store.log(limit=1, id=id)), None)
            if entry is None or not self.sees(entry.namespace):
                raise NotFoundError("memory", id)
        return found

    def whole(self) -> MemoryStore:
        """Return the store for an operation on the whole file; refuse a bound token."""
        if self.token.namespaces:
            raise Problem(403, "bound", "a token bound to namespaces cannot use the whole file")
        return self.store


async def _caller(request: Request) -> Caller:
    caller: Caller = request.scope["caller"]
    return caller


Client = Annotated[Caller, Depends(_caller)]
"""The client of a request, as an argument of a route."""


def moment(store: MemoryStore, given: str | float | None) -> int | None:
    """Return the number of the journal entry of a moment; a number is a time, also as text.

    Raise ``NotFoundError`` for what is no moment of the store.
    """
    if given is None:
        return None
    try:
        when: str | float = float(given)
    except ValueError:
        when = given
    try:
        return store.as_of(when).seq
    except ValidationError:
        raise NotFoundError("moment", str(given)) from None
