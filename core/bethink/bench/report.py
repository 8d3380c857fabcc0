"""The run and the machine, as JSON and as tables for a terminal."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bethink
from bethink.bench.findings import Findings
from bethink.bench.ratios import ratio_rows

_OURS = ("numpy", "simsimd")
_PEERS = {
    "remembrane": "remembrane",
    "sqlite-vec": "sqlite-vec",
    "chromadb": "chromadb",
    "lancedb": "lancedb",
    "langgraph": "langgraph-checkpoint-sqlite",
}


def as_document(
    findings: Findings, settings: Mapping[str, object], machine: Mapping[str, object]
) -> dict[str, Any]:
    """Return all findings on *machine*, ready for JSON.

    ``figures``: one row per size, embedder, engine and measure, medians in microseconds;
    ``footprints``: memory and disk; ``survivors``: vectors read in full to prove an answer;
    ``ratios``: quotients of medians, beside the goals.
    """
    return {
        "machine": dict(machine),
        "versions": versions(),
        "settings": dict(settings),
        "figures": [sample.as_row() for sample in findings.samples],
        "footprints": [asdict(footprint) for footprint in findings.footprints],
        "survivors": [survivors.as_row() for survivors in findings.survivors],
        "ratios": list(ratio_rows(findings.samples)),
    }


def as_json(document: Mapping[str, Any]) -> str:
    """Return the document as JSON with a line for every row."""
    parts = []
    for name, part in document.items():
        text = json.dumps(part)
        if isinstance(part, list):
            text = "[\n  " + ",\n  ".join(map(json.dumps, part)) + "\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def machine() -> dict[str, object]:
    """Return the day and the conditions of the figures, versions aside."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
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
    """Return the versions of bethink, Python, SQLite and the installed peers."""
    found = {
        "bethink": bethink.__version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    for name in (*_OURS, *_PEERS.values(), "pysqlite3-binary"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def where_and_when(document: Mapping[str, Any]) -> str:
    """Return the machine and the day of a run in one line."""
    machine = document["machine"]
    told = f"{machine['cpu']}, {machine['cores']} cores, {machine['platform']}, {machine['date']}"
    return told if machine["load"] is None else f"{told}, load {machine['load']} at the start"


def own_versions(document: Mapping[str, Any]) -> str:
    """Return the versions under bethink in one line."""
    found = document["versions"]
    names = {"python": "Python", "sqlite": "SQLite", "numpy": "numpy", "simsimd": "simsimd"}
    return ", ".join(f"{told} {found[name]}" for name, told in names.items() if name in found)


def engines_of(document: Mapping[str, Any]) -> list[str]:
    """Return bethink and the measured peers, in the usual order."""
    measured = {row["engine"] for row in document["figures"]}
    return [name for name in ("bethink", *_PEERS) if name in measured]


def peer_version(document: Mapping[str, Any], engine: str) -> str:
    """Return the distribution and version behind *engine*; bethink needs no version."""
    name = _PEERS.get(engine, engine)
    return f"{name} {document['versions'][name]}" if engine in _PEERS else engine


def duration(seconds: float) -> str:
    """Return a time in two or three digits."""
    value, name = seconds * 1e6, "µs"
    for larger in ("ms", "s"):
        if value >= 999.5:
            value, name = value / 1000, larger
    return f"{value:.{1 if value < 9.95 else 0}f} {name}"


def as_text(document: Mapping[str, Any]) -> str:
    """Return the document as lines for a terminal."""
    heads = (document["machine"], document["versions"], document["settings"])
    lines = [", ".join(f"{key} {value}" for key, value in head.items()) for head in heads]
    groups = dict.fromkeys((row["size"], row["embedder"]) for row in document["figures"])
    for group in groups:
        chosen = {
            part: [row for row in document[part] if (row["size"], row["embedder"]) == group]
            for part in ("figures", "footprints", "survivors", "ratios")
        }
        lines += ["", f"{group[0]:,} memories, {group[1]} embedder; CPU time, median", ""]
        lines += _figure_table(chosen["figures"])
        lines += ["", *_footprint_table(chosen["footprints"]), ""]
        lines += [*_survivors_table(chosen["survivors"]), *_ratio_table(chosen["ratios"])]
    return "\n".join(lines)


def _figure_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield one line per measure, one column per engine."""
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    cells = {(row["measure"], row["engine"]): duration(row["cpu_us"] / 1e6) for row in rows}
    yield _line("", engines)
    for measure in dict.fromkeys(row["measure"] for row in rows):
        yield _line(measure, [cells.get((measure, engine), "") for engine in engines])


def _footprint_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _line("", [row["engine"] for row in rows])
    yield _line("bytes on disk per memory", [f"{row['bytes_per_memory']:,.0f}" for row in rows])
    yield _line("resident after first recall", [f"{row['rss_mb']:,.0f} MB" for row in rows])
    yield _line("resident after import", [f"{row['import_rss_mb']:,.0f} MB" for row in rows])
    yield _line("import", [f"{row['import_cpu_ms']:,.0f} ms" for row in rows])


def _survivors_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"{'vectors read in full to prove an answer':<58}{row['median']:>10g}"
        yield f"{'the same, 95th percentile':<58}{row['p95']:>10g}  {_verdict('<=', row)}"


def _ratio_table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        goal = "" if row["goal"] is None else _verdict(">=" if row["at_least"] else "<=", row)
        yield f"{row['name']:<58}{row['value']:>10.2f}  {goal}".rstrip()


def _verdict(sign: str, row: Mapping[str, Any]) -> str:
    return f"goal {sign} {row['goal']:g}: {'met' if row['met'] else 'MISSED'}"


def _line(head: str, cells: Sequence[str]) -> str:
    return (f"{head:<28}" + "".join(f"{cell:>13}" for cell in cells)).rstrip()
