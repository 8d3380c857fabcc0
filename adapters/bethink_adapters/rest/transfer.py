"""The operations that move memories: export, import, merge; bodies and answers are streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Annotated, Any

from fastapi import Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from bethink import CorruptStoreError, Merged, NotABethinkFileError

from .caller import Client
from .problems import Problem
from .replies import Json
from .routing import router, told
from .types import Flag, Namespace

routes = router("transfer")
_CHUNK = 256 * 1024
_LINES = "application/jsonl"
_FILE = "application/octet-stream"


def _upload(media_type: str) -> dict[str, Any]:
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"required": True, "content": content}}


@routes.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}},
)
def export(
    caller: Client,
    namespace: Annotated[Namespace | None, Query()] = None,
    subtree: Annotated[Flag, Query()] = False,
) -> Response:
    """Stream all visible memories, in any state, with history, as lines of JSON."""
    scope = caller.scope(namespace, subtree)
    file = TemporaryFile()  # noqa: SIM115  # the stream closes the file
    try:
        caller.store.export(file, namespace=scope)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return StreamingResponse(_chunks(file), media_type=_LINES)


@routes.post("/import", responses=told(Merged), openapi_extra=_upload(_FILE))
async def import_(caller: Client, request: Request) -> Response:
    """Import the lines of an export; all or nothing."""
    store = caller.whole()
    with TemporaryFile() as file:
        async for chunk in request.stream():
            await run_in_threadpool(file.write, chunk)
        file.seek(0)
        with _refusals():
            merged = await run_in_threadpool(store.import_, file)
    return Json(merged.to_dict())


@routes.post("/merge", responses=told(Merged), openapi_extra=_upload(_FILE))
async def merge(caller: Client, request: Request) -> Response:
    """Merge the memories of a bethink file, which is the body; all or nothing."""
    store = caller.whole()
    with TemporaryDirectory() as folder:
        path = Path(folder, "upload.db")
        with path.open("wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        if not path.stat().st_size:
            raise Problem(409, "upload", "the body is empty")
        with _refusals():
            merged = await run_in_threadpool(store.merge_from, path)
    return Json(merged.to_dict())


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn a damaged upload into a 409, unlike a damaged file of the server."""
    try:
        yield
    except (CorruptStoreError, NotABethinkFileError) as error:
        raise Problem(409, "upload", f"the body cannot be read: {error.reason}") from error


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
