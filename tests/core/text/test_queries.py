"""What a query is after."""

from __future__ import annotations

import pytest
from hypothesis import given

from bethink import MemoryStore
from bethink.text import read_query, terms
from bethink.text.queries import MAX_FUZZY_TERMS

from .test_tokenizer import ANY_SCRIPT


@pytest.mark.parametrize(
    ("record", "query"), [("重跑测试", "跑"), ("학교에 간다", "교"), ("猫", "猫")]
)
def test_one_character_finds_the_text_it_stands_in(record: str, query: str) -> None:
    assert set(read_query(query).terms) <= set(terms(record))


def test_queries_have_pairs_and_single_characters() -> None:
    assert read_query("重跑测试").terms == ["重跑", "跑测", "测试", "重", "跑", "测", "试"]
    assert read_query("학교에 간다").terms == ["학교", "교에", "학", "간다", "간"]
    assert terms("重跑重跑") == ["重跑", "跑重", "重跑", "重", "跑"]


@given(ANY_SCRIPT)
def test_a_text_is_found_by_all_of_itself(text: str) -> None:
    assert set(read_query(text).terms) <= set(terms(text))
    assert bool(read_query(text).terms) == bool(terms(text))


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
    assert read_query(query).terms == expected.split()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What happened in May 2023?", "happen mai 2023"),
        ("when is 8 may", "8 mai"),
        ("the 8th may", "8 mai"),
        ("what is on may 8th", "mai 8"),
        ("Will it rain", "rain"),
        ("May we start", "start"),
        ("ask Will", "ask will"),
        ("who may enter", "enter"),
        ("Who moved to the US", "move us"),
        ("when did Will call us", "will call"),
        ("WHO IS THE PRESIDENT", "presid"),
        ("WHERE DO WE BOARD AT 7?", "board 7"),
        ("WHO IS THE CHEF IN \u6771\u4eac", "chef \u6771\u4eac \u6771 \u4eac"),
    ],
)
def test_names_that_look_like_stop_words_stay(query: str, expected: str) -> None:
    assert read_query(query).terms == expected.split()


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("wo ist die IT", "it"),
        ("où est-ce que tu vas on", "on"),
        ("¿quién es el no", "no"),
        ("mẹ ăn gì at", "at"),
        ("我的 it 部门", "it"),
        ("où est Will", "will"),
    ],
)
def test_other_languages_keep_words_that_look_english(query: str, kept: str) -> None:
    assert set(terms(kept)) <= set(read_query(query).terms)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Welche Schuhgröße hat Lena?", "schuhgro lena"),
        ("Où est la clé du garage ?", "cle garag"),
        ("¿Cuándo es la fiesta?", "fiesta"),
        ("wo ist der", "wo ist der"),
    ],
)
def test_function_words_of_other_languages_say_nothing(query: str, expected: str) -> None:
    assert read_query(query).terms == expected.split()


def test_an_iso_date_also_asks_for_the_day_that_stands_beside_a_memory() -> None:
    assert read_query("on 2024-06-03?").terms == ["2024", "06", "03", "3", "june"]
    assert read_query("2024-13-03").terms == ["2024", "13", "03"]


def test_as_many_words_of_english_as_of_others_make_an_english_query() -> None:
    assert read_query("the und report").terms == ["und", "report"]


def test_emoji_do_not_make_a_query_foreign() -> None:
    assert read_query("when is the party 🎉🎉🎉").terms == ["parti", "🎉"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When is the standup? 😀", "standup"),
        ("Heavy rain!❤️ 👩🏽‍💻", "heavi rain"),
        ("什么茶\uff1f🍵", "什么 么茶 什 么 茶"),
        ("who sent 😀", "sent 😀"),
        ("is 😀 sad?", "😀 sad"),
        ("?! 😀", "😀"),
    ],
)
def test_emoji_behind_a_sentence_are_no_subject(query: str, expected: str) -> None:
    assert read_query(query).terms == expected.split()


def test_names_with_signs_and_emoji_are_found() -> None:
    with MemoryStore() as store:
        store.store_many(
            [
                "C++ code has two spaces and no tabs, see the wiki of the platform team",
                "C# is used by the desktop team",
                "C is used by the firmware team",
                "👍",
                "party 🎉 tonight",
            ]
        )

        def first(query: str) -> str:
            return store.recall(query, mode="keyword")[0].content

        assert [first(query)[:2] for query in ("C++", "c#", "C")] == ["C+", "C#", "C "]
        assert [first(query)[:5] for query in ("👍🏽", "🎉")] == ["👍", "party"]


def test_accented_words_are_never_english_stop_words() -> None:
    assert read_query("where is the mẹ").terms == ["me"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Where did I put the key?", False),
        ("What did you say about the key?", True),
        ("Where have we put OUR key", True),
        ("what the AI said", True),
        ("key of the house", False),
        ("key and house", False),
        ("key house", True),
        ("wo ist der Schlüssel", True),
        ("钥匙在哪里", True),
        ("", True),
    ],
)
def test_a_question_in_english_is_after_replies_only_if_it_speaks_of_them(
    query: str, expected: bool
) -> None:
    assert read_query(query).about_replies is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("When did Ann move?", True),
        ("when's the standup", True),
        ("When\u2019s the standup?", True),
        ("Since when have you been painting?", True),
        ("What time is it?", True),
        ("Which year was that?", True),
        ("How long has she been away?", True),
        ("What did she say when we met?", False),
        ("What did she say whenever did it rain?", False),
        ("How longingly?", False),
        ("Somewhat time is left", False),
        ("Wann ist der Termin?", False),
        ("", False),
    ],
)
def test_a_question_in_english_may_be_after_a_time(query: str, expected: bool) -> None:
    assert read_query(query).about_times is expected


def test_a_query_knows_the_synonyms_of_its_words() -> None:
    assert list(read_query("What do the kids need?").synonyms) == ["kid", "need"]
    assert list(read_query("kids").synonyms) == ["kid"]


@pytest.mark.parametrize("query", ["wo ist die kids zone", "孩子 kids", "xyzzy", ""])
def test_a_query_in_another_language_has_no_synonyms(query: str) -> None:
    assert not read_query(query).synonyms


def test_a_long_text_is_searched_without_guesses_at_the_spelling() -> None:
    words = [f"wort{number}" for number in range(MAX_FUZZY_TERMS + 1)]
    assert read_query(" ".join(words[1:])).fuzzy
    assert not read_query(" ".join(words)).fuzzy


@pytest.mark.parametrize("word", ["THE", "may", "昨天"])
def test_a_long_query_names_a_bounded_number_of_periods(word: str) -> None:
    found = read_query(f"{word} " * 20_000, now=1.7e9)
    assert len(found.periods) <= 32
