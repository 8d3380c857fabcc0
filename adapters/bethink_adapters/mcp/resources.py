"""The resources: what the memory holds, the newest memories, and one memory by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

if TYPE_CHECKING:
    from .view import View

_RECENT: Final = 20
_COUNTED: Final = 50
"""The most namespaces, and categories, in the stats: the largest."""
_MEMORY: Final = "bethink://memory/"

LISTED: Final = (
    {
        "uri": "bethink://stats",
        "name": "stats",
        "description": "What the memory holds: counts, size, embedder",
        "mimeType": "application/json",
    },
    {
        "uri": "bethink://recent",
        "name": "recent",
        "description": f"The newest {_RECENT} memories",
        "mimeType": "text/plain",
    },
)
TEMPLATES: Final = (
    {
        "uriTemplate": f"{_MEMORY}{{id}}",
        "name": "memory",
        "description": "One memory with all fields",
        "mimeType": "application/json",
    },
)


def read(view: View, uri: str) -> tuple[str, str]:
    """Return the text and the MIME type of a resource; raise ``LookupError`` for others."""
    from .answers import GET_TOKENS, Page, as_json, brief

    if uri == "bethink://stats":
        return as_json(_counted(view)), "application/json"
    if uri == "bethink://recent":
        newest = view.store.all(namespace=view.seen, limit=_RECENT, order="newest")
        return "\n".join(map(brief, newest)), "text/plain"
    if not uri.startswith(_MEMORY):
        raise LookupError(uri)
    page = Page(GET_TOKENS)
    page.add_record(view.one(unquote(uri.removeprefix(_MEMORY))))
    return as_json(page.items[0]), "application/json"


def _counted(view: View) -> dict[str, Any]:
    """Return the stats of the file; with hidden namespaces only the counts of live records."""
    if not view.names:
        counted = view.store.stats().to_dict()
        del counted["outcomes"], counted["created"]  # too many numbers for a prompt
    else:
        namespaces = view.store.namespaces(view.seen)
        counted = {"states": {"live": sum(namespaces.values())}, "namespaces": namespaces}
    for name in ("namespaces", "categories"):
        counts = counted.get(name, {})
        if len(counts) > _COUNTED:
            largest = sorted(counts, key=lambda each: (-counts[each], each))[:_COUNTED]
            counted[name] = {each: counts[each] for each in largest}
            counted[f"more_{name}"] = len(counts) - _COUNTED
    return counted
