"""What every test may use."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import pytest
from hypothesis import settings

from bethink import MemoryStore

# The frameworks' own tests run from copies of this folder; see tox.ini.
collect_ignore = ["upstream"]
NEEDED = {
    "adapters/redis": "redis",
    "adapters/web": "playwright",
    "core/storage/postgres": "psycopg",
}
collect_ignore += [folder for folder, module in NEEDED.items() if find_spec(module) is None]

FRAMEWORKS = ("numpy", "langchain-core", "langgraph", "crewai", "autogen-agentchat")

# The contracts are tests too: a failure shall show what was compared.
pytest.register_assert_rewrite(
    "bethink.testing.contracts",
    "bethink_adapters.langgraph.conformance",
)

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


def pytest_report_header() -> str:
    found = []
    for framework in FRAMEWORKS:
        try:
            found.append(f"{framework} {version(framework)}")
        except PackageNotFoundError:
            continue
    return "with: " + ", ".join(found)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore() as store:
        yield store
