"""The benchmark runs and reports what it says; nothing here depends on how fast anything is."""

from __future__ import annotations

import asyncio
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bethink.bench import __main__ as program
from bethink.bench.__main__ import main, option_parser, run, sizes_of, timing_environment
from bethink.bench.corpus import build_corpus, harvest, join_halves, sentences
from bethink.bench.embedding import SharedEmbedder
from bethink.bench.findings import Survivors
from bethink.bench.ratios import Ratio, ratio_rows
from bethink.bench.report import as_json, as_text, duration
from bethink.bench.rounds import FEWEST_ROUNDS, Sample, Step, interleave, percentile, summed

IN_A_ROW_AND_COLD = {
    "recall",
    "own store",
    "recall after own store",
    "store + recall",
    "pack",
}
MEASURES = {
    *IN_A_ROW_AND_COLD,
    *(f"{measure}, cold" for measure in IN_A_ROW_AND_COLD),
    "recall among turns",
    "bulk store",
    "open and first recall",
    "recall before own store",
    "recall before foreign store",
    "recall after foreign store",
    "store, full",
    "store, normal",
    "conflicts",
    "consolidate",
    "as_of",
    "as_of, all",
    "diff",
    "merge",
}


QUICKEST = ["--quick", "--sizes", "60", "--rounds", "3", "--peers", ""]


@pytest.fixture(scope="module", autouse=True)
def _python_ships_one_package() -> Iterator[None]:
    """Read the sentences of one package only: to list all that Python ships takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sysconfig, "get_path", lambda _: str(Path(asyncio.__file__).parent))
        yield


@pytest.fixture(scope="module")
def document(_python_ships_one_package: None) -> dict[str, object]:
    return run(option_parser().parse_args(QUICKEST))


def test_corpus_is_the_same_every_time() -> None:
    first, second = (build_corpus(50, fresh=10, questions=10) for _ in range(2))
    assert first == second
    assert first != build_corpus(50, fresh=10, questions=10, seed=8)


def test_corpus_texts_are_distinct_and_short() -> None:
    corpus = build_corpus(50, fresh=10, questions=10)
    texts = corpus.texts + corpus.fresh
    assert len(set(texts)) == 60
    assert all(20 <= len(text) <= 200 for text in texts)
    assert all(question.endswith("?") for question in corpus.questions)


def test_harvest_reads_source_without_running_it(tmp_path: Path) -> None:
    source = (
        '"""This docstring holds one sentence."""\n# And a comment\n# adds another one.\n1 / 0\n'
    )
    (tmp_path / "module.py").write_text(source, encoding="utf-8")
    found = harvest(10, root=tmp_path)
    assert sorted(found) == [
        "And a comment adds another one.",
        "This docstring holds one sentence.",
    ]


def test_sentences_leave_out_what_is_no_prose() -> None:
    passage = "Too short. >>> x = {1: (2, 3)} ### [[ ]]; return self\n\nThis one reads like prose."
    assert list(sentences(passage)) == ["This one reads like prose."]


def test_joined_texts_are_new_and_made_of_halves() -> None:
    pool = [f"the {word} fox jumps over the {word} dog" for word in ("red", "blue", "green")]
    joined = join_halves(pool, 4, taken=pool, seed=1)
    assert len({*joined, *pool}) == 7
    assert joined == join_halves(pool, 4, taken=pool, seed=1)


def test_joining_says_when_the_pool_is_too_small() -> None:
    with pytest.raises(ValueError, match="1 sentences give 0 joined texts, not 3"):
        join_halves(["only this sentence is here"], 3, taken=["only this sentence is here"], seed=1)


def test_kept_vectors_are_the_computed_ones() -> None:
    embedder = SharedEmbedder(64)
    texts = ["one sentence", "another sentence", ""]
    computed = embedder.embed(texts)
    embedder.prepare(texts, block=2)
    np.testing.assert_array_equal(embedder.embed(texts), computed)
    np.testing.assert_allclose(np.linalg.norm(computed, axis=1), 1, rtol=1e-6)


def test_vectors_of_texts_with_common_words_are_close() -> None:
    one, near, far = SharedEmbedder(256).embed(["a red house", "the red house", "green tea leaf"])
    assert one @ near > 0.4 > abs(one @ far)


def test_dimension_that_is_no_multiple_of_eight_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 8"):
        SharedEmbedder(100)


def test_steps_run_in_turn_and_only_named_ones_are_timed() -> None:
    calls: list[tuple[str, int]] = []
    steps = [
        Step("a", "recall", lambda at: calls.append(("a", at)), share=2),
        Step("b", "", lambda at: calls.append(("b", at))),
    ]
    (sample,) = interleave(steps, 2, size=1, embedder="shared")
    assert calls == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(sample.cpu) == len(sample.wall) == 2


def test_an_engine_runs_all_its_steps_several_times_in_its_turn() -> None:
    calls: list[tuple[str, int]] = []

    def step(engine: str, measure: str) -> Step:
        return Step(engine, measure, lambda at: calls.append((engine + measure, at)))

    steps = [step("a", "1"), step("a", "2"), step("b", "1")]
    samples = interleave(steps, 3, size=1, embedder="shared", turn=2)
    assert [name for name, _ in calls] == ["a1", "a2", "a1", "a2", "b1", "b1", "a1", "a2", "b1"]
    assert [at for name, at in calls if name == "b1"] == [0, 1, 2]
    assert [len(sample.cpu) for sample in samples] == [3, 3, 3]


def test_an_engine_over_its_budget_stops_after_the_fewest_rounds() -> None:
    steps = [Step("slow", "recall", lambda at: sum(range(1000)))]
    (sample,) = interleave(steps, 50, size=1, embedder="shared", budget=0.0)
    assert len(sample.cpu) == FEWEST_ROUNDS


def test_samples_are_summed_round_by_round() -> None:
    steps = [Step("a", "store", lambda at: None), Step("a", "recall", lambda at: None)]
    store, recall = interleave(steps, 3, size=1, embedder="shared")
    both = summed(store, recall, "store + recall")
    assert both.cpu == [a + b for a, b in zip(store.cpu, recall.cpu, strict=True)]


def test_what_is_only_done_now_and_then_has_its_share_of_the_mean() -> None:
    sample = Sample(1, "shared", "a", "bulk store", [1e-6, 1e-6, 7e-6], [2e-6, 2e-6, 8e-6])
    assert (sample.mean().cpu, sample.mean().wall) == ([3e-6], [4e-6])


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.95, 4.0), (0.0, 1.0)])
def test_percentile(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value


@pytest.mark.parametrize(
    ("at_least", "goal", "met"), [(True, 3.0, True), (True, 5.0, False), (False, 3.0, False)]
)
def test_ratio_is_held_against_its_goal(at_least: bool, goal: float, met: bool) -> None:
    cpu = {("peer", "recall"): 8.0, ("bethink", "recall"): 2.0}
    ratio = Ratio("r", ("peer", "recall"), ("bethink", "recall"), {10: goal}, at_least=at_least)
    assert ratio.as_row(10, "shared", cpu)["value"] == 4.0
    assert ratio.as_row(10, "shared", cpu)["met"] is met
    assert ratio.as_row(10, "own", cpu)["met"] is None
    assert ratio.as_row(20, "shared", cpu)["goal"] is None


def test_a_sweep_is_held_against_that_of_a_tenth() -> None:
    samples = [
        Sample(size, "shared", "bethink", "conflicts", cpu=[cost])
        for size, cost in ((100, 2.0), (1000, 31.0))
    ]
    (row,) = ratio_rows(samples)
    assert (row["size"], row["name"]) == (1000, "conflicts / of a tenth")
    assert (row["value"], row["goal"], row["met"]) == (15.5, 15.0, False)


def test_environment_for_timing_has_one_thread_and_no_forced_kernel() -> None:
    environment = timing_environment({"OPENBLAS_CORETYPE": "Haswell", "HOME": "/root"})
    assert environment["OPENBLAS_NUM_THREADS"] == environment["OMP_NUM_THREADS"] == "1"
    assert "OPENBLAS_CORETYPE" not in environment
    assert environment["HOME"] == "/root"


def test_unknown_peer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--peers", "nobody"])
    assert "no such peer: nobody" in capsys.readouterr().err


@pytest.mark.slow
def test_document_holds_every_measure(document: dict[str, list[dict[str, object]]]) -> None:
    shared = [row for row in document["figures"] if row["embedder"] == "shared"]
    assert {row["measure"] for row in shared if row["engine"] == "bethink"} == MEASURES
    assert {row["engine"] for row in shared} == {"bethink", "bare SQLite", "numpy.dot"}
    assert all(row["size"] == 60 for row in shared)
    assert {row["embedder"] for row in document["figures"]} == {"shared", "own"}


@pytest.mark.slow
def test_document_has_the_promised_shape(document: dict[str, list[dict[str, object]]]) -> None:
    assert list(json.loads(json.dumps(document))) == [
        "machine",
        "versions",
        "settings",
        "figures",
        "footprints",
        "survivors",
        "ratios",
    ]
    assert set(document["figures"][0]) == {
        "size",
        "embedder",
        "engine",
        "measure",
        "cpu_us",
        "cpu_p95_us",
        "wall_us",
        "rounds",
    }
    assert {"store / bare commit", "recall / numpy scan"} <= {
        row["name"] for row in document["ratios"]
    }


@pytest.mark.slow
def test_document_tells_how_many_vectors_an_answer_takes(
    document: dict[str, list[dict[str, Any]]],
) -> None:
    assert [row["embedder"] for row in document["survivors"]] == ["shared", "own"]
    assert all(0 < row["median"] <= row["p95"] <= row["size"] for row in document["survivors"])


@pytest.mark.parametrize(("most", "met"), [(50, True), (51, False)])
def test_survivors_are_held_against_their_goal(most: int, met: bool) -> None:
    row = Survivors(100, "own", [*[18] * 18, most, most]).as_row()
    assert (row["median"], row["p95"], row["met"]) == (18, most, met)


@pytest.mark.slow
def test_json_has_a_line_for_every_row(document: dict[str, list[dict[str, object]]]) -> None:
    text = as_json(document)
    assert json.loads(text) == document
    rows = [row for part in document.values() if isinstance(part, list) for row in part]
    lines = {line.rstrip(",") for line in text.splitlines()}
    assert {f"  {json.dumps(row)}" for row in rows} <= lines


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        (["--sizes", "60,30"], [30, 60]),
        (["--quick", "--million"], [1000, 1_000_000]),
        (["--million"], [1000, 10_000, 100_000, 1_000_000]),
        ([], [1000, 10_000, 100_000]),
    ],
)
def test_sizes_are_measured_from_the_least(given: list[str], sizes: list[int]) -> None:
    assert sizes_of(option_parser().parse_args(given)) == sizes


@pytest.mark.slow
def test_the_largest_sizes_are_measured_with_shared_vectors_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("LARGEST_FOR_PEERS", "LARGEST_WITH_OWN_EMBEDDER"):
        monkeypatch.setattr(program, name, 50)
    found = run(option_parser().parse_args(QUICKEST))
    assert {(row["size"], row["embedder"]) for row in found["figures"]} == {(60, "shared")}


@pytest.mark.slow
def test_saved_figures_are_told_again_without_measuring(
    document: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(as_json(document), encoding="utf-8")
    assert main(["--from", str(saved)]) == 0
    assert capsys.readouterr().out == as_text(document) + "\n"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (12.34e-6, "12 µs"),
        (999.4e-6, "999 µs"),
        (999.9e-6, "1.0 ms"),
        (0.00444, "4.4 ms"),
        (2, "2.0 s"),
    ],
)
def test_durations_have_two_or_three_digits(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.slow
def test_tables_name_every_measure_and_ratio(document: dict[str, list[dict[str, object]]]) -> None:
    text = as_text(document)
    assert "60 memories, shared embedder" in text
    assert all(measure in text for measure in MEASURES)
    assert all(str(row["name"]) in text for row in document["ratios"])
