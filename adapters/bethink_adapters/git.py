"""git: memories of a project without recent commits count as older.

    ranking = Stale(WeightedSum(), {"projects/ferry": "~/src/ferry"})
    store = MemoryStore("agent.db", ranking=ranking)

A namespace is bound to a project's directory. Once the last commit is 90 days old, the memories of
the namespace are ranked as if 30 days older, for any use of age by the ranking, and ``explain()``
tells the loss of score. A directory without commits, or without git, changes no score.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from bethink import Ranking, ValidationError
from bethink.adapting import DAY, Scope, Scored, Signals, Truths, check_scope, number, path
from bethink.adapting import checked_ranking as checked

Directory = str | os.PathLike[str]

HOUR: Final = 3_600.0
SECONDS: Final = 5.0
"""How long git may take."""

_LOG: Final = ("log", "-1", "--format=%ct", "--no-patch", "--no-show-signature", "--no-color")
_SETTINGS: Final = {  # what a repository could have git run, fetch or ask
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "gpg.program": "false",
    "protocol.allow": "never",
}
_ENVIRONMENT: Final = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def last_commit(directory: Directory) -> float | None:
    """Return the time of the last commit on the branch of *directory*, in Unix seconds.

    None for an unknown time: no repository, a repository of a different user, no commit, git
    missing or too slow. Nothing of the repository is run or changed.
    """
    git = shutil.which("git")
    if git is None:
        return None
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    inherited = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    try:
        done = subprocess.run(
            [git, "--no-pager", *settings, "-C", os.fspath(directory), *_LOG],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
            env={**inherited, **_ENVIRONMENT},
        )
        return float(int(done.stdout))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


class Stale:
    """*ranking*, with the memories of *projects* at rest counting as *penalty* days older.

    *projects* binds a namespace, or a ``Subtree`` of namespaces, to a directory. A project is at
    rest if the last commit was made *after* days or more before the moment of the recall. The first
    recall asks each directory, through *last_commit*, then a recall every hour by *clock*.
    """

    def __init__(
        self,
        ranking: Ranking,
        projects: Mapping[Scope, Directory],
        *,
        after: float = 90.0,
        penalty: float = 30.0,
        last_commit: Callable[[Directory], float | None] = last_commit,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ranking = checked(ranking)
        self.projects = _bound(projects)
        self.after = number("after", after, 0.0, 1e6)
        self.penalty = number("penalty", penalty, 0.0, 1e6)
        self._last_commit = last_commit
        self._clock = clock
        self._known: dict[str, tuple[float, float | None]] = {}

    @property
    def spread(self) -> float:
        """The most that a record may be less alike and still come first: as without projects."""
        return getattr(self.ranking, "spread", np.inf)

    @property
    def spread_unjudged(self) -> float:
        """The spread if all outcomes are 0: as without projects."""
        return getattr(self.ranking, "spread_unjudged", self.spread)

    def rank(self, evidence: Signals) -> Scored:
        """Return the ranking's parts, with a signal "stale" and the contribution of the signal.

        If the ranking is a ``Stale``, too, the contributions add up.
        """
        parts = self.ranking.rank(evidence)
        stale = self._stale(evidence)
        taken = np.zeros(len(stale))
        if stale.any():
            age = evidence.age + self.penalty * DAY * stale
            taken = self.ranking.rank(replace(evidence, age=age)).score - parts.score
        signal = np.maximum(parts.signals.get("stale", 0.0), stale)
        taken = parts.contributions.get("stale", 0.0) + taken
        return Scored({**parts.signals, "stale": signal}, {**parts.contributions, "stale": taken})

    def _stale(self, evidence: Signals) -> Truths:
        """Return, for each candidate, whether the candidate belongs to a project at rest."""
        stale = np.zeros(len(evidence.age), dtype=np.bool_)
        for scope, directory in self.projects.items():
            member = evidence.within(scope)
            if member.any() and self._at_rest(directory, evidence.now):
                stale |= member
        return stale

    def _at_rest(self, directory: str, now: float) -> bool:
        asked, committed = self._known.get(directory, (-np.inf, None))
        if (present := self._clock()) - asked >= HOUR:
            committed = self._last_commit(directory)
            self._known[directory] = present, committed
        return committed is not None and now - committed >= self.after * DAY


def _bound(projects: Mapping[Scope, Directory]) -> dict[Scope, str]:
    if not isinstance(projects, Mapping):
        raise ValidationError(f"projects must be a mapping, not {type(projects).__name__}")
    return {
        check_scope(scope): os.path.abspath(path("a project's directory", directory))
        for scope, directory in projects.items()
    }
