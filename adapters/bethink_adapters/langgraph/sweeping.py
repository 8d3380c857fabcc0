"""The thread for sweeping expired items, as in LangGraph's stores."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future

from bethink import StoreClosedError

_logger = logging.getLogger(__name__)


class Sweeper:
    """Call *sweep* every so many seconds, from start to stop; only one thread at a time."""

    def __init__(self, sweep: Callable[[], int]) -> None:
        self._sweep = sweep
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._done: Future[None] = Future()

    def start(self, seconds: float) -> Future[None]:
        """Begin, unless running already; the future is done at the end of the thread."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._stop, self._done = threading.Event(), Future()
                self._thread = threading.Thread(
                    target=self._run,
                    args=(seconds, self._stop, self._done),
                    name="bethink-ttl-sweeper",
                    daemon=True,
                )
                self._thread.start()
            return self._done

    def stop(self, timeout: float | None) -> bool:
        """Stop the thread, wait at most *timeout* seconds; return whether the thread ended."""
        with self._lock:
            if self._thread is None:
                return True
            self._stop.set()
            self._thread.join(timeout)
            return not self._thread.is_alive()

    def _run(self, seconds: float, stop: threading.Event, done: Future[None]) -> None:
        done.set_running_or_notify_cancel()
        while not stop.wait(seconds):
            try:
                self._sweep()
            except StoreClosedError:
                break
            except Exception:
                _logger.warning("expired items could not be swept", exc_info=True)
        done.set_result(None)
