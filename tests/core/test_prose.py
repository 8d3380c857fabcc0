"""Docstrings and pages are plain English: sentences have nouns in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
POINTERS = re.compile(
    "it|its|itself|that|this|these|those|which|what|whatever|whichever|whose|whoever|who|one|ones|"
    "others?|another|such|same|they|them|theirs?|there|here|former|latter"
)
MAX_SHARE: Final = 0.06  # of pointer words among all words


def words(prose: str) -> list[str]:
    """Return the words of *prose*, lower-cased, without code in backticks."""
    return re.findall(r"[a-z]+(?:'[a-z]+)?", re.sub(r"`[^`]*`", " ", prose).lower())


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value.value if isinstance(node.value.value, str) else ""


def share(found: list[str]) -> float:
    """Return the share of pointer words, in [0, 1]."""
    return sum(POINTERS.fullmatch(word) is not None for word in found) / max(1, len(found))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["core", "adapters"])
def test_docstrings_have_nouns(folder: str) -> None:
    paths = sorted((ROOT / folder).glob("**/*.py"))
    found = [word for path in paths for prose in docstrings(path) for word in words(prose)]
    assert share(found) <= MAX_SHARE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_have_nouns(page: Path) -> None:
    prose = re.sub(r"```.*?```", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert share(words(prose)) <= MAX_SHARE


def test_pointer_words_count_outside_code_only() -> None:
    assert share(words("It says `it` of the others")) == 2 / 5
