"""Calls: signatures with every field, and the right name for a wrong name or argument."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, wraps
from inspect import Parameter, getattr_static, iscoroutinefunction, isfunction, signature
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .errors import ArgumentError

Kind = TypeVar("Kind", bound=type)
Verb = TypeVar("Verb", bound=Callable[..., Any])


@cache
def other_names() -> dict[str, list[str]]:
    """Return the right names for each name that callers may know from elsewhere."""
    lines = Path(__file__).with_name("other_names.txt").read_text(encoding="ascii").splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith("#"):
            right, others = line.split(": ")
            for other in others.split():
                found.setdefault(other, []).append(right)
    return found


def right_names(wrong: str, known: Collection[str]) -> list[str]:
    """Return the names among *known* that are called *wrong* elsewhere."""
    return [name for name in other_names().get(wrong, ()) if name in known]


def _quoted(names: Collection[str]) -> str:
    return " or ".join(map(repr, names))


def missing_attribute(owner: str, name: str, of: object, remedy: str = "") -> AttributeError:
    """Return the error of *owner* without an attribute *name*, with the right name if known.

    The names *of* an object or a class are known. The *remedy* stands where no right name is known.
    """
    message = f"{owner} has no attribute {name!r}"
    known = dir(of) if name in other_names() else ()  # frameworks ask for many absent names
    right = "" if name.startswith("_") else _quoted(right_names(name, known)) or remedy
    if right:
        return AttributeError(f"{message}; use {right}", name=None)  # so Python adds no guess
    return AttributeError(message)


def unknown_name(what: str, name: str, known: Collection[str]) -> ArgumentError:
    """Return the error of an unknown *name*, with the right name, or else the *known* names."""
    from difflib import get_close_matches

    right = _quoted(right_names(name, known) or get_close_matches(name, known, 1, 0.75))
    remedy = f"use {right}" if right else f"known: {', '.join(known) or 'none'}"
    return ArgumentError(f"unknown {what} {name!r}; {remedy}")


def spelled_out(given: Any, defaults: Mapping[str, object]) -> Callable[[Verb], Verb]:
    """Show the fields of the TypedDict *given* in the signature of a verb with ``**given``.

    The default "..." of a field without an entry in *defaults* stands for no change.
    """

    def spell_out(verb: Verb) -> Verb:
        shown = signature(verb)
        *own, _ = shown.parameters.values()
        for name, hint in given.__annotations__.items():
            default = defaults.get(name, ...)
            kind, shows = Parameter.KEYWORD_ONLY, hint.__forward_arg__
            own.append(Parameter(name, kind, default=default, annotation=shows))
        vars(verb)["__signature__"] = shown.replace(parameters=own)
        return verb

    return spell_out


def suggesting(kind: Kind) -> Kind:
    """Make *kind* answer a wrong name, or a wrong argument of a verb, with the right name."""

    def find_missing(self: object, name: str) -> NoReturn:
        kind = type(self)
        remedy = getattr(kind, "_remedy", "")
        raise missing_attribute(f"{kind.__name__!r} object", name, kind, remedy)

    kind.__getattr__ = find_missing  # type: ignore[attr-defined]
    for name in dir(kind):
        verb, public = getattr_static(kind, name), name == "__init__" or name[0] != "_"
        if public and isfunction(verb) and not _is_wrapped(verb):
            call = explaining(verb)
            call.__module__, call.__qualname__ = kind.__module__, f"{kind.__qualname__}.{name}"
            setattr(kind, name, call)
    return kind


def _is_wrapped(verb: object) -> bool:
    """Return whether the wrong calls of *verb* are seen too late, or by an inner verb."""
    return iscoroutinefunction(verb) or hasattr(verb, "__wrapped__")


def explaining(verb: Verb) -> Verb:
    """Return *verb* with an ``ArgumentError`` for every call that does not fit the signature."""

    @wraps(verb)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return verb(*given, **named)
        except TypeError:
            if wrong := _wrong_call(verb, given, named):
                raise wrong from None
            raise

    return call  # type: ignore[return-value]


def _wrong_call(
    verb: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]
) -> ArgumentError | None:
    """Return the error of a call of *verb* that does not fit the signature."""
    known = signature(verb).parameters
    kinds = {each.kind for each in known.values()}
    names = [name for name in known if name != "self"]
    placed = [name for name in names if known[name].kind is not Parameter.KEYWORD_ONLY]
    wrong = [name for name in named if name not in known]
    if wrong and Parameter.VAR_KEYWORD not in kinds:
        return unknown_name("argument", wrong[0], names)
    called = type(given[0]).__name__ if given and verb.__name__ == "__init__" else verb.__name__
    if len(given) > len(placed) + ("self" in known) and Parameter.VAR_POSITIONAL not in kinds:
        message = f"{called} takes {', '.join(placed) or 'nothing'} without a name"
        by_name = ", ".join(name for name in names if name not in placed)
        return ArgumentError(f"{message}; by name: {by_name}" if by_name else message)
    try:
        signature(verb).bind(*given, **named)
    except TypeError as error:  # from Python 3.13 on with "keyword-only"
        message = str(error).replace(" keyword-only ", " ")
        return ArgumentError(f"{called}: {message}")
    return None
