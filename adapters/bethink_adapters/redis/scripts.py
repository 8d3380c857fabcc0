"""Scripts on a Redis server: each script is one atomic read or change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha1
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bethink import CorruptStoreError, StorageError, ValidationError
from bethink.adapting import integer, number

from ..shared.extras import needs

if TYPE_CHECKING:
    from redis import Redis, RedisCluster

    Client: TypeAlias = Redis | RedisCluster

_REDIRECTIONS: Final = 8
_MAX_WAIT: Final = 3600.0  # seconds


class NotReplicatedError(StorageError):
    """Report a write that fewer replicas confirmed than wanted; the primary has the write."""

    def __init__(self, wanted: int, confirmed: int) -> None:
        super().__init__(
            None,
            f"{confirmed} of {wanted} replicas confirmed the write; the primary has the write, "
            "and may lose the write if a replica takes over",
        )
        self._values = (wanted, confirmed)
        self.wanted = wanted
        self.confirmed = confirmed


class Server:
    """The server or cluster of a *client*, where scripts in Lua run.

    A result of nil or of a list says that a script changed nothing. A write waits up to
    *wait_seconds* until *wait* replicas have confirmed the write.
    """

    def __init__(self, client: Client, wait: int = 0, wait_seconds: float = 1.0) -> None:
        self.client = checked_client(client)
        self._wait = integer("wait", wait, 0)
        seconds = number("wait_seconds", wait_seconds, 0.001, _MAX_WAIT)
        timeout = client.get_connection_kwargs().get("socket_timeout")
        if self._wait and timeout is not None and seconds >= timeout:
            # The client would give up before the server answers, and might write again.
            raise ValidationError(
                f"wait_seconds must be less than the client's socket_timeout, {timeout:g} s"
            )
        self._milliseconds = int(seconds * 1000)  # at least 1: WAIT takes 0 for no end

    def read(self, script: str, keys: Sequence[bytes], *args: bytes | float) -> Any:
        """Return the result of *script*, with texts as bytes."""
        with _telling("nothing was read"):
            return self._evaluate(script, keys, args)

    def write(self, script: str, keys: Sequence[bytes], *args: bytes | float) -> Any:
        """Return the result of *script*; raise ``NotReplicatedError`` without enough replicas."""
        with _telling("whether the write is there is not known"):
            if not self._wait:
                return self._evaluate(script, keys, args)
            result, confirmed = self._replicated(script, keys, args)
        if result is not None and not isinstance(result, list) and confirmed < self._wait:
            raise NotReplicatedError(self._wait, confirmed)
        return result

    def names(self, start: bytes, end: bytes) -> set[bytes]:
        """Return the names of all keys with *start* and *end*; the server looks at every name."""
        pattern = re.sub(rb"([*?^\[\]\\-])", rb"\\\1", start) + b"*" + end
        encode = self.client.get_encoder().encode  # undoes the decoding of the client, if any
        with _telling("nothing was read"):
            return {encode(name) for name in self.client.scan_iter(match=pattern, count=1000)}

    def _evaluate(self, script: str, keys: Sequence[bytes], args: Sequence[Any]) -> Any:
        from redis.exceptions import NoScriptError

        by_digest, by_text = _calls(script)
        try:
            return self._execute(self.client, by_digest, keys, args)
        except NoScriptError:
            return self._execute(self.client, by_text, keys, args)

    def _replicated(
        self, script: str, keys: Sequence[bytes], args: Sequence[Any]
    ) -> tuple[Any, int]:
        """Return the result of *script*, and the number of replicas that have confirmed the write.

        WAIT concerns the writes of a connection, so one pipeline sends both commands.
        """
        from redis.exceptions import AskError, NoScriptError, ResponseError

        calls, redirections = _calls(script), _REDIRECTIONS
        call, node = next(calls), self._node(keys[0])
        asking: tuple[str, ...] = ()
        while True:
            pipeline = node.pipeline(transaction=False)
            for command in asking:
                pipeline.execute_command(command)
            self._execute(pipeline, call, keys, args)
            pipeline.execute_command("WAIT", self._wait, self._milliseconds)
            *_, result, confirmed = pipeline.execute(raise_on_error=False)
            if isinstance(result, NoScriptError):
                call = next(calls)
            elif isinstance(result, AskError) and redirections:
                redirections -= 1
                node, asking = self._redirected(keys[0], result)
            elif isinstance(result, ResponseError):
                raise result
            elif isinstance(confirmed, ResponseError):
                raise confirmed
            else:
                return result, confirmed

    def _node(self, key: bytes) -> Any:
        from redis import RedisCluster

        client: Any = self.client
        if not isinstance(self.client, RedisCluster):
            return client
        return client.get_redis_connection(client.get_node_from_key(key))

    def _redirected(self, key: bytes, error: Any) -> tuple[Any, tuple[str, ...]]:
        """Return a client of the server that *error* names, and the commands to send first."""
        from redis.exceptions import MovedError

        client: Any = self.client
        if isinstance(error, MovedError):
            client.exists(key)  # the client of the cluster learns the new node of the slot
            return self._node(key), ()
        return client.get_redis_connection(client.get_node(error.host, error.port)), ("ASKING",)

    @staticmethod
    def _execute(client: Any, call: tuple[str, str], keys: Sequence[bytes], args: Any) -> Any:
        # However the client decodes texts: the results stay bytes.
        return client.execute_command(*call, len(keys), *keys, *args, NEVER_DECODE=True)


def _calls(script: str) -> Iterator[tuple[str, str]]:
    """Yield the command by digest, and the command for a server without *script*."""
    yield "EVALSHA", sha1(script.encode(), usedforsecurity=False).hexdigest()
    yield "EVAL", script


def checked_client(client: Client) -> Client:
    """Return *client*; refuse all but a synchronous client of redis-py."""
    with needs("redis"):
        from redis import Redis, RedisCluster
        from redis.client import Pipeline

    if isinstance(client, Redis | RedisCluster) and not isinstance(client, Pipeline):
        return client
    kind = f"{type(client).__module__}.{type(client).__qualname__}"
    raise ValidationError(f"client must be a redis.Redis or a redis.RedisCluster, not {kind}")


def decoded(found: bytes | None) -> Any:
    """Return the JSON value in the bytes *found*."""
    try:
        return json.loads(found or b"")
    except ValueError as error:
        raise CorruptStoreError(None, "damaged JSON in Redis") from error


@contextmanager
def _telling(outcome: str) -> Iterator[None]:
    """Raise errors of redis-py as ``StorageError``; after a lost connection with the *outcome*."""
    from redis.exceptions import ConnectionError, RedisError, TimeoutError

    try:
        yield
    except (ConnectionError, TimeoutError) as error:
        raise StorageError(None, f"Redis: {str(error).rstrip('.')}; {outcome}") from error
    except RedisError as error:
        raise StorageError(None, f"Redis: {error}") from error
