"""For the tests of those who build on bethink: assertions, and a clock and ids that hold still.

The contract classes for backends need pytest, which is imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from .assertions import (
    Expected,
    assert_not_recalls,
    assert_recalls,
    assert_recalls_first,
    recalled_contents,
)
from .determinism import CountingIds, FrozenClock

if TYPE_CHECKING:
    from .contract import BackendContract, DurableContract

__all__ = [
    "BackendContract",
    "CountingIds",
    "DurableContract",
    "Expected",
    "FrozenClock",
    "assert_not_recalls",
    "assert_recalls",
    "assert_recalls_first",
    "recalled_contents",
]


def __getattr__(name: str) -> object:
    if name not in ("BackendContract", "DurableContract"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import contract
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        raise MissingExtraError("pytest", "testing") from error
    return getattr(contract, name)
