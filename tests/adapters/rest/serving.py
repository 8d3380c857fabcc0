"""Clients of the application, in this process."""

from __future__ import annotations

from collections.abc import Callable

from fastapi.testclient import TestClient

from bethink import MemoryStore
from bethink_adapters.rest.app import create_app
from bethink_adapters.rest.settings import Settings
from bethink_adapters.rest.tokens import Token

ALL = Token("token-for-everything")
READER = Token("token-that-only-reads", read_only=True)
ANN = Token("token-of-ann-and-below", ("users/ann",))
TWO = Token("token-of-two-namespaces", ("team", "users/ann"))
HOST = "http://127.0.0.1:8420"

Client = Callable[..., TestClient]


def client_of(store: MemoryStore, token: Token | None = ALL, **settings: object) -> TestClient:
    """Return a client of a new application over *store*."""
    app = create_app(store, Settings([ALL, READER, ANN, TWO], **settings))  # type: ignore[arg-type]
    headers = {} if token is None else {"Authorization": f"Bearer {token.text}"}
    return TestClient(app, base_url=HOST, headers=headers, raise_server_exceptions=False)
