"""The memory's server: the methods of the protocol over one store, opened at the first call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..surface.version import version
from . import prompts
from .protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Params,
    ProtocolError,
    Server,
)
from .schema import ArgumentError, check
from .tools import listed

if TYPE_CHECKING:
    from bethink import MemoryStore

    from .calls import Calls

NAME: Final = "bethink"
_RECENT: Final = 20
_RESOURCES: Final = (
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
_TEMPLATE: Final = {
    "uriTemplate": "bethink://memory/{id}",
    "name": "memory",
    "description": "One memory with all fields",
    "mimeType": "application/json",
}


@dataclass(frozen=True)
class Options:
    """What the server offers: *everything* adds tools; *namespace* is the only one visible."""

    path: Path
    namespace: str | None = None
    everything: bool = False
    read_only: bool = False


class MemoryServer:
    """The server for the file of *options*; *opened* opens the store (default: ``MemoryStore``)."""

    def __init__(
        self, options: Options, *, opened: Callable[[], MemoryStore] | None = None
    ) -> None:
        self._options = options
        self._opened = opened or self._open
        self._lock = threading.Lock()
        self._tools = {
            each["name"]: each
            for each in listed(
                everything=options.everything,
                read_only=options.read_only,
                namespace=options.namespace,
            )
        }

    @cached_property
    def protocol(self) -> Server:
        """The dispatcher of messages."""
        return Server(
            {"name": NAME, "version": version()},
            prompts.INSTRUCTIONS.format(path=self._options.path),
            {
                "tools/list": lambda params: _page(params, tools=list(self._tools.values())),
                "tools/call": self._call,
                "resources/list": lambda params: _page(params, resources=list(_RESOURCES)),
                "resources/templates/list": lambda params: _page(
                    params, resourceTemplates=[_TEMPLATE]
                ),
                "resources/read": self._read,
                "prompts/list": lambda params: _page(params, prompts=prompts.listed()),
                "prompts/get": _prompt,
            },
            {"tools": {}, "resources": {}, "prompts": {}},
        )

    def warm(self) -> None:
        """Open the store on a thread of its own, so that the first call finds an open store."""
        threading.Thread(target=self._warmed, daemon=True).start()

    def close(self) -> None:
        """Close the store, if a call has opened it."""
        with self._lock:
            calls = self.__dict__.pop("_made", None)
        if calls is not None:
            calls.close()

    def _warmed(self) -> None:
        try:
            _ = self._calls
        except Exception:  # the first call meets the same error, and answers with it
            return

    @property
    def _calls(self) -> Calls:
        with self._lock:
            made: Calls | None = self.__dict__.get("_made")
            if made is None:
                from .calls import Calls

                made = Calls(self._opened(), self._options.namespace)
                self.__dict__["_made"] = made
            return made

    def _open(self) -> MemoryStore:
        from bethink import MemoryStore

        self._options.path.parent.mkdir(parents=True, exist_ok=True)
        return MemoryStore(self._options.path)

    def _call(self, params: Params) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"no tool {name!r}")
        try:
            given = {} if arguments is None else arguments
            check(tool["inputSchema"], given)
            return self._calls.call(tool["name"].removeprefix("memory_"), given).as_result()
        except ArgumentError as error:
            return _refused(str(error))
        except Exception as error:
            from bethink import BethinkError

            if isinstance(error, BethinkError):
                return _refused(str(error))
            raise

    def _read(self, params: Params) -> dict[str, Any]:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise ProtocolError(INVALID_PARAMS, "resources/read needs the text uri")
        try:
            text, kind = self._calls.resource(uri)
        except LookupError:
            raise ProtocolError(RESOURCE_NOT_FOUND, f"no resource {uri!r}", {"uri": uri}) from None
        except Exception as error:
            raise ProtocolError(INTERNAL_ERROR, str(error)) from error
        return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def _prompt(params: Params) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments") or {}
    if not isinstance(name, str) or name not in prompts.PROMPTS:
        raise ProtocolError(INVALID_PARAMS, f"no prompt {name!r}")
    if not isinstance(arguments, dict) or not all(isinstance(v, str) for v in arguments.values()):
        raise ProtocolError(INVALID_PARAMS, "the arguments of a prompt are texts")
    try:
        return prompts.filled(name, arguments)
    except KeyError as error:
        raise ProtocolError(INVALID_PARAMS, f"the argument {error} is missing") from None


def _page(params: Params, **items: Any) -> dict[str, Any]:
    """Return *items*, which fit on one page; a cursor can only be wrong."""
    if params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "no such cursor: the list has one page")
    return items


def _refused(message: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": message}], "isError": True}
