"""The makers of the static table and of the synonyms run, on a WordNet of ten meanings."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from bethink.embedders import vocabulary
from bethink.embedders.static import DIMENSION, unpacked

MEANINGS = {
    "noun": [
        '00000001 05 n 02 child 0 kid 0 000 | a young person; "the kids play in the garden"',
        "00000002 03 n 02 doctor 0 physician 0 000 | a person who heals",
        "00000010 28 n 02 monday 0 friday 0 000 | a day of the week",
        "00000003 03 n 01 Rome 0 000 | a city in Italy",
    ],
    "verb": ["00000004 03 v 01 heal 0 000 | get healthy again"],
    "adj": [
        "00000005 00 a 01 hot 0 001 ! 00000006 a 0101 | having heat",
        "00000006 00 a 02 cold 0 chilly 0 001 ! 00000005 a 0101 | lacking heat",
        "00000007 00 s 02 two 0 2 0 000 | one more than one",
        "00000008 00 s 02 three 0 3 0 000 | one more than two",
    ],
    "adv": ["00000009 02 r 01 quickly 0 000 | with speed"],
}
TALK = {"prompt": "What did you do today?", "messages": [[{"text": "I walked in the garden"}]]}


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    return import_module("tests.making.static_table")


@pytest.fixture
def folder(tmp_path: Path, maker: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with both sources, small, and tell the maker what the files hash to."""
    with tarfile.open(tmp_path / "wordnet.tgz", "w:gz") as archive:
        for name, lines in MEANINGS.items():
            data = "\n".join(["  1 A licence.", *lines]).encode()
            member = tarfile.TarInfo(f"package/dict/data.{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    with zipfile.ZipFile(tmp_path / "talks.whl", "w") as archive:
        archive.writestr("chitchat_dataset/dataset.json", json.dumps({"1": TALK}))
    for constant, name in (("WORDNET", "wordnet.tgz"), ("CONVERSATIONS", "talks.whl")):
        source = (name, sha256((tmp_path / name).read_bytes()).hexdigest())
        monkeypatch.setattr(maker, constant, source)
    return tmp_path


def test_the_maker_of_the_table_reads_definitions_examples_and_turns(
    maker: ModuleType, folder: Path
) -> None:
    sentences = [*maker._glosses(folder), *maker._turns(folder)]
    assert {"child, kid: a young person", "the kids play in the garden"} < set(sentences)
    assert sentences[-2:] == maker._shuffled({TALK["prompt"], "I walked in the garden"})


@pytest.mark.slow
def test_the_maker_of_the_table_fits_cosines_and_sees_that_the_shipped_table_is_different(
    maker: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maker, "_BATCH", 4)
    sentences = [*maker._glosses(folder), *maker._turns(folder)]
    random = np.random.default_rng(0)
    goal = random.standard_normal((len(sentences), DIMENSION))
    goal /= np.linalg.norm(goal, axis=1, keepdims=True)
    np.save(folder / "sentences.npy", goal.astype(np.float16))
    words = random.standard_normal((len(vocabulary()), DIMENSION)).astype(np.float16)
    np.save(folder / "words.npy", words)
    with pytest.raises(SystemExit, match="another table"):
        maker.main(folder)

    def error(rows: np.ndarray) -> float:
        sums = np.array([rows[maker.word_pieces()(text)].sum(0) for text in sentences])
        unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return float(np.square(unit @ unit.T - goal @ goal.T).mean())

    codes, scale = unpacked(np.load(folder / "table.npy"))
    assert codes.shape == (len(vocabulary()), DIMENSION)
    monkeypatch.setattr(maker, "_EPOCHS", 0)
    untrained = maker.fitted(sentences, goal, words.astype(np.float32))
    assert error(codes * scale) < 0.8 * error(untrained)


def test_a_table_is_packed_to_within_half_a_step(maker: ModuleType) -> None:
    rows = np.random.default_rng(0).standard_normal((5, DIMENSION)).astype(np.float32)
    codes, scale = unpacked(maker.packed(rows))
    assert (np.abs(codes * scale - rows) <= scale * 0.51).all()
    maker._compare(maker.packed(rows), maker.packed(rows))


def test_a_different_source_of_the_same_name_is_refused(maker: ModuleType, folder: Path) -> None:
    (folder / "wordnet.tgz").write_bytes(b"another")
    with pytest.raises(SystemExit, match="not the file"):
        maker.checked(folder, maker.WORDNET)


def test_the_maker_of_synonyms_lists_near_words_but_no_opposites_numbers_or_names(
    folder: Path, maker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    synonyms = import_module("tests.making.synonyms")
    words = [
        "doctor",
        "physician",
        "hot",
        "cold",
        "chilly",
        "two",
        "three",
        "Rome",
        "monday",
        "friday",
        "the",
    ]
    monkeypatch.setattr(synonyms, "WORDNET", maker.WORDNET)
    monkeypatch.setattr(synonyms, "vocabulary", lambda: words)
    monkeypatch.setattr(synonyms, "FIRST_WORD", 0)
    monkeypatch.setattr(synonyms, "LIKENESS", 0.3)
    monkeypatch.setattr(synonyms, "FILE", folder / "synonyms.txt")
    synonyms.main(folder)
    lines = [line.split() for line in (folder / "synonyms.txt").read_text().splitlines()]
    found = {term: others for term, *others in lines}
    assert found["doctor"][0] == "physicia"
    assert found["cold"][0] == "chilli"
    assert not {"hot", "two", "three", "mondai", "fridai", "the"} & found.keys()
