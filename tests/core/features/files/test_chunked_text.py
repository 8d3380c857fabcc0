"""Where a text is cut, and what of it stays."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import Files, MemoryStore
from bethink.features.files.chunked_text import (
    MAX_CHUNK_CHARACTERS,
    rechunk,
    split_into_chunks,
)

LONG = "x" * (MAX_CHUNK_CHARACTERS + 1)
LINES = st.lists(st.sampled_from(["", "a line", "é" * 700, LONG]), max_size=8).map("\n".join)


@pytest.mark.slow
@given(text=LINES)
def test_a_text_is_cut_at_the_ends_of_lines(text: str) -> None:
    pieces = split_into_chunks(text)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= MAX_CHUNK_CHARACTERS for piece in pieces)
    assert all(piece.endswith("\n") or len(piece) == MAX_CHUNK_CHARACTERS for piece in pieces[:-1])


@pytest.mark.slow
@given(texts=st.lists(LINES, min_size=1, max_size=4), text=LINES)
def test_a_text_cut_anew_is_that_text(texts: list[str], text: str) -> None:
    for whole in ("".join(texts), "".join(texts) + text, text):
        assert "".join(rechunk(texts, whole)) == whole


@pytest.mark.parametrize(
    ("texts", "text", "parts"),
    [
        (["a\n", "b\n"], "a\nb\nc", ["a\n", "b\n", "c"]),
        (["a\n", "b"], "a\nb\nc", ["a\n", "b\nc"]),
        (["a\n", "b"], "a\nb", ["a\n", "b"]),
        (["a\n", "b\n", "c\n"], "a\nx\nc\n", ["a\n", "x\nc\n"]),
        (["a\n", "b\n"], "a\n", ["a\n"]),
        ([LONG, "b"], f"{LONG}bc", [LONG, "bc"]),
        (["", "a\n"], "a\nb", ["a\nb"]),
        ([], "", [""]),
        (["a\n"], "", [""]),
    ],
)
def test_what_a_text_begins_with_stays_cut_as_it_is(
    texts: list[str], text: str, parts: list[str]
) -> None:
    assert rechunk(texts, text) == parts


def test_a_text_that_was_made_anew_meanwhile_is_returned_as_it_is_now() -> None:
    seen = list[Sequence[str]]()
    with MemoryStore() as store:
        files = Files(store)
        files.create("/a", "x")

        def change(known: Sequence[str]) -> Sequence[str]:
            seen.append(known)
            if len(seen) == 1:
                files.delete("/a")
                files.create("/a", "x")
            return known

        first = files._texts.rewrite("/a", change)
        assert first == store.get(namespace=files.namespace, key="/a")
