"""What is promised of what surrounds a store: transcripts, projects, frameworks, the bench."""

from __future__ import annotations

import os
import re
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
    "langchain_history_is_lossless": (
        "test_langchain_messages.py",
        "a_message_comes_back_as_it_was",
    ),
    "langchain_history_runs": ("test_langchain.py", "the_second_turn_sees_the_first"),
    "langgraph_checkpoints": (
        "test_langgraph_checkpoint.py",
        "a_saver_passes_for_one_of_langgraph",
    ),
    "crewai_storage": ("test_crewai.py", "is_a_storage_backend_without_registration"),
    "autogen_memory": ("test_autogen.py", "it_is_a_memory_by_its_public_name"),
}
"""What is proven with the frameworks themselves, by which test of which file."""


@pytest.mark.parametrize(("file", "name"), PROVEN.values(), ids=PROVEN)
def test_frameworks_have_a_test_of_their_own(file: str, name: str) -> None:
    found = re.findall(r"def test_(\w+)", (TESTS / "adapters" / file).read_text(encoding="utf-8"))
    assert name in found
