"""Words, search terms, dates and token estimates."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.text import (
    date_words,
    ends_asking,
    estimate_tokens,
    query_terms,
    rough_tokens,
    stems,
    terms,
    words,
)

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
        ("... !? 🎉", ""),
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


@pytest.mark.parametrize(
    ("record", "query"), [("重跑测试", "跑"), ("학교에 간다", "교"), ("猫", "猫")]
)
def test_one_character_finds_the_text_it_stands_in(record: str, query: str) -> None:
    assert set(query_terms(query)) <= set(terms(record))


def test_queries_have_pairs_and_single_characters() -> None:
    assert query_terms("重跑测试") == ["重跑", "跑测", "测试", "重", "跑", "测", "试"]
    assert query_terms("학교에 간다") == ["학교", "교에", "학", "간다", "간"]
    assert terms("重跑重跑") == ["重跑", "跑重", "重跑", "重", "跑"]


def test_terms_are_stems_of_plain_words_only() -> None:
    assert terms("Deploying servers naïvely v2beta") == ["deploi", "server", "naiv", "v2beta"]


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
    ],
)
def test_terms_are_what_most_forms_of_a_word_have_in_common(text: str, expected: str) -> None:
    assert terms(text) == expected.split()


def test_stems_are_whole() -> None:
    assert stems("Infrastructures серверы 猫が") == ["infrastructur", "серверы", "猫が", "猫"]


@given(ANY_SCRIPT)
def test_composed_and_decomposed_text_give_the_same_terms(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    assert {tuple(terms(form)) for form in forms} == {tuple(terms(text))}


@given(ANY_SCRIPT)
def test_a_text_is_found_by_all_of_itself(text: str) -> None:
    assert set(query_terms(text)) <= set(terms(text))
    assert bool(query_terms(text)) == bool(terms(text))


@given(st.text(st.characters(codec="ascii")))
def test_case_does_not_matter_to_words_without_humps(text: str) -> None:
    assert words(text.upper()) == words(text.lower())


@pytest.mark.parametrize("char", ["\u200b", "\n", "\u3000", "—", "/", "|"])
def test_separators_separate(char: str) -> None:
    assert words(f"left{char}right") == ["left", "right"]


@pytest.mark.parametrize("char", ["\u00ad", "\u200d", "\ufeff", "\u2060"])
def test_invisible_characters_vanish(char: str) -> None:
    assert words(f"le{char}ft") == ["left"]


def test_very_long_words_are_kept_whole() -> None:
    blob = "aB" * 50_000
    assert words(blob) == [blob.lower()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What does Anna's sister do for a living?", "anna sister live"),
        ("I don't know who'll come", "know come"),
        ("deploy deploys deployed", "deploi"),
        ("Is the to-do list done", "todo list done"),
        ("What did José say about Zoë?", "jose sai zoe"),
        ("How many dogs and how much money?", "dog monei"),
        ("how much", "how much"),
        ("it is what it is", "it is what"),
    ],
)
def test_query_drops_repeats_and_words_that_say_nothing(query: str, expected: str) -> None:
    assert query_terms(query) == expected.split()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What happened in May 2023?", "happen mai 2023"),
        ("when is 8 may", "8 mai"),
        ("who may enter", "enter"),
        ("Who moved to the US", "move us"),
        ("when did Will call us", "will call"),
        ("WHO IS THE PRESIDENT", "presid"),
    ],
)
def test_names_that_look_like_stop_words_stay(query: str, expected: str) -> None:
    assert query_terms(query) == expected.split()


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("was ist mit dem Auto", "was"),
        ("où est-ce que tu vas on", "on"),
        ("¿quién es el no", "no"),
        ("mẹ ăn gì at", "at"),
        ("我的 it 部门", "it"),
    ],
)
def test_other_languages_keep_words_that_look_english(query: str, kept: str) -> None:
    assert set(terms(kept)) <= set(query_terms(query))


def test_accented_words_are_never_english_stop_words() -> None:
    assert query_terms("where is the mẹ") == ["me"]


@pytest.mark.parametrize(
    "text",
    ["which one?", 'she said "why?" ', "really?!", "**what now?**", "\u7f8e\uff1f", "لماذا؟"],
)
def test_a_question_ends_with_its_mark(text: str) -> None:
    assert ends_asking(text)


@pytest.mark.parametrize("text", ["", "!", "which one", "why? because", "x?y"])
def test_other_text_does_not_ask(text: str) -> None:
    assert not ends_asking(text)


def test_date_is_spelled_in_utc_as_search_terms() -> None:
    assert date_words(1683504000.0) == terms("8 May 2023")
    assert date_words(1683504000.0 - 1, weekday=True) == terms("Sunday, 7 May 2023")
    assert set(date_words(0)) <= set(terms("1 January 1970"))


@pytest.mark.parametrize("moment", [1e18, -1e18, float("inf"), float("nan")])
def test_date_outside_the_calendar_has_no_words(moment: float) -> None:
    assert date_words(moment) == []


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("12345678", 2), ("用户喜欢", 4), ("Привет", 3), ("é", 1)],
)
def test_tokens_are_estimated_by_script(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_token_estimate_never_shrinks_as_text_grows(left: str, right: str) -> None:
    assert estimate_tokens(left) <= estimate_tokens(left + right) <= sys.maxsize
    assert bool(left) == bool(estimate_tokens(left))
    assert rough_tokens(left + right) == rough_tokens(left) + rough_tokens(right)
