"""The memory's server: the methods of the protocol over one store, opened at the first call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from bethink import __version__

from ..surface.location import Location
from . import prompts, resources
from .protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    Params,
    ProtocolError,
    Server,
    shortened,
)
from .schema import ArgumentError, check
from .tools import listed

if TYPE_CHECKING:
    from bethink import MemoryStore

    from .view import View

NAME: Final = "bethink"


@dataclass(frozen=True)
class Options:
    """What the server offers: *everything* adds tools; *namespaces* hide all others."""

    location: str | os.PathLike[str]
    namespaces: Sequence[str] = ()
    everything: bool = False
    read_only: bool = False


class MemoryServer:
    """The server for the memory of *options*; *opened* opens the store by a way of its own."""

    def __init__(
        self, options: Options, *, opened: Callable[[], MemoryStore] | None = None
    ) -> None:
        self._options = options
        self._location = Location(options.location)
        self._opened = opened or self._open
        self._lock = threading.Lock()
        self._view: View | None = None
        self._closed = False
        self._tools = {
            each["name"]: each
            for each in listed(
                everything=options.everything,
                read_only=options.read_only,
                fixed=len(options.namespaces) == 1,
            )
        }

    @cached_property
    def protocol(self) -> Server:
        """The dispatcher of messages."""
        place = ", ".join(self._options.namespaces) or self._location
        return Server(
            {"name": NAME, "version": __version__},
            prompts.INSTRUCTIONS.format(place=place),
            {
                "tools/list": lambda params: _page(params, tools=list(self._tools.values())),
                "tools/call": self._call,
                "resources/list": lambda params: _page(params, resources=list(resources.LISTED)),
                "resources/templates/list": lambda params: _page(
                    params, resourceTemplates=list(resources.TEMPLATES)
                ),
                "resources/read": self._read,
                "prompts/list": lambda params: _page(params, prompts=prompts.listed()),
                "prompts/get": _prompt,
            },
            {"tools": {}, "resources": {}, "prompts": {}},
        )

    def warm(self) -> None:
        """Import the core, and open a file that exists, on a thread of its own."""
        threading.Thread(target=self._warmed, daemon=True).start()

    def close(self) -> None:
        """Close the store, if a call has opened the store; later calls fail."""
        with self._lock:
            self._closed = True
            opened, self._view = self._view, None
        if opened is not None:
            opened.store.close()

    def _warmed(self) -> None:
        try:
            with self._lock:
                if not self._closed:
                    from . import calls  # noqa: F401
            if self._location.exists():
                self._seen()
        except Exception:  # the first call meets the same error, and answers with it
            return

    def _seen(self) -> View:
        """Return the view of the open store; open the store at the first call."""
        with self._lock:
            if self._closed:
                raise ProtocolError(INTERNAL_ERROR, "the server is closed")
            if self._view is None:
                from .view import View

                self._view = View(self._opened(), self._options.namespaces)
            return self._view

    def _open(self) -> MemoryStore:
        from bethink import NotFoundError

        if self._options.read_only and not self._location.exists():
            raise NotFoundError("memory file", str(self._location))
        return self._location.open()

    def _call(self, params: Params) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(self._tools)
            raise ProtocolError(INVALID_PARAMS, f"no tool {name!r}; the tools are {known}")
        try:
            given = {} if arguments is None else arguments
            check(tool["inputSchema"], given)
            view = self._seen()
            from .calls import Calls

            calls = Calls(view, touch=not self._options.read_only)
            return calls.call(tool["name"].removeprefix("memory_"), given).as_result()
        except ArgumentError as error:
            return _refused(str(error))
        except RecursionError:
            return _refused("the arguments are nested too deeply")
        except Exception as error:
            from bethink import BethinkError

            from .advice import told

            if isinstance(error, BethinkError | OSError):
                return _refused(told(error))
            raise

    def _read(self, params: Params) -> dict[str, Any]:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise ProtocolError(INVALID_PARAMS, "resources/read needs the text uri")
        try:
            text, kind = resources.read(self._seen(), uri)
        except (LookupError, ValueError):  # a value that no id can be is no id, too
            raise ProtocolError(RESOURCE_NOT_FOUND, f"no resource {uri!r}", {"uri": uri}) from None
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
    return {"content": [{"type": "text", "text": shortened(message)}], "isError": True}
