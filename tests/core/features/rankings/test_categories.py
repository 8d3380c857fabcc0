from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import CATEGORIES, guess_category, query_intent
from bethink.features.rankings import BOOSTS

SAID = {
    "architecture": (
        "The billing service talks to the ledger over a message queue",
        "The app is split into three layers: web, domain and storage",
        "The gateway sits in front of two microservices",
    ),
    "coding_style": (
        "Use four spaces, never tabs",
        "We write docstrings for every public function and keep a line length of 100",
        "Ann prefers single quotes in Python",
    ),
    "command": (
        "Run `make release` to publish a version",
        "To reset the database run python manage.py flush",
        "The command for a clean build is `cargo clean`",
        "git rebase -i HEAD~3 squashes the last three commits",
    ),
    "context": (
        "The team is working on the summer release",
        "The goal of the project is a faster app",
    ),
    "convention": (
        "Table names are snake_case and plural",
        "Commit messages must start with the ticket number",
        "Every endpoint must have a test",
        "Always validate user input",
    ),
    "decision": (
        "We decided to use SQLite because it needs no server",
        "The team chose Postgres over MySQL for its JSON support",
        "Chose Postgres for ACID compliance",
        "GraphQL was rejected in favour of plain REST",
    ),
    "dependency": (
        "The exporter depends on pandas",
        "numpy>=1.26 is required",
        "We pinned pydantic to 2.7",
        "The importer needs lxml 5.2 or newer",
    ),
    "environment": (
        "The staging server is at 10.0.0.7",
        "DATABASE_URL is an environment variable set in .env",
        "The API listens on port 8080",
        "PAYMENT_KEY has to be set on the worker",
    ),
    "gotcha": (
        "Beware: the client silently retries POST requests",
        "Gotcha: dates come back in local time, not UTC",
        "Be careful with the cache, it survives a deploy",
    ),
    "pattern": (
        "Use the repository pattern for data access",
        "Wrap every external call in a retry decorator",
        "A context manager closes the session",
        "Use async/await for I/O operations",
    ),
    "preference": (
        "The user prefers short answers",
        "Ann loves Italian food",
        "His favourite colour is green",
    ),
    "todo": (
        "TODO: add pagination to the list endpoint",
        "We still need to migrate the old accounts",
        "Remember to rotate the keys",
    ),
    "tool_preference": (
        "Ann prefers vim for editing",
        "Use pnpm instead of npm",
        "Bob likes to use pytest",
    ),
    "troubleshooting": (
        "ConnectionError on startup was fixed by raising the timeout",
        "The build fails with exit code 137 when memory runs out; the fix is a larger runner",
        "The root cause of the crash was a stale lock file",
        "The login page hangs in Safari; clearing cookies cures it",
    ),
    "workaround": (
        "As a workaround, disable the cache until the bug is fixed",
        "Temporarily pin the worker to one process",
        "For the time being we restart it every night",
        "We keep the old endpoint alive until the partners release their patch",
    ),
}

ASKED = {
    "architecture": (
        "How is the backend organised?",
        "What is the overall architecture?",
        "How do the services fit together?",
        "What does the overall system look like?",
    ),
    "command": (
        "How do I run the tests?",
        "What is the command to deploy?",
        "how to build the docs",
    ),
    "convention": (
        "What is our naming convention for tables?",
        "How should we name branches?",
        "What are the guidelines for commit messages?",
    ),
    "decision": (
        "Why did we choose Postgres?",
        "Why don't we use GraphQL?",
        "What was the rationale for dropping GraphQL?",
        "why are we using SQLite",
    ),
    "gotcha": (
        "What should I watch out for with the cache?",
        "Any gotchas with time zones?",
        "What are the pitfalls of the retry client?",
    ),
    "pattern": (
        "What is the best way to access the database?",
        "How do we usually handle retries?",
        "Which pattern do we use for data access?",
    ),
    "preference": ("What food does Ann like?", "Which answers does the user prefer?"),
    "troubleshooting": (
        "Why does the build fail?",
        "How do I fix the ConnectionError?",
        "The server is not responding, what is wrong?",
        "why is the login not working",
        "Safari login hangs",
    ),
    "workaround": (
        "Is there a workaround for the memory leak?",
        "How can we get around the rate limit?",
    ),
}

NO_AUTH = (
    "",
    "?!",
    "Ann lives in Lisbon",
    "max_items is the page size",
    "The invoice run is on Monday",
    "東京は雨です",
)


@pytest.mark.parametrize(
    ("text", "category"), [(text, name) for name, texts in SAID.items() for text in texts]
)
def test_a_text_tells_what_it_is(text: str, category: str) -> None:
    assert guess_category(text) == category


@pytest.mark.parametrize(
    ("query", "category"), [(query, name) for name, queries in ASKED.items() for query in queries]
)
def test_a_query_tells_what_it_is_after(query: str, category: str) -> None:
    assert query_intent(query) == category


@pytest.mark.parametrize(
    ("query", "category"),
    [
        ("Why is the API returning 500 errors?", "troubleshooting"),
        ("errors in the logs", "troubleshooting"),
        ("Exceptions and tracebacks from the importer", "troubleshooting"),
        ("the importer keeps failing", "troubleshooting"),
        ("All these failures since Monday", "troubleshooting"),
        ("the worker is hanging", "troubleshooting"),
        ("Timeouts of the gateway", "troubleshooting"),
        ("requests are timing out", "troubleshooting"),
        ("debugging the importer", "troubleshooting"),
        ("who solved it, and how was it diagnosed", "troubleshooting"),
        ("It freezes at the second page", "troubleshooting"),
        ("what was decided on caching", "decision"),
        ("we are deciding between two brokers", "decision"),
        ("who picks the broker", "decision"),
        ("which broker was picked", "decision"),
        ("choosing a broker", "decision"),
        ("getting around the limit", "workaround"),
        ("working around the leak", "workaround"),
        ("watching out for time zones", "gotcha"),
        ("How do I go about executing the tests", "command"),
        ("what Ann prefers", "preference"),
        ("the preferred seat", "preference"),
        ("upgrades of numpy", "dependency"),
        ("the architectures that were compared", "architecture"),
    ],
)
def test_every_form_of_a_word_asks_for_the_category(query: str, category: str) -> None:
    assert query_intent(query) == category


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("500 errors were seen in the logs", "troubleshooting"),
        ("The importer hangs", "troubleshooting"),
        ("Cured by clearing the cache", "troubleshooting"),
        ("Fixing it by hand is slow", "troubleshooting"),
        ("The causes were two stale locks", "troubleshooting"),
        ("Executes `make check` before a push", "command"),
        ("We wrapped the client in a retry", "pattern"),
        ("Wrapping calls in a retry is the rule", "pattern"),
        ("Bob is upgrading from 2.1", "dependency"),
        ("Ann enjoyed the opera", "preference"),
        ("Bob is using pytest", "tool_preference"),
    ],
)
def test_every_form_of_a_word_tells_the_category(text: str, category: str) -> None:
    assert guess_category(text) == category


@pytest.mark.parametrize(
    "text", ["Makes sense to Ann", "The pin of the card is 1234", "All but one were there"]
)
def test_another_word_of_the_same_letters_tells_nothing(text: str) -> None:
    assert guess_category(text) is None
    assert query_intent(text) is None


@pytest.mark.parametrize("text", NO_AUTH)
def test_where_no_rule_speaks_nothing_is_guessed(text: str) -> None:
    assert guess_category(text) is None
    assert query_intent(text) is None


@pytest.mark.parametrize("query", ["Where does Ann live?", "When is the standup?", "Who is Bob?"])
def test_an_ordinary_question_is_after_no_category(query: str) -> None:
    assert query_intent(query) is None


def test_there_are_sixteen_categories_and_every_boost_is_for_one() -> None:
    assert len(CATEGORIES) == len(set(CATEGORIES)) == 16
    assert set(SAID) == set(CATEGORIES) - {"general"}
    assert set(BOOSTS) <= set(ASKED) <= set(CATEGORIES)


def test_letter_case_does_not_matter() -> None:
    for query in ("HOW DO I RUN THE TESTS", "Any Gotchas?"):
        assert query_intent(query) == query_intent(query.lower()) is not None


@given(st.text(max_size=60))
def test_any_text_is_answered_by_a_category_or_none(text: str) -> None:
    assert guess_category(text) in (None, *CATEGORIES)
    assert query_intent(text) in (None, *CATEGORIES)


@pytest.mark.parametrize(
    "text", ["do " * 60_000, "a" * 200_000, "use " * 50_000, "`make " * 30_000]
)
def test_a_long_text_takes_no_longer_than_its_beginning(text: str) -> None:
    started = time.process_time()
    guess_category(text)
    query_intent(text)
    assert time.process_time() - started < 0.5
