"""The packages for an adapter: an error names the extra to install."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Final

from bethink import MissingExtraError

REQUIREMENTS: Final = {
    "ag2": "ag2>=1.0",
    "agent-framework": "agent-framework-core>=1.16",
    "agno": "agno>=2.8.4",
    "anthropic": "anthropic>=1.8",
    "autogen": "autogen-core>=0.4.9",
    "autogen-classic": "ag2>=0.14,<1",
    "crewai": "crewai>=1.9.3",
    "google-adk": "google-adk>=2.0",
    "haystack": "haystack-ai>=3.0.0",
    "langchain": "langchain-core>=0.2.43",
    "langchain-classic": "langchain-classic>=1.0",
    "langgraph": "langgraph>=0.6.11",
    "llama-index": "llama-index-core>=0.12.37",
    "openai-agents": "openai-agents>=0.22",
    "pydantic-ai": "pydantic-ai-slim>=1.90",
    "redis": "redis>=5.0",
    "server": "fastapi>=0.165",
    "strands": "strands-agents>=1.46",
}
"""The framework of each extra, as in ``pyproject.toml``."""


@contextmanager
def needs(extra: str, requirement: str | None = None) -> Iterator[None]:
    """Raise ``MissingExtraError`` if an import in the body fails.

    *requirement* is the package that the body needs, if not the framework of *extra*.
    """
    try:
        yield
    except ImportError as error:
        wanted = requirement or REQUIREMENTS[extra]
        found = _version(wanted)
        reason = ", too old" if found and _is_older(found, wanted) else f" ({error})"
        raise MissingExtraError(wanted, extra, found, reason) from error


def require(extra: str, module: str) -> ModuleType:
    """Return *module* of the framework of *extra*; or raise ``MissingExtraError``."""
    with needs(extra):
        return import_module(module)


def _version(requirement: str) -> str | None:
    try:
        return version(requirement.partition(">")[0])
    except PackageNotFoundError:
        return None


def _is_older(found: str, requirement: str) -> bool:
    least = requirement.partition(">=")[2].partition(",")[0]
    return _numbers(found) < _numbers(least)


def _numbers(release: str) -> list[int]:
    """Return the first three numbers of a release such as "1.0rc1"."""
    return [int(each) for each in [*re.findall(r"\d+", release), "0", "0"][:3]]
