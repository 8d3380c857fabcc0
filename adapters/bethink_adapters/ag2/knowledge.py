"""The knowledge of an agent of AG2: its files, in a store, where ``recall`` finds what they say."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from bethink import Files, IsAFolderError, MemoryStore, NotFoundError
from bethink.adapting import ROOT, finish_in_thread

if TYPE_CHECKING:
    from ag2.knowledge import ChangeSubscription
    from ag2.knowledge.base import ChangeCallback


class BethinkKnowledgeStore:
    """A ``KnowledgeStore``: the files in the *namespace* of a *store*, which stays open.

    Every change is one transaction, also between processes, and who cancels one waits until it is
    made or not. An append costs what it adds, however long the file is. The journal has every
    version of what was overwritten and deleted.

    A path is spelled as AG2 spells it, with slashes to spare. One that leads out or hides another
    raises ``ValidationError``, a ``ValueError``; a path has no file and folder at once.
    """

    def __init__(self, store: MemoryStore, *, namespace: str = "knowledge") -> None:
        self.files = Files(store, namespace)

    async def read(self, path: str) -> str | None:
        """Return the text of a file, None if there is none at *path*."""
        with suppress(NotFoundError, IsAFolderError):
            return await asyncio.to_thread(self.files.read, _spelled(path))
        return None

    async def write(self, path: str, content: str) -> None:
        """Have the file at *path* say *content*; text that it begins with already stays."""
        await finish_in_thread(self.files.write, _spelled(path), content)

    async def list(self, path: str = "/") -> list[str]:
        """Return the names in a folder, sorted, those of folders with a "/" at the end."""
        with suppress(NotFoundError):
            found = await asyncio.to_thread(self.files.list, _spelled(path))
            return sorted(each.path.rpartition("/")[2] + "/" * each.is_folder for each in found)
        return []

    async def delete(self, path: str) -> None:
        """Forget the file at *path*, or the folder with all below it; the root's is everything."""
        with suppress(NotFoundError):
            await finish_in_thread(self._delete, _spelled(path))

    async def exists(self, path: str) -> bool:
        """Tell whether a file or folder is at *path*."""
        return await asyncio.to_thread(self.files.exists, _spelled(path))

    async def append(self, path: str, content: str) -> int:
        """Add *content* to the end of a file; return the byte where it begins."""
        return await finish_in_thread(self.files.append, _spelled(path), content)

    async def read_range(self, path: str, start: int, end: int | None = None) -> str:
        """Return bytes *start* to before *end* of a file, "" where there is none.

        A range that begins or ends within a character raises ``UnicodeDecodeError``.
        """
        with suppress(NotFoundError, IsAFolderError):
            return await asyncio.to_thread(self.files.read_range, _spelled(path), start, end)
        return ""

    async def on_change(self, path: str, callback: ChangeCallback) -> ChangeSubscription:
        """Return what says that changes are to be polled for: other processes make them, too."""
        from ag2.knowledge import NoopChangeSubscription

        return NoopChangeSubscription()

    def _delete(self, path: str) -> None:
        if path == ROOT:
            self.files.store.forget(namespace=self.files.namespace)
        else:
            self.files.delete(path)


def _spelled(path: str) -> str:
    """Return *path* with one slash before each name and none at the end, as AG2 reads it."""
    return ROOT + "/".join(name for name in path.split("/") if name)
