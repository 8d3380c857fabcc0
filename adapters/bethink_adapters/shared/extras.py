"""The packages for an adapter: an error names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bethink import MissingExtraError


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Raise ``MissingExtraError`` if an import in the body fails for want of *package*."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(package, extra) from error
