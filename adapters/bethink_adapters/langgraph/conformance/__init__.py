"""What every LangGraph store should do, as tests that any store can run.

LangGraph's own stores disagree with each other, and no suite says who is right. A store's test file
inherits the contracts it wants to be held to, and pytest collects them::

    class TestMine(StoreContract, SearchContract, ExpiryContract):
        def open(self, **config):  # index=... or ttl=..., as LangGraph's stores take them
            return MyStore.from_conn_string(":memory:", **config)

``StoreContract`` is for every store, ``SearchContract`` for one that takes an index configuration,
``ExpiryContract`` for one that takes a TTL configuration.
"""

from .expiry import ExpiryContract
from .search import SearchContract
from .store import StoreContract

__all__ = ["ExpiryContract", "SearchContract", "StoreContract"]
