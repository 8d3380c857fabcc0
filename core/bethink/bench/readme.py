"""The figures of a run as a section of a README, written between two marks."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from bethink.bench.report import duration, engines_of, own_versions, peer_version, where_and_when

BEGIN: Final = "<!-- figures: written by python -m bethink.bench --readme -->"
END: Final = "<!-- end of figures -->"
_WIDTH: Final = 128
_TIMES: Final = "\u00d7"
_FINDS: Final = {
    "bethink": "words and vectors",
    "remembrane": "words and vectors",
    "sqlite-vec": "vectors",
    "chromadb": "vectors, roughly",
    "lancedb": "vectors",
    "langgraph": "vectors",
}
_CALLS: Final = {
    "recall": "recall",
    "recall, cold": "recall, cold",
    "store + recall": "store, then recall",
    "open and first recall": "open, then first recall",
}
_SHARED_RATIOS: Final = {
    "recall among turns / recall": (
        "recall among turns of conversations / among texts that stand alone"
    ),
    "recall after own store / recall before own store": "recall after a store / before it",
    "recall after foreign store / recall before foreign store": (
        "recall after another process's store / before it"
    ),
    "recall, cold / numpy scan, cold": "recall / numpy's scan of all vectors, both cold",
    "remembrane / bethink: pack": "remembrane's pack / bethink's",
    "remembrane / bethink: pack, cold": "remembrane's pack / bethink's, both cold",
    "remembrane / bethink: as_of": "remembrane's memory as of a moment / bethink's",
    "remembrane / bethink: as_of, all": "remembrane's list of that moment / bethink's",
    "remembrane / bethink: diff": "remembrane's diff to that moment / bethink's",
    "remembrane / bethink: merge": "remembrane's merge of ten memories / bethink's",
}
_OWN_RATIOS: Final = {
    "remembrane / bethink: recall": "remembrane's recall / bethink's, each with its own embedder",
    "remembrane / bethink: store + recall": "remembrane's store and recall / bethink's, the same",
}


def rewrite(readme: Path, document: Mapping[str, Any], picture: Path, figures: Path) -> None:
    """Replace the text between the marks in *readme* by the section of *document*.

    Raises ``ValueError`` if *readme* has no marks.
    """
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{readme} has no lines {BEGIN} and {END}")
    links = (os.path.relpath(path, readme.parent) for path in (picture, figures))
    new = section(document, *(link.replace(os.sep, "/") for link in links))
    readme.write_text(f"{before}{begin}\n{new}\n{end}{after}", encoding="utf-8")


def section(document: Mapping[str, Any], picture: str, figures: str) -> str:
    """Return picture, tables and origin; *picture* and *figures* are links."""
    size, sizes = compared_size(document), document["settings"]["sizes"]
    run = f"{where_and_when(document)}; {own_versions(document)}"
    source = f"[All figures]({figures}) of this run: {run}. With {size:,} memories:"
    lines = [
        f"![Processor time of recall, of store and recall, and of the first recall]({picture})",
        "",
        fill(source, _WIDTH, break_long_words=False, break_on_hyphens=False),
        "",
        *_table(["", "compares", *_CALLS.values(), "resident"], _peer_rows(document, size)),
        "",
        "bethink by the number of memories:",
        "",
        *_table(["", *(f"{size:,}" for size in sizes)], _own_rows(document)),
    ]
    return "\n".join(lines)


def compared_size(document: Mapping[str, Any]) -> int:
    """Return the largest size at which the most engines were measured."""
    engines: dict[int, set[str]] = {}
    for row in document["figures"]:
        engines.setdefault(row["size"], set()).add(row["engine"])
    return max(engines, key=lambda size: (len(engines[size]), size))


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    for row in [head, ["---"] * len(head), *rows]:
        yield f"| {' | '.join(row)} |".replace("|  |", "| |")


def _peer_rows(document: Mapping[str, Any], size: int) -> Iterator[list[str]]:
    """Yield the costs of calls for each engine, absolute and as multiples of bethink's."""
    times = {
        (row["engine"], row["measure"]): row["cpu_us"]
        for row in document["figures"]
        if (row["size"], row["embedder"]) == (size, "shared")
    }
    resident = {
        row["engine"]: row["rss_mb"]
        for row in document["footprints"]
        if (row["size"], row["embedder"]) == (size, "shared")
    }
    for engine in engines_of(document):
        cells = []
        for measure in _CALLS:
            ours, theirs = times["bethink", measure], times[engine, measure]
            factor = "" if engine == "bethink" else f" ({_TIMES}{_number(theirs / ours)})"
            cells.append(duration(theirs / 1e6) + factor)
        name = peer_version(document, engine)
        yield [name, _FINDS[engine], *cells, f"{resident[engine]:.0f} MB"]


def _own_rows(document: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the costs of bethink's calls and the work behind, a cell a size."""
    cells: defaultdict[str, dict[int, str]] = defaultdict(dict)
    cells.update((told, {}) for told in _CALLS.values())
    for row in _of_bethink(document["figures"]):
        if row["measure"] in _CALLS:
            cells[_CALLS[row["measure"]]][row["size"]] = duration(row["cpu_us"] / 1e6)
    for row in document["ratios"]:
        told = (_OWN_RATIOS if row["embedder"] == "own" else _SHARED_RATIOS).get(row["name"])
        if told:
            cells[told][row["size"]] = _number(row["value"])
    for row in document["survivors"]:
        if row["embedder"] == "shared":
            told = "vectors read in full to prove an answer: median (95th percentile)"
            cells[told][row["size"]] = f"{row['median']:g} ({row['p95']})"
    for row in _of_bethink(document["footprints"]):
        cells["resident after the first recall"][row["size"]] = f"{row['rss_mb']:.0f} MB"
        cells["bytes on disk, a memory"][row["size"]] = f"{row['bytes_per_memory']:,.0f}"
    for told, by_size in cells.items():
        yield [told, *(by_size.get(size, "") for size in document["settings"]["sizes"])]


def _of_bethink(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return (row for row in rows if (row["engine"], row["embedder"]) == ("bethink", "shared"))


def _number(value: float) -> str:
    """Return a factor in two or three digits."""
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"
