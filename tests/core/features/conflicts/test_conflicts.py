from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bethink import MemoryRecord
from bethink.features.statements import (
    Conflict,
    ParsedRecord,
    are_duplicates,
    find_conflict,
    parse_record,
)


def reading(content: str, id: str = "a", at: float = 0.0, **fields: Any) -> ParsedRecord:
    return parse_record(MemoryRecord(id, "default", content, at, at, at, **fields))


def between(one: str, other: str) -> Conflict | None:
    return find_conflict(reading(one, "a"), reading(other, "b", 1.0))


def tier(one: str, other: str) -> str | None:
    found = between(one, other)
    return found.tier if found else None


def same(one: str, other: str) -> bool:
    return are_duplicates(reading(one, "a"), reading(other, "b"))


LIKELY = [
    ("The rate limit is 100 requests per minute", "The rate limit is 200 requests per minute"),
    ("Retention of backups is 30 days", "Retention of backups is 90 days"),
    ("The standup is on Monday", "The standup is on Wednesdays"),
    ("The lease ends on May 5", "The lease ends on the 9th of May"),
    ("The train to Basel leaves at 7:30", "The train to Basel leaves at 8:15"),
    ("Lunch at the canteen costs $9", "Lunch at the canteen costs $12"),
    ("My sister has two parrots", "My sister has five parrots"),
    ("We deploy on Fridays", "We never deploy on Fridays"),
    ("User eats meat", "User does not eat meat"),
    ("User plays tennis", "User no longer plays tennis"),
    ("User smokes cigars", "User used to smoke cigars"),
    ("User stopped drinking coffee", "User drinks coffee"),
    ("The garden gate is open", "The garden gate is closed"),
    ("Feature previews are enabled for Ann", "Feature previews are disabled for Ann"),
    ("Do not use tabs", "Use tabs"),
    ("User lives in Lisbon", "User lives in Oslo"),
    ("User lives in Lisbon", "User moved to Oslo"),
    ("User prefers tabs", "User prefers spaces"),
    ("User's favourite tea is oolong", "User prefers sencha tea"),
    ("Likes tea as her main drink", "Likes juice as her main drink"),
    ("User uses vim", "User switched to emacs"),
    ("Ann works at Initech", "Ann joined Globex"),
    ("Python is the main language of the team", "Rust is the main language of the team"),
    ("The invoice was valid", "The invoice was invalid"),
    ("The tenant is single", "The tenant is married"),
    ("My car has a single spare key", "My car has two spare keys"),
    ("The porch light is on", "The porch light is off"),
    ("I smoke", "I don't smoke"),
    ("Ann leads the billing team", "Bob leads the billing team"),
    ("The main language is Python", "The main language is Rust"),
    ("I like my current employer, Initech, a lot", "After that my current employer Globex called"),
    ("Lives in Lisbon", "Lives in Oslo"),
    ("The office is in Lyon", "The office is in Graz"),
    ("The office is in Lyon", "The new office is in Graz"),
    ("I'm single", "The user is married"),
    ("My favourite colour is teal", "My favorite color is beige"),
    ("The fair opens on 2031-05-01", "The fair opens on May 8, 2031"),
    ("Bug 7 is unresolved", "Bug 7 is fixed"),
    ("The bill is sent weekly", "The bill is sent monthly"),
    ("I have a boat", "I sold my boat"),
    ("Ann is learning Greek", "Ann gave up learning Greek"),
    ("The lexer handles tabs", "The lexer fails to handle tabs"),
    ("Ann is in prison", "Ann was discharged from prison"),
    ("Python 3.9 is used in the project", "Python 3.12 is used in the project"),
    ("Room 2 is the main hall", "Room 3 is the main hall"),
    ("The account number is 4111111111111111", "The account number is 4111111111111112"),
    ("The standup is on Monday", "We moved the standup to Tuesday"),
    ("The price is $20", "The price was raised from $20 to $25"),
    ("The server is named atlas", "The server was renamed to zeus"),
    ("We use Postgres 14", "We upgraded to Postgres 16"),
    ("I use Vim", "I switched from Vim to Emacs"),
    ("The bug is open", "The bug was fixed"),
    ("Ann lives in Lyon in France", "Ann lives in Graz in Austria"),
    ("I subscribe to the paper", "I cancelled my subscription to the paper"),
    ("The deadline is Friday", "The deadline is next Monday"),
    ("My email is ann@one.example", "My email is lee@two.example"),
    ("The company is based in Berlin", "The company relocated to Munich"),
    ("The meeting starts at 3 pm", "The weekly meeting starts at 5 pm"),
    ("The lease ends on May 5", "The lease of the office ends in June"),
    ("Ann lives in town", "Ann lives in Lyon in France"),
    ("Ann lives in Graz in Austria", "Ann lives in town"),
    ("我的狗叫旺财", "我的狗叫来福"),
    ("The user lives in London", "The user moved to Tokyo, no longer in London"),
    ("My dentist is Dr. Huber.", "My dentist is Dr. Klein."),
    ("Our landlord is Mr. Price.", "Our landlord is Mr. Stone."),
    ("Anna is the CEO of Norvik", "Peter is the CEO of Norvik"),
    ("Marlene is the head of sales", "Viktor is the head of sales"),
    ("Norvik Tools has 300 employees", "Norvik Tools has 450 employees"),
    ("Server Timeout: 30 seconds", "Server Timeout is set to 60 seconds"),
    ("The door opens without a key", "The door opens with a key"),
    ("Deploy on Fridays", "Don't deploy on Fridays"),
    ("Never deploy on Fridays", "We deploy every Friday afternoon"),
    ("No meetings on Wednesdays", "We have a meeting every Wednesday"),
    ("The office is in Graz", "The office moved to Linz, not in Graz anymore"),
    ("The user drives a Volvo", "The user bought a Skoda, no longer drives the Volvo"),
    ("My sister lives in Lyon", "My sister moved to Nice and no longer lives in Lyon"),
    ("The deployment is in us-east-1", "The deployment is in eu-west-1"),
    ("The database is hosted in europe-west4", "The database is hosted in us-central1"),
    ("The queue runs on node-04", "The queue runs on node-11"),
    ("The release is commit a1b2c3d", "The release is commit d4e5f6a"),
    ("The build uses image v1.2.3", "The build uses image v1.4.0"),
    ("The invoice template is INV-2020-A", "The invoice template is INV-2024-B"),
    ("Server A has 16GB of memory", "Server A has 32GB of memory"),
    ("We use version 1 of the library", "We use version 2 of the library"),
    ("The limit is 10k requests", "The limit is 20,000 requests"),
    ("The freezer is at -5 degrees", "The freezer is at 5 degrees"),
    ("Dose: 5 mg daily", "Dose: 5 g daily"),
    ("The timeout is 30 seconds", "The timeout is 30 minutes"),
    ("The fee is $5", "The fee is \u20ac5"),
    ("The bandwidth is 100 Mbps", "The bandwidth is 100 Gbps"),
    ("The old laptop had 16GB of RAM", "The new laptop has 32GB of RAM"),
    ("The service is written in Python", "The service is written in Rust"),
    ("The deadline is on day 12", "The deadline is on day 26"),
    ("Run 3 ends on Monday", "The run ends on Friday"),
    ("The crew needs 2 vans in May", "The crew needs 3 vans"),
    ("If it rains, the gate is open", "The gate is closed"),
    ("In the hall the door is open", "The door of the hall is closed"),
    ("The train goes from Oslo to Rome", "The train goes from Rome to Oslo"),
    (
        "Trains from Basel to Lyon leave daily at 7:30",
        "Fast trains from Basel leave hall 7 at 8:15",
    ),
]


@pytest.mark.parametrize(("one", "other"), LIKELY)
def test_a_fact_with_another_value_is_a_likely_conflict(one: str, other: str) -> None:
    assert tier(one, other) == tier(other, one) == "likely"


@pytest.mark.parametrize(("one", "other"), LIKELY)
def test_a_likely_conflict_is_never_a_duplicate(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We painted the hall blue", "We painted the hall green"),
        ("User never eats goat cheese for breakfast", "User eats sheep cheese for breakfast"),
        ("A man is walking and not running", "A man is running in the park"),
        (
            "The old red roof of the barn is not leaking in winter",
            "The barn leaks in heavy rain and snow",
        ),
        ("My sister moved to Nice and no longer lives in Lyon", "Ann lives in Lyon in France"),
        ("Ann does not eat meat", "I eat meat"),
        ("The pipeline begins with paint", "The pipeline ends with glue"),
        ("Correction: the garden plan has a pond", "The plan for the garden has a pond"),
        ("A person is folding a napkin", "A person is unfolding a napkin"),
        ("I found no bug in the new payment module", "The payment module of the shop has a bug"),
        ("A crowd is standing in the rain", "A crowd is sitting in the rain"),
        ("I keep a list of plants to water", "I just updated my list of garden plants to water"),
        ("Our first sprint ends on April 1", "Our new sprint ends on April 5"),
        ("The logo is blue", "The logo is red"),
        ("Ann speaks French", "Ann speaks German"),
        ("The meeting is at 3 pm", "The meeting has been cancelled"),
        ("Never restart the server at 9:00", "Restart the router at 9:00"),
        ("No release before Friday", "Release on Friday"),
        ("Do not call before 9", "Call at 9"),
        ("Ann is divorced", "Ann is married"),
        ("I'm vegetarian", "I am vegan now"),
        ("In May the shop sold 12 boats", "In June the shop sold 9 boats"),
        ("Ann works in Lyon on Mondays", "Ann works in Graz on Fridays"),
        ("Ann is standing in the garden", "Ann is sitting in the garden"),
        ("A dog has two toys", "A dog has three toys"),
        ("A gate in the garden is open", "A gate in the garden is closed"),
        ("A train to Basel leaves at 7:30", "The train to Basel leaves at 8:15"),
        ("The new hire moved the meeting to the main room", "The new hire booked the main room"),
        ("The intern moved the call to the small hall", "The intern reserved the small hall"),
        ("Benchmark run 14: recall .81", "Benchmark run 15: recall .84"),
        ("Version 1 supports export", "Version 2 supports import"),
        ("Phase 1 covers login", "Phase 2 covers billing"),
        ("Plan A costs 20 euros", "Plan B costs 30 euros"),
        ("The 14th run took 3 minutes", "The 15th run took 4 minutes"),
        ("The target of Q3 is 12 deals", "The target of Q4 is 15 deals"),
        ("In round 2 Ann scored 30 points", "In round 3 Ann scored 25 points"),
        ("Benchmark run 14 took 20 minutes", "Benchmark run 15 took 22 minutes"),
        ("Host alpha has 4 cores", "Host beta has 8 cores"),
        ("numpy >= 2 is needed", "numpy <= 2 is needed"),
        (">= 2", "<= 2"),
        ("The flag is set if x == 1", "The flag is set if x != 1"),
        ("The result is a = b", "The result is a != b"),
        ("It takes ~5 minutes", "It takes 5 minutes"),
        ("User writes C++", "User writes C#"),
        ("The status is \u2705", "The status is \u274c"),
        ("The discount is 10%", "The discount is 10 euros"),
        ("All tests pass", "Some tests pass"),
        ("The report is finished", "The report is almost finished"),
        ("Ann likes tea", "Ann might like tea"),
        ("Move the data from MySQL to Postgres", "Move the data to MySQL from Postgres"),
        ("The password is Tiger7", "The password is tiger7"),
        ("Run chmod -r on it", "Run chmod -R on it"),
    ],
)
def test_what_may_be_a_conflict_is_a_possible_one(one: str, other: str) -> None:
    assert tier(one, other) == "possible"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ticket 3 waits for review.", "Ticket 4 waits for review."),
        ("The server number 1 runs Linux", "The server number 2 runs Linux"),
        ("Step 2 takes ten minutes", "step 3 takes ten minutes"),
        ("Issue #17 blocks the release", "Issue #18 blocks the release"),
        ("Note 3.", "Note 4."),
        ("Host1 runs nginx", "Host2 runs nginx"),
        ("db1 lives in Frankfurt", "db2 lives in Frankfurt"),
        ("User42 works at Acme", "User43 works at Acme"),
        ("Sensor s12 reports 20 degrees", "Sensor s13 reports 20 degrees"),
        (
            "Ticket 9: it is slow. Customer Bob7 called.",
            "Ticket 8: it is slow. Customer Ann9 called.",
        ),
    ],
)
def test_things_with_a_number_for_a_name_are_apart(one: str, other: str) -> None:
    assert tier(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use room 12", "Use room 13"),
        ("The meeting is in room 12", "The meeting is in room 13"),
        ("Version 3 is the newest", "Version 4 is the newest"),
        ("Ticket 3 waits for 2 days", "Ticket 3 waits for 5 days"),
        ("3 tickets wait", "4 tickets wait"),
        ("The app uses Python3", "The app uses Python2"),
        ("Web1 is the primary server", "Web2 is the primary server"),
        ("db1 has 8 GB", "db1 has 16 GB"),
    ],
)
def test_numbers_that_are_values_conflict(one: str, other: str) -> None:
    assert tier(one, other) == "likely"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User lives in Lisbon", "The rate limit is 100 requests per minute"),
        ("Ann lives in Lisbon", "Bob lives in Oslo"),
        ("A friend of Ann lives in Lisbon", "A friend of Ann lives in Oslo"),
        ("Ann has two cats", "Bob has three cats"),
        ("Ann is eating soup", "Ann eats bread"),
        ("Мой кот спит дома", "Мой пёс Рекс спит дома"),
        ("My current Globex badge was lost", "My current Initech badge is blue"),
        ("Ann does not eat meat", "Bob eats meat"),
        ("A dog is chasing a ball", "A dog is chasing a bird"),
        ("The trip to Rome took 3 days in spring", "The trip to Oslo took 5 days in spring"),
        ("The trip to Rome took 3 days in spring", "The trip to the lake took 3 hours"),
        ("Benchmark run 14 took 20 minutes", "User runs for 30 minutes every day"),
        ("The limit is 100 calls per minute", "The rate limit is 200 requests per minute"),
        ("The office is closed", "The office is in Graz"),
        ("The letter is about Bob", "The letter is from Bob"),
        ("I like my current employer, Initech, a lot", "His current employer Globex pays well"),
        ("The parser has 4 stages", "The parser needs 90 tests"),
        ("No problem, we meet on Tuesday", "We meet on Tuesday"),
        ("Can you move the meeting to 9:30?", "The meeting is at 9:00"),
        ("The shop is not open", "The shop is closed"),
        ("Keep up the hard work", "Keep up, you work well together"),
        ("Sounds great, Ann", "That sounds great, Bob"),
        ("I won't give up, Gina!", "Hey, Gina!"),
        ("It will happen", "That never happens"),
        ("Ann prefers dark roast coffee", "Bob prefers dark roast coffee"),
        ("I own a bike", "I own a car"),
        ("The logo is blue", "The logo is round"),
        ("The car is gray", "The car is grey"),
        ("We sell blue", "We sell red"),
        ("I am tired", "I am hungry"),
        ("I am Indian", "I am Catholic"),
        ("My current project, a shed", "My current neighbours"),
        ("I studied coin problems for 3 hours", "I solved 4 coin problems"),
        ("The trip to the lake took 3 hours", "The trip to the lake was 40 km"),
        ("We painted the shed two weeks ago", "We painted the shed three weeks ago"),
        ("The release may be due", "The release is due in June"),
        ("The ticket costs 20 euros", "The ticket costs 3 pm"),
        ("The team has the numbers 1 2 3 4 5 6", "The team has the numbers 1 2 3 4 5 7"),
        ("Bug 7 is fixed", "Bug 8 is fixed"),
        ("Issue #7 is fixed", "Issue #8 is not fixed"),
        ("Q1 sales ended in April", "Q2 sales ended in July"),
        ("My dog is 3 years old", "My cat is 5 years old"),
        ("My mother is allergic to nuts", "My father is not allergic to nuts"),
        ("The limit is 100 requests", "Is the limit 200 requests?"),
        ("The reader takes JSON files", "The reader takes XML files, too"),
        ("The user uses vim", "The user also uses emacs"),
        ("The limit is 100 calls per minute", "The limit is 5,000 calls per day"),
        ("User runs 5 km every day", "User runs for 30 minutes every day"),
        ("If the cache is full, reads take 5 ms", "If the cache is empty, reads take 80 ms"),
        ("The meeting starts at 3 pm", "The meeting starts at 15:00"),
        ("Karen is the owner of Initech", "Karen is Initech's owner"),
        ("The deadline is March 3", "The launch moved to March 10"),
        ("The bakery is located in Oslo", "The school moved to Bergen"),
        ("We use Postgres for data", "We use Redis for caching"),
        ("My work email is ann@one.example", "My private email is ann@two.example"),
        ("The standup is on Tuesday", "We moved the standup to Tuesday"),
        ("The team meeting is on Monday", "The board meeting moved to Tuesday"),
        ("Server A has 16GB of memory", "Server B has 32GB of memory"),
        ("Ticket ABC-12 is closed", "Ticket ABC-13 is closed"),
        ("job-17 finished in us-east-1", "job-18 finished in us-east-1"),
        ("The deployment is in us-east-1", "The database is in eu-west-1"),
        ("Attempt 1: 3 errors", "Attempt 2: 5 errors"),
        ("The limit is 10k requests", "The limit is 10,000 requests"),
        ("The budget is 2M euros", "The budget is 2,000,000 euros"),
        ("The timeout is 120 seconds", "The timeout is 2 minutes"),
        ("The file limit is 20 MB", "The file limit is 20 megabytes"),
        ("The fee is $5", "The fee is 5 dollars"),
        ("Is the office closed?", "The office is closed."),
        ("Some tests pass", "Tests pass"),
        ("\u2728 Deploys run on Friday", "Deploys run on Friday"),
        ("用户喜欢咖啡 \u2615", "用户喜欢咖啡"),
        ("He likes tea", "She likes tea"),
        ("The range is 3-5 days", "The range is 3\u20135 days"),
        ("", "User lives in Lisbon"),
        ("!?", "..."),
        ("I like my coffee black", "I like my coffee black and without sugar"),
        ("The pizza is vegetarian", "The pizza is vegetarian and has no onions"),
        ("Lake View Clinics: all 12 sites are live", "Lake View Clinics wrote on 3 May"),
        ("Acme Tools: demo on 3 May", "Acme Tools: contract until December"),
        ("Norvik Tools is 35", "Norvik Tools has 3 vans"),
        ("Dr. Huber treats my teeth", "Dr. Klein treats my knee"),
    ],
)
def test_what_can_both_hold_is_no_conflict(one: str, other: str) -> None:
    assert between(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("User prefers dark mode", "The user prefers dark mode."),
        ("User prefers dark mode", "USER prefers dark mode in the evening"),
        ("The backup runs at 3:00", "Backup runs at 3:00!"),
        ("Ann owes Bob ten euros", "Bob is still owed ten euros by Ann for the lunch"),
        ("用户喜欢咖啡", "用户喜欢咖啡。"),
        ("Ann mag Käse", "Ann mag Ka\u0308se !"),
    ],
)
def test_what_says_the_same_is_a_duplicate(one: str, other: str) -> None:
    assert same(one, other)
    assert between(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann owes Bob ten euros", "Bob owes Ann ten euros"),
        ("Ann owes Bob ten euros for lunch", "Bob owes Ann ten euros for the big lunch"),
        ("Move the data from MySQL to Postgres", "Move the data to MySQL from Postgres"),
        ("We meet from 3 to 5", "We meet to 3 from 5"),
        ("The letter is from Bob", "The letter is about Bob"),
        ("A gate in the garden is open", "A crowd is sitting in the rain"),
        ("The discount is 10 euros", "Bob is still owed ten euros by Ann for the lunch"),
        ("The robot is getting into the lift", "The robot is getting out of the lift"),
        ("Ticket 811 is fixed", "Ticket 812 is fixed"),
        ("Ann lives in Lisbon", "Bob lives in Lisbon"),
        ("The report is due", "The report is due on Monday"),
        ("Buy 5 apples and 3 pears", "Buy 3 apples and 5 pears"),
        ("Can you call me at 9:30?", "Can you call me at 9:45?"),
        ("My form is fine.\n```\nlimit = 10\n```", "My form is fine.\n```\nlimit = 20\n```"),
        ("Dial 1, 2, 3, 4, 5 and 6", "Dial 1, 2, 3, 4, 5 and 7"),
        ("So it goes. " * 50 + "Room 4", "So it goes. " * 50 + "Room 5"),
        ("我喜欢咖啡", "我不喜欢咖啡"),
        ("Ich trinke Kaffee", "Ich trinke keinen Kaffee"),
    ],
)
def test_what_differs_in_a_detail_is_no_duplicate(one: str, other: str) -> None:
    assert not same(one, other)


def test_what_two_people_say_of_themselves_is_no_duplicate() -> None:
    one, other = (reading("I like dark mode", author, author=author) for author in ("Ann", "Bob"))
    assert not are_duplicates(one, other)


def test_two_people_may_say_opposite_things_of_themselves() -> None:
    one, other = reading("I eat meat", "a", author="Ann"), reading("I never eat meat", author="Bob")
    other = replace(other, record=replace(other.record, id="b"))
    assert find_conflict(one, other) is None
    for author in ("Ann", None):
        own = replace(other, record=replace(other.record, author=author))
        assert find_conflict(one, own) is not None


def test_two_people_cannot_both_be_right_on_what_is_neither_of_them() -> None:
    one = reading("I like tea. The office is in Lyon", "a", author="Ann")
    other = reading("The office is in Graz", "b", author="Bob")
    assert (one.features.personal, other.features.personal) == (True, False)
    assert find_conflict(one, other) is not None


def test_a_record_is_nothing_to_itself() -> None:
    one = reading("User lives in Lisbon")
    assert not are_duplicates(one, one)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("money", "The ticket costs 20 euros", "The ticket costs 30 euros"),
        ("money", "The ticket costs $20", "The ticket costs $30"),
        ("time", "The weekly meeting starts at 5 pm", "The weekly meeting starts at 6 pm"),
        ("time", "The weekly meeting starts at 10:30", "The weekly meeting starts at 11:30"),
        ("day", "The release is due on May 5", "The release is due on the 7th of May"),
        ("month", "The release is due in May", "The release is due in June"),
        ("weekday", "The release is due on Monday", "The release is due on Friday"),
        ("year", "The company was founded in 1999", "The company was founded in 2001"),
        ("percent", "The discount is 20%", "The discount is 30 percent"),
        ("length", "The cable is 20 meters long", "The cable is 30 meters long"),
        ("length", "The cable is 20 metres long", "The cable is 20 km long"),
        ("identifier", "The deployment is in us-east-1", "The deployment is in eu-west-1"),
        ("sign", "Retry when load > 80%", "Retry when load < 80%"),
    ],
)
def test_what_differs_is_told_by_its_kind(kind: str, one: str, other: str) -> None:
    found = between(one, other)
    assert found is not None
    assert found.signals.keys() == {kind, "similarity"}


def test_a_conflict_tells_what_differs_from_older_to_newer() -> None:
    newer = reading("The rate limit is 200 requests", "b", 86_400.0)
    older = reading("The rate limit is 100 requests", "a")
    found = find_conflict(newer, older)
    assert found is not None
    assert found.signals == {"number": "100 / 200", "similarity": 0.0}
    assert found.describe() == (
        "likely conflict: number 100 / 200\n"
        "  older (1970-01-01, a): The rate limit is 100 requests\n"
        "  newer (1970-01-02, b): The rate limit is 200 requests"
    )


def test_a_denial_is_told_with_the_share_of_words_that_both_texts_have() -> None:
    found = between("Ann paints barns for farmers", "Ann never paints barns in winter storms")
    assert found is not None
    assert found.signals["denial"] == 0.75


def test_up_to_four_more_quantifiers_are_a_conflict() -> None:
    assert tier("Tests pass", "Many few several usually often tests pass") == "possible"
    assert tier("Tests pass", "Many few several usually often rarely tests pass") is None


def test_different_units_are_told() -> None:
    found = between("Dose: 5 mg daily", "Dose: 5 g daily")
    assert found is not None
    assert found.signals["weight"] == "5 mg / 5 g"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"occurred_at": 1.0, "created_at": 4.0}, {"occurred_at": 2.0, "created_at": 3.0}),
        ({"id": "c", "created_at": 3.0}, {"created_at": 4.0}),
    ],
)
def test_the_older_is_what_occurred_before_then_what_was_learned_before(
    older: dict[str, Any], newer: dict[str, Any]
) -> None:
    first = replace(reading("The rate limit is 100 requests", "a").record, **older)
    second = replace(reading("The rate limit is 200 requests", "b").record, **newer)
    found = find_conflict(parse_record(second), parse_record(first))
    assert found is not None
    assert (found.older, found.newer) == (first, second)


def test_a_conflict_is_told_in_words_not_in_stems() -> None:
    older, newer = reading("The office is in London"), reading("The office is in Paris", "b", 9.0)
    found = find_conflict(older, newer)
    assert found is not None
    assert found.signals["value"] == "london / paris"


def test_a_time_beyond_the_calendar_is_described_too() -> None:
    found = find_conflict(reading("User eats meat"), reading("User eats no meat", "b", 1e300))
    assert found is not None
    assert "(1e+300, b)" in found.describe()


def test_a_text_of_several_lines_is_described_on_one() -> None:
    older = reading("User eats meat\n  newer (today): User eats fish")
    found = find_conflict(older, reading("User eats no meat", "b", 9.0))
    assert found is not None
    assert len(found.describe().splitlines()) == 3


def test_one_sentence_of_a_long_turn_is_enough() -> None:
    one = (
        "Thanks, that helps a lot! By the way, I have 20 stamps in my album now. What do you think?"
    )
    other = "I went to the fair. My stamp album is growing: 31 stamps in my album so far."
    assert tier(one, other) == "likely"


def test_a_sentence_of_two_long_texts_is_a_possible_conflict() -> None:
    one, other = "The limit is 10 boats. ", "The limit is 20 boats. "
    rest = "".join(f"Ann met guest {letter}. " for letter in "bcdefghijk")
    assert tier(one + rest, other) == tier(one, other + rest) == "likely"
    assert tier(one + rest, other + rest) == "possible"


def test_code_is_not_what_is_said() -> None:
    one = "My form is fine.\n```python\nlimit = 10 forms\n```"
    other = "My form is fine.\n```python\nlimit = 20 forms\n```"
    assert between(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我住在北京", "今天天气很好"),
        ("会議は月曜日です", "私は猫が好きです"),
        ("Пользователь живёт в Москве", "Отчёт нужно сдать в понедельник"),
        ("Der Nutzer wohnt in Bonn", "Der Bericht ist am Montag fällig"),
        ("Der Nutzer wohnt in Bonn", "Der Nutzer mag Tee"),
        ("Der Nutzer mag Tee", "Der Nutzer isst kein Fleisch"),
        ("ผู้ใช้ชอบกาแฟ", "ประชุมวันจันทร์"),
        ("사용자는 커피를 좋아한다", "회의는 월요일이다"),
    ],
)
def test_unrelated_facts_in_other_languages_are_no_conflict(one: str, other: str) -> None:
    assert between(one, other) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("我喜欢喝咖啡", "我不喜欢喝咖啡"),
        ("会議室は30人用です", "会議室は50人用です"),
        ("Пользователь ест мясо", "Пользователь не ест мясо"),
        ("Der Nutzer trinkt Kaffee", "Der Nutzer trinkt nie Kaffee"),
    ],
)
def test_denials_and_numbers_count_in_other_languages(one: str, other: str) -> None:
    assert between(one, other) is not None


_WORDS = """
    user Ann lives in Lisbon Oslo not never the a limit is 100 200 May Monday 5 % and, but. prefers
    tabs spaces open closed now moved to 我 不 喜欢 咖啡 не ест
"""
_TEXTS = st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join) | st.text(max_size=60)


@pytest.mark.slow
@given(_TEXTS, _TEXTS)
def test_the_order_of_two_records_does_not_matter(a: str, b: str) -> None:
    one, other = reading(a, "a"), reading(b, "b")
    assert find_conflict(one, other) == find_conflict(other, one)
    assert are_duplicates(one, other) == are_duplicates(other, one)


@pytest.mark.slow
@given(_TEXTS, _TEXTS)
def test_age_changes_nothing_but_the_order(a: str, b: str) -> None:
    forth = find_conflict(reading(a, "a", 1.0), reading(b, "b", 2.0))
    back = find_conflict(reading(a, "a", 2.0), reading(b, "b", 1.0))
    assert (forth and forth.tier) == (back and back.tier)


@pytest.mark.slow
@given(_TEXTS)
@example("Ann lives in Oslo, but Ann does not live in Oslo.")
def test_equal_texts_are_no_conflict(text: str) -> None:
    assert between(text, text) is None
