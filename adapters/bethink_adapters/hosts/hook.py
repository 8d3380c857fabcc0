"""The hook that a host calls: memories at the start and at a prompt, outcomes at the end of a turn.

A host hands over one JSON object and reads one JSON object. A hook never disturbs the host: every
fault goes to a log file, and a hook that takes too long ends in silence.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ..surface.location import Location, home_namespace, project_namespace, user_folder
from .sessions import Session
from .table import HOSTS, Host

if TYPE_CHECKING:
    from bethink import MemoryStore
    from bethink.adapting import Scope

Moment = Literal["start", "prompt", "stop"]

DEADLINE_SECONDS: Final = 1.5
MAX_CHARACTERS: Final = 9_000
"""The longest text; hosts cut or hide a context of more than 10,000 characters."""
START_TOKENS: Final = 600
PROMPT_TOKENS: Final = 400
MIN_SHARE: Final = 0.6
"""A memory for a prompt needs this share of the best score, and ``MIN_SCORE``."""
MIN_SCORE: Final = 0.3
MIN_WORDS: Final = 3
_NO_TASK: Final = {"$not": {"tags": {"$contains": "task"}}}
"""Records of tasks are links to memories, not memories."""
_COMPARED: Final = 300
"""Conflicts are counted in scopes of at most so many memories; a hook has no time for more."""
_LOG_BYTES: Final = 200_000
_NOTE: Final = (
    "Memories may be out of date. memory_outcome takes these ids, in the order of the best: {ids}"
)


@dataclass(frozen=True)
class Call:
    """A call of *host*'s hook: the *moment*, and the fields of the host's JSON object."""

    host: Host
    moment: Moment
    event: Mapping[str, Any]

    def text(self, *names: str) -> str:
        """Return the first field of *names* that is a text, else ""."""
        return next((v for name in names if isinstance(v := self.event.get(name), str)), "")

    def folder(self) -> str:
        """Return the folder that the agent works in."""
        roots = self.event.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots else ""
        return self.text("cwd") or (root if isinstance(root, str) else "") or os.getcwd()

    def reply(self, context: str) -> dict[str, Any]:
        """Return the object that brings *context* to the model in the host's form."""
        if self.host.hooks is not None and not self.host.hooks.nested:
            goes_on = {"continue": True} if self.moment == "prompt" else {}
            return {**goes_on, "additional_context": context}
        name = self.event.get("hook_event_name")
        return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}


def run(
    host: str,
    given: str,
    location: Location,
    *,
    namespace: str | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = DEADLINE_SECONDS,
) -> str:
    """Return the reply of *host*'s hook to the JSON text *given*; "" says nothing.

    The memory is at *location*; no file is made. No error leaves this function, and a reply that
    takes more than *seconds* is "".
    """
    folder = user_folder(environment)
    replies: list[str] = []
    work = threading.Thread(
        target=lambda: replies.append(_answered(host, given, location, namespace, folder)),
        daemon=True,
    )
    work.start()
    work.join(seconds)
    return replies[0] if replies else ""


def _answered(
    host: str, given: str, location: Location, namespace: str | None, folder: Path
) -> str:
    try:
        call = _read(host, given)
        if call is None or not location.exists():
            return ""
        return _answer(call, location, namespace, folder)
    except Exception as error:
        _log(folder, f"{host}: {type(error).__name__}: {error}")
        return ""


def _read(host: str, given: str) -> Call | None:
    """Return the call in the JSON text *given*, None for an event that bethink does not use."""
    event, known = json.loads(given), HOSTS[host]
    if not isinstance(event, dict) or known.hooks is None:
        return None
    moments: dict[str, Moment] = {
        known.hooks.start: "start",
        known.hooks.prompt: "prompt",
        known.hooks.stop: "stop",
    }
    moment = moments.get(str(event.get("hook_event_name")))
    return None if moment is None else Call(known, moment, event)


def _answer(call: Call, location: Location, namespace: str | None, folder: Path) -> str:
    session = Session(
        folder / "sessions", call.host.name, call.text("session_id", "conversation_id")
    )
    with location.open() as store:
        if call.moment == "stop":
            _judge(call, store, session)
            return ""
        scope = _scope(namespace, call.folder(), location)
        if call.moment == "start":
            context = _opening(store, scope, session)
        else:
            context = _for_prompt(store, scope, session, call.text("prompt"))
    return json.dumps(call.reply(context), ensure_ascii=False) if context else ""


def _opening(store: MemoryStore, scope: Scope, session: Session) -> str:
    """Return the block for a new session, and note the ids that the block shows."""
    session.forget()
    packed = store.pack("", budget_tokens=START_TOKENS, namespace=scope, where=_NO_TASK)
    if not packed.results:
        return ""
    session.add(hit.id for hit in packed.results)
    parts = [packed.text, _NOTE.format(ids=", ".join(hit.id for hit in packed.results))]
    if store.count(namespace=scope) <= _COMPARED:
        conflicts = len(store.conflicts(namespace=scope, min_tier="likely"))
        if conflicts:
            parts.append(f"Open conflicts: {conflicts}; memory_conflicts shows them.")
    return _fitting(parts)


def _for_prompt(store: MemoryStore, scope: Scope, session: Session, prompt: str) -> str:
    """Return the block for *prompt*: memories that match well, and that the session lacks."""
    if len(prompt.split()) < MIN_WORDS or prompt.lstrip().startswith("/"):
        return ""
    shown = session.ids()
    packed = store.pack(
        prompt,
        budget_tokens=PROMPT_TOKENS,
        namespace=scope,
        min_score=MIN_SCORE,
        min_share=MIN_SHARE,
        where={"$and": [_NO_TASK, {"$not": {"id": {"$in": shown}}}]},
    )
    if not packed.results:
        return ""
    session.add(hit.id for hit in packed.results)
    return _fitting([packed.text, _NOTE.format(ids=", ".join(hit.id for hit in packed.results))])


def _judge(call: Call, store: MemoryStore, session: Session) -> None:
    """Record outcomes of the memories that the session showed, by the transcript."""
    from ..transcripts import attribute, record_outcomes

    transcript = call.text("transcript_path")
    shown = [each for each in store.get_many(session.ids()) if each is not None]
    if call.event.get("stop_hook_active") or not transcript or not shown:
        return
    text = Path(transcript).read_text(encoding="utf-8", errors="replace")
    record_outcomes(store, attribute(text, shown), session=session.name)


def _scope(namespace: str | None, folder: str, location: Location) -> Scope:
    """Return *namespace* with everything below, else the folder's project beside the home."""
    from bethink import Subtree

    if namespace is not None:
        return Subtree(namespace)
    project = project_namespace(Path(folder), location)
    return [home_namespace(location), Subtree(project)]


def _fitting(parts: list[str]) -> str:
    """Return *parts* as one text within the limit; later parts give way."""
    while len("\n".join(parts)) > MAX_CHARACTERS and len(parts) > 1:
        parts.pop()
    text = "\n".join(parts)
    return text if len(text) <= MAX_CHARACTERS else ""


def _log(folder: Path, message: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            folder / "hooks.log", maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8"
        )
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        handler.emit(logging.LogRecord(__name__, logging.ERROR, "", 0, message, (), None))
        handler.close()
    except OSError:
        return
