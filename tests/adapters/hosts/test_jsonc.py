"""JSON with comments is edited in place: what is not bethink's stays to the byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from bethink_adapters.hosts.jsonc import JsonError, drop, parse, put

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


@given(values)
def test_plain_json_is_read_as_json_reads(value: Any) -> None:
    assert parse(json.dumps(value, indent=1)).data == value


@pytest.mark.parametrize(
    "text", ["", "{", '{"a"}', '{"a": }', "{a: 1}", "[1 2]", "{} {}", '"\n"', "[" * 9_999, "/* {}"]
)
def test_what_is_no_json_is_told_with_the_line(text: str) -> None:
    with pytest.raises(JsonError, match=r"line [12]: "):
        parse(text)
