"""Paths have one spelling, and none leads out."""

from __future__ import annotations

import ntpath
import posixpath
import unicodedata
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import ValidationError
from bethink.features.files.paths import above, normalise_path
from bethink.model.namespaces import below

TRICKY = ("..", ".", "/", "\\", "%2e", "%2F", "%5c", "%25", "2e", "\uff0e", "\u2025", "\uff0f",
          "é", "e\u0301", " ", "\x00", "a", "b", "0", "%", "\u202e", "\ud800", "用")  # fmt: skip
paths = st.lists(st.sampled_from(TRICKY) | st.characters(), max_size=8).map("".join)
names = st.text("ab.-0é\U0001f99c", min_size=1, max_size=3)
inside = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("path", "one"),
    [
        ("/", "/"),
        ("/a", "/a"),
        ("a", "/a"),
        ("a/b.md/", "/a/b.md"),
        ("/.hidden/...x", "/.hidden/...x"),
        ("/100%/50%25 off", "/100%/50%25 off"),
        ("/cafe\u0301", "/café"),
        ("/2024\uff0f01 用户", "/2024\uff0f01 用户"),
        ("/👩\u200d💻~:*?", "/👩\u200d💻~:*?"),
        ("/" + "a" * 1023, "/" + "a" * 1023),
    ],
)
def test_a_path_has_one_spelling(path: str, one: str) -> None:
    assert normalise_path(path) == one


@pytest.mark.parametrize(
    "path",
    [
        "", " ", "//", "///", "/a//b", "//a", "/a//",
        ".", "..", "/..", "/a/../b", "/a/.", "a/..", "/...", "/a/ ..", "/a/.. /b", "/ a", "/a /b",
        "\\", "/a\\b", "..\\..\\x", "/a/..\\", "C:\\x",
        "/%2e%2e/x", "/%2E./x", "/a%2fb", "/a%5Cb", "/%252e%252e/x", "/%25252e%25252e", "/a%00",
        "/a%0Ab", "/%c0%ae%c0%ae/x", "/%ff", "/..%2f", "/a/%2e",
        "/a\x00b", "/a\nb", "/a\x7f", "/a\x9f", "/a\u2028b", "/a\u202egpj.exe", "/\ud800",
        "/\uff0e\uff0e/x", "/\u2025", "/\u2024\u2024/x", "/..\uff0fetc",
        "/..\uff3cetc", "/a\uff0f\uff0fb",
        "/" + "a" * 1024,
    ],
)  # fmt: skip
def test_a_path_that_leads_out_or_hides_something_is_refused(path: str) -> None:
    with pytest.raises(ValidationError):
        normalise_path(path)


@pytest.mark.parametrize("path", [None, 7, b"/a", ["/a"]])
def test_a_path_is_a_text(path: Any) -> None:
    with pytest.raises(ValidationError, match="must be a str"):
        normalise_path(path)


@given(path=paths)
def test_no_reader_finds_a_way_up_in_what_is_accepted(path: str) -> None:
    try:
        name = normalise_path(path)
    except ValidationError:
        return
    assert normalise_path(name) == name == unicodedata.normalize("NFC", name)
    decoded = unquote(unquote(unquote(name)))
    for reading in (name, decoded, unicodedata.normalize("NFKC", decoded)):
        assert posixpath.normpath(reading) == reading
        steps = ntpath.normpath(reading).split("\\")
        assert steps[0] == ""
        assert ".." not in steps
    assert "\\" not in decoded
    assert not any(unicodedata.category(letter) == "Cc" for letter in decoded)
    assert name.count("/") == decoded.count("/")


@given(path=inside, other=inside, apart=st.sampled_from(["", "/"]))
def test_below_and_above_agree(path: str, other: str, apart: str) -> None:
    for key in (other, f"{path}{apart}{other.removeprefix('/')}"):
        first, after = below(path)
        assert (first <= key < after) == (path in above(key))
