"""The place of a new store on the shared server."""

from __future__ import annotations

import pytest

from .server import fresh_location


@pytest.fixture
def location() -> str:
    return fresh_location()
