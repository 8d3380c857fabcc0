"""Keyed memories and message logs on a Redis server, with the caller's redis-py client.

``RedisKeyedMemory`` has the verbs of ``KeyedMemory``, ``RedisMessageLog`` the verbs of
``MessageLog``. A client of one server, of sentinels or of a cluster will do. Each verb is one
script on the server, and all keys of a memory or of a session lie in one slot of a cluster.
"""

from .keyed import RedisKeyedMemory
from .messages import RedisMessageLog
from .scripts import NotReplicatedError

__all__ = ["NotReplicatedError", "RedisKeyedMemory", "RedisMessageLog"]
