"""The embedder of a store: the given one, its file's, or the default."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..errors import EmbedderMismatchError
from .base import Embedder
from .hashing import HashEmbedder
from .static import StaticEmbedder


def embedder_for(
    stored: str | None,
    given: Embedder | None,
    makers: Iterable[Callable[[], Embedder]] = (StaticEmbedder,),
) -> Embedder:
    """Return the embedder for a file whose vectors the embedder named *stored* made.

    *makers* are embedders that need no arguments. Raise ``EmbedderMismatchError`` if *given*, or
    every embedder that can be made, has another name.
    """
    if stored is None:
        return StaticEmbedder() if given is None else given
    chosen = embedder_from_name(stored, makers) if given is None else given
    if chosen is None or chosen.name != stored:
        raise EmbedderMismatchError(stored, (chosen or StaticEmbedder()).name)
    return chosen


def embedder_from_name(
    name: str, makers: Iterable[Callable[[], Embedder]] = (StaticEmbedder,)
) -> Embedder | None:
    """Return the embedder that *name* alone suffices to make, None if there is none."""
    if match := re.fullmatch("hash-([1-9][0-9]{0,4})", name):
        return HashEmbedder(int(match[1]))
    made = (make() for make in makers)
    return next((embedder for embedder in made if embedder.name == name), None)
