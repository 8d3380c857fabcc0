"""Texts into vectors.

An embedder is any object with a ``name``, a ``dimension`` and ``embed``. `StaticEmbedder` and
`HashEmbedder` need nothing and are always available.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..errors import EmbedderMismatchError
from .base import CallableEmbedder as CallableEmbedder
from .base import Embedder as Embedder
from .base import LazyEmbedder as LazyEmbedder
from .base import check_embedder as check_embedder
from .base import check_rows as check_rows
from .base import import_extra as import_extra
from .base import normalise as normalise
from .base import stated_dimension as stated_dimension
from .hashing import HashEmbedder as HashEmbedder
from .static import StaticEmbedder as StaticEmbedder
from .static import word_pieces as word_pieces
from .static.wordpiece import UNKNOWN as UNKNOWN
from .static.wordpiece import vocabulary as vocabulary


def embedder_for(
    stored: str | None,
    given: Embedder | None,
    makers: Iterable[Callable[[], Embedder]] = (StaticEmbedder,),
) -> Embedder:
    """Return the embedder for a file whose vectors the embedder named *stored* made.

    *makers* make embedders without arguments. Raise ``EmbedderMismatchError`` if *given*, or every
    embedder of *makers*, has a different name.
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
    """Return an embedder named *name* with default arguments, None without such a maker."""
    if match := re.fullmatch("hash-([1-9][0-9]{0,4})", name):
        return HashEmbedder(int(match[1]))
    return next((made for make in makers if (made := make()).name == name), None)
