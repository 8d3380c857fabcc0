"""Files of word lists: lines below names in brackets, and comments above the first name."""

from __future__ import annotations

import re
from pathlib import Path


def read_sections(path: Path) -> dict[str, list[str]]:
    """Return the lines of a file by the name of the section, without empty lines.

    A name stands alone on a line, as in "[NAME]". Lines before the first name are comments.
    """
    found = re.split(r"^\[(\w[^\n]*)\]$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    bodies = ([line for line in body.splitlines() if line] for body in found[1::2])
    return dict(zip(found[::2], bodies, strict=True))
