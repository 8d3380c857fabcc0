"""The checkpointer of a LangGraph graph: threads go on, step back and fork.

    saver = BethinkSaver("agent.db")
    graph = builder.compile(checkpointer=saver)

One class serves sync and async graphs, from any thread and event loop.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from bethink import (
    MemoryRecord,
    Subtree,
    ValidationError,
    segment,
)
from bethink.adapting import check_namespace, make_async, make_async_write

from ..shared.opening import StoreOrPath
from ..shared.subclassing import made_on
from . import threads
from .arrivals import Arrivals, Written
from .checkpoints import (
    CHECKPOINTS,
    PAGE,
    checkpoint_key,
    config_of,
    configured,
    from_text,
    in_order,
    is_small,
    made_at,
    newest,
    place,
    thread_place,
    to_text,
    value_key,
    with_writes,
)
from .opened import Opened

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )

    _Base: TypeAlias = BaseCheckpointSaver[str]
else:
    _Base = object  # a type checker sees LangGraph's base class; an object gets it when it is made


@made_on("langgraph", "langgraph.checkpoint.base", "BaseCheckpointSaver")
class BethinkSaver(Opened, _Base):
    """Keep the checkpoints of LangGraph threads in a bethink store, below *namespace*.

    *store* is a `MemoryStore`, to be closed by the caller, or the path of a file to open until
    `close`; a `with` block closes, too.
    *serde* turns objects into bytes, as for every checkpointer: an `EncryptedSerializer` encrypts.
    A put is one transaction. No recall finds checkpoints.

    A deletion erases: no byte stays in the file. All pages are read, so delete many threads
    in one call of `prune(thread_ids, strategy="delete")`. A graph still running in a deleted thread
    brings nothing back: a checkpoint with a deleted parent, and writes after a deleted checkpoint,
    are dropped with a warning in the log. A first checkpoint without a parent begins a new thread.
    """

    def __init__(
        self,
        store: StoreOrPath = ":memory:",
        *,
        namespace: str = "checkpoints",
        serde: Any = None,
    ) -> None:
        super().__init__(serde=serde)
        self.namespace = check_namespace(namespace)
        self._open(store)
        self._arrivals = Arrivals(self.store)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint named by *config*, or the latest of the thread."""
        record = self._record(config)
        return None if record is None else next(self._tuples([record]))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread (None: of all), newest first.

        *filter* are metadata to be equal; only checkpoints older than *before* are listed.
        """
        left = sys.maxsize if limit is None else limit
        if left <= 0:
            return
        for records in self._listed(config, before, PAGE if filter else min(left, PAGE)):
            passing = [each for each in records if self._passes(each, filter or {})][:left]
            yield from self._tuples(passing)
            left -= len(passing)
            if not left:
                return

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint with the new values; return the config of the checkpoint."""
        from langgraph.checkpoint.base import get_checkpoint_metadata

        thread, graph, parent = _named(config)
        kept: Any = get_checkpoint_metadata(config, metadata)
        values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
        large = {name for name, value in values.items() if name in versions and not is_small(value)}
        small = {name: value for name, value in values.items() if name not in large}
        state: dict[str, Any] = {
            "parent": parent,
            "checkpoint": self._dump({**checkpoint, "channel_values": small}),
            "metadata": self._dump(kept),
            "values": {n: value_key(n, versions[n]) if n in large else None for n in values},
            "deltas": list(kept.get("counters_since_delta_snapshot") or ()),
        }
        items: list[dict[str, Any]] = [
            {"key": value_key(name, versions[name]), "value": self._dump(values[name])}
            for name in new_versions
            if name in large
        ]
        run = {"source": segment(kept["run_id"])} if isinstance(kept.get("run_id"), str) else {}
        items.append(
            {"key": checkpoint_key(checkpoint["id"]), "value": state, **CHECKPOINTS, **run}
        )
        needed = [(graph, parent)] if parent else list((kept.get("parents") or {}).items())
        places = [(place(self.namespace, thread, name), id) for name, id in needed]
        namespace, made = place(self.namespace, thread, graph), made_at(config, checkpoint)
        self._arrivals.put(namespace, checkpoint["id"], items, places, made)
        return configured(thread, graph, checkpoint["id"])  # type: ignore[return-value]

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task after a checkpoint; a second time changes nothing."""
        from langgraph.checkpoint.base import WRITES_IDX_MAP

        thread, graph, id = _named(config)
        if id is None:
            raise ValidationError("writes belong to a checkpoint, and the config names none")
        new = [
            (WRITES_IDX_MAP.get(channel, number), [channel, self._dump(value)])
            for number, (channel, value) in enumerate(writes)
        ]
        if new:
            namespace = place(self.namespace, thread, graph)
            self._arrivals.write(namespace, id, Written(task_id, task_path, new))

    def delete_thread(self, thread_id: str) -> None:
        """Erase all checkpoints and writes of a thread."""
        self.prune([thread_id], strategy="delete")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase the checkpoints of the runs *run_ids*, with values and writes."""
        threads.delete_for_runs(self.store, self.namespace, run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to a second thread, in one transaction."""
        threads.copy(self.store, self.namespace, source_thread_id, target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase all but the latest checkpoint of each graph in the threads, or "delete" all.

        The latest checkpoint keeps the writes, so an interrupted thread can be resumed, and the
        ancestors with the values of delta channels.
        """
        if strategy == "delete":
            for thread in thread_ids:
                self._arrivals.note_deletion(thread_place(self.namespace, thread))
        threads.prune(self.store, self.namespace, thread_ids, strategy)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return the writes to each of *channels* since the last ancestor with a value."""
        record = self._record(config) if channels else None
        return threads.written(self.store, record, channels, self._load)

    def get_next_version(self, current: str | int | float | None, channel: None = None) -> str:
        """Return the version after *current*; unique, because forks of a thread share values."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.getrandbits(53):016}"

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the tuples of `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await asyncio.to_thread(next, found, None)) is not None:
            yield each

    aget_tuple = make_async(get_tuple)
    aget_delta_channel_history = make_async(get_delta_channel_history)
    aput = make_async_write(put)
    aput_writes = make_async_write(put_writes)
    adelete_thread = make_async_write(delete_thread)
    adelete_for_runs = make_async_write(delete_for_runs)
    acopy_thread = make_async_write(copy_thread)
    aprune = make_async_write(prune)

    def _dump(self, value: Any) -> Sequence[str]:
        return to_text(self.serde.dumps_typed(value))

    def _load(self, pair: Sequence[str]) -> Any:
        return self.serde.loads_typed(from_text(pair))

    def _metadata(self, record: MemoryRecord) -> Any:
        return self._load(record.value["metadata"])

    def _passes(self, record: MemoryRecord, filter: Mapping[str, Any]) -> bool:
        """Return whether the metadata of the checkpoint equal *filter*."""
        metadata = self._metadata(record) if filter else {}
        return all(metadata.get(name) == value for name, value in filter.items())

    def _record(self, config: RunnableConfig) -> MemoryRecord | None:
        """Return the checkpoint named by *config*, or the latest."""
        thread, graph, id = _named(config)
        namespace = place(self.namespace, thread, graph)
        if id is None:
            (found,) = next(newest(self.store, namespace, most=1), [None])
            return found
        return self.store.get(namespace=namespace, key=checkpoint_key(id))

    def _listed(
        self, config: RunnableConfig | None, before: RunnableConfig | None, most: int
    ) -> Iterator[Sequence[MemoryRecord]]:
        """Return the checkpoints of a thread, of a graph in a thread, or of all, newest first.

        About *most* are read at a time.
        """
        bound = None if before is None else before["configurable"].get("checkpoint_id")
        if config is None:
            return newest(self.store, Subtree(self.namespace), bound, most)
        thread, graph, id = _named(config)
        scope: str | Subtree = Subtree(thread_place(self.namespace, thread))
        if config["configurable"].get("checkpoint_ns") is not None:
            scope = place(self.namespace, thread, graph)
        if id is None:
            return newest(self.store, scope, bound, most)
        named = {"key": checkpoint_key(id)}
        return iter([] if bound and id >= bound else [self.store.all(namespace=scope, where=named)])

    def _tuples(self, records: Sequence[MemoryRecord]) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints in *records*, with values and later writes."""
        return itertools.starmap(self._tuple, with_writes(self.store, records))

    def _tuple(self, record: MemoryRecord, writes: Sequence[MemoryRecord]) -> CheckpointTuple:
        from langgraph.checkpoint.base import CheckpointTuple

        config, state = config_of(record), record.value
        checkpoint = self._load(state["checkpoint"])
        for name, key in state["values"].items():
            held = None if key is None else self.store.get(namespace=record.namespace, key=key)
            if held is not None:
                checkpoint["channel_values"][name] = self._load(held.value)
        parent = {**config["configurable"], "checkpoint_id": state["parent"]}
        return CheckpointTuple(
            config=config,  # type: ignore[arg-type]
            checkpoint=checkpoint,
            metadata=self._metadata(record),
            parent_config={"configurable": parent} if state["parent"] else None,
            pending_writes=[(t, name, self._load(value)) for t, (name, value) in in_order(writes)],
        )


def _named(config: RunnableConfig) -> tuple[Any, str, str | None]:
    names = config["configurable"]
    return names["thread_id"], names.get("checkpoint_ns") or "", names.get("checkpoint_id") or None
