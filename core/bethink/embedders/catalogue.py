"""Which embedder a store uses: the given one, the one its file was made with, or the default."""

from __future__ import annotations

import re

from ..errors import EmbedderMismatchError
from .base import Embedder
from .hashing import HashEmbedder
from .minilm import MiniLMEmbedder
from .static import StaticEmbedder


def embedder_for(stored: str | None, given: Embedder | None) -> Embedder:
    """Return the embedder for a file that was made with *stored*; refuse one that does not fit."""
    if stored is None:
        return StaticEmbedder() if given is None else given
    chosen = embedder_from_name(stored) if given is None else given
    if chosen is None or chosen.name != stored:
        raise EmbedderMismatchError(stored, (chosen or StaticEmbedder()).name)
    return chosen


def embedder_from_name(name: str) -> Embedder | None:
    """Return the embedder that *name* alone suffices to make; None for those that need more."""
    if match := re.fullmatch("hash-([1-9][0-9]{0,4})", name):
        return HashEmbedder(int(match[1]))
    made = (kind() for kind in (StaticEmbedder, MiniLMEmbedder))
    return next((embedder for embedder in made if embedder.name == name), None)
