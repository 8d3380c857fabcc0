"""What a session has been shown: a small file of ids for each session of a host."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_KEPT_SECONDS: Final = 14 * 86_400
_MOST: Final = 500
"""The most ids of a session; older ids are dropped."""


class Session:
    """The ids that the session *id* of *host* was shown, in a file below *folder*.

    Without an *id*, nothing is kept.
    """

    def __init__(self, folder: Path, host: str, id: str) -> None:
        self.name = f"{host}:{id}" if id else None
        digest = hashlib.sha256(f"{host}:{id}".encode("utf-8", "replace")).hexdigest()[:32]
        self._file = folder / f"{digest}.json"

    def ids(self) -> list[str]:
        """Return the ids, the oldest first."""
        if self.name is None:
            return []
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return []
        return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []

    def add(self, ids: Iterable[str]) -> None:
        """Add *ids*."""
        if self.name is None:
            return
        known = list(dict.fromkeys([*self.ids(), *ids]))[-_MOST:]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(known), encoding="utf-8")
        part.replace(self._file)

    def forget(self) -> None:
        """Begin anew, and drop the files of sessions that ended long ago."""
        self._file.unlink(missing_ok=True)
        if not self._file.parent.is_dir():
            return
        for each in self._file.parent.glob("*.json"):
            if each.stat().st_mtime < time.time() - _KEPT_SECONDS:
                each.unlink(missing_ok=True)
