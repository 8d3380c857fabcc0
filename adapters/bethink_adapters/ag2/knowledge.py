"""The knowledge of an agent of AG2: files in a store, for ``recall`` to find the text."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from bethink import Files, IsAFolderError, NotFoundError
from bethink.adapting import ROOT, finish_in_thread, suggesting

from ..shared.extras import require
from ..shared.opening import StoreOrPath, open_store

if TYPE_CHECKING:
    from ag2.knowledge import ChangeSubscription
    from ag2.knowledge.base import ChangeCallback


@suggesting
class BethinkKnowledgeStore:
    """A ``KnowledgeStore``: the files in the *namespace* of a *store*; the store stays open.

    Every change is a transaction, also between processes; a cancelled caller waits for the end of
    the transaction. The cost of an append grows with the added text, not with the file. The journal
    has every version of overwritten and deleted texts.

    Paths are spelled as in AG2: extra slashes are ignored. A path that leads out of the root, or
    decodes to a different path, raises ``ValidationError``, a ``ValueError``. A path names a file
    or a folder, never both.
    """

    def __init__(self, store: StoreOrPath, *, namespace: str = "knowledge") -> None:
        require("ag2", "ag2.knowledge")
        self.files = Files(open_store(store), namespace)

    async def read(self, path: str) -> str | None:
        """Return the text of a file, None for a missing file and for a folder."""
        with suppress(NotFoundError, IsAFolderError):
            return await asyncio.to_thread(self.files.read, _normalise(path))
        return None

    async def write(self, path: str, content: str) -> None:
        """Write *content* to the file at *path*; only text from the first difference is stored."""
        await finish_in_thread(self.files.write, _normalise(path), content)

    async def list(self, path: str = "/") -> list[str]:
        """Return the sorted names in a folder, names of folders with a "/" at the end.

        A missing folder has no names.
        """
        with suppress(NotFoundError):
            found = await asyncio.to_thread(self.files.list, _normalise(path))
            return sorted(each.path.rpartition("/")[2] + "/" * each.is_folder for each in found)
        return []

    async def delete(self, path: str) -> None:
        """Forget the file at *path*, or the folder with all files below; the root is all files.

        A missing file is no error.
        """
        with suppress(NotFoundError):
            await finish_in_thread(self._delete, _normalise(path))

    async def exists(self, path: str) -> bool:
        """Return whether *path* is a file or a folder."""
        return await asyncio.to_thread(self.files.exists, _normalise(path))

    async def append(self, path: str, content: str) -> int:
        """Add *content* to the end of a file; return the byte where *content* begins."""
        return await finish_in_thread(self.files.append, _normalise(path), content)

    async def read_range(self, path: str, start: int, end: int | None = None) -> str:
        """Return the text from byte *start* to before byte *end*; "" for a missing file.

        A range that begins or ends within a character raises ``UnicodeDecodeError``.
        """
        with suppress(NotFoundError, IsAFolderError):
            return await asyncio.to_thread(self.files.read_range, _normalise(path), start, end)
        return ""

    async def on_change(self, path: str, callback: ChangeCallback) -> ChangeSubscription:
        """Return AG2's subscription for stores without notices: poll for changes.

        A second process can change a file, without a notice to the store.
        """
        from ag2.knowledge import NoopChangeSubscription

        return NoopChangeSubscription()

    def _delete(self, path: str) -> None:
        if path == ROOT:
            self.files.store.forget(namespace=self.files.namespace)
        else:
            self.files.delete(path)


def _normalise(path: str) -> str:
    """Return *path* with a single slash before each name and no slash at the end, as in AG2."""
    return ROOT + "/".join(name for name in path.split("/") if name)
