"""What bethink has no counterpart of."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn


def absent(what: str) -> Callable[..., NoReturn]:
    """Return a function in the place of *what*, which fails when called."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(f"bethink has no counterpart of {what}")

    return fail
