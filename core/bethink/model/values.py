"""The forms of the values that verbs return: JSON, a line, and a table for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ..calls import missing_attribute

_MAX_LINE: Final = 100  # characters of a text shown in a line


class Value:
    """A value that a verb returns: a frozen dataclass."""

    __slots__ = ()
    __match_args__: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return every field by name, ready for ``json.dumps``; nothing is left out.

        Times stay Unix seconds, as in an export: a text would lose digits. Tuples become lists.
        """
        return {name: json_form(getattr(self, name)) for name in self.__match_args__}

    if not TYPE_CHECKING:  # or any name would pass for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Answer a wrong name with the right name, also of a field of the memory inside."""
            kind, inside = type(self), ""
            fields = self.__match_args__
            if name not in fields and "memory" in fields and name in dir(type(self.memory)):
                inside = f"'memory.{name}'"
            raise missing_attribute(f"{kind.__name__!r} object", name, kind, inside)

    def _repr_html_(self) -> str:
        """Return the fields that are not empty as a table, for notebooks."""
        from html import escape

        rows = ""
        for name in self.__match_args__:
            value = getattr(self, name)
            if value is not None and value not in ((), {}, ""):
                lines = map(str, value) if isinstance(value, tuple) else str(value).splitlines()
                shown = "<br>".join(map(escape, lines))
                rows += f"<tr><th>{name}</th><td>{shown}</td></tr>"
        return f"<table>{rows}</table>"


def json_form(value: Any) -> Any:
    """Return *value* and all values inside in types of JSON."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: json_form(each) for name, each in value.items()}
    return list(map(json_form, value)) if isinstance(value, list | tuple) else value


def one_line(text: str) -> str:
    """Return the words of *text* in one line, cut to 100 characters."""
    line = " ".join(text[: 4 * _MAX_LINE].split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}\u2026"
