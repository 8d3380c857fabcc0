"""Run the benchmark: ``python -m bethink.bench --help``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bethink import MissingExtraError
from bethink.bench.corpus import Corpus, build_corpus
from bethink.bench.embedding import SharedEmbedder
from bethink.bench.engines import MEMORIES, import_engine
from bethink.bench.findings import Findings
from bethink.bench.growth import SIZES, growth
from bethink.bench.measures import Plan, Run
from bethink.bench.peers import PEERS
from bethink.bench.picture import draw
from bethink.bench.readme import rewrite
from bethink.bench.report import as_document, as_json, as_text, machine
from bethink.bench.soak import LIVE, soak

LARGEST_WITH_OWN_EMBEDDER = 10_000
LARGEST_FOR_PEERS = 100_000
MILLION = 1_000_000
SEED = 7
# BLAS libraries read these when numpy is imported, so they are set in a child process.
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "BLIS")} | {
    "VECLIB_MAXIMUM_THREADS": "1"
}
_FORCED_KERNEL = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark in a process whose numpy uses one thread; return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    options = parsed(arguments)
    if options.soak:
        lines, faults = soak(options.soak, (options.sizes or [LIVE])[0], options.store)
        print("\n".join(lines))
        return int(faults > 0)
    if options.saved:
        document = json.loads(options.saved.read_text(encoding="utf-8"))
    else:
        wanted = timing_environment(os.environ)
        if wanted != dict(os.environ):
            command = [sys.executable, "-m", "bethink.bench", *arguments]
            return subprocess.run(command, env=wanted, check=False).returncode
        if options.growth:
            print_growth(options.sizes or SIZES)
            return 0
        document = run(options)
    print(as_text(document))
    keep(document, options)
    return 0


def print_growth(sizes: Sequence[int]) -> None:
    """Print the growth table of each size."""
    for size in sizes:
        print(f"{size:,} memories")
        for name, figure in growth(size):
            print(f"  {name:62} {figure:>16}", flush=True)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options of *arguments*; exit on options that contradict each other."""
    parser = option_parser()
    options = parser.parse_args(arguments)
    if options.saved and options.json:
        parser.error("--from reads figures, --json writes them: give one")
    if options.readme and not (options.picture and (options.json or options.saved)):
        parser.error("--readme shows picture and figures: give --picture and --json or --from")
    if options.picture and find_spec("matplotlib") is None:
        parser.error(str(MissingExtraError("matplotlib", "bench")))
    return options


def keep(document: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Write *document* into the requested files."""
    for path in filter(None, (options.json, options.picture)):
        path.parent.mkdir(parents=True, exist_ok=True)
    if options.json:
        options.json.write_text(as_json(document), encoding="utf-8")
    if options.picture:
        draw(document, options.picture)
    if options.readme:
        rewrite(options.readme, document, options.picture, options.json or options.saved)


def timing_environment(current: Mapping[str, str]) -> dict[str, str]:
    """Return *current* with one BLAS thread and the kernel that suits the processor."""
    kept = {key: value for key, value in current.items() if key not in _FORCED_KERNEL}
    return {**kept, **_ONE_THREAD}


def option_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m bethink.bench",
        description="Time bethink beside its peers: same texts, same vectors, in turn, CPU time.",
    )
    add = parser.add_argument
    add("--sizes", type=_numbers, help="memories, separated by commas (default: 1000,10000,100000)")
    add("--million", action="store_true", help="also a million memories, bethink alone")
    add("--peers", type=_names, default=list(PEERS), help=f"of {', '.join(PEERS)}; empty for none")
    add("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    add("--from", type=Path, metavar="FILE", dest="saved", help="measure nothing: read FILE")
    add("--picture", type=_picture, metavar="FILE", help="draw the figures: a .png or .svg")
    add("--readme", type=Path, metavar="FILE", help="put picture and tables between FILE's marks")
    add("--rounds", type=int, help=f"repetitions of a recall (default: {Plan().rounds})")
    add("--dimension", type=int, default=256, help="of the shared vectors (default: 256)")
    add("--growth", action="store_true", help="time and bytes of the verbs as a file grows")
    add(
        "--soak", type=float, metavar="MINUTES", help="two processes use a store; --sizes: memories"
    )
    add("--store", metavar="URL", help="an empty store for --soak (default: a file)")
    add("--quick", action="store_true", help="1000 memories and few rounds")
    return parser


def _numbers(text: str) -> list[int]:
    return [int(part.replace("_", "")) for part in text.split(",")]


def _names(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = set(names) - set(PEERS)
    if unknown:
        raise argparse.ArgumentTypeError(f"no such peer: {', '.join(sorted(unknown))}")
    return names


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix not in {".png", ".svg"}:
        raise argparse.ArgumentTypeError(f"a picture is a .png or .svg, not {text}")
    return path


def sizes_of(options: argparse.Namespace) -> list[int]:
    """Return the numbers of memories to measure, ascending."""
    sizes = options.sizes or ([1000] if options.quick else [1000, 10_000, 100_000])
    return sorted({*sizes, MILLION} if options.million else {*sizes})


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every size and return the document of results."""
    sizes = sizes_of(options)
    plan = Plan(rounds=5, openings=1, stores=20) if options.quick else Plan()
    plan = replace(plan, rounds=options.rounds or plan.rounds)
    names = ["bethink", *_installed(options.peers)]
    started = machine()
    asked = plan.rounds + plan.others
    corpus = build_corpus(sizes[-1], fresh=plan.fresh, questions=asked, seed=SEED)
    _say(f"{corpus.sentences:,} sentences; {sizes[-1] - corpus.sentences:,} joined from halves")
    shared = SharedEmbedder(options.dimension)
    shared.prepare([*corpus.texts, *corpus.fresh, *corpus.questions])
    findings = Findings()
    for size in sizes:
        _measure(replace(corpus, texts=corpus.texts[:size]), names, shared, plan, findings)
    settings = {
        "sizes": sizes,
        "rounds": plan.rounds,
        "dimension": options.dimension,
        "seed": SEED,
        "sentences": corpus.sentences,
        "joined": sizes[-1] - corpus.sentences,
    }
    return as_document(findings, settings, started)


def _installed(peers: Sequence[str]) -> list[str]:
    reasons = {peer: import_engine(peer) for peer in peers}
    for peer, reason in reasons.items():
        if reason:
            _say(f"{peer} is left out: {reason}")
    return [peer for peer, reason in reasons.items() if not reason]


def _measure(
    corpus: Corpus, names: Sequence[str], shared: SharedEmbedder, plan: Plan, findings: Findings
) -> None:
    """Measure one size: every engine with the shared vectors, then some with own vectors."""
    size = len(corpus.texts)
    if size > LARGEST_FOR_PEERS:
        names = names[:1]
    with tempfile.TemporaryDirectory(prefix="bethink-bench-") as scratch:
        _say(f"{size:,} memories: {', '.join(names)}")
        Run(corpus, names, shared, plan, Path(scratch, "shared"), findings).measure()
        if size <= LARGEST_WITH_OWN_EMBEDDER:
            names = [name for name in names if name in MEMORIES]
            _say(f"{size:,} memories, own embedder: {', '.join(names)}")
            Run(corpus, names, None, plan, Path(scratch, "own"), findings).measure()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
