"""RedisMessageLog: the messages of a session, in order, on a Redis server.

Three keys hold a session: a hash of records as JSON by id, a sorted set of the ids in order, and a
sorted set of the ids that expire. A script that writes first drops the messages that have expired;
a script that reads passes over them, since a replica refuses writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bethink import (
    CorruptStoreError,
    MemoryRecord,
    NotFoundError,
    ValidationError,
    segment,
    unsegment,
)
from bethink.adapting import (
    IdFactory,
    build_records,
    check_expiry,
    check_namespace,
    ids,
    limit,
    listed_messages,
    storable,
    suggesting,
    to_json,
)

from .scripts import Server, decoded

if TYPE_CHECKING:
    from .scripts import Client

_DROP: Final = """
local records, order, expiring = KEYS[1], KEYS[2], KEYS[3]
local function drop(id)
  redis.call('HDEL', records, id)
  redis.call('ZREM', order, id)
  redis.call('ZREM', expiring, id)
end
for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiring, '-inf', ARGV[1])) do drop(id) end
"""
_APPEND: Final = (
    _DROP
    + """
local first = 3 + ARGV[2]
for at = 3, first - 1 do
  if redis.call('HEXISTS', records, ARGV[at]) == 0 then return {'unknown', ARGV[at]} end
end
for at = first, #ARGV, 3 do
  if redis.call('HEXISTS', records, ARGV[at]) == 1 then return {'taken', ARGV[at]} end
end
for at = 3, first - 1 do drop(ARGV[at]) end
local last = redis.call('ZRANGE', order, -1, -1, 'WITHSCORES')
local place = last[2] or 0
for at = first, #ARGV, 3 do
  place = place + 1
  redis.call('HSET', records, ARGV[at], ARGV[at + 1])
  redis.call('ZADD', order, place, ARGV[at])
  if ARGV[at + 2] ~= '' then redis.call('ZADD', expiring, ARGV[at + 2], ARGV[at]) end
end
return 1
"""
)
_MESSAGES: Final = """
local records, order, expiring = KEYS[1], KEYS[2], KEYS[3]
local expired, gone, most = {}, 0, tonumber(ARGV[2])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', expiring, '-inf', ARGV[1])) do
  expired[id], gone = true, gone + 1
end
local kept, found = {}, {}
for _, id in ipairs(redis.call('ZREVRANGE', order, 0, most < 0 and -1 or most + gone - 1)) do
  if not expired[id] and #kept ~= most then kept[#kept + 1] = id end
end
for at = #kept, 1, -1 do found[#found + 1] = redis.call('HGET', records, kept[at]) end
return found
"""
_POP: Final = (
    _DROP
    + """
local id = redis.call('ZRANGE', order, -1, -1)[1]
if not id then return nil end
local found = redis.call('HGET', records, id)
drop(id)
return found
"""
)
_CLEAR: Final = (
    _DROP
    + """
local count = redis.call('ZCARD', order)
if count == 0 then return nil end
redis.call('DEL', unpack(KEYS))
return count
"""
)
_COUNT: Final = (
    "return redis.call('ZCARD', KEYS[2]) - redis.call('ZCOUNT', KEYS[3], '-inf', ARGV[1])"
)
_START: Final = "bethink:{log/"
_PARTS: Final = ("records", "order", "expiring")


@suggesting
class RedisMessageLog:
    """The messages of one *session*, oldest first, on the Redis of a redis-py *client*.

    The verbs are the verbs of ``MessageLog``, and messages are ``MemoryRecord`` values. No store
    recalls the messages, so a message has no key, no vectors and supersedes nothing: a message with
    either is refused. An id is unique within the session. *clock* gives the Unix seconds of new
    messages, and decides what has expired. *wait* and *wait_seconds*: see ``RedisKeyedMemory``.
    """

    def __init__(
        self,
        client: Client,
        session: str,
        *,
        namespace: str = "messages",
        wait: int = 0,
        wait_seconds: float = 1.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._server = Server(client, wait, wait_seconds)
        self.client = client
        self.session = session
        self.namespace = check_namespace(f"{namespace}/{segment(session)}")
        self.thread = session if storable(session) else segment(session)
        self._clock, self._new_id = clock, IdFactory(clock)
        # The braces keep all keys of a session in one slot of a cluster.
        self._keys = [f"{_START}{self.namespace}}}:{part}".encode() for part in _PARTS]

    def append(
        self, messages: Iterable[Mapping[str, Any]], *, forget: str | Iterable[str] = ()
    ) -> list[MemoryRecord]:
        """Add *messages*, each a mapping of ``MemoryStore.store``'s arguments: all or none.

        The log sets namespace and thread: a message with either is refused. The same change forgets
        the messages with the ids in *forget*; an unknown id raises ``NotFoundError``.
        """
        items, gone, now = listed_messages(messages), ids(forget), self._clock()
        records = self._built(items, now)
        args: list[Any] = [each.encode() for each in dict.fromkeys(gone)]
        args.insert(0, len(args))
        for record in records:
            expiry = b"" if record.expires_at is None else record.expires_at
            args += [record.id.encode(), _encoded(record), expiry]
        if len(args) > 1:
            done = self._server.write(_APPEND, self._keys, now, *args)
            if isinstance(done, list):
                _refuse(*done)
        return records

    def messages(self, last: int | None = None) -> list[MemoryRecord]:
        """Return the *last* messages, or all, oldest first; no more are read."""
        most = limit("last", last)
        if most == 0:
            return []
        found = self._server.read(
            _MESSAGES, self._keys, self._clock(), -1 if most is None else most
        )
        return list(map(_record, found))

    def values(self, last: int | None = None) -> list[Any]:
        """Return the values of the *last* messages, or of all, oldest first."""
        return [record.value for record in self.messages(last)]

    def pop(self) -> MemoryRecord | None:
        """Forget the last message and return the message; None without messages."""
        found = self._server.write(_POP, self._keys, self._clock())
        return None if found is None else _record(found)

    def clear(self) -> int:
        """Forget all messages; return the number of messages."""
        return self._server.write(_CLEAR, self._keys, self._clock()) or 0

    def count(self) -> int:
        """Count the messages."""
        return int(self._server.read(_COUNT, self._keys, self._clock()))

    @staticmethod
    def sessions(
        client: Client, *, namespace: str = "messages", clock: Callable[[], float] = time.time
    ) -> list[str]:
        """Return the sessions that have messages, sorted.

        The server looks at the names of all keys, so the call is for administration.
        """
        start = f"{_START}{check_namespace(namespace)}/"
        end = f"}}:{_PARTS[1]}"
        names = Server(client).names(start.encode(), end.encode())
        found = {name.decode()[len(start) : -len(end)] for name in names}
        sessions = sorted(unsegment(name) for name in found if "/" not in name)
        logs = (
            RedisMessageLog(client, session, namespace=namespace, clock=clock)
            for session in sessions
        )
        return [log.session for log in logs if log.count()]

    def _built(self, items: list[dict[str, Any]], now: float) -> list[MemoryRecord]:
        common = {"namespace": self.namespace, "thread": self.thread}
        built = build_records(items, common, now, self._new_id)
        for record, vectors, superseded in built:
            if record.expires_at is not None:
                check_expiry(record.expires_at, now)
            if record.key is not None or vectors or superseded:
                raise ValidationError(
                    "a message in Redis has no key, no vectors, and supersedes nothing; "
                    "MessageLog(store) keeps all three"
                )
        records = [record for record, *_ in built]
        if len({record.id for record in records}) < len(records):
            raise ValidationError("two items have the same id")
        return records


def _encoded(record: MemoryRecord) -> bytes:
    told = record.to_dict()
    return to_json({name: each for name, each in told.items() if each is not None}).encode()


def _record(found: bytes | None) -> MemoryRecord:
    told = decoded(found)
    try:
        return MemoryRecord(**{**told, "tags": tuple(told["tags"])})
    except (KeyError, TypeError) as error:
        raise CorruptStoreError(None, "damaged message in Redis") from error


def _refuse(reason: bytes, id: bytes) -> None:
    """Raise the error of a script that found an unknown id, or the id of an earlier message."""
    if reason == b"unknown":
        raise NotFoundError("record", id.decode())
    raise ValidationError(f"a message with the id {id.decode()!r} is in the log already")
