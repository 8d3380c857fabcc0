"""The English stemmer, held against the published definition step by step."""

from __future__ import annotations

import pytest

from bethink.stemming import stem

PAIRS = {
    "too short": "a a is is",
    "apostrophes": "'tis tis dog's dog dogs' dog boys's' boy 'em em",
    "whole words": "skies sky skis ski sky sky news news ugly ugli gently gentl bias bias",
    "plurals": "caresses caress ties tie cries cri gas gas this this gaps gap kiwis kiwi bus bus",
    "eed": "agreed agre feed feed proceed proceed succeedly succeed exceeds exceed",
    "ed and ing": "luxuriating luxuri troubled troubl sized size hopping hop hoping hope",
    "kept doubles": "adding add egged egg offing off falling fall",
    "kept ing": "dying die lyings lie flying fli evening evening herrings herring sing sing",
    "final y": "cry cri by by say say happy happi yellow yellow enjoyed enjoy",
    "past": "past past pasted paste pasting paste universe univers university universiti",
    "regions": "general general generate generat communism communism later later organic organic",
    "step 2": "rational ration conditional condit valenci valenc differently differ",
    "step 2, more": "operator oper feudalism feudal hopefulness hope formality formal "
    "digitizer digit geology geolog geologist geolog quickly quick",
    "step 3": "electrical electr electricity electr formative format goodness good hopeful hope",
    "step 4": "revival reviv allowance allow adoption adopt replacement replac effective effect",
    "step 5": "probate probat rate rate cease ceas controlling control roll roll",
}
CASES = [
    pytest.param(word, expected, id=f"{rule}: {word}")
    for rule, text in PAIRS.items()
    for word, expected in zip(text.split()[::2], text.split()[1::2], strict=True)
]


@pytest.mark.parametrize(("word", "expected"), CASES)
def test_word_is_cut_as_published(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_forms_of_one_word_meet() -> None:
    assert len({stem(w) for w in ("connect", "connected", "connecting", "connection")}) == 1


def test_words_that_only_look_alike_stay_apart() -> None:
    assert len({stem(w) for w in ("universe", "university", "news", "new", "even", "evening")}) == 6
