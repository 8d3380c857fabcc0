"""The asynchronous twin of a method: the same, run in a worker thread, bound to no event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def awaitable(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb* as a coroutine method of the same signature."""

    @wraps(verb)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(verb, self, *args, **kwargs)

    return run
