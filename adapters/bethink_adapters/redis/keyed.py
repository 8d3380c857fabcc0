"""RedisKeyedMemory: a keyed memory on a Redis server.

Three keys hold a memory: a hash of JSON values, and two sorted sets of the keys, in order of
insertion and in order of remembering. A place in an order is one more than the last place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryItem, StoreBusyError
from bethink.adapting import (
    MISSING,
    UNCHANGED,
    AtomicMemory,
    check_namespace,
    integer,
    plain,
    suggesting,
    to_json,
)

from .scripts import Server, decoded

if TYPE_CHECKING:
    from .scripts import Client

_MAX_SECONDS: Final = 30.0
"""After so many seconds of changes by others, a change gives up."""

_PLACES: Final = """
local values, inserted, remembered = KEYS[1], KEYS[2], KEYS[3]
local key = ARGV[1]
local function put_last(order)
  local last = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
  redis.call('ZADD', order, (last[2] or 0) + 1, key)
end
local function place(newest)
  local known = redis.call('ZSCORE', inserted, key)
  if not known then put_last(inserted) end
  if newest or not known then put_last(remembered) end
end
"""
_CHANGE: Final = (
    _PLACES
    + """
local value, newest, expected, before = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local found = redis.call('HGET', values, key)
if expected == 'nothing' and found then return nil end
if expected == 'equal' and found ~= before then return nil end
redis.call('HSET', values, key, value)
place(newest == '1')
return 1
"""
)
_INCREMENT: Final = (
    _PLACES
    + """
local sum = redis.pcall('HINCRBY', values, key, ARGV[2])
if type(sum) == 'table' then return nil end
place(false)
return redis.call('HGET', values, key)
"""
)
"""Add whole numbers of 64 bits; nil for a value or a sum of a different kind."""

_FORGET: Final = """
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return nil end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
"""
_CLEAR: Final = """
local count = redis.call('HLEN', KEYS[1])
if count == 0 then return nil end
redis.call('DEL', unpack(KEYS))
return count
"""
_READ: Final = "return redis.call('HGET', KEYS[1], ARGV[1])"
_COUNT: Final = "return redis.call('HLEN', KEYS[1])"
_ITEMS: Final = """
local found = {}
for _, key in ipairs(redis.call('ZRANGE', KEYS[2], ARGV[1], -1)) do
  found[#found + 1] = key
  found[#found + 1] = redis.call('HGET', KEYS[1], key)
end
return found
"""


@suggesting
class RedisKeyedMemory(AtomicMemory):
    """JSON values by key in the *namespace*, on the Redis of a redis-py *client*.

    The verbs are the verbs of ``KeyedMemory``, and every change is atomic. The server's settings
    decide what outlives the server. With *wait* each write also waits, up to *wait_seconds*, until
    so many replicas have the write, and raises ``NotReplicatedError`` otherwise. A server that
    cannot be used raises ``StorageError``. The constructor reads and writes nothing, and the caller
    closes the client.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str = "working",
        wait: int = 0,
        wait_seconds: float = 1.0,
    ) -> None:
        self._server = Server(client, wait, wait_seconds)
        self.client = client
        self.namespace = check_namespace(namespace)
        # The braces keep all keys of a memory in one slot of a cluster.
        parts = ("values", "inserted", "remembered")
        self._keys = [f"bethink:{{keyed/{namespace}}}:{part}".encode() for part in parts]

    def remember(self, key: str, value: Any) -> None:
        """Remember *value*, any JSON, under *key*, in place of any value before.

        *key* becomes the newest.
        """
        new = _encoded(plain("value", value))
        self._server.write(_CHANGE, self._keys, self._checked(key).encode(), new, 1, b"any")

    def recent(self, limit: int) -> tuple[MemoryItem, ...]:
        """Return the *limit* items remembered last, newest last.

        ``update`` and ``compare_and_set`` remember anew; ``increment`` counts in place.
        """
        most = integer("limit", limit, 0)
        values, _, remembered = self._keys
        return tuple(self._items([values, remembered], -most)) if most else ()

    def increment(self, key: str, by: float = 1) -> Any:
        """Add *by* to the number under *key*, 0 for a missing key; return the sum.

        A value that is not a number raises ``ValidationError``.
        """
        name = self._checked(key)
        if type(by) is int:
            step = str(plain("by", by)).encode()
            summed = self._server.write(_INCREMENT, self._keys, name.encode(), step)
            if summed is not None:
                return int(summed)
        return super().increment(key, by)

    def forget(self, key: str) -> bool:
        """Forget *key*; return whether the key existed."""
        return bool(self._server.write(_FORGET, self._keys, self._checked(key).encode()))

    def clear(self) -> int:
        """Forget every key; return the number of keys."""
        self._check_all()
        return self._server.write(_CLEAR, self._keys) or 0

    def items(self) -> list[MemoryItem]:
        """Return keys and values in order of insertion, as a dict does."""
        return self._items(self._keys[:2], 0)

    def count(self) -> int:
        """Count the keys."""
        return int(self._server.read(_COUNT, self._keys[:1]))

    def _items(self, keys: list[bytes], start: int) -> list[MemoryItem]:
        found = self._server.read(_ITEMS, keys, start)
        pairs = zip(found[::2], found[1::2], strict=True)
        return [MemoryItem(key.decode(), decoded(value)) for key, value in pairs]

    def _read(self, key: str) -> Any:
        found = self._found(key)
        return MISSING if found is None else decoded(found)

    def _found(self, key: str) -> bytes | None:
        found: bytes | None = self._server.read(_READ, self._keys[:1], key.encode())
        return found

    def _change(self, key: str, change: Callable[[Any], Any], *, newest: bool = True) -> bool:
        deadline = time.monotonic() + _MAX_SECONDS
        while True:
            found = self._found(key)
            new = change(MISSING if found is None else decoded(found))
            if new is UNCHANGED:
                return False
            before = (b"nothing",) if found is None else (b"equal", found)
            args = (key.encode(), _encoded(new), int(newest), *before)
            if self._server.write(_CHANGE, self._keys, *args):
                return True
            if time.monotonic() > deadline:
                raise StoreBusyError(None, f"key {key!r} never stands still")

    def _place(self) -> tuple[Hashable, str | None]:
        return (id(self.client), self.namespace), None


def _encoded(value: Any) -> bytes:
    return to_json(value).encode()
