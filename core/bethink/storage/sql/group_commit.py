"""One commit for the threads of a process that write at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, Protocol, TypeVar

from ...errors import StorageError

_MAX_GROUP: Final = 64  # threads in a commit
_TAKEOVER_SECONDS: Final = 0.05
_INTERRUPTED: Final = (
    "another thread was interrupted in the transaction of this write; whether the write arrived, "
    "only the journal will tell"
)
_INSIDE: Final = (
    "this thread is inside of a write already; a function that a verb calls, such as progress, may "
    "read, but not write"
)


class Transaction(Protocol):
    """A write transaction that several threads use one after another, each for a part."""

    @property
    def location(self) -> str:
        """The name of the store in errors."""

    def begin_part(self) -> None:
        """Begin the part of a further thread; the transaction begins with the first part."""

    def end_part(self, *, first: bool) -> None:
        """End a part that worked, before the part of another thread or the commit."""

    def undo_part(self, *, first: bool) -> bool:
        """Undo a part that failed; undo all if that cannot be, or after the *first* part.

        Return whether the transaction goes on.
        """

    def commit(self) -> None:
        """Commit the transaction, or undo all and raise."""


T = TypeVar("T", bound=Transaction)


class Group(Generic[T]):
    """The threads that share a commit of *transaction*."""

    def __init__(self, transaction: T) -> None:
        self.transaction = transaction
        self.members = 0
        self.error: Exception | None = None
        self._ended = False
        self._open = threading.Lock()  # faster than an Event
        self._open.acquire()

    def end(self, error: Exception | None = None) -> None:
        """Wake the waiting threads: the transaction is over, or was undone after *error*."""
        self.error = error
        self._ended = True
        self._open.release()

    def wait(self, seconds: float) -> bool:
        """Wait at most *seconds* for the end; return whether the transaction is over."""
        if not self._ended and self._open.acquire(timeout=seconds):
            self._open.release()
        return self._ended


class GroupCommit(Generic[T]):
    """Lets waiting threads enter the open write transaction: all return after the shared commit.

    *begin* begins a transaction, for a thread that has waited so many seconds; what else ``enter``
    was given comes after. A thread that fails undoes only the thread's own part.
    """

    def __init__(self, begin: Callable[..., T], *, shares: bool = True) -> None:
        self._begin = begin
        self._shares = shares
        # Reentrant, so that a lock left by an interrupted call does not lock out the same thread.
        self.lock = threading.RLock()
        """Held by the thread whose part is open."""
        self._waiting_lock = threading.Lock()
        self._waiting = 0
        self._inside = False  # whether the part of the thread with the lock is open
        self._group: Group[T] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open; asked with the lock held."""
        return self._group is not None

    def enter(self, *given: object) -> Group[T]:
        """Enter the open transaction, or begin one; hold the lock."""
        came = time.monotonic()
        with self._waiting_lock:
            self._waiting += 1
        try:
            acquire(self.lock)
        except BaseException:
            self._stop_waiting()
            raise
        try:
            self._stop_waiting()
            if self._group is not None:
                if self._inside:
                    raise StorageError(self._group.transaction.location, _INSIDE)
                try:
                    self._group.transaction.begin_part()
                except Exception:  # such as a connection that broke before this write
                    self.commit()
            if self._group is None:
                self._group = Group(self._begin(time.monotonic() - came, *given))
            self._group.members += 1
            self._inside = True
            return self._group
        except BaseException:
            self.lock.release()
            raise

    def _stop_waiting(self) -> None:
        with self._waiting_lock:
            self._waiting -= 1

    def leave(self, group: Group[T], error: BaseException | None) -> None:
        """End this thread's part, which failed with *error* if not None.

        Commit unless a waiting thread takes the transaction over. Raise the error of a part or a
        commit that is refused now.
        """
        refused: BaseException | None = None
        self._inside = False
        try:
            first = group.members == 1
            taken_over = self._shares and self._waiting > 0 and group.members < _MAX_GROUP
            if error is None and (taken_over or not first):
                try:
                    group.transaction.end_part(first=first)
                except BaseException as raised:
                    error = refused = raised
            if error is not None and not group.transaction.undo_part(first=first):
                self._group = None
                group.end(_for_others(group.transaction, error))
            if self._group is not None and not taken_over:
                self.commit()
        finally:
            self.lock.release()
        if refused is not None:
            raise refused
        if error is None:
            self._wait_for_commit(group)

    def _wait_for_commit(self, group: Group[T]) -> None:
        """Wait for the commit; commit if the waiting thread did not take over in time."""
        while not group.wait(_TAKEOVER_SECONDS):
            if self.lock.acquire(blocking=False):
                try:
                    if self._group is group:
                        self.commit()
                finally:
                    self.lock.release()
        if group.error is not None:
            raise group.error

    def commit(self) -> None:
        """Commit the open transaction, if any; called with the lock held."""
        group, self._group = self._group, None
        if group is None:
            return
        try:
            group.transaction.commit()
        except Exception as error:
            group.end(error)
        except BaseException as error:
            group.end(_for_others(group.transaction, error))
            raise
        else:
            group.end()


def _for_others(transaction: Transaction, error: BaseException) -> Exception:
    """Return the error that the other threads of the group raise after *error*."""
    if isinstance(error, Exception):
        return error
    return StorageError(transaction.location, _INTERRUPTED)


def acquire(lock: threading.RLock, *, blocking: bool = True) -> bool:
    """Acquire *lock* unless interrupted; return whether *lock* is held."""
    try:
        return lock.acquire(blocking)
    except BaseException:
        with suppress(RuntimeError):  # interrupted before the lock was acquired
            lock.release()
        raise
