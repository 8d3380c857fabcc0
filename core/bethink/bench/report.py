"""What was run on what, as JSON and as tables for a terminal."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bethink.bench.findings import Findings
from bethink.bench.ratios import ratio_rows

_DISTRIBUTIONS = (
    "bethink",
    "numpy",
    "simsimd",
    "remembrane",
    "apsw",
    "sqlite-vec",
    "chromadb",
    "lancedb",
    "langgraph-checkpoint-sqlite",
)


def as_document(findings: Findings, settings: Mapping[str, object]) -> dict[str, Any]:
    """Return everything that was found, ready for JSON.

    ``figures``: one row per size, embedder, engine and measure, medians in microseconds;
    ``footprints``: memory and disk; ``ratios``: quotients of medians, beside their goals.
    """
    return {
        "machine": machine(),
        "versions": versions(),
        "settings": dict(settings),
        "figures": [sample.as_row() for sample in findings.samples],
        "footprints": [asdict(footprint) for footprint in findings.footprints],
        "ratios": list(ratio_rows(findings.samples)),
    }


def machine() -> dict[str, object]:
    """Return what the figures depend on besides versions."""
    return {
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def versions() -> dict[str, str]:
    """Return the versions of Python, SQLite and whatever is installed of the engines."""
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def as_text(document: Mapping[str, Any]) -> str:
    """Return the document as lines for a terminal."""
    heads = (document["machine"], document["versions"], document["settings"])
    lines = [", ".join(f"{key} {value}" for key, value in head.items()) for head in heads]
    groups = dict.fromkeys((row["size"], row["embedder"]) for row in document["figures"])
    for group in groups:
        chosen = {
            part: [row for row in document[part] if (row["size"], row["embedder"]) == group]
            for part in ("figures", "footprints", "ratios")
        }
        lines += ["", f"{group[0]:,} memories, {group[1]} embedder; CPU time, median", ""]
        lines += _figure_table(chosen["figures"])
        lines += ["", *_footprint_table(chosen["footprints"]), "", *_ratio_table(chosen["ratios"])]
    return "\n".join(lines)


def _figure_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line per measure, one column per engine."""
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    cells = {(row["measure"], row["engine"]): _time(row["cpu_us"]) for row in rows}
    yield _line("", engines)
    for measure in dict.fromkeys(row["measure"] for row in rows):
        yield _line(measure, [cells.get((measure, engine), "") for engine in engines])


def _footprint_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _line("", [row["engine"] for row in rows])
    yield _line("bytes on disk per memory", [f"{row['bytes_per_memory']:,.0f}" for row in rows])
    yield _line("resident after first recall", [f"{row['rss_mb']:,.0f} MB" for row in rows])
    yield _line("resident after import", [f"{row['import_rss_mb']:,.0f} MB" for row in rows])
    yield _line("import", [f"{row['import_cpu_ms']:,.0f} ms" for row in rows])


def _ratio_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        goal = ""
        if row["goal"] is not None:
            sign, verdict = ">=" if row["at_least"] else "<=", "met" if row["met"] else "MISSED"
            goal = f"goal {sign} {row['goal']:g}: {verdict}"
        yield f"{row['name']:<58}{row['value']:>10.2f}  {goal}".rstrip()


def _line(head: str, cells: Sequence[str]) -> str:
    return (f"{head:<28}" + "".join(f"{cell:>13}" for cell in cells)).rstrip()


def _time(microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.1f} us"
    if microseconds < 1_000_000:
        return f"{microseconds / 1000:.2f} ms"
    return f"{microseconds / 1_000_000:.2f} s"
