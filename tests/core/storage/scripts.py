"""Scripts of writes: the same from the same seed, each step with the state that it leads to."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from bethink import MemoryStore

from .replay import table

State: TypeAlias = Mapping[str, tuple[str, str, str | None]]
"""Content, state and key of every record that was ever stored, by id."""
Step: TypeAlias = tuple[Callable[[MemoryStore], Any], State]

VERBS = ("store", "store", "batch", "keyed", "keyed", "update", "forget", "restore", "recall")


def state_of(store: MemoryStore, namespace: str) -> State:
    return {
        record.id: (record.content, record.state, record.key)
        for record in table(store).values()
        if record.namespace == namespace
    }


def script(namespace: str, seed: int, start: State) -> Iterator[Step]:
    """Yield steps without end: what to do, and the state once it is done."""
    chance = random.Random(f"{namespace} {seed}")
    state = start
    number = 0
    while True:
        number += 1
        name = f"{namespace}-{seed}-{number}"
        done = _step(chance.choice(VERBS), namespace, name, state, chance)
        if done is not None:
            state = done[1]
            yield done


def _step(verb: str, namespace: str, name: str, state: State, chance: random.Random) -> Step | None:
    """Return a step that *verb* can take from *state*, None if there is none."""
    content = f"{name} tells of {chance.choice(('whales', 'parrots', 'ferries'))}"
    if verb == "store":
        return _stored(namespace, {name: content}, state)
    if verb == "batch":
        return _stored(namespace, {f"{name}-{part}": content for part in "abc"}, state)
    if verb == "keyed":
        return _keyed(namespace, name, content, f"key {chance.randrange(3)}", state)
    if verb == "recall":
        return partial(MemoryStore.recall, query=content, namespace=namespace), state
    wanted = "forgotten" if verb == "restore" else "live"
    taken = {key for _, condition, key in state.values() if condition == "live"} - {None}
    ids = [
        id
        for id, (_, condition, key) in sorted(state.items())
        if condition == wanted and not (verb == "restore" and key in taken)
    ]
    return _changed(verb, chance.choice(ids), content, state) if ids else None


def _stored(namespace: str, contents: Mapping[str, str], state: State) -> Step:
    items = [{"id": id, "content": content} for id, content in contents.items()]
    new = {id: (content, "live", None) for id, content in contents.items()}
    return partial(MemoryStore.store_many, items=items, namespace=namespace), {**state, **new}


def _keyed(namespace: str, id: str, content: str, key: str, state: State) -> Step:
    after = {
        old: (told, "superseded" if (condition, held) == ("live", key) else condition, held)
        for old, (told, condition, held) in state.items()
    }
    do = partial(MemoryStore.store, content=content, id=id, key=key, namespace=namespace)
    return do, {**after, id: (content, "live", key)}


def _changed(verb: str, id: str, content: str, state: State) -> Step:
    told, _, key = state[id]
    if verb == "update":
        return partial(MemoryStore.update, id=id, content=content), {
            **state,
            id: (content, "live", key),
        }
    if verb == "forget":
        return partial(MemoryStore.forget, ids=id), {**state, id: (told, "forgotten", key)}
    return partial(MemoryStore.restore, ids=id), {**state, id: (told, "live", key)}
