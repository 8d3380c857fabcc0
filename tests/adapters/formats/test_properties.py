"""The YAML that editors write at the head of a note."""

from __future__ import annotations

import pytest

from bethink_adapters.formats.markdown.properties import read_properties


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("[a, two words, https://e.org, 12:30]", ["a", "two words", "https://e.org", "12:30"]),
        ("[#a, \"b\", 'it''s', 5, ]", ["#a", "b", "it's", 5]),
        ("[[Ann]]", [["Ann"]]),
        ("[]  # none", []),
        ("{lang: en, n: {a: 1, 'b c': [x]}, d: , e}",
         {"lang": "en", "n": {"a": 1, "b c": ["x"]}, "d": None, "e": None}),
        ("2024-01-15", "2024-01-15"),
        ("0123", "0123"),
        ("#daily", "#daily"),
        ("C# # a language", "C#"),
        ("true", True),
        ("open: yes", "open: yes"),
        (r'"caf\xe9 \U0001F600\e\_"', "café 😀\x1b\xa0"),
        ("# nothing", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_value_on_one_line(written: str, value: object) -> None:
    assert read_properties([f"name: {written}", "next: 1"]) == {"name": value, "next": 1}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("\n- a\n- b: 1\n  c:\n  - d\n- - e\n  - f\n-\n- #g",
         ["a", {"b": 1, "c": ["d"]}, ["e", "f"], None, "#g"]),
        ("\n  # first\n  lang: en\n\n  'k: 1':\n    - x # last\n  n:",
         {"lang": "en", "k: 1": ["x"], "n": None}),
        (" [\n  a, # first\n  b\n]", ["a", "b"]),
        (" long text\n  that goes on\n\n  and on", "long text that goes on\nand on"),
        (" 'it''s\n\n  # text'", "it's\n# text"),
        (' "one\\\n  \\ line\\n"', "one line\n"),
        (" |\n  one\n    # two\n\n  three\n", "one\n  # two\n\nthree\n"),
        (" >-\n  one\n  two", "one two"),
    ],
)  # fmt: skip
def test_a_value_on_several_lines(written: str, value: object) -> None:
    lines = f"# of a note\nname:{written}\nnext: 1".split("\n")
    assert read_properties(lines) == {"name": value, "next": 1}


def test_no_properties_are_read_as_none() -> None:
    assert read_properties([]) == read_properties(["", "# nothing"]) == {}


@pytest.mark.parametrize(
    "bad",
    [
        *["name: [a", "name: [a b] c", "name: [a,,b]", "name: {a: 1", "name: 'x", "name: 'x' y"],
        *["name: &x 1", "name: *x", "name: !!set {}", r'name: "\q"', r'name: "\U00FFFFFF"'],
        *["? name", "- name", "name", "[]"],
        *["name: a\n  b: 1", "name: a\n- b", "a:\n    b: 1\n  c: 1"],
        *["name: " + "[x " * 9999, "name:\n  " + "- " * 9999],
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(bad: str) -> None:
    with pytest.raises(ValueError, match=r"^property cannot be read: "):
        read_properties(["first: 1", *bad.split("\n")])
