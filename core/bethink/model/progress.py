"""Progress of long work, told to a function or shown as a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias, TypeVar

from .fields import fail, function

T = TypeVar("T")

Tell: TypeAlias = Callable[[int, int | None], object]
Progress: TypeAlias = Tell | bool | None
"""A function of the items done and the total (None if unknown), True for a bar, or None."""

STEP: Final = 256
"""Items between two reports."""


@contextmanager
def telling(progress: Progress) -> Iterator[Tell | None]:
    """Yield the function that tells *progress*, None if nobody listens.

    True shows a bar of ``tqdm``; without the package, ``ValidationError`` is raised.
    """
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        yield function("progress", progress)
        return
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError:
        fail("progress=True needs the package tqdm; or give a function of done and total")
    with tqdm() as bar:

        def show(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield show


def counted(items: Iterable[T], tell: Tell | None, total: int | None, done: int = 0) -> Iterator[T]:
    """Yield *items*; tell after every 256 items and after the last, from *done* on."""
    if tell is None:
        yield from items
        return
    told, now = -1, done
    for now, item in enumerate(items, done + 1):
        yield item
        if not now % STEP:
            tell(now, total)
            told = now
    if now != told:
        tell(now, total)
