"""Categories: sixteen kinds of memory, guessed from the words of a text by rules.

One function guesses the category of a memory, one the category that a query asks for. Both use
the rules for English in ``categories.txt``; without a matching rule, the answer is None. A cue in
the base form stands for all forms of the word: "error" for "errors", "fix" for "fixed".
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from ...model.fields import fail
from ...text import read_sections, uninflect

CATEGORIES: Final = (
    "architecture",
    "coding_style",
    "command",
    "context",
    "convention",
    "decision",
    "dependency",
    "environment",
    "general",
    "gotcha",
    "pattern",
    "preference",
    "todo",
    "tool_preference",
    "troubleshooting",
    "workaround",
)
"""The categories of memories. "general" is for the rest; no rule guesses "general"."""

_FILE: Final = Path(__file__).with_name("categories.txt")
_READ: Final = 1000
"""The number of characters to look at: the beginning names the subject."""
_LETTERS: Final = re.compile(r"(?<![^\W_])[^\W\d_]+(?!\w)")
_CUE_WORDS: Final = re.compile(r"(?<![\w\\\]])[a-z]{3,}(?![\w(\[?*\\])")
"""The whole words in a pattern, without words whose endings the pattern lists."""


def guess_category(text: str) -> str | None:
    """Return the one of ``CATEGORIES`` that a *text* belongs to, None without a matching rule."""
    return _strongest("said", text)


def query_intent(text: str) -> str | None:
    """Return the one of ``CATEGORIES`` that a query asks for, None without a matching rule."""
    return _strongest("asked", text)


def _strongest(kind: str, text: str) -> str | None:
    """Return the category with the most different cues in *text*, the earlier rule in a tie."""
    if not isinstance(text, str):
        fail(f"a text must be a str, not {type(text).__name__}")
    rules = _rules(kind)
    bases, head = _base_forms(tuple(rules.values())), text[:_READ]
    told = _LETTERS.sub(lambda word: bases.get(uninflect(word[0].lower()), word[0]), head)
    found = [
        (max(len({*map(str.lower, _pattern(cues).findall(each))}) for each in (head, told)), name)
        for name, cues in rules.items()
    ]
    most = max(count for count, _ in found)
    return next((name for count, name in found if count == most), None) if most else None


@cache
def _rules(kind: str) -> dict[str, tuple[str, ...]]:
    """Return the cues by category, from the sections "said: ..." or "asked: ..." of the file."""
    sections = read_sections(_FILE)
    shared = {f"<{name}>": f"(?:{'|'.join(sections[name])})" for name in sections if name.isupper()}
    return {
        name.partition(": ")[2]: tuple(
            re.sub("<[A-Z]+>", lambda found: shared[found[0]], cue) for cue in cues
        )
        for name, cues in sections.items()
        if name.startswith(kind)
    }


@cache  # compiled when first asked for: it takes as long as half of the import
def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(cues)})(?!\w)", re.IGNORECASE)


@cache
def _base_forms(rules: tuple[tuple[str, ...], ...]) -> dict[str, str]:
    """Return the words of all cues that are base forms, by the part that all forms share."""
    words = [word for cues in rules for cue in cues for word in _CUE_WORDS.findall(cue)]
    return {uninflect(word): word for word in words if not word.endswith(("s", "ed", "ing"))}
