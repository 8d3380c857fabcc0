"""LangChain's key-value store, such as for embeddings or documents made once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from bethink.adapting import check_namespace, make_async_write

from ..shared.opening import StoreOrPath, open_store
from ..shared.subclassing import made_on
from .encoding import decode, encode

if TYPE_CHECKING:
    from langchain_core.stores import BaseStore

    _Base: TypeAlias = BaseStore[str, Any]
else:
    _Base = object  # a type checker sees LangChain's base class; an object gets it when it is made


@made_on("langchain", "langchain_core.stores", "BaseStore")
class BethinkKeyValueStore(_Base):
    """Keep values by key in a *namespace* of a bethink *store*: any JSON, bytes, dates, documents.

    No recall finds the values. ``mdelete`` forgets; with *erase* no byte of a deleted value stays.
    """

    def __init__(
        self, store: StoreOrPath, *, namespace: str = "values", erase: bool = False
    ) -> None:
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self.erase = erase

    def mget(self, keys: Iterable[str]) -> list[Any]:
        """Return the values of *keys*, None for an unknown key."""
        names = list(keys)
        found = self.store.all(namespace=self.namespace, where={"key": {"$in": names}})
        values = {each.key: decode(each.value["value"]) for each in found}
        return [values.get(name) for name in names]

    def mset(self, key_value_pairs: Sequence[tuple[str, Any]]) -> None:
        """Set the values, all or none.

        A value that cannot be restored raises ``ValidationError``.
        """
        items = [
            {"key": key, "value": {"value": encode(it, str(key), is_strict=True)}}
            for key, it in key_value_pairs
        ]
        self.store.store_many(items, namespace=self.namespace)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Forget, or with ``erase`` erase, the values of *keys*; unknown keys are passed over."""
        delete = self.store.erase if self.erase else self.store.forget
        delete(namespace=self.namespace, where={"key": {"$in": list(keys)}})

    amset = make_async_write(mset)
    amdelete = make_async_write(mdelete)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys, or the keys with *prefix*, in the order of the values."""
        span: dict[str, Any] = {"$gte": prefix} if prefix else {"$exists": True}
        if prefix and prefix[-1] < "\ud7ff":  # a surrogate is next, in no key
            span["$lt"] = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        for record in self.store.all(namespace=self.namespace, where={"key": span}):
            if str(record.key).startswith(prefix or ""):
                yield str(record.key)
