"""A client of one request: the store, and the part of the store that the token opens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request

from bethink import EVERYWHERE, MemoryRecord, MemoryStore, NotFoundError, Subtree, ValidationError
from bethink.adapting import Scope, covers

from .problems import Problem
from .tokens import Token

STATES: Final = ("live", "superseded", "archived", "forgotten", "expired")


@dataclass(frozen=True)
class Caller:
    """The *store* as seen with *token*; everything outside of the token's namespaces is absent."""

    store: MemoryStore
    token: Token
    read_only: bool

    @property
    def everything(self) -> Scope:
        """The scope of all that is visible."""
        return tuple(map(Subtree, self.token.namespaces)) or EVERYWHERE

    def scope(self, namespace: str | None, subtree: bool = False) -> Scope:
        """Return the scope of *namespace*, with all below for *subtree*; None: all visible.

        Raise ``NotFoundError`` for a namespace that is not visible.
        """
        if namespace is None:
            return self.everything
        if covers(self.everything, namespace):
            return Subtree(namespace) if subtree else namespace
        wanted = Subtree(namespace)
        inner = [Subtree(each) for each in self.token.namespaces if covers(wanted, each)]
        if not subtree or not inner:
            raise NotFoundError("namespace", namespace)
        return tuple(inner)

    def place(self, namespace: str | None) -> str:
        """Return the namespace to write to; None: "default", or the first of the token."""
        if namespace is None:
            return self.token.namespaces[0] if self.token.namespaces else "default"
        if not self.sees(namespace):
            raise NotFoundError("namespace", namespace)
        return namespace

    def sees(self, namespace: str | None) -> bool:
        """Return whether *namespace* is visible."""
        return not self.token.namespaces or (
            namespace is not None and covers(self.everything, namespace)
        )

    def one(self, id: str) -> MemoryRecord:
        """Return the visible record *id* that ``get`` returns, or raise ``NotFoundError``."""
        record = self.store.get(id)
        if record is None or not self.sees(record.namespace):
            raise NotFoundError("memory", id)
        return record

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


def moment(store: MemoryStore, text: str | None) -> str | int | float | None:
    """Return a moment: ``#12`` is a journal entry, a number a time, else ISO text or snapshot.

    Raise ``NotFoundError`` for a text that is no moment of the store.
    """
    if text is None:
        return None
    when: str | int | float = text
    if text.startswith("#") and text[1:].isdecimal() and len(text) < 18:
        when = int(text[1:])
    else:
        try:
            when = float(text)
        except ValueError:
            when = text
    try:
        return store.as_of(when).seq
    except ValidationError:
        raise NotFoundError("moment", text) from None
