"""What every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from bethink import MemoryStore

FRAMEWORKS = ("langchain-core", "crewai", "autogen-agentchat", "numpy")

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_report_header() -> str:
    found = []
    for framework in FRAMEWORKS:
        try:
            found.append(f"{framework} {version(framework)}")
        except PackageNotFoundError:
            continue
    return "frameworks: " + (", ".join(found) or "none")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    from bethink import MemoryStore

    with MemoryStore() as store:
        yield store
