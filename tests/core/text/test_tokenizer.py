"""Words and search terms."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.text import stems, terms, words
from bethink.text.tokenizer import LONGEST_IDENTIFIER, split, token_terms

ANY_SCRIPT = st.text(
    st.characters(max_codepoint=0x3FF)
    | st.characters(min_codepoint=0x370, max_codepoint=0x11FF)
    | st.characters(min_codepoint=0x1E00, max_codepoint=0x31FF)
    | st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)
    | st.sampled_from("aeiouAEIOU'-_.,0123456789 \u0301\u0308\u3099がパ각한ñÅй")
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", "hello world"),
        ("Zoë's CAFÉ", "zoe cafe"),
        ("Straße İstanbul \u0131spanak Łódź", "strasse istanbul ispanak lodz"),
        ("\uff21\uff22 ﬁn ①", "ab fin 1"),
        ("Ёлка Ὀδυσσεύς", "елка οδυσσευσ"),
        ("हिन्दी में", "हिन्दी में"),
        ("مُحَمَّد שָׁלוֹם", "محمد שלום"),
        ("أحمد إلى مدرسة مستشفى کتاب", "احمد الي مدرسه مستشفي كتاب"),
        ("क़िताब माँ", "किताब मां"),
        ("١٢٣ ๑๒", "123 12"),
        ("3.5 1,000 1,234.50 v1.2.3 5.2GB", "3.5 1000 1234.50 v 1.2.3 5.2 gb"),
        ("2023-05-08", "2023 05 08"),
        ("", ""),
        ("... !? → ├─ ≠", ""),
        ("C++, C# (not C)", "c++ c# not c"),
        ("é C# i++ C++20 a#b issue #12 x+y", "e c# i++ c++ 20 a b issue 12 x y"),
        ("用C++写 A+++ PR# C##", "用 c++ 写 a pr c"),
        ("party 🎉! ok👍🏽 ❤️ 🇩🇪🇩🇰", "party 🎉 ok 👍 ❤ 🇩🇪 🇩🇰"),
        ("👩🏽‍💻👩 👨‍👩‍👧‍👦 ❶", "👩‍💻 👩 👨‍👩‍👧‍👦 ❶"),
    ],
)
def test_words_are_folded_and_split(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't can\u2019t", "dont cant"),
        ("I'll we're she'd I'm you've", "i we she i you"),
        ("Anna's dogs' o'clock", "anna dogs oclock"),
        ("l'homme d'accord", "homme accord"),
        ("rock'n'roll", "rocknroll"),
    ],
)
def test_apostrophes_leave_the_word_behind(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    ("forms", "stop"),
    [
        ("use used uses using", "us"),
        ("one ones", "on"),
        ("ate", "at"),
        ("herring herrings", "her"),
        ("willing willed", "will"),
        ("mines mining", "mine"),
    ],
)
def test_no_word_meets_a_stop_word_by_its_stem(forms: str, stop: str) -> None:
    (form,) = set(terms(forms))
    assert [form] != terms(stop)


@pytest.mark.parametrize("name", ["max-retries", "max_retries", "maxRetries", "MAX_RETRIES"])
def test_identifier_gives_its_parts_and_the_whole(name: str) -> None:
    assert words(name) == ["max", "retries", "maxretries"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", "http server httpserver"),
        ("iPhone TVs", "phone iphone tvs"),
        ("__init__", "init"),
        ("Wi-Fi", "wi fi wifi"),
        ("10-20", "10 20"),
    ],
)
def test_compounds_are_cut_where_a_reader_would(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize("long", [LONGEST_IDENTIFIER, LONGEST_IDENTIFIER + 1])
def test_only_what_is_short_enough_to_be_a_name_is_cut_like_one(long: int) -> None:
    joined, humps = "x" * 31 + "-" + "y" * (long - 32), "Ab" * 31 + "C" * (long - 62)
    is_name = long == LONGEST_IDENTIFIER
    assert (joined.replace("-", "") in words(joined)) is is_name
    assert ("ab" in words(humps)) is is_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("重跑gen-itgc后", "重跑 gen itgc genitgc 后"),
        ("東京タワー", "東京 京タ タワ ワー"),
        ("나는 학교에", "나는 학교 교에"),
        ("ภาษา", "ภา าษ ษา"),
        ("猫", "猫"),
    ],
)
def test_unspaced_scripts_become_pairs(text: str, expected: str) -> None:
    assert words(text) == expected.split()


def test_terms_are_stems_of_plain_words_only() -> None:
    assert terms("Deploying servers naïvely v2beta") == ["deploi", "server", "naiv", "v2beta"]


@given(st.text(st.characters(codec="ascii")))
def test_terms_of_a_plain_text_are_those_of_its_chunks(text: str) -> None:
    assert terms(text) == [term for chunk in split(text) for term in token_terms(chunk)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("infrastructure infrastructures", "infrastr infrastr"),
        ("Geburtstag Geburtstagsgeschenk", "geburtst geburtst"),
        ("Кошками кошку сон", "кошк кошк сон"),
        ("σκύλος σκύλους", "σκυλ σκυλ"),
        ("المدرسة والمدرسة مدرستي للمدرسة", "مدرس مدرس مدرس مدرس"),
        ("वर्षों वर्ष", "वर्ष वर्ष"),
        ("Жюль2024 1234567890", "жюль2024 1234567890"),
        ("1st 22nd 3rd 111th 12th1", "1 22 3 111 12th1"),
    ],
)
def test_terms_are_what_most_forms_of_a_word_have_in_common(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


def test_stems_are_whole() -> None:
    assert stems("Infrastructures серверы 猫が") == ["infrastructur", "серверы", "猫が", "猫"]


@pytest.mark.slow
@given(ANY_SCRIPT)
def test_composed_and_decomposed_text_give_the_same_terms(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert {tuple(terms(form)) for form in forms} == {tuple(terms(text))}


@given(st.text(st.characters(codec="ascii")))
def test_case_does_not_matter_to_words_without_humps(text: str) -> None:
    assert words(text.upper()) == words(text.lower())


@pytest.mark.parametrize("char", ["\u200b", "\n", "\u3000", "—", "/", "|"])
def test_separators_separate(char: str) -> None:
    assert words(f"left{char}right") == ["left", "right"]


@pytest.mark.parametrize("char", ["\u00ad", "\u200d", "\ufeff", "\u2060"])
def test_invisible_characters_vanish(char: str) -> None:
    assert words(f"le{char}ft") == ["left"]


@pytest.mark.parametrize("emoji", ["👩🏽‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪", "❤️", "👍"])
def test_an_emoji_is_one_term(emoji: str) -> None:
    assert len(terms(emoji)) == 1
    assert terms(f"a{emoji}{emoji}b") == ["a", *terms(emoji), *terms(emoji), "b"]


def test_stems_have_neither_signs_nor_emoji() -> None:
    assert stems("C++ parties 🎉, Zoë likes C#") == ["c", "parti", "zoe", "like", "c"]
    assert stems("C++ and F#") == ["c", "and", "f"]


def test_very_long_words_are_kept_whole() -> None:
    blob = "aB" * 50_000
    assert words(blob) == [blob.lower()]
