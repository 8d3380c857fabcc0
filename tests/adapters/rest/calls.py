"""One call for every operation, so that no new operation escapes the tests of all.

ID and SECOND stand for two memories, SPACE for the namespace of both, KEY for the key of the first
memory, SEQ for the journal entry that stored the first memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi.testclient import TestClient
from httpx2 import Response


@dataclass(frozen=True)
class Call:
    """What a call sends beside the method and the path; *upload* is "lines" or "file"."""

    query: str = ""
    body: Any = None
    upload: str = ""


_PLACE: Final = "namespace=SPACE"
_SCOPE: Final = {"namespace": "SPACE"}
_MANY: Final = Call(body={"ids": ["ID"], "namespace": "SPACE"})
CALLS: Final[dict[str, Call]] = {
    "add_outcome": Call(body={"outcome": "worked"}),
    "add_outcomes": Call(body={"outcome": "worked", "ids": ["ID"]}),
    "append_to_thread": Call(_PLACE, {"messages": [{"value": {"n": 1}}]}),
    "archive": _MANY,
    "archive_memory": Call(),
    "clear_thread": Call(_PLACE),
    "conflicts": Call(_PLACE),
    "conflicts_as_lines": Call(_PLACE),
    "compact": Call(body={"keep": 1}),
    "consolidate": Call(body=_SCOPE),
    "context": Call(_PLACE),
    "count_memories": Call(_PLACE),
    "diff": Call(f"since=%23SEQ&{_PLACE}"),
    "erase": _MANY,
    "events": Call("since=0&follow=false"),
    "export": Call(_PLACE),
    "fact": Call(_PLACE),
    "forget": _MANY,
    "forget_memory": Call(),
    "get_memories": Call(body={"ids": ["ID"]}),
    "get_memory": Call(),
    "get_task": Call(_PLACE),
    "history": Call(),
    "import": Call(upload="lines"),
    "link_task": Call(_PLACE, {"ids": ["ID"]}),
    "list_hosts": Call(),
    "list_memories": Call(_PLACE),
    "list_outcomes": Call(),
    "list_relations": Call(),
    "list_snapshots": Call(),
    "list_task_memories": Call(_PLACE),
    "list_tasks": Call(_PLACE),
    "list_threads": Call(_PLACE),
    "live": Call(),
    "log": Call(_PLACE),
    "log_as_lines": Call(_PLACE),
    "map": Call(_PLACE),
    "memories_as_lines": Call(_PLACE),
    "merge": Call(upload="file"),
    "metrics": Call(),
    "namespaces": Call(),
    "pack": Call(body={"query": "secret", **_SCOPE}),
    "read_thread": Call(_PLACE),
    "ready": Call(),
    "recall": Call(body={"query": "secret", **_SCOPE}),
    "reinforce_memory": Call(body={}),
    "relate": Call(body={"target": "SECOND", "kind": "fixes"}),
    "repair": Call(),
    "resolve": Call(body={"keep": "ID", "drop": ["SECOND"]}),
    "restore": _MANY,
    "restore_memory": Call(),
    "similar": Call(body={"content": "The secret", **_SCOPE}),
    "similar_memories": Call(_PLACE),
    "stats": Call(),
    "store_batch": Call(body={"items": [{"content": "a new memory", **_SCOPE}], "forget": ["ID"]}),
    "store_memory": Call(body={"content": "a new memory", "supersedes": "ID", **_SCOPE}),
    "summary": Call(_PLACE),
    "sync_tasks": Call(body=_SCOPE),
    "tag": Call(body={"add": ["new"], "ids": ["ID"], **_SCOPE}),
    "take_snapshot": Call(body={"name": "today"}),
    "tasks_as_lines": Call(_PLACE),
    "tidy": Call(body={}),
    "token": Call(),
    "unarchive": _MANY,
    "unarchive_memory": Call(),
    "undo": Call(body={"seq": "SEQ"}),
    "unlink_task": Call(f"memory=ID&{_PLACE}"),
    "unrelate": Call("target=SECOND&kind=fixes"),
    "update_memory": Call(body={"importance": 0.9, **_SCOPE}),
    "vectors": Call("name=v"),
    "verify": Call(),
    "why": Call(body={"query": "secret", **_SCOPE}),
}


@dataclass(frozen=True)
class Operation:
    """An operation of the server's description."""

    method: str
    path: str
    name: str
    described: dict[str, Any]

    @property
    def call(self) -> Call:
        """What a call sends."""
        return CALLS[self.name]

    @property
    def names_something(self) -> bool:
        """Whether the call names a memory, a namespace, a fact or a journal entry."""
        told = f"{self.path}?{self.call.query} {self.call.body}"
        return any(each in told for each in ("{id}", "{key}", "ID", "SECOND", "SPACE", "SEQ"))

    def send(self, http: TestClient, known: Mapping[str, str | int], **options: Any) -> Response:
        """Return the answer to the call, with the values of *known* for the names."""
        path = self.path.replace("{source}/{id}", "beads/bd-1").replace("{id}", "ID")
        address = f"{path}?{self.call.query}".replace("{key}", "KEY").replace("{thread}", "t")
        for name, value in known.items():
            address = address.replace(name, str(value))
        if self.call.body is not None:
            options = {"json": _filled(self.call.body, known), **options}
        return http.request(self.method, address, **options)


def _filled(body: Any, known: Mapping[str, str | int]) -> Any:
    """Return *body* with the values of *known* for the names."""
    if isinstance(body, dict):
        return {name: _filled(value, known) for name, value in body.items()}
    if isinstance(body, list):
        return [_filled(each, known) for each in body]
    return known.get(body, body) if isinstance(body, str) else body


def operations(http: TestClient) -> list[Operation]:
    """Return every operation that the server describes."""
    paths = http.get("/openapi.json").json()["paths"]
    return [
        Operation(method.upper(), path, each["operationId"], each)
        for path, methods in paths.items()
        for method, each in methods.items()
    ]
