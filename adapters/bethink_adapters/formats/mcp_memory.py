"""Knowledge graphs of the MCP reference server "memory": JSON lines of entities and relations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ..shared.texts import digest
from .base import Found, Item, Link, Skipped, name_of, read_each
from .jsons import values

_FORMAT = "mcp-memory"


def read_mcp_memory(path: str | os.PathLike[str]) -> Iterator[Found]:
    """Yield the graph in a ``memory.jsonl``: a memory for each entity and each observation of one.

    An observation's text begins with the name of its entity, which also stands in the metadata; a
    relation links the memories of two entities. The format knows no times.
    """
    return read_each(values(path), _line)


def _line(place: str, line: object) -> Iterator[Found]:
    told = line if isinstance(line, dict) else {}
    if told.get("type") == "entity":
        yield from _entity(place, told)
    elif told.get("type") == "relation":
        yield _relation(place, told)
    else:
        raise ValueError("neither an entity nor a relation")


def _entity(place: str, line: Mapping[str, Any]) -> Iterator[Found]:
    name, kind = line.get("name"), line.get("entityType")
    observations = line.get("observations")
    if not isinstance(name, str) or not isinstance(observations, list):
        raise ValueError("an entity needs a name and a list of observations")
    about = {"entity": name, "entity_type": kind}
    yield Item(place, _fields(f"{name} ({kind})" if kind else name, name_of(_FORMAT, name), about))
    for number, said in enumerate(observations, 1):
        where = f"{place}, observation {number}"
        if not isinstance(said, str):
            yield Skipped(where, "not a text")
            continue
        source = name_of(_FORMAT, name, digest(said))
        yield Item(where, _fields(f"{name}: {said}", source, {**about, "observation": said}))


def _fields(content: str, source: str, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": content, "source": source, "metadata": {_FORMAT: dict(about)}}


def _relation(place: str, line: Mapping[str, Any]) -> Link:
    ends = line.get("from"), line.get("to")
    kind = line.get("relationType")
    if not isinstance(ends[0], str) or not isinstance(ends[1], str) or not isinstance(kind, str):
        raise ValueError("a relation needs from, to and relationType")
    return Link(place, name_of(_FORMAT, ends[0]), name_of(_FORMAT, ends[1]), kind)
