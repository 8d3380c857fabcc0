"""The prefilter never drops a pair of texts for which the rules find a conflict."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.bench.corpus import build_corpus
from bethink.features.conflicts.candidates import candidate_pairs
from bethink.features.statements import promising_pairs
from bethink.features.statements.rules import compare
from bethink.features.statements.statement_features import StatementFeatures, extract_features

from ..conflicts.test_conflicts import LIKELY
from .parsed_records import parsed_records

_WORDS = """
    user Ann my I lives in Lisbon Oslo not never no longer the a limit is are 100 200 May Monday 5 %
    . and , but . prefers over tabs spaces open closed now new moved to main language possible
    impossible cancelled all some someone from >= <= 我 不 喜欢 咖啡 не ест
"""
_TEXTS = st.lists(st.sampled_from(_WORDS.split()), max_size=14).map(" ".join)


def assert_kept(texts: list[StatementFeatures], pairs: list[tuple[int, int]]) -> None:
    found = {(a, b) for a, b in pairs if compare(texts[a], texts[b]) or compare(texts[b], texts[a])}
    kept = promising_pairs(texts, np.array(pairs, dtype=np.int64).reshape(-1, 2))
    assert found <= set(kept) <= set(pairs)


def assert_all_kept(contents: list[str]) -> None:
    texts = list(map(extract_features, contents))
    assert_kept(texts, list(combinations(range(len(texts)), 2)))


@pytest.mark.slow
@given(st.lists(_TEXTS, max_size=8))
def test_texts_of_few_words_keep_all_conflicts(contents: list[str]) -> None:
    assert_all_kept(contents)


def test_known_conflicts_are_kept_among_all_their_pairs() -> None:
    assert_all_kept([text for pair in LIKELY for text in pair])


def test_prose_keeps_all_conflicts_and_loses_most_other_pairs() -> None:
    known = parsed_records(build_corpus(600).texts)
    texts, pairs = [each.features for each in known], candidate_pairs(known)
    assert_kept(texts, list(map(tuple, pairs.tolist())))
    assert len(promising_pairs(texts, pairs)) < len(pairs) / 2


def test_a_denial_of_a_single_word_is_kept() -> None:
    assert_all_kept(["I am vegan", "I am not vegan", "Meeting cancelled", "The meeting is at 3 pm"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann has 3 cats", "Someone saw 5 cats"),
        ("Usually I prefer coffee from Lavazza", "I prefer coffee from Illy"),
    ],
)
def test_conflicts_without_a_common_beginning_are_kept(one: str, other: str) -> None:
    texts = extract_features(one), extract_features(other)
    assert compare(*texts)
    assert promising_pairs(texts, np.array([[0, 1]])) == [(0, 1)]


def test_no_texts_have_no_pairs() -> None:
    assert promising_pairs([], candidate_pairs([])) == []
