"""Gather the pages of the site into a folder, as in the repository, so that every link holds.

    python docs/site.py FOLDER

The reference has a page for each kind of public name, made from the docstrings by mkdocstrings.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import MISSING, Field, fields, is_dataclass
from importlib import import_module
from pathlib import Path

import bethink

ROOT = Path(__file__).parents[1]
TEXTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "examples"]
TEXTS += ["tests/adapters/mcp_clients"]
KINDS = {
    "bethink.errors": "Errors",
    "bethink.embedders": "Embedders",
    "bethink.features.models": "Embedders",
    "bethink.memory.ranking": "Rankings",
    "bethink.features.rankings": "Rankings",
    "bethink.features.working": "Working memory and files",
    "bethink.features.files": "Working memory and files",
    "bethink.features.messages": "Working memory and files",
    "bethink.aio": "Asynchronous",
    "bethink.features.past": "Stores",
    "bethink.store": "Stores",
}
MODULES = {
    "bethink.testing": "Tests of your own",
    "bethink.testing.contracts": "Tests of your own",
    "bethink_adapters.formats": "Memories from elsewhere",
}


def kind_of(name: str) -> str:
    """Return the title of the page of the public *name*."""
    value = getattr(bethink, name)
    module = getattr(value, "__module__", "bethink")
    kinds = [kind for start, kind in KINDS.items() if f"{module}.".startswith(f"{start}.")]
    kinds += ["Values"] if is_dataclass(value) else []
    return (*kinds, "Scopes and functions")[0]


def gather(folder: Path) -> None:
    """Copy the texts to *folder*, and write the pages of the reference."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in TEXTS:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        ignored = shutil.ignore_patterns("__pycache__", "site.py", "signatures.py")
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=ignored)
        else:
            shutil.copy(ROOT / name, target)
    pages: dict[str, list[str]] = {}
    for name in bethink.__all__:
        pages.setdefault(kind_of(name), []).append(f"bethink.{name}")
    for module, kind in MODULES.items():
        names = import_module(module).__all__
        pages.setdefault(kind, []).extend(f"{module}.{name}" for name in names)
    (folder / "reference").mkdir()
    for kind, paths in pages.items():
        text = "\n".join([f"# {kind}\n", *map(entry, paths)])
        (folder / "reference" / f"{kind.lower().replace(' ', '-')}.md").write_text(text)


def entry(path: str) -> str:
    """Return the directive of mkdocstrings for *path*, with a table of the fields of a value."""
    module, _, name = path.rpartition(".")
    value = getattr(import_module(module), name)
    rows = [
        f"| `{each.name}` | `{each.type}` | {default(each)} |".replace(" | None`", "` or None")
        for each in (fields(value) if is_dataclass(value) else ())
        if not each.name.startswith("_")
    ]
    table = ["| field | type | default |", "| --- | --- | --- |", *rows] if rows else []
    return "\n".join([f"::: {path}\n", *table, ""])


def default(field: Field[object]) -> str:
    """Return the default of *field* as code, or nothing."""
    if field.default is not MISSING:
        return f"`{field.default!r}`"
    return f"`{field.default_factory()!r}`" if field.default_factory is not MISSING else ""


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
