"""What a client may see of a store: everything, or some namespaces with everything below."""

from __future__ import annotations

from collections.abc import Sequence

from bethink import EVERYWHERE, LogEntry, MemoryRecord, MemoryStore, NotFoundError, Subtree
from bethink.adapting import Scope, covers

from .location import home_namespace


class Visible:
    """The *store* as a client sees the records; *names*, if any, hide all outside of them.

    ``seen`` is the scope of the records that can be seen.
    """

    def __init__(self, store: MemoryStore, names: Sequence[str] = ()) -> None:
        self.store = store
        self.names = names
        self.seen: Scope = tuple(map(Subtree, names)) or EVERYWHERE

    def sees(self, namespace: str | None) -> bool:
        """Return whether *namespace* is visible."""
        return not self.names or (namespace is not None and covers(self.seen, namespace))

    def scope(self, namespace: str | None, subtree: bool = False) -> Scope:
        """Return the scope of *namespace*, with all below for *subtree*; None: all visible.

        Raise ``NotFoundError`` for a namespace that is not visible.
        """
        if namespace is None:
            return self.seen
        if self.sees(namespace):
            return Subtree(namespace) if subtree else namespace
        wanted = Subtree(namespace)
        inner = [Subtree(each) for each in self.names if covers(wanted, each)]
        if not subtree or not inner:
            raise NotFoundError("namespace", namespace)
        return tuple(inner)

    def place(self, namespace: str | None) -> str:
        """Return the namespace to write to; None: the first visible name, or the store's home."""
        if namespace is None:
            return self.names[0] if self.names else home_namespace(self.store.location)
        if not self.sees(namespace):
            raise NotFoundError("namespace", namespace)
        return namespace

    def one(self, id: str) -> MemoryRecord:
        """Return the visible record *id* that ``get`` returns, or raise ``NotFoundError``."""
        record = self.store.get(id)
        if record is None or not self.sees(record.namespace):
            raise NotFoundError("memory", id)
        return record

    def entry(self, number: int) -> LogEntry:
        """Return the visible journal entry *number*, or raise ``NotFoundError``.

        An entry of a memory that was elsewhere before, or is elsewhere by now, is hidden, too:
        undone, the entry would show a text of another namespace.
        """
        found = self.store.entry(number)
        if self.names:
            before, newest = (
                self.store.log(limit=1, id=found.id, until=until) for until in (number - 1, None)
            )
            if not all(self.sees(each.namespace) for each in (found, *before, *newest)):
                raise NotFoundError("journal entry", str(number))
        return found
