"""Word pieces: how texts become words, and words the pieces of a vocabulary."""

from __future__ import annotations

import pytest

from bethink.embedders.static import wordpiece
from bethink.embedders.static.wordpiece import UNKNOWN, WordPieces, split, vocabulary

PIECES = ["a", "ab", "##b", "##bc", "##c", "b", "d"]


def cut(text: str, pieces: list[str] = PIECES) -> list[str]:
    """Return the pieces of *text*, "?" for an unknown piece."""
    return ["?" if n == UNKNOWN else pieces[n] for n in WordPieces(pieces)(text)]


def words(text: str) -> list[str]:
    return [word for word in split(text) if word]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ab", "ab"),
        ("abc", "ab ##c"),
        ("abbc", "ab ##bc"),
        ("b", "b"),
        ("ba", "?"),
        ("adab", "?"),
        ("ab d", "ab d"),
        ("ab e d", "ab ? d"),
    ],
)
def test_a_word_is_cut_from_the_left_into_the_longest_pieces(word: str, expected: str) -> None:
    assert cut(word) == expected.split()


def test_the_unknown_piece_is_the_vocabularys() -> None:
    assert vocabulary()[UNKNOWN] == "[UNK]"


@pytest.mark.parametrize(("length", "known"), [(99, True), (100, True), (101, False)])
def test_words_of_more_than_a_hundred_characters_are_unknown(length: int, known: bool) -> None:
    assert cut("a" + "b" * (length - 1)) == (["ab", *["##b"] * (length - 2)] if known else ["?"])


def test_the_pieces_of_a_word_are_cached_and_never_those_of_too_many_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wordpiece, "_KEPT_WORDS", 2)
    pieces = WordPieces(PIECES)
    sizes = []
    for text in ("a", "a", "b", "d", "ab"):
        pieces(text)
        sizes.append(len(pieces))
    assert sizes == [1, 1, 2, 1, 2]


@pytest.mark.parametrize("space", [*" \t\n\r\u00a0\u1680\u2003\u2028\u2029\u202f\u3000"])
def test_every_kind_of_space_separates_words(space: str) -> None:
    assert words(f"a{space}b") == ["a", "b"]


@pytest.mark.parametrize(
    "character",
    [
        *("\x00", "\x07", "\x0b", "\x7f", "\x85"),  # control characters
        *("\u00ad", "\u200b", "\u200d", "\ufeff"),  # format characters
        *("\ue000", "\U000f0000"),  # private use
        *("\ud800", "\udfff"),  # halves of a surrogate pair
        "\ufffd",  # the replacement character
    ],
)
def test_characters_without_a_shape_vanish_inside_words(character: str) -> None:
    assert words(f"a{character}b") == ["ab"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Crème BRÛLÉE", "creme brulee"),
        ("e\u0301a", "ea"),
        ("Å Ñ ü", "a n u"),
        ("İstanbul Straße ΔΔ", "istanbul straße δδ"),
        ("ﬁ ² ½", "ﬁ ² ½"),
        ("का", "का"),
        ("한", "\u1112\u1161\u11ab"),
    ],
)
def test_words_lose_case_and_accents_and_nothing_more(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    "mark", [*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", *"\u2014\u00ab\u201c\u2019\u203f"]
)
def test_marks_stand_alone(mark: str) -> None:
    assert words(f"a{mark}b") == ["a", mark, "b"]


@pytest.mark.parametrize("sign", [*"€£©°±¬→", "\u0378"])
def test_signs_outside_ascii_stay_in_the_word(sign: str) -> None:
    assert words(f"a{sign}b") == [f"a{sign}b"]


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0x3400, 0x4DBF),
        (0x4E00, 0x9FFF),
        (0xF900, 0xFAFF),
        (0x20000, 0x2A6DF),
        (0x2A700, 0x2B81F),
        (0x2B920, 0x2CEAF),
        (0x2F800, 0x2FA1F),
    ],
)
def test_ideographs_stand_alone_to_the_ends_of_each_block(first: int, last: int) -> None:
    for code in (first, last):
        before, middle, after = words(f"a{chr(code)}b")
        assert (before, len(middle), after) == ("a", 1, "b")


@pytest.mark.parametrize(
    "code", [0x33FF, 0x4DC0, 0xA000, 0xFB00, 0x2A6E0, 0x2B820, 0x2CEB0, 0x2FA20]
)
def test_characters_beside_the_blocks_of_ideographs_stay_in_the_word(code: int) -> None:
    assert len(words(f"a{chr(code)}b")) == 1


@pytest.mark.parametrize("text", ["ひらがな", "カタカナ", "ไทย"])
def test_letters_of_unspaced_scripts_stay_in_the_word(text: str) -> None:
    assert len(words(text)) == 1
