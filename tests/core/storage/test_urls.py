"""URLs of databases: what goes to libpq, what is ours, and what may be shown."""

import pytest

from bethink.errors import ValidationError
from bethink.storage.urls import add_schema, check_schema, split, without_password

PLACE = "db.example:5432/memories"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example/memories",
        "postgresql:///memories?host=/var/run/postgresql",
        "postgresql:///memories?host=127.0.0.1&port=5433",
        "postgresql://ann:a#b?c[d]@db.example/memories",
        "postgresql://ann@h1:1,h2:2/memories?target_session_attrs=primary",
        "postgresql://ann@db.example/memories?application_name=a%20b",
        "postgresql://ann@db.example/memories?options=-c%20default_transaction_read_only%3Don",
        "postgresql://ann@db.example?sslrootcert=/my%20files/root.crt",
    ],
)
def test_all_parts_for_libpq_stay_as_given(url: str) -> None:
    assert split(url) == (url, {})
    assert split(add_schema(url, "demo")) == (url, {"schema": "demo"})


def test_own_parameters_are_taken_out_and_decoded() -> None:
    url = (
        f"postgresql://ann@{PLACE}?schema=a&connect_timeout=3&tenant=users%2F42&pooler=transaction"
    )
    own = {"schema": "a", "tenant": "users/42", "pooler": "transaction"}
    assert split(url) == (f"postgresql://ann@{PLACE}?connect_timeout=3", own)
    assert split(f"postgresql://{PLACE}?schema=a") == (f"postgresql://{PLACE}", {"schema": "a"})


@pytest.mark.parametrize(
    "password", ["secret", "sec#ret", "sec/ret", "sec?ret", "sec@ret", "sec[ret", "se c%zzret", ""]
)
@pytest.mark.parametrize("query", ["", "?schema=a", "?sslmode=require&schema=a"])
def test_a_password_is_never_shown(password: str, query: str) -> None:
    url = f"postgresql://ann:{password}@{PLACE}{query}"
    assert without_password(url) == f"postgresql://ann@{PLACE}{query}"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("password=secret", ""),
        ("schema=a&password=secret", "?schema=a"),
        ("sslpassword=secret&schema=a", "?schema=a"),
        ("pass%77ord=secret", ""),
        ("schema=a&password=se@cret", "?schema=a"),
        ("password=se&cret", ""),
        ("oauth_client_secret=secret&scram_client_key=secret", ""),
    ],
)
@pytest.mark.parametrize("user", ["", "ann@", "ann:secret@"])
def test_a_password_among_the_parameters_is_never_shown(query: str, shown: str, user: str) -> None:
    at = user.replace(":secret", "")
    assert (
        without_password(f"postgresql://{user}{PLACE}?{query}")
        == f"postgresql://{at}{PLACE}{shown}"
    )


def test_of_a_url_with_too_many_signs_the_user_is_shown() -> None:
    url = f"postgresql://ann:se/cret@{PLACE}?password=se@cret"
    assert without_password(url) == "postgresql://ann@..."


def test_a_url_without_a_password_is_shown_as_given() -> None:
    for url in (f"postgresql://{PLACE}", "postgresql:///memories?schema=a", "postgresql://ann@h/m"):
        assert without_password(url) == url


@pytest.mark.parametrize("password", ["sec/ret", "sec@ret", "sec/r@t"])
def test_a_password_that_needs_codes_is_refused(password: str) -> None:
    with pytest.raises(ValidationError, match="%40") as refused:
        split(f"postgresql://ann:{password}@{PLACE}?schema=a")
    assert not {"sec", "ret", "r@t"} & set(str(refused.value).replace("/", " ").split())
    assert PLACE in str(refused.value)


@pytest.mark.parametrize("name", ["bethink", "_a1", "A" * 63])
def test_a_plain_name_may_be_a_schema(name: str) -> None:
    assert check_schema(name) == name


@pytest.mark.parametrize("name", ["", "1a", "a-b", 'a"b', "a\n", "é", "A" * 64, None, 7])
def test_a_schema_that_needs_quotes_is_refused(name: object) -> None:
    with pytest.raises(ValidationError, match="plain name"):
        check_schema(name)
