"""Word lists, the longer lists in files of sections.

A change of ``STOP_WORDS`` requires a higher ``SEGMENT_FORMAT`` and a new name of ``HashEmbedder``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final


def word_set(text: str) -> frozenset[str]:
    """Return the words of *text*, a list separated by spaces, as a set."""
    return frozenset(text.split())


def read_sections(path: Path) -> dict[str, list[str]]:
    """Return the lines of a file by the name of the section, without empty lines.

    A name stands alone on a line, as in "[NAME]". Lines before the first name are comments.
    """
    found = re.split(r"^\[(\w[^\n]*)\]$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    bodies = ([line for line in body.splitlines() if line] for body in found[1::2])
    return dict(zip(found[::2], bodies, strict=True))


_LISTS: Final = read_sections(Path(__file__).with_name("words.txt"))


def _pop(beginning: str) -> frozenset[str]:
    """Remove the lists with such a name, and return the words."""
    names = [name for name in _LISTS if name.startswith(beginning)]
    return word_set(" ".join(line for name in names for line in _LISTS.pop(name)))


STOP_WORDS: Final = _pop("stop words")
DOUBTFUL_WORDS: Final = _pop("words of languages above")
"""Function words and words of time that English has, too, or that are parts of names."""
QUESTION_WORDS: Final = _pop("first words of questions")
"""First words of questions in languages other than English."""
FUNCTION_WORDS: Final = {name: word_set(" ".join(lines)) for name, lines in _LISTS.items()}
"""Function words of further languages by the name of the language, without accents."""
