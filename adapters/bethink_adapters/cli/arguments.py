"""Arguments that several commands share, and the values behind them: filters, times, ids, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .command import Context, Failure, argument

if TYPE_CHECKING:
    from argparse import Namespace

    from bethink import MemoryRecord

STATES: Final = ("live", "superseded", "archived", "forgotten", "expired")
SHORT_ID: Final = 8
"""How many of an id's last characters commands show."""
_UNITS: Final[Mapping[str, float]] = {
    "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400,
}  # fmt: skip
_SPAN: Final = r"(\d+(?:\.\d+)?)([smhdw])"


def _listed(text: str) -> list[str]:
    """Return the labels in *text*, between commas."""
    return [each.strip() for each in text.split(",")]


_LABELS: Final[Mapping[str, Any]] = {"type": _listed, "action": "extend", "metavar": "TAG"}
IDS: Final = argument("ids", nargs="+", metavar="ID", help="whole ids, or the last characters")
ID: Final = argument("id", metavar="ID", help="the whole id, or the last characters")
EVERYWHERE: Final = argument(
    "-a",
    "--everywhere",
    action="store_true",
    help="search all namespaces, not one and its children",
)
AS_OF: Final = argument(
    "--as-of", metavar="WHEN", help="answer as of a time, age (2d), snapshot, or entry (12)"
)
LIMIT: Final = argument("--limit", type=int, default=50, metavar="N", help="at most N (50)")
YES: Final = (
    argument("--yes", action="store_true", help="do not ask"),
    argument("--dry-run", action="store_true", help="show the changes, make none"),
)
SIMILARITY: Final = argument(
    "--similarity",
    type=float,
    default=0.92,
    metavar="0..1",
    help="least cosine of repetitions (0.92)",
)
FILTER: Final = (
    argument(
        "--where", metavar="JSON", help='only memories that pass, as {"importance": {"$gte": 0.8}}'
    ),
    argument("--category", help="only memories of the category"),
    argument(
        "--tag",
        **_LABELS,
        help="only memories with the tag, or with all of a,b; may be repeated",
    ),
    argument("--author", help="only memories of the author"),
    argument("--key", help="only memories with the key"),
)
_LIMITS: Final[Mapping[str, str]] = {
    "min_score": "drop scores below",
    "min_similarity": "drop similarities up to",
    "min_share": "drop scores below a share of the best score",
}
SEARCH: Final = (
    argument(
        "--mode",
        choices=("hybrid", "keyword", "semantic"),
        default="hybrid",
        help="compare words and vectors, words alone, or vectors alone (hybrid)",
    ),
    *(
        argument(f"--{name.replace('_', '-')}", type=float, default=0, metavar="0..1", help=told)
        for name, told in _LIMITS.items()
    ),
    AS_OF,
    *FILTER,
)
"""What a search may find."""
_TIMES: Final = ("occurred_at", "expires_at")
_JSONS: Final = {"value": """, such as 5 or '"red"'""", "metadata": """, such as '{"page": 3}'"""}
FIELDS: Final = (
    argument("--key", help="name of a fact: a new text under the key replaces the old text"),
    argument("--category", help="kind of memory, such as decision"),
    argument("--tag", **_LABELS, dest="tags", help="a label, or several as a,b; may be repeated"),
    argument("--importance", type=float, metavar="0..1", help="how much the memory matters (0.5)"),
    argument("--confidence", type=float, metavar="0..1", help="how sure the memory is (1)"),
    argument("--author", help="who said the text"),
    argument("--thread", help="the conversation of the text"),
    argument("--source", help="where the memory comes from"),
    argument("--value", metavar="JSON", help="the fact as data, beside the text"),
    argument("--metadata", metavar="JSON", help="further fields, a JSON object"),
    argument("--occurred-at", metavar="TIME", help="when the event was: ISO 8601, or age (2d)"),
    argument("--expires-at", metavar="TIME", help="when the memory ends: ISO 8601, or +7d"),
)
"""The fields of a memory."""


def fields_of(given: Namespace) -> dict[str, Any]:
    """Return the fields that *given* names, in the form of ``MemoryStore.store``."""
    names = [each.options.get("dest", each.flags[0][2:].replace("-", "_")) for each in FIELDS]
    found = {name: told for name in names if (told := getattr(given, name)) is not None}
    for name in found:
        if name in _JSONS:
            found[name] = json_of(f"--{name}", found[name], _JSONS[name])
        elif name in _TIMES:
            found[name] = time_of(found[name])
    _check_future(given.expires_at, found.get("expires_at"))
    return found


def _check_future(text: str | None, expires_at: float | None) -> None:
    """Refuse a time of expiry that is past: no recall would ever find the memory."""
    import re
    import time

    if expires_at is not None and expires_at <= time.time():
        remedy = f"; write +{text}" if re.fullmatch(_SPAN, text or "") else ""
        raise Failure(f"--expires-at {text} is past{remedy}", 2)


def filter_of(given: Namespace) -> dict[str, Any] | None:
    """Return the filter of the arguments in ``FILTER``."""
    parts: list[dict[str, Any]] = []
    if given.where is not None:
        where = json_of("--where", given.where, ', such as {"importance": {"$gte": 0.8}}')
        if not isinstance(where, dict):
            raise Failure("--where must be a JSON object", 2)
        parts.append(where)
    parts += [
        {name: getattr(given, name)}
        for name in ("category", "author", "key")
        if getattr(given, name) is not None
    ]
    parts += [{"tags": {"$contains": tag}} for tag in given.tag or ()]
    return {"$and": parts} if len(parts) > 1 else (parts[0] if parts else None)


def search_of(context: Context) -> dict[str, Any]:
    """Return the arguments of a search that ``SEARCH`` and the namespace give."""
    given = context.given
    return {
        "namespace": context.scope,
        "mode": given.mode,
        "where": filter_of(given),
        "as_of": moment_of(given.as_of),
        **{name: getattr(given, name) for name in _LIMITS},
    }


def json_of(name: str, text: str, remedy: str = "") -> Any:
    """Return the JSON value *text* of the argument *name*; an error ends with the *remedy*."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Failure(f"{name} is no JSON{remedy}: {error}", 2) from None


def time_of(text: str) -> float:
    """Return the Unix time of *text*: ISO 8601, seconds, an age such as 2d, or a span as +7d."""
    import re
    import time

    if span := re.fullmatch(rf"([+-]?){_SPAN}", text):
        seconds = float(span[2]) * _UNITS[span[3]]
        return time.time() + (seconds if span[1] == "+" else -seconds)
    found = _iso_seconds(text)
    try:
        return float(text) if found is None else found
    except ValueError:
        raise Failure(f"{text!r} is no time; write 2026-11-20T09:00, 2d or +7d", 2) from None


def _iso_seconds(text: str) -> float | None:
    """Return an ISO 8601 *text* as Unix seconds, None for any other text.

    Without a zone the time is in the zone of this computer, as are the times that commands show.
    """
    from datetime import datetime

    if text.isdecimal() and len(text) != len("20261120"):
        return None
    try:
        found = datetime.fromisoformat(text)
        found.astimezone()  # every shown time is in a calendar
        return found.timestamp()
    except (ValueError, OverflowError):
        return None


def days_of(text: str) -> float:
    """Return the days of a span such as 90d."""
    import re

    if span := re.fullmatch(_SPAN, text):
        return float(span[1]) * _UNITS[span[2]] / _UNITS["d"]
    raise Failure(f"{text!r} is no span; write 90d or 12h", 2)


def moment_of(text: str | None) -> Any:
    """Return *text* as a moment: 2d is an age, an ISO text a time, a number an entry.

    The store knows the others.
    """
    import re

    if text is None or re.fullmatch(_SPAN, text):
        return text and time_of(text)
    found = _iso_seconds(text)
    if found is None:
        return int(text) if text.isdecimal() else text
    return found


def find_ids(context: Context, given: Iterable[str]) -> list[str]:
    """Return the ids that end or begin with each of *given*; whole ids pass unseen.

    Raise ``Failure`` for no record, or for several.
    """
    return [_find_id(context, each) for each in given]


def _find_id(context: Context, part: str) -> str:
    from bethink import EVERYWHERE as ALL

    if len(part) >= 32 or context.store.get(part) is not None:
        return part
    held = context.store.get(namespace=context.namespace, key=part) if part.strip() else None
    hint = f"; the memory with the key {part!r} is {held.id[-SHORT_ID:]}" if held else ""
    if len(part) < 4:
        raise Failure(f"{part!r} is too short for an id; give at least 4 characters{hint}", 2)
    found: dict[str, MemoryRecord] = {}
    for state in STATES:
        for each in context.store.all(
            namespace=ALL,
            where={"id": {"$contains": part}},
            state=state,
        ):
            if each.id.endswith(part) or each.id.startswith(part):
                found[each.id] = each
    if not found:
        raise Failure(f"no memory has an id with {part!r}{hint}")
    if len(found) > 1:
        shown = "\n".join(f"  {each.id}  {each.content[:60]}" for each in found.values())
        raise Failure(f"{part!r} could be any of:\n{shown}")
    return next(iter(found))


def elsewhere(context: Context, otherwise: str = "nothing found") -> str:
    """Return the namespaces that hold memories, where a scope holds none; else *otherwise*."""
    if told := places(context):
        return f"nothing in {context.namespace!r}{told}; -a reads all"
    return otherwise


def places(context: Context) -> str:
    """Return where memories are, if the scope, perhaps misspelt, holds none; else no text.

    The text continues a sentence.
    """
    from ..surface.verbs import elsewhere

    names = elsewhere(context.store, context.scope)
    return f"; memories are in {names}" if names else ""


def no_key(context: Context, what: str, key: str) -> str:
    """Tell that no *what*, a memory or a fact, has the *key* in the namespace, and where one is."""
    from ..surface.verbs import with_key

    names = with_key(context.store, key, context.namespace)
    hint = f"; the key is in {names}" if names else places(context)
    return f"no {what} has the key {key!r} in {context.namespace!r}{hint}"


def entry_of(text: str) -> int:
    """Return the number of a journal entry, written as 12 or as #12."""
    from argparse import ArgumentTypeError

    if not text.removeprefix("#").isdecimal():
        raise ArgumentTypeError(f"an entry is a number such as 12 or #12, not {text!r}")
    return int(text.removeprefix("#"))
