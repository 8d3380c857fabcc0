"""Handles for sources: writes under one source, and recalls of trusted sources alone."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from typing import Self, Unpack

from ..errors import SourceError
from ..memory.engine import Engine, Screen
from ..memory.memories import Memories
from ..memory.reading import RecallOptions, Request, check_trusted
from ..model import fields


class SourceVerbs(Memories):
    """The verb ``for_source``, and recalls that keep to the trusted sources."""

    _trusted: Collection[str | None] | None = None
    """The only sources that ``recall`` and ``pack`` show, if not None."""

    def for_source(
        self,
        source: str,
        *,
        trusted: Collection[str | None] | None = None,
        screen: Screen | None = None,
    ) -> Self:
        """Return a handle of the store for memories of *source*; the store stays open.

        Every memory that the handle writes has the *source*; an item with a different source raises
        ``SourceError``. So does every change of a memory of a different source: superseding,
        updating, merging, forgetting, erasing, linking. The handle makes no handles for other
        sources. *trusted* limits ``recall`` and ``pack`` of the handle to a list of sources, also
        inside a middleware with the handle. *screen* replaces the store's screen.
        """
        own = fields.label("source", source)
        if self._engine.source not in (None, own):
            raise SourceError(None, self._engine.source, own)
        handle = object.__new__(type(self))
        vars(handle).update(vars(self))
        handle._engine = copy(self._engine)
        handle._engine.source = own
        if screen is not None:
            handle._engine.screen = fields.function("screen", screen)
        handle._trusted = self._narrowed(trusted)
        return handle

    def _request(
        self, query: str | None, k: int, touch: bool, /, **options: Unpack[RecallOptions]
    ) -> Request:
        options["trusted"] = self._narrowed(options.get("trusted"))
        return super()._request(query, k, touch, **options)

    def _narrowed(self, trusted: Collection[str | None] | None) -> Collection[str | None] | None:
        """Return the sources *trusted* without those that the handle does not trust."""
        if trusted is None:
            return self._trusted
        given = check_trusted(trusted)
        if self._trusted is None:
            return given
        return [source for source in given if source in self._trusted]


def check_whole(engine: Engine) -> None:
    """Refuse a handle for one source, before a change of the records of all sources."""
    engine.check_open()
    if engine.source is not None:
        raise SourceError(None, None, engine.source)
