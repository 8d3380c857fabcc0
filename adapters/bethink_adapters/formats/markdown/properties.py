"""Reading the properties of a note: JSON after a name, or YAML as editors write YAML.

Read are lists and maps, an item to a line or in brackets, and text: plain, quoted or a block. Dates
and all values unknown to JSON are text, and a "#" without a space behind begins no comment.
Anchors, aliases, types and long keys are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from textwrap import dedent
from typing import Any, Final

MOST_UNREAD: Final = 20

_QUOTED: Final = r""" "(?:[^"\\]|\\.)*+" | '(?:[^']|'')*+' """
_COMMENT: Final = r"\#(?!\S)"
_TEXT: Final = re.compile(_QUOTED, re.DOTALL | re.VERBOSE)
_PLAIN: Final = re.compile(rf"(?:(?!\s{_COMMENT}).)+", re.DOTALL)
_IN_BRACKETS: Final = re.compile(
    rf"(?:(?!\s{_COMMENT}|:[\s,\[\]{{}}]|:$|[,\[\]{{}}]).)+", re.DOTALL
)
_SPACE: Final = re.compile(rf"(?:\s|(?<=\s){_COMMENT}.*)*+")
_STRUCTURED: Final = (*"[]{},\"'&*!|>%@`", "? ")

_ITEM: Final = re.compile(r"-(?:[ \t].*)?")
_BLOCK: Final = re.compile(rf"([|>])([+-]?)(?:\s+{_COMMENT}.*)?")
_NAMED: Final = re.compile(
    rf"""
    ({_QUOTED} | [^\s:\#\-\[\]{{}}"'&*!|>%@`] (?:[^:]|:(?=\S))*+) [ \t]* :
    (?:[ \t]++ (?:{_COMMENT}.* | (.*)))?
    """,
    re.VERBOSE,
)
_LINE_ENDS: Final = re.compile(r"\n+")
_ESCAPED_END: Final = re.compile(r"\\(?:\n|(.))")
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U00([0-9a-fA-F]{6})|(.))", re.DOTALL
)
_ESCAPED: Final = dict(
    zip('0abtnvfre\t "/\\N_LP', '\0\a\b\t\n\v\f\r\x1b\t "/\\\x85\xa0\u2028\u2029', strict=True)
)


class UnreadableLineError(ValueError):
    """The line with the index *at* cannot be read."""

    def __init__(self, at: int, line: str) -> None:
        super().__init__(unreadable(line))
        self.at = at


def unreadable(line: str) -> str:
    """Return the reason why a *line* is left out."""
    return f"property cannot be read: {line[:40]!r}"


def readable_properties(lines: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the properties that can be read, and the lines where others begin.

    Beyond ``MOST_UNREAD`` unreadable properties none is read.
    """
    left, unread = lines.copy(), list[str]()
    while len(unread) < MOST_UNREAD:
        try:
            return read_properties(left), unread
        except UnreadableLineError as error:
            begins = [at for at, line in enumerate(left) if line[:1].strip(" \t-]}#")]
            start = max((at for at in begins if at <= error.at), default=0)
            end = min((at for at in begins if at > start), default=len(left))
            unread.append(left[start])
            del left[start:end]
    return {}, unread


def is_property(line: str) -> bool:
    """Return whether *line* begins as a property does."""
    return _NAMED.fullmatch(line) is not None


def read_properties(lines: list[str]) -> dict[str, Any]:
    """Return the properties in *lines*; ``UnreadableLineError`` names the unreadable line."""
    block = _Block(lines)
    try:
        found = block.value(0)
        if block.depth() >= 0 or not isinstance(found, dict | None):
            raise ValueError
    except (ValueError, RecursionError):
        raise UnreadableLineError(block.line, lines[block.line]) from None
    return found or {}


class _Block:
    """Lines of YAML; ``line`` is the index of the last line read."""

    def __init__(self, lines: list[str]) -> None:
        self._given = lines
        self._lines = lines.copy()  # without the dashes that were passed
        self._at = 0
        self.line = 0

    def value(self, floor: int) -> Any:
        """Return the value from the next line on; None for a line less than *floor* deep."""
        depth = self.depth()
        if depth < floor:
            return None
        if _ITEM.fullmatch(self._told()):
            return list(self._items(floor))
        if _NAMED.fullmatch(self._told()):
            return dict(self._named(depth))
        return self._text(self._told(), floor)

    def depth(self) -> int:
        """Go to the next line with content; return the indent, -1 at the end."""
        while self._at < len(self._lines):
            told = self._lines[self._at].lstrip()
            if told and not self._given[self._at].lstrip().startswith("#"):
                self.line = self._at
                return len(self._lines[self._at]) - len(told)
            self._at += 1
        return -1

    def _told(self) -> str:
        return self._lines[self._at].strip()

    def _items(self, floor: int) -> Iterator[Any]:
        while (depth := self.depth()) >= floor and _ITEM.fullmatch(self._told()):
            self._lines[self._at] = self._lines[self._at].replace("-", " ", 1)
            yield self.value(depth + 1)

    def _named(self, depth: int) -> Iterator[tuple[str, Any]]:
        while self.depth() == depth and (named := _NAMED.fullmatch(self._told())):
            name = _unquoted(named[1].rstrip())
            if named[2]:
                yield name, self._text(named[2], depth + 1)
            else:
                self._at += 1
                listed = self.depth() >= depth and _ITEM.fullmatch(self._told())
                yield name, self.value(depth if listed else depth + 1)

    def _text(self, first: str, floor: int) -> Any:
        self._at += 1
        more = list(self._deeper(floor))
        if block := _BLOCK.fullmatch(first):
            return _block(more, folded=block[1] == ">", end=block[2])
        if first[0] not in "[{\"'" and any(_NAMED.fullmatch(each.strip()) for each in more):
            raise ValueError
        return _Inline("\n".join(map(str.strip, [first, *more])).strip()).value()

    def _deeper(self, floor: int) -> Iterator[str]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            told = line.lstrip()
            if told and len(line) - len(told) < floor and told[0] not in "]}":
                return
            self._at += 1
            yield line


class _Inline:
    """The text of a value: plain, quoted or in brackets, on a single line or several."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def value(self) -> Any:
        """Return the value; ``ValueError`` if that is not all."""
        with suppress(ValueError):
            return _json(self._text)
        value = self._value(_PLAIN)
        if self._next():
            raise ValueError
        return value

    def _value(self, plain: re.Pattern[str]) -> Any:
        first = self._next()
        if first == "[":
            return [self._value(_IN_BRACKETS) for _ in self._each("]")]
        if first == "{":
            return dict(self._pair() for _ in self._each("}"))
        word = self._word(plain)
        if first not in "\"'":
            with suppress(ValueError):
                return _json(word)
        return _unquoted(word)

    def _each(self, end: str) -> Iterator[None]:
        """Go to each item up to the bracket *end*, and past that."""
        self._at += 1
        while self._next() != end:
            yield
            if self._next() == ",":
                self._at += 1
            elif self._next() != end:
                raise ValueError
        self._at += 1

    def _pair(self) -> tuple[str, Any]:
        name = _unquoted(self._word(_IN_BRACKETS))
        if self._next() != ":":
            return name, None
        self._at += 1
        return name, None if self._next() in ",}" else self._value(_IN_BRACKETS)

    def _word(self, plain: re.Pattern[str]) -> str:
        pattern = _TEXT if self._next() in "\"'" else plain
        word = pattern.match(self._text, self._at)
        if not word or (pattern is plain and word[0].startswith(_STRUCTURED)):
            raise ValueError
        self._at = word.end()
        return _folded(word[0].strip())

    def _next(self) -> str:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._text[self._at : self._at + 1]


def _json(text: str) -> Any:
    return json.loads(text, parse_constant=str)


def _unquoted(word: str) -> str:
    if word[0] == "'":
        return word[1:-1].replace("''", "'")
    return _ESCAPE.sub(_unescaped, word[1:-1]) if word[0] == '"' else word


def _unescaped(match: re.Match[str]) -> str:
    if match[4] is None:
        return chr(int(match[1] or match[2] or match[3], 16))
    if match[4] not in _ESCAPED:
        raise ValueError
    return _ESCAPED[match[4]]


def _folded(text: str) -> str:
    """Return *text* with a space for each line end, or the line ends that empty lines stand for."""
    if text.startswith('"'):
        text = _ESCAPED_END.sub(lambda match: match[0] if match[1] else "", text)
    return _LINE_ENDS.sub(lambda ends: "\n" * (len(ends[0]) - 1) or " ", text)


def _block(lines: list[str], *, folded: bool, end: str) -> str:
    text = dedent("\n".join(lines)).rstrip("\n")
    told = _folded(text) if folded else text
    return told if end == "-" else f"{told}\n"
