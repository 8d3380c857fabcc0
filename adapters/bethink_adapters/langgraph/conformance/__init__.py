"""The right behaviour of a LangGraph store, as tests for any store.

LangGraph's own stores disagree, and no suite says who is right. A store's test file inherits
contracts, and pytest collects the tests::

    class TestMine(StoreContract, SearchContract, ExpiryContract):
        def open(self, **config):  # index=... or ttl=..., as for LangGraph's stores
            return MyStore.from_conn_string(":memory:", **config)

``StoreContract`` is for every store, ``SearchContract`` for stores with an index configuration,
``ExpiryContract`` for stores with a TTL configuration.
"""

from .expiry import ExpiryContract
from .search import SearchContract
from .store import StoreContract

__all__ = ["ExpiryContract", "SearchContract", "StoreContract"]
