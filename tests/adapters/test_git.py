"""Memories of a project at rest count as older, by the date of its last real commit."""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bethink import (
    DecayProduct,
    FiveSignal,
    HashEmbedder,
    MemoryStore,
    Ranking,
    RecallResult,
    Subtree,
    ValidationError,
    WeightedSum,
)
from bethink.memory import search
from bethink.testing import FrozenClock
from bethink_adapters.git import Stale, last_commit

DAY = 86_400.0
NOW = 1_700_000_000.0
RANKINGS = [WeightedSum(), WeightedSum.classic(), FiveSignal(), DecayProduct(0.05)]

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *command: str, at: float = NOW, given: str | None = None) -> str:
    """Run git in *folder*, as somebody who commits *at* that time."""
    person = {"NAME": "Ann", "EMAIL": "ann@example.org", "DATE": f"{at:.0f} +0000"}
    settings = {
        f"GIT_{role}_{name}": value
        for role in ("AUTHOR", "COMMITTER")
        for name, value in person.items()
    }
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *command],
        cwd=folder,
        env={**os.environ, **settings, **nowhere},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def project(folder: Path, days: float) -> Path:
    """Make a repository with a commit *days* before now."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    commit(folder, days)
    return folder


def commit(folder: Path, days: float) -> None:
    git(folder, "commit", "--quiet", "--allow-empty", "--message=x", at=NOW - days * DAY)


@pytest.fixture
def projects(tmp_path: Path) -> dict[Any, Path]:
    """Bind a project at rest and one in work."""
    return {"p/rest": project(tmp_path / "rest", 100), "p/work": project(tmp_path / "work", 5)}


@pytest.fixture
def filled() -> Iterator[MemoryStore]:
    with MemoryStore(clock=lambda: NOW) as store:
        for name in ("p/rest", "p/work", "p/free"):
            store.store("red cat", namespace=name)
        yield store


def hits(store: MemoryStore, ranking: Ranking, **asked: Any) -> dict[str, RecallResult]:
    """Return what is recalled by namespace."""
    asked = {"namespace": Subtree("p"), "touch": False, "mode": "keyword", **asked}
    return {hit.memory.namespace: hit for hit in store.recall("red cat", ranking=ranking, **asked)}


@pytest.mark.parametrize("ranking", RANKINGS, ids=repr)
def test_a_project_at_rest_costs_its_memories_thirty_days(
    filled: MemoryStore, projects: dict[Any, Path], ranking: Ranking
) -> None:
    found = hits(filled, Stale(ranking, projects))
    plain, older = hits(filled, ranking), hits(filled, ranking, now=NOW + 30 * DAY)
    assert found["p/work"].score == found["p/free"].score == plain["p/work"].score
    assert found["p/rest"].score == pytest.approx(older["p/rest"].score, abs=1e-12)
    assert found["p/rest"].score < found["p/work"].score


@pytest.mark.parametrize("ranking", RANKINGS, ids=repr)
def test_the_penalty_is_explained(
    filled: MemoryStore, projects: dict[Any, Path], ranking: Ranking
) -> None:
    for name, hit in hits(filled, Stale(ranking, projects)).items():
        told, plain = hit.explain(), hits(filled, ranking)[name].explain()
        penalty = told.contributions["stale"]
        assert told.signals["stale"] == (name == "p/rest")
        assert (penalty < -1e-3) if name == "p/rest" else (penalty == 0)
        assert {**plain.contributions, "stale": penalty} == told.contributions
        assert math.fsum(told.contributions.values()) == pytest.approx(hit.score, abs=1e-9)


def test_bindings_with_penalties_of_their_own_are_explained_together(
    filled: MemoryStore, projects: dict[Any, Path]
) -> None:
    rest = projects["p/rest"]
    inner = Stale(WeightedSum(), {"p/rest": rest, "p/work": rest}, penalty=300.0)
    found = hits(filled, Stale(inner, {"p/free": rest, "p/work": rest}))
    assert [found[name].explain().signals["stale"] for name in sorted(found)] == [1.0, 1.0, 1.0]
    for name, days in (("p/rest", 300), ("p/free", 30), ("p/work", 330)):
        told = found[name].explain().contributions
        older = hits(filled, WeightedSum(), now=NOW + days * DAY)[name]
        assert found[name].score == pytest.approx(older.score, abs=1e-12)
        assert math.fsum(told.values()) == pytest.approx(found[name].score, abs=1e-9)


def test_a_commit_ends_the_rest_within_the_hour(
    filled: MemoryStore, projects: dict[Any, Path]
) -> None:
    clock = FrozenClock(5.0)
    stale = Stale(WeightedSum(), projects, clock=clock)
    for number, expected in enumerate((1.0, 1.0, 0.0)):
        assert hits(filled, stale)["p/rest"].explain().signals["stale"] == expected
        if number == 0:
            commit(projects["p/rest"], 0)
        clock.advance(1800)


def test_a_directory_is_asked_once_an_hour_and_only_when_it_matters(filled: MemoryStore) -> None:
    asked: list[str] = []

    def ask(directory: Any) -> None:
        asked.append(Path(directory).name)

    clock = FrozenClock(5.0)
    projects: dict[Any, str] = {"p/rest": "one", "p/none": "two"}
    stale = Stale(WeightedSum(), projects, last_commit=ask, clock=clock)
    for now in (NOW, NOW - 9e8, NOW + 9e8, NOW):
        hits(filled, stale, now=now)
    assert asked == ["one"]
    clock.advance(3600)
    hits(filled, stale, namespace="p/work")
    assert asked == ["one"]
    hits(filled, stale)
    assert asked == ["one", "one"]


@pytest.mark.parametrize(("days", "expected"), [(89.9, 0.0), (90.0, 1.0), (-3.0, 0.0)])
def test_rest_begins_after_ninety_days(
    filled: MemoryStore, tmp_path: Path, days: float, expected: float
) -> None:
    folder = project(tmp_path / "one", days)
    hit = hits(filled, Stale(WeightedSum(), {"p/rest": folder}))["p/rest"]
    assert hit.explain().signals["stale"] == expected
    sooner = Stale(WeightedSum(), {Subtree("p"): folder}, after=0.0, penalty=0.0)
    assert {hit.score for hit in hits(filled, sooner).values()} == {
        hits(filled, WeightedSum())["p/free"].score
    }


def test_the_moment_of_the_recall_decides(filled: MemoryStore, projects: dict[Any, Path]) -> None:
    stale = Stale(WeightedSum(), projects)
    for now, expected in ((NOW, 1.0), (NOW - 20 * DAY, 0.0), (NOW - 300 * DAY, 0.0)):
        hit = hits(filled, stale, now=now)["p/rest"]
        assert hit.explain().signals["stale"] == expected


@pytest.mark.parametrize("ranking", RANKINGS, ids=repr)
@pytest.mark.parametrize("mode", ["hybrid", "semantic", "keyword"])
def test_a_few_are_the_best_of_all(
    projects: dict[Any, Path], ranking: Ranking, mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_MAX_GROUP_SIZE", 16)
    monkeypatch.setattr(search, "_PRUNE_FROM", 16)
    dice, words = random.Random(4), ("red", "cat", "dog", "ferry", "house", "tokyo", "rain")
    stale = Stale(ranking, projects, penalty=200.0)
    with MemoryStore(clock=lambda: NOW, embedder=HashEmbedder(8), ranking=stale) as store:
        store.store_many(
            {
                "content": " ".join(dice.choices(words, k=dice.randint(1, 6))),
                "namespace": dice.choice(["p/rest", "p/work"]),
                "occurred_at": NOW - dice.choice([0, 1, 30, 300]) * DAY,
            }
            for _ in range(400)
        )
        asked: dict[str, Any] = {"namespace": Subtree("p"), "mode": mode, "touch": False}
        everything = store.recall("red cat in tokyo", k=400, **asked)
        assert {hit.memory.namespace for hit in everything} == {"p/rest", "p/work"}
        for k in (1, 4, 20):
            few = store.recall("red cat in tokyo", k=k, **asked)
            assert few == everything[:k]
        last = everything[-1]
        why = store.why_not(last.memory.id, "red cat in tokyo", namespace=Subtree("p"), mode=mode)
        assert (why.rank, why.score) == (len(everything), last.score)


def test_the_last_commit_is_that_of_the_repository_around(tmp_path: Path) -> None:
    folder = project(tmp_path / "a b", 3)
    (folder / "deep").mkdir()
    commit(folder, 2)
    assert last_commit(folder) == last_commit(folder / "deep") == NOW - 2 * DAY
    assert last_commit(os.path.relpath(folder)) == NOW - 2 * DAY


def test_what_cannot_be_told_is_no_penalty(
    filled: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    (tmp_path / "plain").mkdir()
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "")
    for name in ("empty", "plain", "file", "none", "-x", "--help"):
        assert last_commit(tmp_path / name) is last_commit(name) is None
        hit = hits(filled, Stale(WeightedSum(), {"p/rest": tmp_path / name}))["p/rest"]
        assert hit.explain().contributions["stale"] == 0


def test_without_git_nothing_is_at_rest(
    projects: dict[Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert last_commit(projects["p/rest"]) is None


def test_a_git_that_hangs_is_left_alone(
    projects: dict[Any, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f"#!{sys.executable}\nimport signal\nsignal.pause()\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent))
    monkeypatch.setattr("bethink_adapters.git.SECONDS", 0.2)
    assert last_commit(projects["p/rest"]) is None


def test_the_surroundings_do_not_name_another_repository(
    projects: dict[Any, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(projects["p/work"] / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(projects["p/work"]))
    assert last_commit(projects["p/rest"]) == NOW - 100 * DAY


def test_a_repository_has_nothing_run(projects: dict[Any, Path], tmp_path: Path) -> None:
    folder, trap = projects["p/rest"], tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    tree = git(folder, "write-tree")
    when = f"Ann <ann@example.org> {NOW:.0f} +0000"
    signed = (
        f"tree {tree}\nauthor {when}\ncommitter {when}\n"
        "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nx\n"
    )
    git(
        folder,
        "reset",
        "--soft",
        git(folder, "hash-object", "-wt", "commit", "--stdin", given=signed),
    )
    for name in ("gpg.program", "core.fsmonitor", "core.pager"):
        git(folder, "config", name, str(trap))
    git(folder, "config", "log.showSignature", "true")
    assert last_commit(folder) == NOW
    assert not (tmp_path / "sprung").exists()
    git(folder, "log", "-1", "--format=%ct")
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"ranking": "five"},
        {"projects": {"a//b": "x"}},
        {"projects": {None: "x"}},
        {"projects": {"a": ""}},
        {"projects": {"a": b"x"}},
        {"projects": {"a": None}},
        {"projects": {"a": "x\0"}},
        {"projects": ["a"]},
        {"after": -1},
        {"penalty": float("nan")},
    ],
)
def test_wrong_bindings_are_refused(given: Any) -> None:
    with pytest.raises(ValidationError):
        Stale(**{"ranking": WeightedSum(), "projects": {}, **given})


def test_a_record_makes_up_for_as_much_as_without_projects() -> None:
    ranking = Stale(WeightedSum(), {})
    assert ranking.spread == WeightedSum().spread
    assert ranking.spread_unjudged == WeightedSum().spread_unjudged < ranking.spread
