"""JSON files of any length, value by value, the broken ones told."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import StorageError
from bethink_adapters.formats import Skipped, jsons
from bethink_adapters.formats.jsons import values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def read(path: Path, text: str | bytes) -> tuple[list[Any], list[str]]:
    """Return the values in a file of *text*, and what was skipped."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    found = list(values(path))
    skipped = [str(each) for each in found if isinstance(each, Skipped)]
    return [each[1] for each in found if not isinstance(each, Skipped)], skipped


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsons, "_CHUNK", 3)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("as_list", [True, False])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_values_are_read_in_steps_of_any_size(
    path: Path, indent: int | None, as_list: bool, ascii_only: bool
) -> None:
    wanted = [1234567, 'a "quoted" [text}\\', {"é": [{}, [], -1.5e-7, None]}, "𝄞\u2028", True, 12]

    def written(value: object) -> str:
        return json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    text = written(wanted) if as_list else "\n".join(map(written, wanted))
    assert read(path, text) == (wanted, [])


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(JSON, min_size=1))
def test_any_list_is_read_as_json_reads_it(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    assert read(path, json.dumps(wanted)) == (wanted, [])


def test_an_empty_file_and_an_empty_list_hold_nothing(path: Path) -> None:
    assert read(path, "") == read(path, " \n") == read(path, "[]") == read(path, "\ufeff[ ]")
    assert read(path, "[]") == ([], [])


@pytest.mark.usefixtures("small_steps")
def test_a_broken_line_is_told_with_its_number(path: Path) -> None:
    text = '{"a": 1}\r\n{"b": "cut off\n\n{"c": 3} {"d": 4}\n{"e": nope}\n{"f": 6}'
    found, skipped = read(path, text)
    assert found == [{"a": 1}, {"c": 3}, {"d": 4}, {"f": 6}]
    assert [line.partition(":")[0] for line in skipped] == ["line 2", "line 5"]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    "broken", ['{"b": nope, "x": "}"}', '{"b": {"c": [1, 2,,]}}', "{b: 2}", "{1e: []}"]
)
def test_a_broken_item_is_passed_by(path: Path, broken: str) -> None:
    found, skipped = read(path, f'[{{"a": 1}}, {broken}, {{"c": 3}}]')
    assert found == [{"a": 1}, {"c": 3}]
    assert [line.partition(":")[0] for line in skipped] == ["item 2"]


@pytest.mark.parametrize("text", ["[}", "[nope]", "[1, }", '[{"a": "', "[tru", '["\\'])
def test_a_file_that_makes_no_sense_ends_all_the_same(path: Path, text: str) -> None:
    assert read(path, text)[1]


def test_a_list_that_is_cut_off_gives_what_it_has(path: Path) -> None:
    found, skipped = read(path, '[{"a": 1}, {"b": 2}, {"c": [1, 2')
    assert found == [{"a": 1}, {"b": 2}]
    assert "item 3" in skipped[0]
    assert read(path, '[{"a": 1}, ')[1] == ["item 2: the file ends before its list does"]


@pytest.mark.usefixtures("small_steps")
def test_an_item_too_long_is_passed_by(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsons, "LONGEST", 64)
    long = {"many": ["short"] * 100}
    found, skipped = read(path, json.dumps([1, long, 2]))
    assert (found, skipped) == ([1, 2], ["item 2: longer than 64 characters"])


def test_a_string_in_what_is_broken_may_be_long(path: Path) -> None:
    found, skipped = read(path, f'[{{"a": nope, "b": "{"]}" * 100_000}"}}, 2]')
    assert (found, len(skipped)) == ([2], 1)


@pytest.mark.slow
def test_depth_without_end_is_told(path: Path) -> None:
    deep = "[" * 200_000 + "]" * 200_000
    found, skipped = read(path, f"[1, {deep}, 2]")
    assert found == [1, 2]
    assert "nested too deeply" in skipped[0]


def test_a_number_without_end_is_told(path: Path) -> None:
    assert len(read(path, f"[{'9' * 5000}, 2]")[1]) == 1


def test_bytes_that_are_no_text_come_as_lone_surrogates(path: Path) -> None:
    assert read(path, b'["caf\xe9"]')[0] == ["caf\udce9"]


@pytest.mark.slow
def test_no_more_is_held_than_a_few_values(path: Path) -> None:
    with path.open("w") as file:
        file.write("[")
        for number in range(20_000):
            file.write(json.dumps({"n": number, "text": "x" * 500}) + ", ")
        file.write("0]")
    tracemalloc.start()
    count = sum(1 for _ in values(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_001
    assert peak < path.stat().st_size / 8


def test_an_archive_is_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("user.json", "[0]")
        archive.writestr("all/talks-001.json", "[2]")
        archive.writestr("all/talks-000.json", "[1]")
    assert list(values(path, r"talks-\d+\.json")) == [
        ("all/talks-000.json, item 1", 1),
        ("all/talks-001.json, item 1", 2),
    ]
    with pytest.raises(StorageError, match="no such export in this archive"):
        list(values(path, "nothing"))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing\.json: there is no such file$"):
        list(values(tmp_path / "missing.json"))
    with pytest.raises(StorageError):
        list(values(tmp_path))
