"""JSON with comments, edited in place: only the text of the changed value changes.

Hosts keep comments and trailing commas in their settings, so a parsed and rewritten file would lose
what the user wrote. ``parse`` finds the place of each value; ``put``, ``drop`` and ``restore``
change the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Key = str | int
_GAP: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BLANKS: Final = " \t\r\n"
_SCALAR: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|[-+.\w]+')
_MAX_DEPTH: Final = 200
_INDENT: Final = "  "


class JsonError(ValueError):
    """A text that is no JSON, even with comments and trailing commas."""


@dataclass
class Node:
    """A value in the text: *data* from *start* to *end*, *items* of an object or array by key.

    An item of an object begins at *begin*, with the key.
    """

    data: Any
    start: int
    end: int
    items: dict[Key, Node] = field(default_factory=dict)
    begin: int = 0


def parse(text: str) -> Node:
    """Return the value of *text*; raise ``JsonError`` with the line of a fault."""
    parser = _Parser(text)
    node = parser.value(parser.gap(1 if text.startswith("\ufeff") else 0), 0)
    if parser.gap(node.end) != len(text):
        raise parser.fault(node.end, "text after the value")
    return node


def find(text: str, path: Sequence[Key]) -> Any:
    """Return the value at *path* as Python data, None if there is none."""
    node = _at(text, path)
    return None if node is None else node.data


def put(text: str, path: Sequence[Key], value: Any) -> str:
    """Return *text* with *value* at *path*; missing objects on the way are made.

    An index equal to the length of an array appends. A text without any value becomes an object.
    """
    if _is_blank(text):
        text = text + "{}\n" if not text.endswith("\n") else text[:-1] + "{}\n"
    node, depth = parse(text), 0
    while depth < len(path) and path[depth] in node.items:
        node, depth = node.items[path[depth]], depth + 1
    newline = "\r\n" if "\r\n" in text else "\n"
    if depth == len(path):
        if node.data == value:
            return text
        return _spliced(text, node.start, node.end, _dumped(value, _indent(text, node), newline))
    if not isinstance(node.data, dict if isinstance(path[depth], str) else list):
        name = ".".join(map(str, path[:depth])) or "the file"
        raise JsonError(f"{name} holds no {'object' if isinstance(path[depth], str) else 'array'}")
    for key in reversed(path[depth + 1 :]):
        value = {key: value} if isinstance(key, str) else [value]
    return _inserted(text, node, path[depth], value, newline)


def drop(text: str, path: Sequence[Key]) -> str:
    """Return *text* without the value at *path*; comments stay, a missing value changes nothing."""
    parent, key = _at(text, path[:-1]), path[-1]
    if parent is None or key not in parent.items:
        return text
    keys = list(parent.items)
    place, start, end = keys.index(key), parent.items[key].begin, parent.items[key].end
    opened = parent.start + 1
    if place:  # behind the comma before
        opened = _behind_gap(text, parent.items[keys[place - 1]].end) + 1
    head, gap, tail = text[:opened], text[opened:start], text[end:]
    comma = _behind_gap(text, end)
    if text[comma] == ",":
        behind = text[comma + 1 :]
        tail = text[end:comma] + (behind if gap else behind.lstrip(" \t"))
    elif place:
        head = head[:-1]
    kept = gap.rstrip(_BLANKS)
    comments = _COMMENT.findall(gap)
    if comments and comments[-1].startswith("//") and not re.match(r"[ \t\r]*\n", tail):
        kept = gap  # the line of a comment ends before the tail
    if len(keys) == 1 and not (kept + text[end : parent.end - 1]).strip(_BLANKS):
        tail = text[parent.end - 1 :]
    return head + kept + tail


def restore(text: str, path: Sequence[Key], first: str, origin: Sequence[Key]) -> str:
    """Return *text* with the value at *path* as at *origin* in *first*: as written, or missing.

    An empty container on the way becomes as written in *first*, and goes if *first* has none.
    """
    here, there = _at(text, path), _at(first, origin)
    if here is None:
        return text
    if there is not None:
        return _spliced(text, here.start, here.end, first[there.start : there.end])
    text = drop(text, path)
    for depth in reversed(range(len(path))):
        here, there = _at(text, path[:depth]), _at(first, path[:depth])
        if here is None or text[here.start + 1 : here.end - 1].strip(_BLANKS):
            break
        if there is not None:
            blank = not first[there.start + 1 : there.end - 1].strip(_BLANKS)
            old = first[there.start : there.end]
            return _spliced(text, here.start, here.end, old) if blank else text
        if depth > 0:
            text = drop(text, path[:depth])
        elif _is_blank(text[: here.start] + text[here.end :]):
            text = first
    return text


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text

    def fault(self, at: int, what: str) -> JsonError:
        return JsonError(f"line {self.text.count(chr(10), 0, at) + 1}: {what}")

    def gap(self, at: int) -> int:
        """Return the place after spaces and comments."""
        return _behind_gap(self.text, at)

    def value(self, at: int, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self.fault(at, "nested too deep")
        opening = self.text[at : at + 1]
        if opening in ("{", "["):
            return self.container(at, depth, opening)
        return self.scalar(at)

    def scalar(self, at: int) -> Node:
        match = _SCALAR.match(self.text, at)
        if match is None:
            raise self.fault(at, "a value is missing")
        try:
            return Node(json.loads(match[0]), at, match.end())
        except ValueError:
            raise self.fault(at, f"{match[0][:40]} is no value") from None

    def container(self, at: int, depth: int, opening: str) -> Node:
        node = Node({} if opening == "{" else [], at, at)
        closing = "}" if opening == "{" else "]"
        place = self.gap(at + 1)
        while self.text[place : place + 1] != closing:
            key: Key = len(node.items)
            start = place
            if opening == "{":
                name = self.scalar(place)
                place = self.gap(name.end)
                if not isinstance(name.data, str) or self.text[place : place + 1] != ":":
                    raise self.fault(place, "a key and a colon are wanted")
                key, place = name.data, self.gap(place + 1)
            item = self.value(place, depth + 1)
            node.items.pop(key, None)  # the last of two items with the same key counts
            node.items[key], item.begin = item, start
            place = self.gap(item.end)
            if self.text[place : place + 1] == ",":
                place = self.gap(place + 1)
            elif self.text[place : place + 1] != closing:
                raise self.fault(place, f"a comma or {closing} is wanted")
        data = {key: item.data for key, item in node.items.items()}
        node.data, node.end = (data if opening == "{" else list(data.values())), place + 1
        return node


def _is_blank(text: str) -> bool:
    return not text.strip(f"\ufeff{_BLANKS}")


def _behind_gap(text: str, at: int) -> int:
    """Return the place after the spaces and comments at *at*."""
    match = _GAP.match(text, at)
    return match.end() if match else at


def _at(text: str, path: Sequence[Key]) -> Node | None:
    """Return the value at *path*, None if there is none."""
    node = None if _is_blank(text) else parse(text)
    for key in path:
        node = node.items.get(key) if node else None
    return node


def _inserted(text: str, node: Node, key: Key, value: Any, newline: str) -> str:
    """Return *text* with *value* as the last item of *node*."""
    name = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    if not node.items:
        outer = _indent(text, node)
        inner = outer + _unit(text)
        item = f"{name}{_dumped(value, inner, newline)}"
        body = f"{newline}{inner}{item}{newline}{outer}"
        comments = text[node.start + 1 : node.end - 1].rstrip(_BLANKS)
        if comments:
            end = node.start + 1 + len(comments)
            return _spliced(text, end, end, body.removesuffix(newline + outer))
        return _spliced(text, node.start + 1, node.end - 1, body)
    last = list(node.items.values())[-1]
    end = last.end
    line_start = text.rfind("\n", 0, last.begin) + 1
    lead = text[line_start : last.begin]
    own_line = line_start > node.start and not lead.strip()
    separator = f"{newline}{lead}" if own_line else " "
    item = f"{name}{_dumped(value, lead if own_line else None, newline)}"
    comma = _behind_gap(text, end)
    if text[comma : comma + 1] == ",":  # a trailing comma stays the style
        return _spliced(text, comma + 1, comma + 1, f"{separator}{item},")
    return _spliced(text, end, end, f",{separator}{item}")


def _dumped(value: Any, indent: str | None, newline: str) -> str:
    """Return *value* as JSON whose lines after the first begin with *indent*; None: one line."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    unit = "\t" if indent.startswith("\t") else _INDENT
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"{newline}{indent}".join(lines)


def _indent(text: str, node: Node) -> str:
    """Return the white space that begins the line of *node*."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return the white space of one level: of the first line that has any."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else _INDENT


def _spliced(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]
