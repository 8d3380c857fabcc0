"""Workers on several machines share state and a conversation on a Redis server.

    pip install ".[redis]"
    redis-server --appendonly yes --appendfsync always
    python examples/redis_shared.py

It reads the address of the server from REDIS_URL, or takes the server of this machine.
"""

import os
from concurrent.futures import ThreadPoolExecutor

from redis import Redis

from bethink_adapters.redis import RedisKeyedMemory, RedisMessageLog

ADDRESS = os.environ.get("REDIS_URL", "redis://localhost:6379")


def work(name: str) -> bool:
    """Do a share of the work, as a process on a machine of its own would; return who leads."""
    with Redis.from_url(ADDRESS) as client:
        state = RedisKeyedMemory(client, namespace="example/run")
        leads = state.compare_and_set("leader", None, name)
        for _ in range(10):
            number = state.increment("done")
            state.remember(f"page {number}", f"by {name}")
        log = RedisMessageLog(client, "run", namespace="example")
        log.append([{"content": f"{name} is ready", "author": name}])
        return leads


with Redis.from_url(ADDRESS) as client:
    state = RedisKeyedMemory(client, namespace="example/run")
    log = RedisMessageLog(client, "run", namespace="example")
    state.clear()
    log.clear()
    with ThreadPoolExecutor() as machines:
        leading = list(machines.map(work, ("ann", "bob", "cid", "dee")))
    print(f"{leading.count(True)} leader")
    pages = [key for key, _ in state.items() if key.startswith("page")]
    print(f"{state.recall('done')} steps, {len(pages)} pages")
    print(*sorted(message.content for message in log.messages()), sep="\n")
