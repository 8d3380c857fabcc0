"""Which modules are there, found without importing anything."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def is_installed(module: str) -> bool:
    """Tell whether *module*, dotted or not, could be imported; none of its packages is."""
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec is None or not inner:
        return spec is not None
    places = [Path(folder, *inner) for folder in spec.submodule_search_locations or ()]
    return any(place.is_dir() or place.with_suffix(".py").exists() for place in places)
