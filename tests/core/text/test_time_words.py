"""The periods that questions in other languages name, asked on Wednesday, 14 June 2023, at ten."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryStore
from bethink.text import read_query
from bethink.text.time_words import time_words, times_in_english

NOW = datetime(2023, 6, 14, 10, tzinfo=UTC).timestamp()


def named(text: str) -> list[tuple[str, str]]:
    """Return the first and the last day of each period that *text* names."""
    return [
        (f"{datetime.fromtimestamp(start, UTC):%F}", f"{datetime.fromtimestamp(end - 1, UTC):%F}")
        for start, end in read_query(text, NOW).periods
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Was haben wir vorgestern gekauft?", "2023-06-12", "2023-06-12"),
        ("was war vorige Woche los", "2023-06-05", "2023-06-11"),
        ("Was haben wir im letzten März entschieden?", "2023-03-01", "2023-03-31"),
        ("Was habe ich im Maerz gemacht?", "2023-03-01", "2023-03-31"),
        ("Was ist vor zwei Wochen passiert?", "2023-05-27", "2023-06-04"),
        ("Was ist in den letzten drei Monaten passiert?", "2023-03-15", "2023-06-14"),
        ("Wer hat am vergangenen Dienstag angerufen?", "2023-06-13", "2023-06-13"),
        ("Was haben wir am Freitag beschlossen?", "2023-06-09", "2023-06-09"),
        ("Was habe ich am Wochenende gemacht?", "2023-06-10", "2023-06-11"),
        ("Was haben wir am 3. Mai gemacht?", "2023-05-03", "2023-05-03"),
        ("Was haben wir zu Weihnachten gegessen?", "2022-12-24", "2022-12-26"),
        ("Was haben wir Ostern 2022 gemacht?", "2022-04-15", "2022-04-18"),
        ("Was war Ende Mai?", "2023-05-21", "2023-05-31"),
        ("Was war im Mai letzten Jahres?", "2022-05-01", "2022-05-31"),
        ("Was war im Jahr 2021?", "2021-01-01", "2021-12-31"),
        ("Wer kam zwischen März und Mai?", "2023-03-01", "2023-05-31"),
        ("Qu'ai-je fait avant-hier ?", "2023-06-12", "2023-06-12"),
        ("Qu'ai-je fait aujourd\u2019hui ?", "2023-06-14", "2023-06-14"),
        ("Qui est venu la semaine dernière ?", "2023-06-05", "2023-06-11"),
        ("Que s'est-il passé il y a trois mois ?", "2023-02-28", "2023-03-30"),
        ("Qui est venu ces deux dernières semaines ?", "2023-05-31", "2023-06-14"),
        ("Qu'avons-nous fait à Noël ?", "2022-12-24", "2022-12-26"),
        ("Qu'avons-nous fait l'été dernier ?", "2022-06-01", "2022-08-31"),
        ("Qui est venu début mai ?", "2023-05-01", "2023-05-11"),
        ("Que s'est-il passé en mai de l'année dernière ?", "2022-05-01", "2022-05-31"),
        ("¿Qué compré anteayer?", "2023-06-12", "2023-06-12"),
        ("¿Qué hicimos hace dos meses?", "2023-03-30", "2023-04-29"),
        ("¿Qué hicimos el mes pasado?", "2023-05-01", "2023-05-31"),
        ("¿Qué hicimos el 3 de mayo de 2022?", "2022-05-03", "2022-05-03"),
        ("¿Qué hicimos el 3 de Julio?", "2022-07-03", "2022-07-03"),
        ("¿Qué hicimos en el verano de 2021?", "2021-06-01", "2021-08-31"),
        ("Qu'avons-nous fait en été ?", "2023-06-01", "2023-08-31"),
        ("¿Qué dijimos a mediados de mayo?", "2023-05-11", "2023-05-21"),
        ("¿Qué hicimos en Nochevieja?", "2022-12-31", "2022-12-31"),
        ("¿Qué hemos comprado desde enero?", "2023-01-01", "2023-06-14"),
        ("O que fizemos há dois meses?", "2023-03-30", "2023-04-29"),
        ("O que aconteceu na segunda-feira passada?", "2023-06-12", "2023-06-12"),
        ("O que fizemos no ano passado no Natal?", "2022-12-24", "2022-12-26"),
        ("Cosa abbiamo fatto due mesi fa?", "2023-03-30", "2023-04-29"),
        ("Cosa è successo la settimana scorsa?", "2023-06-05", "2023-06-11"),
        ("Cosa abbiamo detto all'inizio di maggio?", "2023-05-01", "2023-05-11"),
        ("Wat deden we twee maanden geleden?", "2023-03-30", "2023-04-29"),
        ("Wat gebeurde er afgelopen maandag?", "2023-06-12", "2023-06-12"),
        ("Co robiliśmy w zeszłym tygodniu?", "2023-06-05", "2023-06-11"),
        ("Co robiliśmy dwa miesiące temu?", "2023-03-30", "2023-04-29"),
        ("昨天我们买了什么\uff1f", "2023-06-13", "2023-06-13"),
        ("去年夏天我们做了什么", "2022-06-01", "2022-08-31"),
        ("十一月我们做了什么", "2022-11-01", "2022-11-30"),
        ("先週誰と会った", "2023-06-05", "2023-06-11"),
        ("2022年5月3日に何をした", "2022-05-03", "2022-05-03"),
    ],
)
def test_a_period_is_read_in_another_language(text: str, first: str, last: str) -> None:
    assert named(text) == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        "Wo ist der Fall Müller?",
        "Was ist hier passiert?",
        "¿Dónde está el mar?",
        "Quand est la marche en avant ?",
        "Où est Marion ?",
        "Wann ist das Treffen nächste Woche?",
        "¿Cuándo es la reunión del lunes?",
        "Qui a été élu président ?",
        "Quand a-t-elle été recrutée ?",
        "Où sont les sports d'hiver ?",
        "¿Dónde está la ropa de verano?",
        "¿Cuál es el teléfono de Julio?",
        "Qual é o telefone do Marco?",
    ],
)
def test_a_word_that_is_a_time_in_english_or_elsewhere_names_no_period(text: str) -> None:
    assert named(text) == []


def test_an_english_period_in_a_query_that_looks_foreign_is_read() -> None:
    assert named("Müller Meeting last week") == [("2023-06-05", "2023-06-11")]


def test_a_query_without_a_moment_names_no_period() -> None:
    assert read_query("Was war gestern?").periods == ()


@pytest.mark.parametrize("language", time_words())
@given(text=st.text())
def test_any_text_can_be_read_for_times(language: str, text: str) -> None:
    assert isinstance(times_in_english(text, language), str)


def test_a_german_question_finds_what_happened_without_a_word_in_common() -> None:
    with MemoryStore() as store:
        for text, day in [("Emil trägt einen Verband", 7), ("Fahrkarten besorgt", 13)]:
            at = datetime(2023, 6, day, tzinfo=UTC).timestamp()
            store.store(text, occurred_at=at)
        found = store.recall("Was war vorige Woche mit dem Hund?", now=NOW)
        assert [hit.content for hit in found][:1] == ["Emil trägt einen Verband"]
