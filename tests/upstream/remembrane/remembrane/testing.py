"""bethink's assertions, on the store behind remembrane's names."""

from __future__ import annotations

from typing import Any

from bethink import testing

from . import MemoryStore


def recalled_contents(store: MemoryStore, query: str, **options: Any) -> list[str]:
    return testing.recalled_contents(store.inner, query, **options)


def assert_recalls(store: MemoryStore, query: str, expected: str, **options: Any) -> None:
    testing.assert_recalls(store.inner, query, expected, **options)


def assert_recalls_first(store: MemoryStore, query: str, expected: str, **options: Any) -> None:
    testing.assert_recalls_first(store.inner, query, expected, **options)


def assert_not_recalls(store: MemoryStore, query: str, unexpected: str, **options: Any) -> None:
    testing.assert_not_recalls(store.inner, query, unexpected, **options)
