"""The static table: how texts are cut into word pieces, and what their vectors tell."""

from __future__ import annotations

import pickle
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bethink.embedders.static
from bethink import MemoryStore
from bethink.embedders import Embedder
from bethink.embedders.static import StaticEmbedder, word_pieces
from bethink.embedders.static.wordpiece import WordPieces, split, vocabulary
from bethink.errors import ValidationError

HERE = Path(bethink.embedders.static.__file__).parent
TABLE = "1ab209597a6b59c4433dd581555d035995bff37ea7469971b9eb064431f07fa9"


NAMES = vocabulary()


def pieces(text: str) -> list[str]:
    return [NAMES[number] for number in word_pieces()(text)]


def cosine(left: str, right: str) -> float:
    one, other = StaticEmbedder().embed([left, right])
    return float(one @ other)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Hello, World!", "hello , world !"),
        ("unaffordable embeddings", "una ##ff ##ord ##able em ##bed ##ding ##s"),
        ("Kubernetes 1.29", "ku ##ber ##net ##es 1 . 29"),
        ("Crème brûlée", "cr ##eme br ##ule ##e"),
        ("don't", "don ' t"),
        ("one\u2014two \u00abx\u00bb \u0301", "one \u2014 two \u00ab x \u00bb"),
        ("naïve\u200b\x00 co-op\u2028x\ty", "naive co - op x y"),
        ("図書館", "[UNK] 書 [UNK]"),
        ("한국", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ"),
        ("🙂 ok", "[UNK] ok"),
        ("a" * 101, "[UNK]"),
        ("lone \ud800 half", "lone half"),
        ("[MASK]", "[ mask ]"),
    ],
)
def test_texts_are_cut_as_bert_cuts_them(text: str, expected: str) -> None:
    assert pieces(text) == expected.split()


@pytest.mark.slow
@given(st.text())
def test_pieces_put_together_are_the_words_again(text: str) -> None:
    for word in split(text):
        cut = pieces(word)
        assert cut in ([], ["[UNK]"]) or "".join(p.removeprefix("##") for p in cut) == word


@pytest.mark.slow
def test_pieces_of_more_words_than_are_kept_stay_right() -> None:
    cut = WordPieces(vocabulary())
    before = cut("remember the milk")
    cut(" ".join(f"x{number}" for number in range((1 << 16) - 3)))
    assert len(cut) == 1 << 16
    assert cut("one more") == WordPieces(vocabulary())("one more")
    assert len(cut) == 2
    assert cut("remember the milk") == before


IDEOGRAPHS = (
    "\u3400\u4dbf \u4e00\u9fff \uf900\ufaff \U00020000\U0002a6df \U0002a700\U0002b73f "
    "\U0002b740\U0002b81f \U0002b920\U0002ceaf \U0002f800\U0002fa1f"
)
"""The first and the last character of each block of BERT's ideographs."""
OUTSIDE = (
    "\u33ff \u4dc0 \u4dff \ua000 \ufb00 \U0002a6e0 \U0002a6ff \U0002b820 \U0002b91f \U0002ceb0 "
    "\U0001ffff \U0002f7ff \U0002fa20"
)
"""The neighbours of the blocks, as far as they are no punctuation."""


@pytest.mark.parametrize("character", IDEOGRAPHS.replace(" ", ""))
def test_an_ideograph_is_a_word_of_its_own(character: str) -> None:
    (_, word, _) = split(f"a{character}b")
    assert word == unicodedata.normalize("NFD", character)


@pytest.mark.parametrize("character", OUTSIDE.split())
def test_what_is_no_ideograph_is_part_of_a_word(character: str) -> None:
    assert len(split(f"a{character}b")) == 1


def test_the_longest_word_that_is_spelled_has_a_hundred_letters() -> None:
    assert pieces("a" * 100) != ["[UNK]"]
    assert pieces("a" * 101) == ["[UNK]"]


def test_a_mark_of_unreadable_bytes_leaves_the_word_whole() -> None:
    assert split("mi\ufffdlk \ufffd") == ["milk", ""]
    whole, marked = StaticEmbedder().embed(["the milk", "the mi\ufffdlk"])
    assert np.array_equal(whole, marked)


def test_the_table_is_the_one_the_vectors_are_named_after() -> None:
    assert sha256((HERE / "table.npy").read_bytes()).hexdigest() == TABLE
    assert StaticEmbedder().name == "static-minilm-128-v1"


def test_vectors_are_the_same_everywhere() -> None:
    row = StaticEmbedder().embed(["Remember the milk, 猫 and тёмная"])[0]
    assert row[:4].tolist() == pytest.approx([-0.126649, -0.070915, -0.107708, 0.037741], abs=1e-6)


@pytest.mark.slow
@given(st.lists(st.text(), max_size=6))
def test_a_batch_gives_what_each_text_gives(texts: list[str]) -> None:
    embedder = StaticEmbedder()
    batch = embedder.embed(texts)
    assert batch.shape == (len(texts), embedder.dimension)
    assert batch.dtype == np.float32
    for row, text in zip(batch, texts, strict=True):
        assert np.array_equal(row, embedder.embed([text])[0])
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5) or not row.any()


def test_more_texts_than_a_block_keep_their_order() -> None:
    texts = [f"text number {n}" for n in range(1200)]
    rows = StaticEmbedder().embed(texts)
    assert np.array_equal(rows[1100], StaticEmbedder().embed([texts[1100]])[0])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("which pets do we have", "We adopted two kittens from the animal shelter"),
        ("favourite drink", "He prefers tea over coffee after lunch"),
        ("what instrument does he play", "I am learning the cello on weekends"),
        ("automobile repair", "the mechanic fixed my car"),
    ],
)
def test_texts_that_mean_the_same_are_above_the_floor(left: str, right: str) -> None:
    assert cosine(left, right) > StaticEmbedder.floor


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("User prefers dark mode", "the release train leaves on Fridays"),
        ("how do quarks bind inside a proton", "My sister is allergic to peanuts"),
        ("What is it about?", "the weather was nice on that day"),
        ("Wie entstehen Vulkane", "Am Wochenende lerne ich Cello spielen"),
        ("qui a gagné l'olympiade d'échecs", "Ma sœur est allergique aux cacahuètes"),
    ],
)
def test_unrelated_texts_are_below_the_floor(left: str, right: str) -> None:
    assert cosine(left, right) < StaticEmbedder.floor


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "我妹妹对花生和贝类过敏",
        "妹はピーナッツにアレルギーがあります",
        "여동생은 땅콩에 알레르기가 있어요",
        "Моя сестра не ест арахис",
        "أختي لديها حساسية من الفول السوداني",
        "🙂🎉",
    ],
)
def test_scripts_the_table_does_not_know_give_zeros_rather_than_noise(text: str) -> None:
    assert not StaticEmbedder().embed([text]).any()


def test_english_inside_another_script_still_counts() -> None:
    assert cosine("我的 allergy 很严重", "allergy") > 0.99


def test_of_a_long_text_the_beginning_counts() -> None:
    one, other = StaticEmbedder().embed(["cat " * 4096, "cat " * 4096 + "train " * 9999])
    assert np.array_equal(one, other)


@pytest.mark.parametrize("texts", ["one string", [1], [None]])
def test_only_lists_of_strings_are_embedded(texts: list[str]) -> None:
    with pytest.raises(ValidationError):
        StaticEmbedder().embed(texts)


def test_it_is_an_embedder_that_can_be_pickled() -> None:
    embedder = pickle.loads(pickle.dumps(StaticEmbedder()))
    assert isinstance(embedder, Embedder)
    assert embedder.dimension == 128
    assert repr(embedder) == "StaticEmbedder()"


def test_threads_get_the_same_vectors() -> None:
    texts = [f"memory {n} of cats and trains" for n in range(400)]
    expected = StaticEmbedder().embed(texts)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: StaticEmbedder().embed(texts), range(8)))
    assert all(np.array_equal(rows, expected) for rows in found)


@pytest.mark.slow
def test_making_one_reads_nothing_from_disk() -> None:
    code = (
        "from bethink.embedders import static\n"
        "static.StaticEmbedder().dimension\n"
        "print(static._table.cache_info().currsize, static.word_pieces.cache_info().currsize)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


def test_a_store_recalls_by_meaning_and_returns_nothing_unrelated() -> None:
    with MemoryStore(embedder=StaticEmbedder()) as store:
        store.store("We adopted two kittens from the animal shelter")
        store.store("Our flight to Lisbon leaves on Friday morning")
        found = store.recall("what pets live with us?")
        assert [hit.memory.content for hit in found] == [
            "We adopted two kittens from the animal shelter"
        ]
        assert store.recall("how do quarks bind?") == []
