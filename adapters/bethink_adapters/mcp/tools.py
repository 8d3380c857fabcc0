"""The tools as a host lists them: names, descriptions, schemas. No memory core is imported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from ..shared.defaults import DEFAULT_BUDGET_TOKENS

Tool = dict[str, Any]

MAX_TEXT: Final = 100_000
"""The longest text of one memory, in characters."""

_ID: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_IDS: Final = {"type": "array", "items": _ID, "minItems": 1, "maxItems": 50}
_NAMESPACE: Final = {
    "type": "string",
    "description": "slash path, such as projects/ferry; else default",
}
_TIME: Final = {"type": "string", "description": "ISO 8601 time, such as 2026-11-20T09:00Z"}
_UNIT: Final = {"type": "number", "minimum": 0, "maximum": 1}
_FIELDS: Final[Mapping[str, Any]] = {
    "key": {"type": "string", "description": "name of a changing fact; storing it again replaces"},
    "category": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
    "importance": _UNIT,
    "occurred_at": _TIME,
}


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Collection[str] = (),
    *,
    answer: Mapping[str, Any],
    reads: bool = False,
    destroys: bool = False,
    repeats: bool = False,
) -> Tool:
    """Return a tool; *answer* are the properties of the structured result.

    *reads*, *destroys* and *repeats* are the hints readOnly, destructive and idempotent.
    """
    schema: dict[str, Any] = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list(required)
    return {
        "name": f"memory_{name}",
        "description": description,
        "inputSchema": schema,
        "outputSchema": {
            "type": "object",
            "properties": dict(answer),
            "required": list(answer),
        },
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": destroys,
            "idempotentHint": repeats or reads,
            "openWorldHint": False,
        },
    }


def _whole(least: int, most: int, default: int) -> Mapping[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "default": default}


_OBJECT: Final = {"type": "object"}
_LIST: Final = {"type": "array", "items": _OBJECT}
_TEXT: Final = {"type": "string"}
_SAID: Final = {**_TEXT, "minLength": 1}
_CONTENT: Final = {**_SAID, "maxLength": MAX_TEXT}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_COUNT: Final = {"type": "integer"}
_TRUTH: Final = {"type": "boolean"}

USUAL: Final[tuple[Tool, ...]] = (
    _tool(
        "recall",
        "Search the memory. Call before answering anything that earlier sessions may have settled: "
        "preferences, decisions, people, past errors. Returns memories with ids, best first.",
        {
            "query": {**_SAID, "maxLength": 10_000},
            "k": _whole(1, 50, 8),
            "namespace": _NAMESPACE,
            "mode": {
                "type": "string",
                "enum": ["hybrid", "keyword", "semantic"],
                "default": "hybrid",
            },
            "where": {"type": "object", "description": 'filter, such as {"category": "decision"}'},
            "as_of": {
                **_SAID,
                "description": "answer as of then: ISO 8601 time, snapshot, or entry such as #12",
            },
            "budget_tokens": _whole(100, 8_000, 2_000),
        },
        ["query"],
        answer={"memories": _LIST, "truncated": _TRUTH},
        reads=True,
    ),
    _tool(
        "context",
        "Return one block of the most useful memories. With a query: the memories for the task. "
        "Without: the newest and most important, for the start of a session.",
        {
            "query": {"type": "string", "maxLength": 10_000},
            "namespace": _NAMESPACE,
            "budget_tokens": _whole(100, 8_000, DEFAULT_BUDGET_TOKENS),
        },
        answer={"text": _TEXT, "tokens": _COUNT, "ids": _TEXTS},
        reads=True,
    ),
    _tool(
        "store",
        "Keep one fact for later sessions, in a sentence that makes sense alone. Not for passing "
        "details or secrets. A memory that says nearly the same is answered instead of stored.",
        {
            "content": _CONTENT,
            "namespace": _NAMESPACE,
            **_FIELDS,
            "supersedes": {**_ID, "description": "id of the memory that this replaces"},
            "on_similar": {"type": "string", "enum": ["ask", "merge", "keep"], "default": "ask"},
        },
        ["content"],
        answer={"status": _TEXT, "memory": _OBJECT},
    ),
    _tool(
        "get",
        "Return whole memories by id, or the present memory of a key.",
        {"ids": {**_IDS, "maxItems": 20}, "key": _SAID, "namespace": _NAMESPACE},
        answer={"memories": _LIST, "missing": _TEXTS},
        reads=True,
    ),
    _tool(
        "update",
        "Correct a memory: only the given fields change. The history keeps the old form.",
        {"id": _ID, "content": _CONTENT, **_FIELDS},
        ["id"],
        answer={"memory": _OBJECT},
        repeats=True,
    ),
    _tool(
        "forget",
        "Forget memories that are wrong or no longer wanted. Can be undone.",
        {"ids": _IDS, "reason": {"type": "string"}},
        ["ids"],
        answer={"forgotten": _COUNT, "missing": _TEXTS},
        destroys=True,
    ),
    _tool(
        "outcome",
        "Say how following memories went, right after the result is known. Good memories rank "
        "higher, failing memories lower.",
        {
            "ids": _IDS,
            "outcome": {**_TEXT, "enum": ["worked", "failed", "partial", "useful", "useless"]},
            "session": _TEXT,
        },
        ["ids", "outcome"],
        answer={"memories": _LIST},
    ),
    _tool(
        "conflicts",
        "Return pairs of memories that can hardly both hold. Ask the user, then memory_resolve.",
        {
            "query": {"type": "string", "maxLength": 10_000},
            "namespace": _NAMESPACE,
            "min_tier": {"type": "string", "enum": ["likely", "possible"], "default": "likely"},
            "limit": _whole(1, 10, 5),
        },
        answer={"conflicts": _LIST},
        reads=True,
    ),
    _tool(
        "resolve",
        "Settle a conflict: one memory stays and supersedes the other. Can be undone.",
        {"keep": _ID, "drop": _ID, "reason": {"type": "string"}},
        ["keep", "drop"],
        answer={"resolved": _COUNT},
    ),
)
"""The nine tools of a usual server, in the order of the list."""

MORE: Final[tuple[Tool, ...]] = (
    _tool(
        "list",
        "List memories by filter, newest first, a page at a time; recall is the better search.",
        {
            "namespace": _NAMESPACE,
            "where": {"type": "object"},
            "limit": _whole(1, 50, 20),
            "offset": {"type": "integer", "minimum": 0, "default": 0},
        },
        answer={"memories": _LIST, "total": _COUNT},
        reads=True,
    ),
    _tool(
        "history",
        "Tell what happened: to one memory (id), to one fact (key), or lately to all.",
        {"id": _ID, "key": _SAID, "namespace": _NAMESPACE, "limit": _whole(1, 100, 20)},
        answer={"entries": _LIST},
        reads=True,
    ),
    _tool(
        "relate",
        "Link two memories (source, target, kind such as 'causes'), or remove the link.",
        {"source": _ID, "target": _ID, "kind": _SAID, "remove": {**_TRUTH, "default": False}},
        ["source", "target", "kind"],
        answer={"changed": _TRUTH},
        repeats=True,
    ),
    _tool(
        "restore",
        "Bring back forgotten or archived memories (ids), or undo one history entry (entry).",
        {"ids": _IDS, "entry": {"type": "integer", "minimum": 1}},
        answer={"restored": _COUNT},
        repeats=True,
    ),
    _tool(
        "tasks",
        "Tasks of Beads and Claude Code beside memories: list open tasks; context of a task or of "
        "all open tasks; link a task with memories that help; sync scores closed tasks' memories.",
        {
            "action": {"type": "string", "enum": ["list", "context", "link", "sync"]},
            "task": {**_ID, "description": "id of the task, for context and link"},
            "ids": {**_IDS, "description": "memories to link"},
            "namespace": {"type": "string", "description": "else the project's"},
            "budget_tokens": _whole(100, 8_000, DEFAULT_BUDGET_TOKENS),
        },
        ["action"],
        answer={"action": _TEXT},
    ),
)
"""The tools that ``--tools all`` adds."""


def listed(*, everything: bool, read_only: bool, fixed: bool) -> list[Tool]:
    """Return the tools of a server.

    *everything* adds ``MORE``. *read_only* leaves the reading tools. A *fixed* namespace takes the
    argument out of every schema.
    """
    tools = [*USUAL, *(MORE if everything else ())]
    if read_only:
        tools = [each for each in tools if each["annotations"]["readOnlyHint"]]
    return [_without_namespace(each) for each in tools] if fixed else tools


def _without_namespace(tool: Tool) -> Tool:
    schema = tool["inputSchema"]
    kept = {name: each for name, each in schema["properties"].items() if name != "namespace"}
    return {**tool, "inputSchema": {**schema, "properties": kept}}
