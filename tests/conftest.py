"""What every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import pytest

from bethink import MemoryStore

FRAMEWORKS = ("langchain-core", "crewai", "autogen-agentchat", "numpy")


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
    with MemoryStore() as store:
        yield store
