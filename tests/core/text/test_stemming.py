"""The English stemmer, held against the published definition step by step."""

from __future__ import annotations

import pytest

from bethink.text.stemming import stem

PAIRS = {
    "too short": "a a is is us us by by",
    "1a, plurals": "caresses caress ponies poni ties ti caress caress cats cat gas ga this thi",
    "1b, eed": "feed feed agreed agre proceed proce exceeds exce eed eed",
    "1b, ed": "plastered plaster bled bled conflated conflat troubled troubl sized size "
    "activated activ organized organ",
    "1b, ing": "motoring motor sing sing evening even dying dy king king ing ing",
    "1b, doubles": "hopping hop tanned tan falling fall hissing hiss fizzed fizz added ad "
    "rubbed rub stuffed stuf begged beg dimmed dim dropped drop stirred stir knitted knit",
    "1b, short words": "failing fail filing file hoping hope boxing box snowed snow freeing free",
    "1c, vowel y": "happy happi sky sky cry cry flying fly",
    "1c, consonant y": "say sai enjoyed enjoi yes ye yyy yyi",
    "2, l": "relational relat operational oper conditional condit rational ration "
    "radically radic vilely vile conformably conform differently differ "
    "analogously analog quickly quickli",
    "2, c z o": "valency valenc hesitancy hesit digitizer digit digitization digit "
    "predication predic operator oper",
    "2, s t": "feudalism feudal nationalism nation decisiveness decis talkativeness talk "
    "hopefulness hope callousness callous formality formal nationality nation "
    "sensitivity sensit sensibility sensibl",
    "3": "triplicate triplic communicate commun formative form formalize formal "
    "nationalize nation electricity electr electrical electr hopeful hope goodness good",
    "4": "revival reviv allowance allow inference infer airliner airlin gyroscopic gyroscop "
    "adjustable adjust defensible defens irritant irrit replacement replac adjustment adjust "
    "dependent depend communism commun activate activ angularity angular homologous homolog "
    "effective effect bowdlerize bowdler",
    "4, ion": "adoption adopt decision decis onion onion billion billion",
    "5a": "probate probat rate rate cease ceas tree tree",
    "5b": "controlling control roll roll michelle michel",
    "regions": "cement cement element element ability abil university univers",
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
    assert len({stem(w) for w in ("rate", "ration", "cement", "cent", "singer", "sing")}) == 6
