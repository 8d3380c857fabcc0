"""The asynchronous twin of a method: the same, run in a worker thread, bound to no event loop.

Whoever awaits has imported asyncio; others need not wait for that.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    import asyncio

P = ParamSpec("P")
R = TypeVar("R")


def awaitable(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb* as a coroutine method of the same signature."""
    return _twin(verb, in_thread)


def lasting(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return *verb*, which writes, as a coroutine method; see ``settled``."""
    return _twin(verb, settled)


def _twin(
    verb: Callable[Concatenate[Any, P], R], run: Callable[..., Coroutine[Any, Any, R]]
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    @wraps(verb)
    async def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await run(verb, self, *args, **kwargs)

    return twin


async def in_thread(verb: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run *verb* in a worker thread; who cancels it does not wait for it."""
    from asyncio import to_thread

    return await to_thread(verb, *args, **kwargs)


async def settled(verb: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run *verb* in a worker thread; who cancels it waits until it is through.

    So what comes after a cancelled write finds it done or not done, and never overtakes it.
    """
    import asyncio

    task = asyncio.ensure_future(asyncio.to_thread(verb, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        task.exception()  # or else asyncio warns that nobody asked for it
        raise cancelled
    return task.result()
