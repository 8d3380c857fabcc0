from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bethink.index import vectors
from bethink.index.columns import Columns
from bethink.index.unit_vectors import cosines, directions, unit_rows
from bethink.index.vectors import VectorColumn
from bethink.model.arrays import Column, Matrix

from ..kernels import KERNELS

values = st.floats(-(2.0**59), 2.0**59, width=32, allow_subnormal=False) | st.sampled_from(
    [0.0, 2.0**-120, 1.0, -1.0]
)
matrices = st.integers(1, 24).flatmap(
    lambda size: st.tuples(
        arrays(np.float32, st.tuples(st.integers(1, 6), st.just(size)), elements=values),
        arrays(np.float32, size, elements=values).filter(lambda vector: vector.any()),
    )
)


def column(name: str, dimension: int) -> VectorColumn:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "_kernel", KERNELS[name])
        return VectorColumn(dimension, 2)


def direction(vector: Matrix) -> npt.NDArray[np.float64]:
    exact = vector.astype(np.float64)
    found: npt.NDArray[np.float64] = exact / np.linalg.norm(exact)
    return found


def scan(column: VectorColumn, query: npt.NDArray[np.float64]) -> tuple[Any, float]:
    """Return about how near every position is, and how far off that may be."""
    found = column.scan(query)
    return found.raw * found.unit, found.margin


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@given(given=matrices)
def test_the_scan_is_never_further_off_than_it_says(
    name: str, given: tuple[Matrix, Matrix]
) -> None:
    matrix, query = given
    scanned = column(name, len(query))
    scanned.append(matrix[:1])
    scanned.append(matrix[1:])
    near, margin = scan(scanned, direction(query))
    assert np.abs(near - cosines(directions(matrix), direction(query))).max() <= margin
    assert margin < 0.2


@pytest.mark.parametrize("name", KERNELS)
def test_the_margin_is_small_for_usual_vectors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_BLOCK_NUMBERS", 64 * 384)
    matrix = np.random.default_rng(1).normal(size=(200, 384)).astype(np.float32)
    scanned = column(name, 384)
    scanned.append(matrix)
    near, margin = scan(scanned, direction(matrix[0]))
    assert np.abs(near - cosines(directions(matrix), direction(matrix[0]))).max() <= margin < 0.03
    assert near.argmax() == 0


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("cosine", [-0.3, 0.0, 0.3])
def test_all_that_may_be_nearer_are_told_and_few_others(name: str, cosine: float) -> None:
    matrix = np.random.default_rng(5).normal(size=(200, 16)).astype(np.float32)
    scanned, query = column(name, 16), direction(np.ones(16, np.float32))
    scanned.append(matrix)
    scan = scanned.scan(query)
    exact, told = cosines(directions(matrix), query), np.zeros(200, dtype=bool)
    told[scan.above(cosine)] = True
    assert told[exact > cosine].all()
    assert not told[exact < cosine - 2 * scan.margin].any()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("size", [0, 5])
def test_many_queries_are_compared_as_each_is(
    name: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_BATCH_PRODUCTS", 10)
    matrix = np.random.default_rng(1).normal(size=(size + 3, 16)).astype(np.float32)
    scanned, queries = column(name, 16), directions(matrix[size:])
    scanned.append(matrix[:size])
    for query, found in zip(queries, scanned.scans(queries), strict=True):
        near, margin = scan(scanned, query)
        assert found.raw * found.unit == pytest.approx(near, abs=1e-6)
        assert found.margin == margin


@pytest.mark.parametrize("name", KERNELS)
def test_an_empty_column_scans_to_nothing(name: str) -> None:
    near, _ = scan(column(name, 3), np.array([1.0, 0.0, 0.0]))
    assert near.shape == (0,)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("other", KERNELS)
def test_what_is_quantised_can_be_adopted_with_or_without_the_kernel(name: str, other: str) -> None:
    matrix = np.random.default_rng(2).normal(size=(9, 16)).astype(np.float32)
    matrix[4] = 0
    one, adopting = column(name, 16), column(other, 16)
    one.append(matrix)
    adopting.append(matrix[:2])
    adopting.adopt(*one.quantised(2, 7))
    assert (adopting._columns.size, adopting.error) == (7, one.error)
    codes, scale, _ = adopting.quantised(0, 7)
    assert codes.dtype == np.int8
    assert codes.tolist() == one.quantised(0, 7)[0].tolist()
    assert scale.tolist() == one.quantised(0, 7)[1].tolist()
    near, margin = scan(adopting, direction(matrix[3]))
    assert np.abs(near - cosines(directions(matrix[:7]), direction(matrix[3]))).max() <= margin


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("among", [[], [7], [3, 4, 19], list(range(2, 20))])
def test_those_among_all_are_compared_as_ever(name: str, among: list[int]) -> None:
    scanned = column(name, 8)
    scanned.append(np.random.default_rng(4).normal(size=(20, 8)).astype(np.float32))
    query = direction(np.arange(8, dtype=np.float32))
    every, some = scanned.scan(query), scanned.scan(query, np.array(among, dtype=np.int64))
    assert some.raw[among] == pytest.approx(every.raw[among])
    assert some.margin == every.margin or not among
    if len(among) <= 0.3 * 20:
        assert set(np.delete(some.raw, among)) == {-np.inf}


def test_a_zero_vector_is_like_nothing() -> None:
    exact = directions(np.zeros((1, 3), np.float32))
    assert cosines(exact, np.array([1.0, 0, 0])).tolist() == [0.0]
    zero = VectorColumn(3)
    zero.append(np.zeros((2, 3), np.float32))
    assert zero.scan(np.array([1.0, 0, 0])).raw.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_damaged_vector_is_like_nothing_and_leaves_the_others(name: str, wrong: float) -> None:
    damaged = np.array([[1.0, 0.0], [1.0, wrong], [wrong, wrong]], np.float32)
    scanned = column(name, 2)
    scanned.append(damaged)
    near, margin = scan(scanned, np.array([1.0, 0.0]))
    assert near == pytest.approx([1.0, 0.0, 0.0], abs=margin)
    assert unit_rows(damaged, 2).tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


def test_a_right_angle_is_exactly_zero() -> None:
    exact = directions(np.array([[-5, 2]], np.float32))
    assert cosines(exact, direction(np.array([2, 5]))).tolist() == [0.0]


@pytest.mark.parametrize("name", KERNELS)
def test_vectors_count_by_direction_whatever_their_length(name: str) -> None:
    scanned = column(name, 2)
    scanned.append(np.array([[3, 4], [1e18, 1e18], [1e-30, 0]], np.float32))
    near, _ = scan(scanned, np.array([1.0, 0.0]))
    assert near == pytest.approx([0.6, 0.5**0.5, 1.0], abs=0.01)


def test_without_simsimd_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(vectors, "import_module", missing)
    assert vectors._kernel.__wrapped__() is None


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_kept_is_compared_as_before(name: str) -> None:
    dice = np.random.default_rng(3)
    matrix = dice.standard_normal((50, 8), dtype=np.float32)
    kept, query = np.arange(50) % 7 == 2, direction(matrix[0])
    whole, part = column(name, 8), column(name, 8)
    for each in (whole, part):
        each.append(matrix)
    part.keep(kept)
    assert scan(part, query)[0] == pytest.approx(scan(whole, query)[0][kept], abs=1e-6)
    assert part.nbytes < whole.nbytes / 5
    part.append(matrix[:1])
    assert scan(part, query)[0][-1] == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("later", [0, 3])
@pytest.mark.parametrize("others", [0, 2])
def test_an_early_scan_is_completed(
    name: str, later: int, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MIN_EARLY_ROWS", 4)
    matrix = np.random.default_rng(6).normal(size=(9, 16)).astype(np.float32)
    scanned, queries = column(name, 16), list(map(direction, matrix[: others + 1]))
    scanned.append(matrix[:3])
    assert not scanned.has_early_scans
    scanned.append(matrix[3 : 9 - later])
    assert scanned.has_early_scans
    found_early = list(scanned.scan_early(queries))
    scanned.append(100 * matrix[9 - later :])
    for _ in range(2):
        for query, early in zip(queries, found_early, strict=True):
            found, expected = scanned.scan(query, None, early), scanned.scan(query)
            assert found.raw == pytest.approx(expected.raw, abs=1e-6)
            assert found[1:] == expected[1:]


def test_an_early_scan_knows_the_margin_of_rows_that_come_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def append_and_read(columns: Columns, name: str) -> Column:
        if rough:
            scanned.adopt(np.ones((1, 2), np.int8), np.ones(1), rough.pop())
        return read(columns, name)

    scanned, rough, read = column("numpy", 2), [0.25], Columns.__getitem__
    scanned.append(np.eye(2, dtype=np.float32))
    monkeypatch.setattr(Columns, "__getitem__", append_and_read)
    (early,) = scanned.scan_early([direction(np.ones(2, np.float32))])
    assert len(early.scan.raw) == 3
    assert early.scan.margin > 0.25


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("products", [1, 1 << 22])
def test_early_scans_of_several_columns_come_in_order(
    name: str, products: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_BATCH_PRODUCTS", products)
    matrix = np.random.default_rng(6).normal(size=(9, 16)).astype(np.float32)
    first, second = column(name, 16), column(name, 8)
    first.append(matrix)
    second.append(matrix[:5, :8])
    asked = [(first, 0), (second, 1), (first, 2), (second, 3), (second, 4)]
    queries = [direction(matrix[place, : own.dimension]) for own, place in asked]
    owners = [own for own, _ in asked]
    found = list(vectors.scan_early(list(zip(owners, queries, strict=True))))
    for (own, place), query, early in zip(asked, queries, found, strict=True):
        assert early.scan.raw == pytest.approx(own.scan(query).raw, abs=1e-6)
        assert early.scan.raw.argmax() == place
    assert list(vectors.scan_early([])) == []


@pytest.mark.parametrize("name", KERNELS)
def test_an_early_scan_of_other_positions_counts_for_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_MIN_EARLY_ROWS", 4)
    matrix = np.random.default_rng(6).normal(size=(9, 16)).astype(np.float32)
    scanned, other, query = column(name, 16), column(name, 16), direction(matrix[3])
    scanned.append(matrix)
    other.append(matrix[::-1])
    before, elsewhere = vectors.scan_early([(scanned, query), (other, query)])
    scanned.keep(np.arange(9) > 1)
    scanned.append(matrix[:2])
    for early in (before, elsewhere):
        assert scanned.scan(query, None, early).raw.tolist() == scanned.scan(query).raw.tolist()
