"""Emoji: the characters, and sequences that show as a single picture."""

from __future__ import annotations

from typing import Final

from ..model.patterns import lazy_pattern

PICTURES: Final = "\u2190-\u2bff\U0001f000-\U0001faff"
"""Arrows, signs and emoji, as the inside of a set in a regular expression."""

EMOJI: Final = (
    "\u231a\u231b\u23e9-\u23fa\u2600-\u2775\u2794-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f000-\U0001f0ff\U0001f10d-\U0001faff"
)
"""The emoji among ``PICTURES``; circled digits are numbers."""

_TONES: Final = "\U0001f3fb-\U0001f3ff"
_TAGS: Final = "\U000e0061-\U000e007f"
_PICTURE: Final = f"[{EMOJI}][{_TONES}]?[{_TAGS}]*"
SEQUENCE: Final = f"[\U0001f1e6-\U0001f1ff]{{2}}|{_PICTURE}(?:\u200d{_PICTURE})*"
"""A flag, or emoji with skin tones, tags and joiners, without variation selectors."""

_STARTS: Final = lazy_pattern(f"[{EMOJI}]")
_TONE: Final = lazy_pattern(f"(?<=.)[{_TONES}]")


def is_emoji(token: str) -> bool:
    """Return whether a token or a search term begins with an emoji."""
    return not token.isascii() and _STARTS.match(token) is not None


def without_tones(sequence: str) -> str:
    """Return a sequence without skin tones; a lone skin tone stays."""
    return _TONE.sub("", sequence)
