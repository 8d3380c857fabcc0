"""The operations that move memories: export, import, merge; bodies and answers are streams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Annotated, Any, Final

from fastapi import Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from bethink import (
    CorruptStoreError,
    MemoryStore,
    Merged,
    NotABethinkFileError,
    SchemaTooNewError,
)

from ..surface.verbs import copied
from .caller import Caller, Client
from .problems import Problem
from .replies import Json
from .routing import JSON_LINES, router, told, told_as_text
from .types import Flag, Named, Switch

routes = router("transfer")
_CHUNK = 256 * 1024
_FILE = "application/octet-stream"
_LINE: Final = re.compile(r"line ([\d,]+) (.+)", re.DOTALL)
_LONGEST_LINE: Final = 64 * 1024 * 1024
_MOST_LINES: Final = 20
_DryRun = Annotated[Flag, Query(description="only count; nothing is written")]


def _upload(media_type: str) -> dict[str, Any]:
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}


@routes.get("/export", response_class=StreamingResponse, responses=told_as_text(JSON_LINES))
def export(caller: Client, namespace: Named = None, subtree: Switch = False) -> Response:
    """Stream all visible memories, in any state, with history, as lines of JSON."""
    scope = caller.scope(namespace, subtree)
    file = TemporaryFile()  # noqa: SIM115  # the stream closes the file
    try:
        caller.store.export(file, namespace=scope)
        if caller.names:
            _refuse_elsewhere(caller, file)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return StreamingResponse(_chunks(file), media_type=JSON_LINES)


@routes.post("/import", responses=told(Merged), openapi_extra=_upload(_FILE))
async def import_(caller: Client, request: Request, dry_run: _DryRun = False) -> Response:
    """Import the lines of an export, all or nothing; a dry run only counts."""
    store = caller.whole()
    with TemporaryFile() as file:
        await _receive(request, file)
        return Json(await run_in_threadpool(_arrived, store, dry_run, "import_", file))


@routes.post("/merge", responses=told(Merged), openapi_extra=_upload(_FILE))
async def merge(caller: Client, request: Request, dry_run: _DryRun = False) -> Response:
    """Merge the memories of a bethink file, all or nothing; a dry run only counts."""
    store = caller.whole()
    with TemporaryDirectory() as folder:
        path = Path(folder, "upload.db")
        with path.open("wb") as file:
            await _receive(request, file)
        if not path.stat().st_size:
            raise Problem(409, "upload", "the body is empty")
        return Json(await run_in_threadpool(_arrived, store, dry_run, "merge_from", path))


async def _receive(request: Request, file: IO[bytes]) -> None:
    """Write the body of *request* to *file*, to be read from the start."""
    async for chunk in request.stream():
        await run_in_threadpool(file.write, chunk)
    file.seek(0)


def _arrived(
    store: MemoryStore, dry_run: bool, verb: str, source: IO[bytes] | Path
) -> dict[str, Any]:
    """Return the result of *verb* on *store*, or on a copy for a dry run."""
    with _refusals(source), copied(store) if dry_run else nullcontext(store) as target:
        merged: Merged = getattr(target, verb)(source)
    return merged.to_dict()


@contextmanager
def _refusals(source: IO[bytes] | Path) -> Iterator[None]:
    """Turn a damaged upload into a 409 with every damaged line, unlike a damaged file here."""
    try:
        yield
    except (CorruptStoreError, NotABethinkFileError, SchemaTooNewError) as error:
        named = _LINE.fullmatch(error.reason)
        errors = {int(named[1].replace(",", "")): named[2]} if named else {}
        if named and not isinstance(source, Path) and isinstance(error, CorruptStoreError):
            errors = {**_unreadable(source), **errors}
        raise Problem(
            409,
            "upload",
            f"the body cannot be read: {error.reason}",
            [{"line": line, "what": errors[line]} for line in sorted(errors)],
        ) from error


def _unreadable(lines: IO[bytes]) -> dict[int, str]:
    """Return the numbers of the first lines that are not JSON objects, each with the reason."""
    lines.seek(0)
    found: dict[int, str] = {}
    for number in count(1):
        text = lines.readline(_LONGEST_LINE)
        if not text or len(found) == _MOST_LINES:
            return found
        try:
            if not isinstance(json.loads(text), dict):
                found[number] = "is not a JSON object"
        except (ValueError, RecursionError):
            found[number] = "is not JSON"
    return found


def _refuse_elsewhere(caller: Caller, lines: IO[bytes]) -> None:
    """Refuse the export of a memory with a past in a namespace that the client does not see."""
    lines.seek(0)
    for line in lines:
        entry = json.loads(line).get("entry", {})
        if "namespace" in entry and not caller.sees(entry["namespace"]):
            id = entry["id"]
            raise Problem(403, "bound", f"memory {id!r} has a past that the token does not open")


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
