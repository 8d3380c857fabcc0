"""Real short sentences from the text that ships with Python, in an order fixed by a seed.

Docstrings, messages and comments of the standard library are read without an import, cut into
sentences and deduplicated. Where Python ships too few sentences, more texts join the first half
of one real sentence to the second half of another.
"""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path

SHORTEST, LONGEST = 20, 200
_PROSE_SUFFIXES = frozenset({".py", ".txt", ".html", ".rst"})
_TESTS = frozenset({"test", "tests", "idle_test"})
_COMMENT = re.compile(r"^[ \t]*#+[ \t]?(.*)$", re.MULTILINE)
_MARKUP = re.compile(r"<[^>]{1,200}>")
_BLANK_LINES = re.compile(r"\n[ \t]*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+")
_WORD = re.compile(r"[A-Za-z]{2,}")
_PLAIN = re.compile(r"[A-Za-z ,.']")
_QUESTION_OPENINGS = ("what is", "how does", "where is", "why did", "when does", "who uses")
_QUESTION_WORDS = 8


@dataclass(frozen=True, slots=True)
class Corpus:
    """Distinct texts to store, more distinct texts to store later, and questions.

    *sentences* counts the texts taken whole from Python's own prose; every other text joins the
    halves of two sentences.
    """

    texts: list[str]
    fresh: list[str]
    questions: list[str]
    sentences: int


def build_corpus(size: int, *, fresh: int = 1000, questions: int = 200, seed: int = 7) -> Corpus:
    """Return *size* texts; *fresh* texts and the sources of *questions* are not among the texts."""
    held_out = fresh + questions
    pool = harvest(size + held_out, seed=seed)
    if len(pool) < held_out + min(size, held_out):
        raise ValueError(f"this Python ships only {len(pool)} usable sentences")
    sources, pool = pool[:questions], pool[questions:]
    later, pool = pool[:fresh], pool[fresh:]
    whole = pool[:size]
    joined = join_halves(pool, size - len(whole), taken={*pool, *later, *sources}, seed=seed)
    order = random.Random(seed)
    texts = whole + joined
    order.shuffle(texts)
    return Corpus(texts, later, [as_question(text, order) for text in sources], len(whole))


def harvest(limit: int, *, seed: int = 7, root: Path | None = None) -> list[str]:
    """Return up to *limit* distinct sentences found below *root* (default: the library)."""
    order = random.Random(seed)
    seen: dict[str, None] = {}
    for path in prose_files(root or Path(sysconfig.get_path("stdlib")), order):
        for passage in passages(path):
            seen.update(dict.fromkeys(sentences(passage)))
        if len(seen) >= 2 * limit:
            break
    found = list(seen)
    order.shuffle(found)
    return found[:limit]


def prose_files(root: Path, order: random.Random) -> list[Path]:
    """Return the files below *root* to read: shuffled, files of test suites last."""
    paths = sorted(
        path
        for path in root.rglob("*")
        if path.suffix in _PROSE_SUFFIXES and "site-packages" not in path.parts
    )
    order.shuffle(paths)
    return sorted(paths, key=lambda path: not _TESTS.isdisjoint(path.relative_to(root).parts))


def passages(path: Path) -> Iterator[str]:
    """Yield the pieces of prose in one file: strings and comments, or the whole text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    if path.suffix != ".py":
        yield unescape(_MARKUP.sub(" ", text)) if path.suffix == ".html" else text
        return
    yield from _strings(text)
    yield from _comments(text)


def _strings(source: str) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    yield from (value for value in constants if isinstance(value, str) and len(value) >= SHORTEST)


def _comments(source: str) -> Iterator[str]:
    """Yield runs of neighbouring comment lines."""
    run: list[str] = []
    end = 0
    for match in _COMMENT.finditer(source):
        if run and match.start() > end + 1:
            yield "\n".join(run)
            run = []
        run.append(match[1])
        end = match.end()
    if run:
        yield "\n".join(run)


def sentences(passage: str) -> Iterator[str]:
    """Yield the sentences of *passage* that are 20 to 200 characters of mostly plain words."""
    for paragraph in _BLANK_LINES.split(passage):
        for text in _SENTENCE_END.split(" ".join(paragraph.split())):
            if SHORTEST <= len(text) <= LONGEST and _reads_as_prose(text):
                yield text


def _reads_as_prose(text: str) -> bool:
    plain = len(_PLAIN.findall(text))
    return plain >= 0.8 * len(text) and len(_WORD.findall(text)) >= 4 and text.isprintable()


def join_halves(pool: Sequence[str], count: int, *, taken: Iterable[str], seed: int) -> list[str]:
    """Return *count* distinct texts: the first half of a sentence and the end of another.

    Raises ``ValueError`` if *pool* does not hold enough sentences to join.
    """
    order = random.Random(seed)
    seen = set(taken)
    joined: list[str] = []
    for _ in range(20 * count):
        if len(joined) == count:
            break
        head, tail = order.choice(pool).split(), order.choice(pool).split()
        text = " ".join(head[: len(head) // 2] + tail[len(tail) // 2 :])
        if SHORTEST <= len(text) <= LONGEST and text not in seen:
            seen.add(text)
            joined.append(text)
    if len(joined) < count:
        raise ValueError(f"{len(pool)} sentences give {len(joined)} joined texts, not {count}")
    return joined


def as_question(text: str, order: random.Random) -> str:
    """Return a question around up to eight words of *text* in a row."""
    words = _WORD.findall(text.lower())
    start = order.randint(0, max(0, len(words) - _QUESTION_WORDS))
    asked = words[start : start + _QUESTION_WORDS]
    return f"{order.choice(_QUESTION_OPENINGS)} {' '.join(asked)}?"
