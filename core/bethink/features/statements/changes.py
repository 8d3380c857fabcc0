"""Phrases of change, rewritten as the present state: "moved to Friday" as "is now Friday".

The former state no longer holds, and is left out. English only.
"""

from __future__ import annotations

from typing import Final

from ...model.patterns import lazy_pattern
from . import lexicon as lex

_TOWARDS: Final = lazy_pattern(r" (?:to|until|till|for|turned) ")
_DAY: Final = rf"(?:{'|'.join((*lex.WEEKDAYS, *lex.MONTHS))})\b"
_TIME: Final = (
    rf"(?:the )?(?:next )?(?:{_DAY}|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_DAY}|\d{{1,2}}:\d\d|noon\b"
    r"|midnight\b|\d{1,2} ?(?:am|pm|o'clock)\b)"
)
_AMOUNT: Final = rf"(?:{_TIME}|[$\u20ac\u00a3\u00a5]? ?\d)"
_HELPERS: Final = (
    r"(?:(?:has|have|had|was|were|is|are|been|got|gets|just|now|recently|since) ){0,4}"
)
_SHIFTED: Final = (
    r"(?:(?:moved|postponed|rescheduled|rebooked|shifted|pushed|delayed|deferred|extended)"
    r"(?: up| back| out)?|(?:pushed|brought|moved) forward|put (?:back|off))"
)
_CHANGED: Final = (
    r"(?:(?:raised|increased|lowered|reduced|decreased|cut|dropped|fell|fallen|rose|risen|grew"
    r"|grown|climbed|jumped|bumped|changed|updated|revised|adjusted|corrected)(?: up| down| back)?"
    r"|(?:went|gone) (?:up|down))"
)
_FROM: Final = r"(?:from [^,.;!?]{1,40}? )?"
_UNTIL: Final = "(?:to|until|till|for) "
_WHAT: Final = r"((?:the|my|our|his|her|its|their) [^,.;!?]{1,40}?)"
_AWAY: Final = "(?: (?:up|down|back|out|off|forward))?"
_BECAME: Final = lazy_pattern(
    rf"\b{_HELPERS}(?:{_SHIFTED} {_FROM}{_UNTIL}(?={_TIME})|{_CHANGED} {_FROM}to (?={_AMOUNT}))"
)
_MADE: Final = lazy_pattern(
    r"(?:^|(?<=[.,;!?] ))(?:[^\s,.;!?]+ ){1,3}?"
    rf"(?:{_SHIFTED} {_WHAT}{_AWAY} {_FROM}{_UNTIL}(?={_TIME})"
    rf"|{_CHANGED} {_WHAT}{_AWAY} {_FROM}to (?={_AMOUNT}))"
)
_RENAMED: Final = lazy_pattern(rf"\b{_HELPERS}renamed {_FROM}to ")
_TURNED: Final = lazy_pattern(rf"\b{_HELPERS}turned (?=\d+\b(?! degrees))")
_WENT: Final = "moved|relocated|switched|migrated|upgraded"
_WHEN: Final = lazy_pattern(
    rf"\b((?:{_WENT})\b[^,.;!?]{{1,60}}?) "
    r"(?:last|(?:earlier )?this) (?:week|month|year|spring|summer|autumn|fall|winter)\b"
)
_LEFT: Final = lazy_pattern(
    rf"\b((?:{_WENT}|changed|converted)(?: over| back)?) "
    r"from [^,.;!?]{1,40}? (?=to )"
)


def rewrite_changes(lower: str) -> str:
    """Replace phrases of change in a folded text by "is now"."""
    if _TOWARDS.search(lower) is None:
        return lower
    lower = _MADE.sub(lambda made: f"{made[1] or made[2]} is now ", lower)
    lower = _TURNED.sub("is now ", _RENAMED.sub("is now named ", lower))
    lower = _BECAME.sub("is now ", lower)
    return _WHEN.sub(r"\1", _LEFT.sub(r"\1 ", lower))
