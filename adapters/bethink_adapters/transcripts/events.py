"""Events: a transcript in any of the known forms, as words, calls and results.

Read are plain text (lines such as "User: …", "Assistant: …" and "$ command"), lists of messages of
OpenAI (chat and responses) and of Anthropic, as JSON too, and the JSON lines that Claude Code keeps
of a session.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from bethink import ValidationError

from .results import plain

Transcript: TypeAlias = str | Iterable[Mapping[str, Any]]

Kind: TypeAlias = Literal["human", "agent", "call", "result", "text", "other"]


@dataclass(frozen=True, slots=True)
class Event:
    """A single event of a transcript.

    A "call" has the arguments of a tool as ``text``, and the ``command`` that the call runs, if
    any. A "result" has the output, and ``failed`` if the transcript tells. Call and result share
    the id ``call``. "text" is of nobody in particular, "other" of no interest.
    """

    kind: Kind
    text: str
    call: str = ""
    command: str = ""
    failed: bool | None = None


_SPEAKERS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("user", "human"), "human"),
    **dict.fromkeys(("assistant", "ai", "agent", "claude"), "agent"),
    **dict.fromkeys(("tool", "function"), "result"),
    **dict.fromkeys(("system", "developer"), "other"),
}
_SPOKEN: Final = re.compile(
    rf"^[#*\s]*({'|'.join(_SPEAKERS)})\s*(?::\**|\**:)[ \t]*(.*)$", re.IGNORECASE
)
_PROMPTED: Final = re.compile(r"^\s*[$\u276f][ \t]+(\S.*)$")
_INSERTED: Final = re.compile(  # by programs into what a human said; memories, too
    r"<(/?)(system-reminder|local-command-\w+|command-\w+|memories \d+)>"
)
_COMMANDS: Final = ("command", "cmd", "script", "commands")
_CALLS: Final = ("tool_use", "function_call", "local_shell_call", "custom_tool_call", "shell_call")


def events(transcript: Transcript) -> list[Event]:
    """Return the events of *transcript*, in order."""
    if isinstance(transcript, Mapping) or not isinstance(transcript, Iterable):
        raise ValidationError(f"a transcript is text or messages, not {type(transcript).__name__}")
    messages = _messages(transcript) if isinstance(transcript, str) else transcript
    if messages is None:
        return list(_lines(_without_inserted(plain(str(transcript)))))
    try:
        return _of_all(messages)
    except RecursionError:
        raise ValidationError("a message is nested too deeply") from None


def _messages(text: str) -> list[Any] | None:
    """Return the messages in *text* as JSON or JSON lines; None for plain text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    whole = _json(text)
    if isinstance(whole, list) and all(isinstance(each, Mapping) for each in whole):
        return whole
    if isinstance(whole, Mapping):
        return [whole]
    lines = [_json(line) for line in text.strip().split("\n")]  # the last one may be half written
    found = [line for line in lines if isinstance(line, Mapping)]
    return found if isinstance(lines[0], Mapping) else None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_all(messages: Iterable[Any]) -> list[Event]:
    found: list[Event] = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise ValidationError(f"a message must be a mapping, not {type(message).__name__}")
        found += _of_message(message)
    return found


def _of_message(message: Mapping[str, Any]) -> Iterator[Event]:
    inner = message.get("message")
    if not isinstance(inner, Mapping):
        yield from _said(message)
        return
    aside = message.get("isMeta") or message.get("isSidechain")
    for event in _said(inner):  # Claude Code: on side chains agents speak to agents
        yield Event("other", event.text) if aside and event.kind == "human" else event


def _said(message: Mapping[str, Any]) -> Iterator[Event]:
    """Yield the events of a message, or of an item in place of a message."""
    if _is_call(message) or _is_result(message):
        yield from _of_part(message, "agent")
        return
    speaker = _SPEAKERS.get(str(message.get("role", "")).lower(), "other")
    if speaker == "result":
        yield from _of_part({**message, "type": "tool_result"}, speaker)
        return
    for name in ("content", "tool_calls", "function_call"):
        parts = message.get(name)
        for part in parts if isinstance(parts, list | tuple) else [parts]:
            if name != "content":
                part = {**part, "type": "function_call"} if isinstance(part, Mapping) else None
            yield from _of_part(part, speaker)


def _is_call(part: Mapping[str, Any]) -> bool:
    return part.get("type") in _CALLS


def _is_result(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and (kind == "tool_result" or kind.endswith("_output"))


def _of_part(part: object, speaker: Kind) -> Iterator[Event]:
    if isinstance(part, str):
        yield _spoken(part, speaker)
    elif not isinstance(part, Mapping):
        return
    elif _is_call(part):
        yield _call(part)
    elif _is_result(part):
        content = part.get("content", part.get("output"))
        call = part.get("tool_use_id") or part.get("tool_call_id") or part.get("call_id") or ""
        yield Event("result", plain(_text(content)), str(call), failed=_failed(part, content))
    elif isinstance(part.get("text"), str):
        yield _spoken(part["text"], speaker)


def _spoken(text: str, speaker: Kind) -> Event:
    if speaker == "human":
        text = _without_inserted(text)
    silent = speaker == "human" and not text.strip()
    return Event("other" if silent else speaker, plain(text))


def _without_inserted(text: str) -> str:
    """Leave out inserted text, from each opening tag to the next closing tag."""
    tags = list(_INSERTED.finditer(text))
    closing: dict[str, list[re.Match[str]]] = {}
    for tag in reversed(tags):
        if tag[1]:
            closing.setdefault(tag[2], []).append(tag)
    kept, at = list[str](), 0
    for tag in tags:
        if tag[1]:
            closing[tag[2]].pop()
        elif tag.start() >= at and closing.get(tag[2]):
            kept.append(text[at : tag.start()])
            at = closing[tag[2]][-1].end()
    return "".join([*kept, text[at:]])


def _call(part: Mapping[str, Any]) -> Event:
    function = part.get("function")
    told = function if isinstance(function, Mapping) else part
    names = ("input", "arguments", "action")
    given: Any = next((told[name] for name in names if name in told), {})
    if isinstance(given, str):
        given = parsed if isinstance(parsed := _json(given), Mapping) else {"input": given}
    id = part.get("call_id") or part.get("id") or ""
    command = _command(given) if isinstance(given, Mapping) else ""
    return Event("call", json.dumps(given, default=str), str(id), command)


def _command(given: Mapping[str, Any]) -> str:
    for name in _COMMANDS:
        command = given.get(name)
        if isinstance(command, str):
            return command
        if isinstance(command, Sequence) and command and all(isinstance(c, str) for c in command):
            return command[-1] if set(command) & {"-c", "-lc"} else shlex.join(command)
    return ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        texts = [content.get(name) for name in ("text", "stdout", "stderr", "output")]
        return "\n".join(text for text in texts if isinstance(text, str))
    if isinstance(content, list | tuple):
        return "\n".join(filter(None, map(_text, content)))
    return ""


def _failed(part: Mapping[str, Any], content: object) -> bool | None:
    """Tell whether the result is called a failure, None if nothing is said of it."""
    for told in (part, content):
        if not isinstance(told, Mapping):
            continue
        for name in ("exit_code", "exitCode", "returncode"):
            if isinstance(told.get(name), int):
                return bool(told[name])
        if isinstance(told.get("is_error"), bool):
            return bool(told["is_error"])
    return None


def _lines(text: str) -> Iterator[Event]:
    """Yield the events of a text; a speaker stays the speaker until the next speaker."""
    kind: Kind = "text"
    call, number, said = "", 0, list[str]()
    for line in text.splitlines():
        spoken, prompted = _SPOKEN.match(line), _PROMPTED.match(line)
        if not (spoken or prompted):
            said.append(line)
            continue
        yield Event(kind, "\n".join(said), call)
        said = []
        if spoken:
            kind, call, said = _SPEAKERS[spoken[1].lower()], "", [spoken[2]]
        elif prompted:
            number += 1
            kind, call = "text", f"${number}"
            yield Event("call", prompted[1], call, prompted[1])
    yield Event(kind, "\n".join(said), call)
