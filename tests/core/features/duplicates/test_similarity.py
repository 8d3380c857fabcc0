"""Which records say nearly the same; an index of words finds what asking all of them does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryRecord
from bethink.features.duplicates.similarity import (
    DuplicateIndex,
    are_interchangeable,
    cosine,
    is_within,
)
from bethink.features.statements import (
    MIN_DUPLICATE_COSINE,
    ParsedRecord,
    are_spelled_apart,
    parse_record,
)

WORDS = ["the", "office", "is", "in", "Lyon", "not", "now", "3", "4", "by", "Ann", "Monday"]
texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), max_size=12)


def reading(content: str, id: str = "a", at: float = 0.0, **fields: Any) -> ParsedRecord:
    place: dict[str, Any] = {"namespace": "default", "occurred_at": at}
    return parse_record(
        MemoryRecord(id=id, content=content, created_at=at, updated_at=at, **place | fields)
    )


def known(*parsed_records: ParsedRecord, cosine: float = 1.0) -> DuplicateIndex:
    found = DuplicateIndex(lambda one, other: cosine)
    for each in parsed_records:
        found.add(each)
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    text = "The office is in Lyon"
    return are_interchangeable(reading(text, "a", **one), reading(text, "b", **other))


def test_records_that_say_the_same_are_one_fact() -> None:
    assert same({}, {})
    assert same({"at": 10.0}, {"at": 900_000.0})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"author": "Ann"}, {"author": "Bob"}),
        ({"key": "office"}, {}),
        ({"value": 1}, {"value": 2}),
        ({"thread": "t"}, {"thread": "t"}),
        ({"thread": "t"}, {}),
        ({"namespace": "default/x"}, {}),
        ({"occurred_at": 5.0}, {"occurred_at": 200_000.0}),
    ],
)
def test_what_differs_besides_the_words_keeps_them_apart(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert not same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User writes C++", "User writes C#"),
        ("The fee is $5", "The fee is \u20ac5"),
        ("The temperature is -5 degrees", "The temperature is 5 degrees"),
        ("Room 12A is free", "Room 12B is free"),
        ("Plan A is chosen", "Plan B is chosen"),
        ("Vitamin C is recommended", "Vitamin D is recommended"),
        ("Is the office closed?", "The office is closed."),
        ("I like tea", "You like tea"),
        ("He likes tea", "She likes tea"),
        ("All tests pass", "Some tests pass"),
        ("Every test passes", "Any test passes"),
        ("The report is finished", "The report is almost finished"),
        ("Ann likes tea", "Ann might like tea"),
        ("He was here", "He is here"),
        ("It goes to the shop", "It goes from the shop"),
        ("Ask Bob", "Ask about Bob"),
        ("The box is heavy", "The box is too heavy"),
        ("a = b", "a != b"),
        ("The office is closed this week", "The office is closed next week"),
        ("User doesn't eat meat", "User didn't eat meat"),
        ("The server isn't reachable", "The server wasn't reachable"),
        ("Ann can't swim", "Ann doesn't swim"),
        ("Ann couldn\u2019t swim", "Ann can\u2019t swim"),
        ("Users shouldnt delete accounts", "Users cant delete accounts"),
        ("Ann has access to the files", "Ann lacks access to the files"),
        ("The job copies the files", "The job fails to copy the files"),
        ("Ann is learning Greek", "Ann gave up learning Greek"),
        ("The shop calls the bank", "The shop is called by the bank"),
        ("Ann lives in Lyon", "Ann lived in Lyon"),
        ("Ann lives in Lyon and is glad", "Ann lived in Lyon and is glad"),
        ("The fee is 1,000 euros", "The fee is 1,100 euros"),
        ("Treatment is surgery or radiation", "Treatment is surgery and radiation"),
        ("Refunds need the manager", "Refunds need the manager or owner"),
        ("Ann told how much she likes tea", "Ann told how she likes tea"),
        ("Teachers give lessons", "Teachers get lessons"),
        ("The small office is in Graz", "The great office is in Graz"),
        ("I don't know the password", "I know the password"),
        ("The status is \u2705", "The status is \u274c"),
        ("Ann reacted with \U0001f44d", "Ann reacted with \U0001f44e"),
        ("The flag is \U0001f1e9\U0001f1ea", "The flag is \U0001f1eb\U0001f1f7"),
        ("The password is Tiger7", "The password is tiger7"),
        ("The key is sk-aBcD1234", "The key is sk-AbCd1234"),
        ("The page is a.com/X", "The page is a.com/x"),
        ("Run chmod -r on it", "Run chmod -R on it"),
        ("The delimiter is ;", "The delimiter is ,"),
        ("The wildcard is *", "The wildcard is ~"),
        ("Ann got grade A", "Ann got grade A-"),
        ("It takes ~5 minutes", "It takes 5 minutes"),
        ("The rod is 5' long", 'The rod is 5" long'),
        ("The deploy went well \U0001f389", "The deploy went well \U0001f622"),
        ("The status is \u2705", "The status is"),
        ("Ticket 5 \u2705", "Ticket 5"),
        ("Few people came", "A few people came"),
        ("The wifi password is Sunshine", "The wifi password is sunshine"),
        ("The wifi password is Sunshine", "The wifi password is now sunshine"),
        ("The PIN is 7Sunshine", "The PIN is 7sunshine"),
        ("The field is userId", "The field is UserID"),
        ("userId is required", "UserID is required"),
        ("The key is sk-AbCdEf", "The key is sk-aBcDeF"),
        ("Ann sits in room a upstairs", "Ann sits in room b upstairs"),
        ("Vitamin c helps", "Vitamin d helps"),
        ("Her blood type is a positive", "Her blood type is b positive"),
        ("We chose option A for the house", "We chose option B for the house"),
        ("The password is correct-horse", "The password is correct_horse"),
        ("Retry if !is_ready(queue)", "Retry if is_ready(queue)"),
        ("Edit ~/.a first", "Edit ~/.b first"),
        ("The US team is in Graz", "The us team is in Graz"),
        ("Deploys run on AWS", "deploys run on aws"),
        ("Имя сервера — Волга", "Имя сервера — волга"),
        ("She said he lied", "He said she lied"),
        ("She told me he is ill", "He told me she is ill"),
        ("Her mother likes his father", "His mother likes her father"),
        ("Her mother likes the father", "The mother likes her father"),
        ("His mother likes her father", "His father is liked by her mother"),
        ("You asked if I called Ann", "I asked if you called Ann"),
    ],
)
def test_what_is_said_in_another_manner_is_not_the_same(one: str, other: str) -> None:
    assert not are_interchangeable(reading(one), reading(other, "b"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User prefers dark mode", "The user prefers dark mode."),
        ("User prefers dark mode", "USER prefers dark modes in the evening"),
        ("A woman is cracking 3 eggs", "3 eggs are being cracked by the woman"),
        ("They were in Lyon (in May)", "In May they were in Lyon"),
        ("I'm in Lyon", "I am in Lyon"),
        ("We\u2019re in Lyon", "We are in Lyon"),
        ("Ann can't swim", "Ann cannot swim"),
        ("Retry 3 times", "Retry three times"),
        ("The limit is 1,000 rows", "The limit is 1000 rows"),
        ("I don't know the password", "I do not know the password"),
        ("Ann helps in the office", "Ann helps a lot in the nice office"),
        ("用户喜欢咖啡", "用户喜欢咖啡。"),
        ("Deploys run on AWS at 3pm", "deploys run on AWS at 3PM!"),
        ("Standup is at 10 am", "standup is at 10 AM"),
        ("Ann likes tea", "ANN LIKES TEA"),
        ("Is it late? Standup is at ten", "is it late? standup is at ten"),
        ("He said: \u201cYes.\u201d Ann likes tea", "He said: \u201cYes.\u201d ann likes tea"),
        ("She said he likes tea", "She said that he likes the tea"),
        ("Her mother likes his father", "His father is liked by her mother"),
        ("Tea and/or coffee", "tea and/or coffee."),
        ("The deploy went well \U0001f389", "The deploy went well"),
        ("The kitchen is green!", "The kitchen is green \U0001f44d\U0001f3fd"),
        ("Ann likes tea", "Ann likes tea \u2764\ufe0f!"),
        ("Ich trinke gern Tee \U0001f375", "Ich trinke gern Tee"),
        ("Ann\u2019s dog is Rex", "Ann's dog is Rex"),
        ("The motto is \u201cstay hungry\u201d", 'The motto is "stay hungry"'),
        ("Er sagte \u201eja\u201c", 'Er sagte "ja"'),
        ("The rate limit is 200 requests per minute", "Rate limit is 200 requests per minute!"),
        ("API calls: 50 per day", "The API calls: 50 per day"),
        ("Ann is vegetarian", "Ann is a vegetarian"),
        ("Bob is engineer", "Bob is an engineer."),
        ("Use tabs", "Always use tabs"),
    ],
)
def test_what_is_said_in_other_words_of_little_weight_is_the_same(one: str, other: str) -> None:
    assert are_interchangeable(reading(one), reading(other, "b"))


def test_a_text_within_a_text_has_the_same_capitals() -> None:
    text = reading("We always use tabs in Go")
    assert is_within(reading("use tabs", "b"), text)
    assert not is_within(reading("use Tabs", "b"), text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The freezer is kept at -20 degrees", "The freezer is kept at 20 degrees"),
        ("Lunch costs 5 \u20ac", "Lunch costs 5 $"),
        ("We ship Version 2.0 today", "We ship Version 2.0.1 today"),
        ("if x == 1 we stop", "if x != 1 we stop"),
        ("we stop when a < b", "we stop when a > b"),
        ("use i + 1 here", "use i - 1 here"),
        ("Ann got an A+ in math", "Ann got an A- in math"),
        ("Deploy works \u2705", "Deploy works \u274c"),
        ("We use C/C++ for the driver", "We use C++ for the driver"),
        ("Run git push", "Run git push --force"),
        ("The rooms are small", "The rooms are small in wing b"),
    ],
)
def test_a_text_within_a_text_has_the_same_numbers_and_signs(one: str, other: str) -> None:
    assert not is_within(reading(one), reading(other, "b"))
    assert not is_within(reading(other), reading(one, "b"))


@given(st.text("aB. \n", max_size=9), st.text("aB. \n", max_size=9))
def test_capitals_differ_both_ways_or_not_at_all(one: str, other: str) -> None:
    assert are_spelled_apart(one, other) == are_spelled_apart(other, one)
    assert not are_spelled_apart(one, one.upper())


@pytest.mark.slow
@given(texts, st.sampled_from((0.91, 0.95)))
def test_the_like_of_a_record_is_found_as_if_all_were_asked(
    contents: list[str], nearness: float
) -> None:
    parsed_records = [reading(text, f"{number:02}", number) for number, text in enumerate(contents)]
    asked = reading("the office is not in Lyon now", "new", 99.0)
    for number, each in enumerate([*parsed_records, asked]):
        earlier = parsed_records[:number]
        found = known(*earlier, cosine=nearness).find_nearest(each)
        every = [
            (-alike, other.record.id)
            for other in earlier
            for alike in [1.0 if other.record.content == each.record.content else nearness]
            if alike >= MIN_DUPLICATE_COSINE and are_interchangeable(each, other)
        ]
        assert (found and (-found[1], found[0].record.id)) == min(every, default=None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna juo kahvia", "Anna ei juo kahvia"),
        ("Saya makan daging", "Saya tidak makan daging"),
        ("Server chal raha hai", "Server nahin chal raha hai"),
        ("Ali kahve içer", "Ali asla kahve içer"),
        ("Jag äter kött", "Jag äter ej kött"),
        ("Ana come pescado", "Ana a veces come pescado"),
        ("Er mag die Bank", "Er mag die Bänke"),
    ],
)
def test_in_other_languages_a_word_or_an_accent_more_keeps_them_apart(one: str, other: str) -> None:
    assert not are_interchangeable(reading(one), reading(other, "b"))
    assert are_interchangeable(reading(one), reading(f"{one}.", "b"))


@pytest.mark.parametrize(("fuller", "briefer"), [(0, 1), (1, 0)])
def test_a_text_with_a_word_more_is_found_both_ways(fuller: int, briefer: int) -> None:
    told = (
        reading("The kitchen is painted green", "a"),
        reading("The big kitchen is painted green", "b"),
    )
    found = known(told[fuller]).find_nearest(told[briefer])
    assert found == (told[fuller], 1.0)


def test_what_a_record_said_before_is_no_longer_known() -> None:
    before, after = reading("The office is in Lyon"), reading("The office is in Graz")
    asked = reading("The office is in Lyon", "b")
    assert known(before).find_nearest(asked) is not None
    assert known(before, after).find_nearest(asked) is None
    both = known(before)
    both.forget("a")
    both.forget("a")
    assert both.find_nearest(asked) is None


def test_of_equal_texts_no_vector_is_asked_for() -> None:
    assert known(reading("Я живу в Москве"), cosine=0.0).find_nearest(
        reading("Я живу в Москве", "b")
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [((3, 4), (6, 8), 1.0), ((1, 0), (0, 2), 0.0), ((0, 0), (1, 0), 0.0), ((1, 0), (-2, 0), -1.0)],
)
def test_cosine(one: tuple[int, int], other: tuple[int, int], expected: float) -> None:
    assert cosine(np.array(one, np.float32), np.array(other, np.float32)) == expected
