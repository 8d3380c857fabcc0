"""The 0/1 knapsack with setup weights, solved exactly by dynamic programming.

Items belong to groups. The first item taken from a group adds the setup weight of the group, as a
heading is printed once above many lines. A table holds the greatest value for every capacity, so
time and memory depend on the size of the table alone, never on how alike the items are.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = list[tuple[int, bytes, list[tuple[int, int, bytes]]]]

_COLUMNS: Final = 1 << 14  # capacities in a table: 500 items take about 15 ms and 1 MB


def best_subset(values: Floats, weights: Ints, groups: Ints, setups: Ints, capacity: int) -> Flags:
    """Return one flag per item: True for the items of the greatest total value in *capacity*.

    Item i has a value above 0, a weight of at least 0, and belongs to group ``groups[i]`` with the
    setup weight ``setups[groups[i]]``. Equal arguments give equal flags. The chosen items never
    weigh more than *capacity*. Their value is the greatest while *capacity* is less than 16,384
    times the greatest common divisor of all weights. Otherwise the table rounds weights to units of
    about 1/16,384 of *capacity*, and the value may be a few hundredths of a percent lower.
    """
    fits = weights + setups[groups] <= capacity
    sizes = np.bincount(groups[fits], minlength=len(setups))
    if not fits.any() or weights[fits].sum() + setups[sizes > 0].sum() <= capacity:
        return fits
    # A lone item pays the setup alone. Items without a shared setup form the last group.
    shared = (sizes > 1) & (setups > 0)
    weights = weights + np.where(sizes == 1, setups, 0)[groups]
    groups = np.where(shared[groups], groups, len(setups))
    setups = np.append(np.where(shared, setups, 0), 0)
    unit = max(int(np.gcd.reduce(np.concatenate((weights[fits], setups)))), 1)
    if capacity // unit >= _COLUMNS:
        unit = capacity // _COLUMNS + 1
    column, back = capacity // unit, 1
    members = [(group, (fits & (groups == group)).nonzero()[0]) for group in np.unique(groups)]
    rows = _table(values, _rounded(weights, unit), members, _rounded(setups, unit), column + 1)
    while True:
        taken = _traced(rows, column, len(values))
        excess = int(weights[taken].sum() + setups[np.unique(groups[taken])].sum()) - capacity
        if excess <= 0:
            return taken
        # Rounding hid weight. Steps double, so a handful of traces reaches a choice that fits.
        column, back = max(column - max(-(-excess // unit), back), 0), 2 * back


def _rounded(weights: Ints, unit: int) -> Ints:
    """Return *weights* in units, rounded to the nearest: errors of many items cancel out."""
    # No weight above 0 becomes 0, so column 0 always fits.
    return np.maximum((weights + unit // 2) // unit, weights > 0)


def _table(
    values: Floats, weights: Ints, members: list[tuple[int, Ints]], setups: Ints, columns: int
) -> Rows:
    """Return a row of bits per group and item: whether to take the item, for each capacity."""
    best, rows = np.zeros(columns), Rows()
    for group, items in members:
        setup = int(setups[group])
        inside = np.full(columns, -np.inf)  # the best totals with the setup of the group paid
        inside[setup:] = best[: columns - setup]
        bits = []
        for item, weight in zip(items.tolist(), weights[items].tolist(), strict=True):
            without, with_item = inside[weight:], inside[: columns - weight] + values[item]
            # Only a strictly greater total takes an item: of equal items, the first stay.
            bits.append((item, weight, np.packbits(with_item > without).tobytes()))
            np.maximum(without, with_item, out=without)
        rows.append((setup, np.packbits(inside > best).tobytes(), bits))
        np.maximum(best, inside, out=best)
    return rows


def _traced(rows: Rows, column: int, count: int) -> Flags:
    """Return one flag for each of *count* items: whether the best total in *column* has it."""
    taken = np.zeros(count, dtype=np.bool_)
    for setup, entered, bits in reversed(rows):
        if not _bit(entered, column):
            continue
        for item, weight, better in reversed(bits):
            if column >= weight and _bit(better, column - weight):
                taken[item] = True
                column -= weight
        column -= setup
    return taken


def _bit(bits: bytes, place: int) -> bool:
    return bits[place >> 3] << (place & 7) & 128 > 0
