"""The socket of the server."""

from __future__ import annotations

import asyncio
import socket

import pytest

from bethink_adapters.rest.running import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_wait_for_no_acknowledgement(host: str) -> None:
    """Each connection sends small packets at once."""

    async def option() -> int:
        found = asyncio.get_running_loop().create_future()

        def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            found.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with listen(host, 0) as listening:
            async with await asyncio.start_server(connected, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname()[:2])
                turned_off: int = await found
                writer.close()
        return turned_off

    assert asyncio.run(option())


def test_a_taken_port_is_refused() -> None:
    with listen("127.0.0.1", 0) as listening, pytest.raises(OSError, match="in use") as e:
        listen("127.0.0.1", listening.getsockname()[1])
    assert e.value.filename.startswith("127.0.0.1 port ")
