"""The language of a query, and the words that say nothing in the language."""

from __future__ import annotations

import pytest

from bethink import MemoryStore
from bethink.text import read_query
from bethink.text.languages import compounds, languages
from bethink.text.tokenizer import LONGEST_IDENTIFIER


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("Was ist gestern passiert?", "German"),
        ("Was war vorige Woche los?", "German"),
        ("Was hat Schroeder bei den Rechnungen verlangt?", "German"),
        ("la voiture de Marc est dans le garage", "French"),
        ("Qui est le comptable", "French"),
        ("quien es la casera", "Spanish"),
        ("Quanto custa a visita de estudo?", "Portuguese"),
        ("Quanto costano le gite?", "Italian"),
        ("Waar wonen we nu?", "Dutch"),
        ("Var bor hon nu", "Swedish"),
        ("Gdzie teraz mieszkamy?", "Polish"),
        ("先週誰と会った", "Chinese and Japanese"),
    ],
)
def test_function_words_and_words_of_time_tell_the_language(query: str, language: str) -> None:
    assert read_query(query).forms
    assert languages(query.rstrip("?").split()) == [language]


@pytest.mark.parametrize(
    "query",
    [
        "Die Hard",
        "Who likes Die Hard?",
        "hotel in Los Angeles",
        "Was he in Los Angeles on Friday?",
        "Is José in?",
        "Do we want to do a man in a hat?",
        "email von Anna",
        "the und report",
        "Wifi 2025",
        "who runs Jest at 9 EST",
        "EU GDPR",
        "eu-west-1 region",
        "est_time field",
        "un-merge branch",
        "door code",
        "ginger ale",
        "Ella Fitzgerald",
        "on 3 Sept 2022",
    ],
)
def test_names_and_doubtful_words_do_not_make_a_query_foreign(query: str) -> None:
    assert not read_query(query).forms


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Wer hat Die Hard gesehen?", "die hard gesehen"),
        ("Wie heißt Herr De Groot?", "heisst herr de groot"),
        ("Die Katze der Nachbarn ist weg", "katz nachbarn weg"),
        ("Pourquoi Anne chante-t-elle ?", "ann chant"),
        ("Qu'a-t-on fait au week-end ?", "week end weekend"),
        ("wie war das am 2025-03-04", "2025 03 04 4 march"),
        ("müller", "muller"),
        ("Wo liegt das Skript von eu-west-1?", "liegt skript eu west 1 euwest1"),
        ("escritório em São Paulo", "escritor sao paulo"),
    ],
)
def test_only_function_words_of_the_language_say_nothing(query: str, expected: str) -> None:
    assert read_query(query).terms == expected.split()


def test_a_question_in_another_language_needs_no_mark() -> None:
    assert read_query("was haben wir gestern gekauft").is_question
    assert read_query("Quand avons-nous mangé").is_question
    assert not read_query("die Rechnung von gestern").is_question
    assert not read_query("come together").is_question


def test_a_long_word_finds_the_word_at_the_end_of_the_word() -> None:
    assert "prufer" in [end.term for end in compounds(["Betriebsprüfer"], ["German"])["betriebs"]]
    assert compounds(["Betriebsprüfer"], ["French"]) == {}
    assert compounds(["Haus", "a" * (LONGEST_IDENTIFIER + 1)], ["German"]) == {}
    with MemoryStore() as store:
        store.store_many(["Der Prüfer kommt am Montag", "Der Garten ist groß", "Das Essen war gut"])
        assert store.recall("Wann kommt denn der Betriebsprüfer?")[0].content.startswith("Der Prüf")


@pytest.mark.parametrize("query", ["Wo wohnt Frau {}?", "Where does {} live?", "phone of {}"])
@pytest.mark.parametrize(
    ("name", "asked"),
    [("Müller", "Mueller"), ("Koehler", "Köhler"), ("Schröder", "Schroeder"), ("Böhm", "Boehm")],
)
def test_an_umlaut_may_be_spelt_with_an_e(name: str, asked: str, query: str) -> None:
    with MemoryStore() as store:
        store.store_many([f"{name}, Gartenstraße 4", "Meyer, Parkweg 8", "Kunze, Am Markt 2"])
        found = store.recall(query.format(asked))
        assert found
        assert found[0].content.startswith(name)


def test_a_misspelt_word_of_another_language_finds_the_word() -> None:
    with MemoryStore() as store:
        store.store_many(["Die Versicherung kostet viel", "Der Garten ist groß"])
        assert store.recall("Was kostet die Versichreung?")[0].content.startswith("Die Vers")
