"""Remember a long conversation in one process, ask about it in another.

    python examples/long_conversation.py examples/data/two_friends.jsonl --via langchain

FILE holds one JSON object a line, plain or gzipped: "doc" lines, the turns (corpus, id, text,
speaker, time, session, perhaps the caption of an image), and "query" lines, the questions (corpus,
query, category, time, gold: the ids of the turns that answer it). Each corpus is remembered apart.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Self

from bethink import MemoryStore, Subtree, segment

BATCH = 128
SHOWN = 3  # questions shown with an answer
Line = dict[str, Any]


class Face(ABC):
    """One way into a file: remember the turns of a corpus, ask which of them answer a question."""

    name: ClassVar[str]

    def __init__(self, database: Path) -> None:
        self.store = MemoryStore(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.store.close()

    def namespace(self, corpus: str) -> str:
        return f"{self.name}/{segment(corpus)}"

    def knows(self, corpus: str) -> bool:
        return self.store.count(namespace=Subtree(self.namespace(corpus))) > 0

    @abstractmethod
    def remember(self, corpus: str, turns: list[Line]) -> None:
        """Store *turns*, in order."""

    @abstractmethod
    def ask(self, question: Line, k: int) -> list[str]:
        """Return the ids of the *k* turns that best answer *question*, best first."""


class Core(Face):
    """The store itself."""

    name = "core"

    def remember(self, corpus: str, turns: list[Line]) -> None:
        items = [
            {
                "content": text_of(turn),
                "author": turn.get("speaker") or None,
                "thread": turn.get("session") or None,
                "occurred_at": turn.get("time"),
                "metadata": {"source_id": turn["id"]},
            }
            for turn in turns
        ]
        self.store.store_many(items, namespace=self.namespace(corpus))

    def ask(self, question: Line, k: int) -> list[str]:
        asked_at, scope = question.get("time"), self.namespace(question["corpus"])
        hits = self.store.recall(question["query"], k=k, namespace=scope, now=asked_at)
        return [hit.memory.metadata["source_id"] for hit in hits]


class LangChain(Face):
    """A chat history for each session. Histories have no search: the store recalls from them."""

    name = "langchain"

    def remember(self, corpus: str, turns: list[Line]) -> None:
        from langchain_core.messages import HumanMessage

        from bethink_adapters.langchain import ChatMessageHistory

        for session, said in groupby(turns, lambda turn: str(turn.get("session") or "")):
            history = ChatMessageHistory(self.store, session, namespace=self.namespace(corpus))
            history.add_messages(
                [
                    HumanMessage(content=text_of(turn), name=turn.get("speaker"), id=turn["id"])
                    for turn in said
                ]
            )

    def ask(self, question: Line, k: int) -> list[str]:
        scope = Subtree(self.namespace(question["corpus"]))
        hits = self.store.recall(question["query"], k=k, namespace=scope)
        return [hit.memory.value["data"]["id"] for hit in hits]


class Crew(Face):
    """The storage of crewAI's unified memory, without a crew around it."""

    name = "crewai"

    def storage(self, corpus: str) -> Any:
        from bethink_adapters.crewai import CrewStorage

        return CrewStorage(self.store, namespace=self.namespace(corpus))

    def remember(self, corpus: str, turns: list[Line]) -> None:
        from crewai.memory.types import MemoryRecord

        storage = self.storage(corpus)
        texts = [said_by(turn) for turn in turns]
        records = [
            MemoryRecord(
                content=text,
                embedding=vector,
                created_at=datetime.fromtimestamp(turn.get("time") or 0, UTC).replace(tzinfo=None),
                metadata={"source_id": turn["id"], "thread": turn.get("session")},
            )
            for turn, text, vector in zip(turns, texts, storage.embedder(texts), strict=True)
        ]
        storage.save(records)

    def ask(self, question: Line, k: int) -> list[str]:
        storage = self.storage(question["corpus"])
        found = storage.search(storage.embedder([question["query"]])[0], limit=k)
        return [record.metadata["source_id"] for record, _ in found]


class AutoGen(Face):
    """The memory that an AssistantAgent asks before every turn, without an agent around it."""

    name = "autogen"

    def memory(self, corpus: str) -> Any:
        from bethink_adapters.autogen import AgentMemory

        return AgentMemory(self.store, namespace=self.namespace(corpus))

    def remember(self, corpus: str, turns: list[Line]) -> None:
        asyncio.run(self._add(self.memory(corpus), turns))

    async def _add(self, memory: Any, turns: list[Line]) -> None:
        from autogen_core.memory import MemoryContent, MemoryMimeType

        for turn in turns:
            metadata = {"source_id": turn["id"], "author": turn.get("speaker") or None}
            metadata |= {"thread": turn.get("session") or None, "occurred_at": turn.get("time")}
            await memory.add(
                MemoryContent(
                    content=text_of(turn), mime_type=MemoryMimeType.TEXT, metadata=metadata
                )
            )

    def ask(self, question: Line, k: int) -> list[str]:
        answer = asyncio.run(self.memory(question["corpus"]).query(question["query"], k=k))
        return [content.metadata["source_id"] for content in answer.results]


FACES: dict[str, type[Face]] = {face.name: face for face in (Core, LangChain, Crew, AutoGen)}


def text_of(turn: Line) -> str:
    """Return what was said, and what an image that was shown shows."""
    caption = turn.get("caption")
    return f"{turn['text']} [shared image: {caption}]" if caption else str(turn["text"])


def said_by(turn: Line) -> str:
    """Return what was said with the speaker in front, where a record has no field for it."""
    speaker = turn.get("speaker")
    return f"{speaker}: {text_of(turn)}" if speaker else text_of(turn)


def read(path: Path, kind: str) -> dict[str, list[Line]]:
    """Return the lines of one *kind* in *path*, by corpus."""
    found: dict[str, list[Line]] = defaultdict(list)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["kind"] == kind:
                found[line["corpus"]].append(line)
    return found


def in_batches(corpora: dict[str, list[Line]], size: int) -> Iterator[list[Line]]:
    """Yield the lines of each corpus, *size* at a time."""
    for lines in corpora.values():
        for start in range(0, len(lines), size):
            yield lines[start : start + size]


def shown(batches: Iterable[list[Line]], total: int, label: str) -> Iterator[list[Line]]:
    """Pass *batches* on; in a terminal, draw how many of *total* lines are done."""
    done, started = 0, time.perf_counter()
    for batch in batches:
        yield batch
        done += len(batch)
        if sys.stderr.isatty():
            bar = "#" * (30 * done // total)
            rate = done / (time.perf_counter() - started)
            print(f"\r{label} [{bar:.<30}] {done}/{total}, {rate:.0f}/s ", end="", file=sys.stderr)
    if done and sys.stderr.isatty():
        print(file=sys.stderr)


def remember(face: Face, turns: dict[str, list[Line]]) -> None:
    """Store the corpora that the file does not hold yet."""
    new = {corpus: lines for corpus, lines in turns.items() if not face.knows(corpus)}
    total, started = sum(map(len, new.values())), time.perf_counter()
    for batch in shown(in_batches(new, BATCH), total, "remembering"):
        face.remember(batch[0]["corpus"], batch)
    spent = time.perf_counter() - started
    known = f"; {len(turns) - len(new)} known already" if len(new) < len(turns) else ""
    several = "" if len(new) == 1 else "s"
    print(f"remembered {total} turns of {len(new)} conversation{several} in {spent:.2f} s{known}")


def ask(face: Face, questions: dict[str, list[Line]], turns: dict[str, list[Line]], k: int) -> None:
    """Ask every question and show the first few; print the evidence among the first *k* answers."""
    recall: dict[str, list[float]] = defaultdict(list)
    spent: list[float] = []
    said = {(corpus, each["id"]): said_by(each) for corpus in turns for each in turns[corpus]}
    answers: list[tuple[Line, str]] = []
    total = sum(map(len, questions.values()))
    for (question,) in shown(in_batches(questions, 1), total, "asking"):
        started = time.perf_counter()
        found = face.ask(question, k)
        spent.append(time.perf_counter() - started)
        answers.append((question, said[question["corpus"], found[0]] if found else "nothing"))
        gold = set(question.get("gold_fixed") or question["gold"])
        recall[str(question["category"])].append(len(gold & set(found)) / len(gold))
    for question, best in answers[:SHOWN]:
        print(f"Q: {question['query']}\n  found first: {best}")
        print(f"  expected: {question.get('answer') or 'not told'}")
    rows = [*sorted(recall.items()), ("all", [one for row in recall.values() for one in row])]
    width = max(len(category) for category, _ in [*rows, ("category", [])])
    print(f"{'category':{width}}  questions  recall@{k}")
    for category, scores in rows:
        print(f"{category:{width}}  {len(scores):9}  {sum(scores) / max(1, len(scores)):.3f}")
    print(f"median {1000 * median(spent or [0]):.1f} ms a question")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, metavar="FILE", help="JSON lines, plain or gzipped")
    parser.add_argument("--via", choices=FACES, default="core", help="the adapter to use")
    parser.add_argument("--database", type=Path, help="keep the memories in this file")
    parser.add_argument("--k", type=int, default=10, help="answers asked for (default: 10)")
    parser.add_argument("--limit", type=int, help="ask so many questions of each conversation")
    parser.add_argument("--ask-only", action="store_true", help="ask what --database holds")
    options = parser.parse_args()
    if options.ask_only and options.database is None:
        parser.error("--ask-only needs --database")
    return options


def run(options: argparse.Namespace, database: Path) -> int:
    """Remember; then let a second process open the file and ask."""
    with FACES[options.via](database) as face:
        remember(face, read(options.file, "doc"))
    command = [sys.executable, __file__, str(options.file), "--via", options.via, "--ask-only"]
    command += ["--database", str(database), "--k", str(options.k)]
    command += ["--limit", str(options.limit)] if options.limit is not None else []
    return subprocess.run(command, check=False).returncode


def main() -> int:
    options = arguments()
    if options.ask_only:
        questions = read(options.file, "query")
        with FACES[options.via](options.database) as face:
            asked = {corpus: lines[: options.limit] for corpus, lines in questions.items()}
            ask(face, asked, read(options.file, "doc"), options.k)
        return 0
    if options.database:
        return run(options, options.database)
    with tempfile.TemporaryDirectory() as folder:
        return run(options, Path(folder) / "memory.db")


if __name__ == "__main__":
    sys.exit(main())
