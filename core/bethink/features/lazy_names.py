"""Lazy imports of a package's names, so that opening a store loads less."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(package: str, names_by_module: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of *package*, for names separated by spaces, by submodule."""
    module_of = {
        name: module for module, names in names_by_module.items() for name in names.split()
    }

    def find(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return find
