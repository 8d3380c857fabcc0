"""Counts of requests and memories, in the text format of Prometheus."""

from __future__ import annotations

import threading
from collections import Counter

from bethink import MemoryStore

from .settings import METHODS


class Metrics:
    """Counts requests by method and status."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def count(self, method: str, status: int) -> None:
        """Count a request."""
        known = method if method in METHODS else "other"
        with self._lock:
            self._requests[known, status] += 1

    def text(self, store: MemoryStore) -> str:
        """Return all counts, one a line."""
        with self._lock:
            requests = sorted(self._requests.items())
        stats = store.stats()
        lines = ["# TYPE bethink_requests_total counter"]
        lines += [
            f'bethink_requests_total{{method="{method}",status="{status}"}} {count}'
            for (method, status), count in requests
        ]
        lines.append("# TYPE bethink_memories gauge")
        lines += [f'bethink_memories{{state="{s}"}} {n}' for s, n in stats.states.items()]
        gauges = {
            "journal_entries": stats.journal_entries,
            "access_rows": stats.access_rows,
            "pending_accesses": stats.pending_accesses,
            "file_bytes": stats.bytes,
            "free_bytes": stats.free_bytes,
            "resident_bytes": stats.resident_bytes,
        }
        for name, value in gauges.items():
            lines += [f"# TYPE bethink_{name} gauge", f"bethink_{name} {value}"]
        return "\n".join(lines) + "\n"
