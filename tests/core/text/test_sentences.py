"""What kind of thing a text says."""

from __future__ import annotations

import pytest

from bethink.text import count_content_words, is_instruction, is_question, mentions_time, terms


@pytest.mark.parametrize(
    "text",
    ["which one?", 'she said "why?" ', "really?!", "**what now?**", "\u7f8e\uff1f", "لماذا؟"],
)
def test_a_question_ends_with_its_mark(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize("text", ["", "!", "which one", "why? because", "x?y"])
def test_other_text_does_not_ask(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "two weeks ago",
        "Yesterday!",
        "on Tuesdays",
        "in September",
        "since 2019",
        "at 9:30",
        "٣ مايو",
    ],
)
def test_a_text_tells_time_by_its_words_and_numbers(text: str) -> None:
    assert mentions_time(terms(text))


@pytest.mark.parametrize("text", ["", "we met", "a weekly color42", "always and often", "東京"])
def test_other_texts_tell_none(text: str) -> None:
    assert not mentions_time(terms(text))


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("That's it! Why?", 0), ("painting, painted, paints", 1), ("a blue boat 👍🎉", 2)],
)
def test_the_words_that_tell_something_are_counted(text: str, count: int) -> None:
    assert count_content_words(terms(text)) == count


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in French.",
        "never deploy on Fridays",
        "Please, always cite a source",
        "From now on use tabs",
        "**Always** run the tests",
    ],
)
def test_a_standing_instruction_begins_as_one(text: str) -> None:
    assert is_instruction(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We always met in Rome.",
        "Nevertheless",
        "From now I paint",
        "Always wanted to see Rome.",
        "Never mind!",
        "never been there",
    ],
)
def test_what_only_says_always_is_no_instruction(text: str) -> None:
    assert not is_instruction(text)
