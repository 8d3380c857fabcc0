"""Memories that learn from the tasks of real crews, offline."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bethink import MemoryStore, MissingExtraError, ValidationError
from bethink_adapters.crewai import CrewExternalStorage, CrewStorage, learn_outcomes
from bethink_adapters.crewai.crediting import credit, overlaps
from bethink_adapters.crewai.runs import RunTracker, TaskResult

from .crewai_offline import (
    RELEASE,
    UNIFIED,
    OfflineLLM,
    crew,
    external_memory_on,
    memory_on,
    no_network,
    unified,
)

import crewai  # isort: skip
from crewai.events.event_bus import crewai_event_bus  # isort: skip
from crewai.events.types.memory_events import MemoryQueryCompletedEvent  # isort: skip
from crewai.events.types.task_events import TaskCompletedEvent  # isort: skip
from crewai.tools import BaseTool  # isort: skip

pytestmark = pytest.mark.filterwarnings("ignore")

LAUNCH = "Acme's launch is on 3 March 2027."
VENUE = "Acme's launch party will be held in Lyon."
QUESTION = "When does Acme launch?"


@dataclass
class Stage:
    """A storage of the release's own kind, and crews that remember in it."""

    store: MemoryStore
    place: str = "stage"
    memories: list[Any] = field(default_factory=list)

    @cached_property
    def storage(self) -> CrewStorage | CrewExternalStorage:
        kind = CrewStorage if UNIFIED else CrewExternalStorage
        return kind(self.store, namespace=self.place)

    def remember(self, text: str) -> str:
        """Store what a crew would have, and return its id."""
        if isinstance(self.storage, CrewExternalStorage):
            return self.store.store(text, namespace=self.place).id
        memory = memory_on(self.storage, embedder=self.storage.embedder, llm=OfflineLLM())
        kept = memory.remember(text, scope="/", categories=["c"], importance=0.5)
        memory.drain_writes()
        return str(kept.id)

    def crew(self, llm: OfflineLLM, question: str = QUESTION, **task: Any) -> Any:
        """Return a crew of one task that recalls in the storage."""
        if isinstance(self.storage, CrewExternalStorage):
            made = crew(llm, question, external_memory=external_memory_on(self.storage))
        else:
            memory = memory_on(self.storage, embedder=self.storage.embedder, llm=OfflineLLM())
            self.memories.append(memory)
            made = crew(llm, question, memory=memory)
        [planned] = made.tasks
        fields = {"description": question, "expected_output": "an answer", "agent": planned.agent}
        made.tasks = [crewai.Task(**fields, **task)]
        return made

    def run(self, answer: str, question: str = QUESTION, **task: Any) -> None:
        """Let a crew give *answer* to *question*."""
        self.crew(OfflineLLM(answer), question, **task).kickoff()
        self.settle()

    def settle(self) -> None:
        for memory in self.memories:
            memory.drain_writes()
        assert crewai_event_bus.flush()

    def outcome(self, id: str) -> float:
        kept = self.store.get(id)
        assert kept is not None
        return kept.outcome


@pytest.fixture(autouse=True)
def quiet_bus() -> Iterator[None]:
    """Take back what a test registered; crewAI's own listeners are silent meanwhile."""
    with crewai_event_bus.scoped_handlers():
        yield


@pytest.fixture
def stage(store: MemoryStore) -> Stage:
    return Stage(store)


# crewAI refuses guardrails whose annotations are postponed.
REFUSE: Any = lambda output: (False, "That is not it.")  # noqa: E731
NOT_LYON: Any = lambda output: (  # noqa: E731
    (False, "Not Lyon.") if "Lyon" in output.raw else (True, output.raw)
)


def scripted(call: Callable[..., str]) -> OfflineLLM:
    """Return a model that answers as *call* does."""
    llm = OfflineLLM()
    object.__setattr__(llm, "call", call)
    return llm


class TestCredit:
    def test_only_what_the_output_says_is_useful(self, stage: Stage) -> None:
        launch, venue = stage.remember(LAUNCH), stage.remember(VENUE)
        with no_network() as attempts, learn_outcomes(stage.storage):
            stage.run("It launches on 3 March 2027.")
        assert (stage.outcome(launch), stage.outcome(venue)) == (0.1, 0.0)
        assert attempts == []

    def test_refused_output_tells_against_what_it_says(self, stage: Stage) -> None:
        launch, venue = stage.remember(LAUNCH), stage.remember(VENUE)
        with learn_outcomes(stage.storage), pytest.raises(Exception, match="validation after"):
            stage.run(LAUNCH, guardrail=REFUSE, guardrail_max_retries=1)
        stage.settle()
        assert (stage.outcome(launch), stage.outcome(venue)) == (-0.1, 0.0)

    def test_what_is_put_right_in_time_is_not_held_against_it(self, stage: Stage) -> None:
        launch, venue = stage.remember(LAUNCH), stage.remember(VENUE)
        said = iter(["In Lyon.", "It launches on 3 March 2027."])
        llm = scripted(lambda *a, **o: f"Thought: so\nFinal Answer: {next(said)}")
        with learn_outcomes(stage.storage):
            stage.crew(llm, guardrail=NOT_LYON, guardrail_max_retries=1).kickoff()
            stage.settle()
        assert (stage.outcome(launch), stage.outcome(venue)) == (0.1, 0.0)

    def test_an_outage_tells_nothing(self, stage: Stage) -> None:
        def call(*args: Any, **options: Any) -> str:
            raise ValueError("out of order")

        launch = stage.remember(LAUNCH)
        with learn_outcomes(stage.storage), pytest.raises(ValueError, match="out of order"):
            stage.crew(scripted(call)).kickoff()
        assert stage.outcome(launch) == 0.0

    @pytest.mark.parametrize(("verdict", "outcome"), [("worked", 0.2), ("failed", -0.3)])
    def test_a_judge_has_the_last_word_on_an_output(
        self, stage: Stage, verdict: Any, outcome: float
    ) -> None:
        launch, venue = stage.remember(LAUNCH), stage.remember(VENUE)
        seen = []

        def judge(output: Any) -> Any:
            seen.append(output.raw)
            return verdict

        with learn_outcomes(stage.storage, judge=judge):
            stage.run(LAUNCH)
        assert (stage.outcome(launch), stage.outcome(venue)) == (outcome, 0.0)
        assert seen == [LAUNCH]

    def test_failures_beyond_three_an_hour_are_dropped(
        self, stage: Stage, caplog: pytest.LogCaptureFixture
    ) -> None:
        ids = [stage.remember(f"{LAUNCH} {word}") for word in ("Hooray!", "Really.", "So.", "Yes.")]
        with learn_outcomes(stage.storage, judge=lambda out: "failed", session="crew-1"):
            stage.run(f"{LAUNCH} Hooray! Really. So. Yes.")
        told = [entry for id in ids for entry in stage.store.outcomes(id)]
        assert [(entry.action, entry.session) for entry in told] == [("failed", "crew-1")] * 3
        assert "3 failures of session 'crew-1'" in caplog.text

    def test_each_run_counts_once(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        working = stage.crew(OfflineLLM(LAUNCH))
        with learn_outcomes(stage.storage):
            for _ in range(2):
                working.kickoff()
                stage.settle()
        assert [entry.action for entry in stage.store.outcomes(launch)] == ["useful"] * 2


class Shell(BaseTool):
    """A tool that runs commands, of which one fails."""

    name: str = "shell"
    description: str = "Runs a command."

    def _run(self, command: str) -> str:
        failed = "docker" in command
        return "Cannot connect to the daemon. exit code 1" if failed else "3 passed in 0.10s"


class Typing(OfflineLLM):
    """A model without tool calls: it writes down an action, and then its answer."""

    action: Any = None

    def __init__(self, answer: str, tool: str, given: str) -> None:
        super().__init__(answer)
        object.__setattr__(self, "action", f"Action: {tool}\nAction Input: {given}")

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return True

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        said = "\n".join(str(message.get("content")) for message in messages)
        if "Observation: " in said.partition("Current Task")[2]:
            return f"Thought: I now know the final answer\nFinal Answer: {self.script.answer}"
        return f"Thought: I try it\n{self.action}"


class TestCommands:
    """What an agent ran has the verdict of its result."""

    @pytest.mark.parametrize(
        ("command", "outcome"), [("tox -e fast", 0.2), ("docker compose up", -0.3)]
    )
    def test_a_command_is_judged_by_what_came_of_it(
        self, stage: Stage, command: str, outcome: float
    ) -> None:
        advice = stage.remember(f"Start the tests with `{command}`.")
        other = stage.remember("Start the tests with `make slow`.")
        llm = Typing("It is done.", "shell", f'{{"command": "{command}"}}')
        with learn_outcomes(stage.storage):
            stage.crew(llm, "Start the tests.", tools=[Shell()]).kickoff()
            stage.settle()
        assert (stage.outcome(advice), stage.outcome(other)) == (outcome, 0.0)

    @pytest.mark.parametrize(
        "done",
        [
            [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {"id": "1", "function": {"name": "sh", "arguments": '{"command": "make"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "done. exit code 0"},
            ],
            [
                {
                    "role": "assistant",
                    "content": 'Action: sh\nAction Input: {"command": "make"}'
                    "\nObservation: done. exit code 0",
                }
            ],
        ],
    )
    def test_tool_calls_and_written_actions_tell_the_same(
        self, store: MemoryStore, done: list[dict[str, Any]]
    ) -> None:
        record = store.store("Build it with `make`.")
        before = [{"role": "system"}, {"role": "user", "content": "Build it."}]
        for answer in ("It is built.", record.content):
            assert credit(result(answer, messages=[*before, *done]), [record]) == {
                record.id: "worked"
            }

    def test_an_earlier_attempt_does_not_count(self, store: MemoryStore) -> None:
        record = store.store("Build it with `make`.")
        ran = {
            "role": "assistant",
            "content": 'Action Input: {"command": "make"}\nObservation: exit code 2',
        }
        again = [{"role": "system"}, ran, {"role": "system"}, {**ran, "role": "user"}]
        assert credit(result("It is built.", messages=again), [record]) == {}


def result(answer: str, messages: Any = (), asked: str = "") -> TaskResult:
    output: Any = SimpleNamespace(messages=messages)
    return TaskResult(asked, answer, output)


@pytest.mark.parametrize(
    ("answer", "memory", "said"),
    [
        ("3 March 2027", LAUNCH, True),
        ("Lyon hosts the dinner.", "Lyon hosts the lunch.", True),
        ("Acme launches on the 3rd; everything else is open.", LAUNCH, False),
        ("It is on 3 March 2027.", "Acme's launch is on 1 March 2027.", False),
        ("I do not know when Acme launches.", LAUNCH, False),
        ("", LAUNCH, False),
        ("Acme will launch.", "When does Acme launch?", False),
    ],
)
def test_an_answer_says_more_than_the_question(answer: str, memory: str, said: bool) -> None:
    assert overlaps(answer, memory, QUESTION) is said


class TestAttribution:
    """Whose task a recall belongs to, whatever else goes on."""

    def test_memories_of_others_are_left_alone(self, stage: Stage) -> None:
        other = Stage(stage.store, "other")
        launch, same = stage.remember(LAUNCH), other.remember(LAUNCH)
        with learn_outcomes(other.storage):
            stage.run(LAUNCH)
        assert (stage.outcome(launch), stage.outcome(same)) == (0.0, 0.0)

    def test_a_store_judges_for_all_its_storages(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        with MemoryStore() as elsewhere, learn_outcomes(elsewhere):
            stage.run(LAUNCH)
        assert stage.outcome(launch) == 0.0
        with learn_outcomes(stage.store):
            stage.run(LAUNCH)
        assert stage.outcome(launch) == 0.1

    @unified
    def test_a_bound_view_judges_what_it_sees(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        assert isinstance(stage.storage, CrewStorage)
        with learn_outcomes(stage.storage.bound("/users/ann")):
            stage.run(LAUNCH)
        assert stage.outcome(launch) == 0.0

    def test_two_crews_at_once_are_not_mixed_up(self, stage: Stage) -> None:
        launch, other = stage.remember(LAUNCH), stage.remember("Quark keeps for nine days.")
        meeting = threading.Barrier(2, timeout=60)
        crews = [
            stage.crew(Waiting("On 3 March 2027. Quark keeps nine days.", meeting), QUESTION),
            stage.crew(Waiting("I cannot tell.", meeting), "How long does quark keep?"),
        ]
        with learn_outcomes(stage.storage):
            threads = [threading.Thread(target=each.kickoff) for each in crews]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            stage.settle()
        assert (stage.outcome(launch), stage.outcome(other)) == (0.1, 0.0)

    @unified
    def test_what_an_agent_looks_up_itself_counts(self, stage: Stage) -> None:
        other = stage.remember("Umbra's party is in Lyon.")
        action = ("search_memory", '{"queries": ["Where is Umbra\'s party?"]}')
        with learn_outcomes(stage.storage):
            stage.crew(Typing("In Lyon.", *action)).kickoff()
            stage.settle()
        assert stage.outcome(other) == 0.1

    @pytest.mark.parametrize("background", [False, True])
    def test_awaited_and_background_tasks_count(self, stage: Stage, background: bool) -> None:
        launch = stage.remember(LAUNCH)
        working = stage.crew(OfflineLLM(LAUNCH), async_execution=background)
        with learn_outcomes(stage.storage):
            asyncio.run(working.akickoff())
            stage.settle()
        assert stage.outcome(launch) == 0.1

    @unified
    def test_recalls_outside_of_tasks_count_for_nothing(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        stage.crew(OfflineLLM(LAUNCH))
        with learn_outcomes(stage.storage) as listener:
            assert stage.memories[0].recall(QUESTION, depth="shallow")
            stage.settle()
            assert len(listener._runs) == 0
        assert stage.outcome(launch) == 0.0

    @pytest.mark.skipif(RELEASE < (1, 14), reason="crewAI repeats events since 1.14")
    def test_repeated_events_count_for_nothing(self, stage: Stage) -> None:
        heard: list[tuple[Any, Any]] = []
        launch = stage.remember(LAUNCH)
        for kind in (MemoryQueryCompletedEvent, TaskCompletedEvent):
            crewai_event_bus.on(kind)(lambda source, event: heard.append((source, event)))
        stage.run(LAUNCH)
        before = list(heard)
        with learn_outcomes(stage.storage):
            for source, event in before:
                crewai_event_bus.replay(source, event)
            stage.settle()
        assert len(heard) == 2 * len(before) == 4
        assert stage.outcome(launch) == 0.0


class Waiting(OfflineLLM):
    """A model that answers when another one is asked, too."""

    def __init__(self, answer: str, meeting: threading.Barrier) -> None:
        super().__init__(answer)
        object.__setattr__(self, "meeting", meeting)

    meeting: Any = None

    def call(self, *args: Any, **options: Any) -> Any:
        self.meeting.wait()
        return super().call(*args, **options)


class TestListening:
    def test_closing_stops_it(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        listener = learn_outcomes(stage.storage)
        stage.run(LAUNCH)
        for _ in range(2):
            listener.close()
        stage.run(LAUNCH)
        assert stage.outcome(launch) == 0.1

    def test_crewais_own_scope_ends_it_as_well(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        with crewai_event_bus.scoped_handlers():
            listener = learn_outcomes(stage.storage)
        stage.run(LAUNCH)
        listener.close()
        assert stage.outcome(launch) == 0.0

    def test_closing_waits_for_what_is_under_way(self, stage: Stage) -> None:
        launch = stage.remember(LAUNCH)
        judged, judging = threading.Event(), threading.Event()

        def judge(output: Any) -> Any:
            judged.set()
            assert judging.wait(60)
            return "worked"

        crew_at_work = threading.Thread(target=stage.run, args=[LAUNCH])
        with learn_outcomes(stage.storage, judge=judge):
            crew_at_work.start()
            assert judged.wait(60)
            threading.Timer(0.2, judging.set).start()
        assert stage.outcome(launch) == 0.2
        crew_at_work.join(60)

    @pytest.mark.parametrize("trouble", ["closed", "judge"])
    def test_trouble_is_logged_and_the_crew_runs_on(
        self, tmp_path: Path, trouble: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        def judge(output: Any) -> Any:
            raise ZeroDivisionError

        with MemoryStore(tmp_path / "crew.db") as store, MemoryStore(tmp_path / "crew.db") as same:
            stage = Stage(store)
            stage.remember(LAUNCH)
            with learn_outcomes(same, judge=judge):
                if trouble == "closed":
                    same.close()
                stage.run(LAUNCH)
        assert "the crew runs on" in caplog.text

    def test_what_was_forgotten_meanwhile_is_passed_over(
        self, stage: Stage, caplog: pytest.LogCaptureFixture
    ) -> None:
        gone, kept = stage.remember(LAUNCH), stage.remember("Acme is to launch on 3 March 2027!")

        def judge(output: Any) -> Any:
            stage.store.forget(gone)
            return "worked"

        with learn_outcomes(stage.storage, judge=judge):
            stage.run(LAUNCH)
        assert stage.outcome(kept) == 0.2
        assert f"an outcome of {gone} is not recorded" in caplog.text

    @pytest.mark.parametrize("wrong", [5, None])
    def test_only_storages_stores_and_paths_learn(self, wrong: Any) -> None:
        with pytest.raises(ValidationError, match="store must be a MemoryStore"):
            learn_outcomes(wrong)

    def test_crewai_is_needed(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "crewai.events.event_bus", None)
        with pytest.raises(MissingExtraError, match="crewai"):
            learn_outcomes(store)

    def test_a_session_needs_a_name(self, store: MemoryStore) -> None:
        with pytest.raises(ValidationError, match="session"):
            learn_outcomes(store, session="")


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(minute: int, type: str, **told: Any) -> Any:
    return SimpleNamespace(type=type, timestamp=NOON + timedelta(minutes=minute), **told)


def recalled(minute: int, *ids: str) -> Any:
    return at(minute, "memory_query_completed", results=[{"id": id} for id in ids])


def completed(minute: int, answer: str) -> Any:
    output = SimpleNamespace(raw=answer, description="When?", expected_output="a date")
    return at(minute, "task_completed", output=output)


def failed(minute: int, error: str) -> Any:
    return at(minute, "task_failed", error=error, task=SimpleNamespace(description="When?"))


def answered(minute: int, answer: str) -> Any:
    return at(minute, "agent_execution_completed", output=answer)


def checked(minute: int, error: str | None) -> Any:
    return at(minute, "llm_guardrail_completed", success=error is None, error=error)


class TestRunTracker:
    """Events of a task, in any order."""

    def test_a_late_recall_belongs_to_the_run_before(self) -> None:
        runs = RunTracker()
        assert runs.add("t", completed(2, "first")) is None
        assert runs.add("t", recalled(4, "b")) is None
        assert runs.add("t", recalled(1, "a")) is None
        due = runs.add("t", completed(5, "second"))
        assert due is not None
        assert (due[0], due[1].answer) == (["b"], "second")

    def test_a_recall_heard_after_its_end_is_due_at_once(self) -> None:
        runs = RunTracker()
        assert runs.add("t", recalled(1, "a")) is None
        assert due(runs, completed(3, "said")) == ["a"]
        assert due(runs, recalled(2, "a", "b")) == ["b"]

    @pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (1, 4, 0, 2, 3)])
    def test_a_refused_answer_is_known_in_any_order(self, order: tuple[int, ...]) -> None:
        told = [
            recalled(1, "a"),
            answered(2, "first"),
            answered(3, "last"),
            checked(4, "no"),
            failed(5, "not valid: no"),
        ]
        runs = RunTracker()
        found = [each for place in order if (each := runs.add("t", told[place])) is not None]
        assert found == [(["a"], TaskResult("When?", "last"))]

    @pytest.mark.parametrize(
        "told",
        [
            [failed(5, "no")],
            [checked(4, "no"), failed(5, "no")],
            [answered(3, "x"), failed(5, "an outage")],
            [answered(2, "x"), checked(3, "no"), failed(5, "an outage")],
            [answered(2, "x"), checked(5, None), checked(3, "no"), failed(6, "no")],
            [
                answered(2, "x"),
                checked(3, "no"),
                answered(4, "y"),
                checked(5, None),
                failed(6, "no"),
            ],
        ],
    )
    def test_what_failed_otherwise_has_no_result(self, told: list[Any]) -> None:
        runs = RunTracker()
        assert not any(due(runs, each) for each in (recalled(1, "a"), *told))

    def test_thousands_of_tasks_are_not_kept(self) -> None:
        runs = RunTracker(capacity=10)
        runs.add("t", recalled(0, "kept"))
        for n in range(3_000):
            runs.add(str(n), recalled(n, "a"))
            runs.add("t", answered(n, "x"))
        assert len(runs) == 10
        assert due(runs, completed(3_000, "x")) == ["kept"]

    def test_results_of_any_make_are_taken(self) -> None:
        runs = RunTracker()
        odd = at(1, "memory_query_completed", results=[{"id": 7}, "x", None, {}])
        none = at(1, "memory_query_completed", results=None)
        assert not any(due(runs, each) for each in (odd, none, completed(2, "x")))


def due(runs: RunTracker, event: Any) -> list[str] | None:
    found = runs.add("t", event)
    return None if found is None else found[0]
