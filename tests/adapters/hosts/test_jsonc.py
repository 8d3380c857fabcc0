"""JSON with comments is edited in place: what is not bethink's stays to the byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bethink_adapters.hosts.jsonc import JsonError, drop, parse, put, restore

ENTRY = {"command": "bethink", "args": ["mcp"]}
PATH = ("mcpServers", "bethink")
names = some.text(min_size=1, max_size=5).filter(lambda name: name not in PATH)
values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@some.composite
def settings(draw: some.DrawFn) -> str:
    """Draw the text of an object, with comments, trailing commas, and any indentation."""
    data = draw(some.dictionaries(names, values, max_size=4))
    if draw(some.booleans()):
        data["mcpServers"] = draw(some.dictionaries(names, values, max_size=2))
    text = json.dumps(data, indent=draw(some.sampled_from([None, 0, 2, 4, "\t"])))
    if draw(some.booleans()):
        text = text.replace("\n", " // a { comment\n")
    if draw(some.booleans()):
        text = text.replace("\n}", ",\n}") if data and "\n" in text else f"/* {'{'} */ {text}"
    text = draw(some.sampled_from(["", "\ufeff", "// top\n"])) + text + "\n"
    return text.replace("\n", draw(some.sampled_from(["\n", "\r\n"])))


@given(settings())
def test_an_entry_is_put_and_dropped_and_nothing_else_changes(text: str) -> None:
    before = parse(text).data
    changed = put(text, PATH, ENTRY)
    assert parse(changed).data == {
        **before,
        "mcpServers": {**before.get("mcpServers", {}), "bethink": ENTRY},
    }
    assert put(changed, PATH, ENTRY) == changed
    assert changed.count("//") == text.count("//")
    assert ("\r\n" in text) == ("\r\n" in changed) or "\n" not in text.strip("\r\n")
    dropped = drop(changed, PATH)
    expected = before if "mcpServers" in before else {**before, "mcpServers": {}}
    assert parse(dropped).data == expected
    assert restore(changed, PATH, text, PATH) == text


@given(settings())
def test_what_was_added_later_stays_when_the_first_state_is_restored(text: str) -> None:
    later = put(put(text, PATH, ENTRY), ("mcpServers", "later"), 1)
    later = put(put(later, ("more",), [2]), PATH, {"command": "new"})
    before = parse(text).data
    restored = restore(later, PATH, text, PATH)
    assert parse(restored).data == {
        **before,
        "mcpServers": {**before.get("mcpServers", {}), "later": 1},
        "more": [2],
    }
    assert restored.count("//") == text.count("//")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b": 1, "x": 2}', '{"x": 2}'),
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "c": 3}'),
        ('{"a": 1, // a\n "b": 2, // b\n "c": 3}', '{"a": 1, // a\n  // b\n "c": 3}'),
        ('{"a": 1 // a\n, // b\n "b": 2}', '{"a": 1 // a\n // b\n }'),
        ('{\n // b\n "b": 2 /* b */,\n // c\n "c": 3\n}', '{\n // b\n  /* b */\n // c\n "c": 3\n}'),
        ('{ // b\n "b": 1}', "{ // b\n }"),
        ('{\n  "b": 1\n}', "{}"),
        ('{"b": 0, "a": 1, "b": 2, "a": 3}', '{"b": 0, "a": 1, "a": 3}'),
        ('{"a": 0, "a": 1, "b": 2}', '{"a": 0, "a": 1}'),
    ],
)
def test_a_dropped_item_takes_no_comment_along(text: str, expected: str) -> None:
    assert drop(text, ["b"]) == expected
    parse(expected)


@given(values)
def test_plain_json_is_read_as_json_reads(value: Any) -> None:
    assert parse(json.dumps(value, indent=1)).data == value


@pytest.mark.parametrize(
    "text", ["", "{", '{"a"}', '{"a": }', "{a: 1}", "[1 2]", "{} {}", '"\n"', "[" * 9_999, "/* {}"]
)
def test_what_is_no_json_is_told_with_the_line(text: str) -> None:
    with pytest.raises(JsonError, match=r"line [12]: "):
        parse(text)
