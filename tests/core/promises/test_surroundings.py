"""What is promised of what surrounds a store: transcripts, projects, frameworks, the bench."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bethink import DecayProduct, MemoryStore
from bethink.testing import FrozenClock
from bethink_adapters.git import Stale
from bethink_adapters.transcripts import attribute, record_outcomes, verdict_of

TESTS = Path(__file__).parents[2]
DAY = 86_400.0


def test_only_the_cited_memory_is_scored_by_a_transcript(store: MemoryStore) -> None:
    cited, other = store.store_many(["set the port to 8080", "the tests need a database"])
    transcript = [
        {"role": "assistant", "content": f"Memory {cited.id} says which port to use."},
        {"role": "tool", "content": "===== 12 passed in 0.31s ====="},
    ]
    record_outcomes(store, attribute(transcript, [cited, other]))
    assert [record.outcome for record in store.all()] == [0.2, 0.0]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Great, it is still not working", "failed"),
        ("this is not fixed", "failed"),
        ("thanks but that's wrong", "failed"),
        ("it works now, thanks", "worked"),
        ("which one is it?", None),
    ],
)
def test_what_is_said_of_an_outcome_is_read_with_its_negations(
    text: str, verdict: str | None
) -> None:
    assert verdict_of(text) == verdict


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_project_at_rest_for_ninety_days_is_penalised_and_says_so(tmp_path: Path) -> None:
    clock = FrozenClock()
    made = f"{clock() - 100 * DAY:.0f} +0000"
    settings = {
        **{f"GIT_{role}_NAME": "Ann" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "ann@example.org" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_DATE": made for role in ("AUTHOR", "COMMITTER")},
    }
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        subprocess.run(["git", *command], cwd=tmp_path, env={**os.environ, **settings}, check=True)
    with MemoryStore(clock=clock) as store:
        store.store("the ferry sails at noon", namespace="ferry")
        decay = DecayProduct(0.01)
        (plain,) = store.recall("ferry", namespace="ferry", ranking=decay)
        (stale,) = store.recall(
            "ferry", namespace="ferry", ranking=Stale(decay, {"ferry": tmp_path})
        )
        assert stale.score < plain.score
        assert sum(stale.explain().contributions.values()) == pytest.approx(stale.score, abs=1e-9)
        assert stale.explain().contributions != plain.explain().contributions


PROVEN = {
    "langchain history, lossless": "a_message_comes_back_as_it_was",
    "langchain history, in a run": "the_second_turn_sees_the_first",
    "langgraph store": "a_store_passes_for_one_of_langgraph",
    "langgraph checkpoints": "a_saver_passes_for_one_of_langgraph",
    "crewai storage": "is_a_storage_backend_without_registration",
    "autogen memory": "it_is_a_memory_by_its_public_name",
    "bench command": "document_has_the_promised_shape",
    "speed: nothing is rebuilt": "a_scope_is_loaded_on_its_first_recall_and_never_again",
    "many kills": "no_acknowledged_write_is_lost",
    "sixteen processes": "processes_lose_nothing_of_each_other",
    "twelve that open at once": "processes_that_make_a_file_at_once_make_it_once",
    "two thousand runs": "two_thousand_concurrent_runs_lose_nothing",
}
"""What takes a framework, many processes or a look inside, and the name of its test."""


@pytest.mark.parametrize("name", PROVEN.values(), ids=PROVEN)
def test_what_takes_more_than_a_store_has_a_test_of_its_own(name: str) -> None:
    found = [
        file
        for file in TESTS.rglob("test_*.py")
        if f"def test_{name}(" in file.read_text(encoding="utf-8")
    ]
    assert len(found) == 1
