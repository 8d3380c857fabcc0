"""Make the pictures of ``docs/web.md``: views of a real server in Chromium.

    python -m tests.making.web_pictures [FOLDER]

Needs playwright, pillow and Chromium. The memories are those of a team that runs a ferry.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from bethink import MemoryStore
from bethink.testing import FrozenClock

from ..adapters.rest.process import Served, served

FOLDER: Final = Path(__file__).parents[2] / "docs/pictures"
SIZE: Final = {"width": 1120, "height": 700}
MOST_BYTES: Final = 60_000
COLOURS: Final = 96
DAY: Final = 86_400.0

FACTS: Final = [
    ("team", "fact", "The ferry leaves Harwell at 7:10 on weekdays.", ["timetable"]),
    (
        "team",
        "decision",
        "Deployments happen on Tuesdays, after the tide table is loaded.",
        ["deploy"],
    ),
    ("team", "gotcha", "The tide table is in UTC; the ticket office shows local time.", ["time"]),
    ("team", "todo", "Renew the certificate of the ticket office before May.", ["deploy"]),
    ("users/ann", "preference", "Ann prefers short answers with a link to the source.", []),
    ("users/ann", "fact", "Ann is on call in even weeks.", ["on-call"]),
    ("users/bob", "preference", "Bob reads the logs first, then the metrics.", []),
    ("tickets", "bug", "Refunds above 90 euros fail when the card is expired.", ["refund"]),
    ("tickets", "bug", "The printer in booth 3 prints the date of yesterday.", ["time"]),
    ("tickets", "fact", "Group tickets need a name and a telephone number.", []),
]


def fill(path: Path) -> str:
    """Write a month of memories to *path*; return the id of the memory with a history."""
    clock = FrozenClock(time.time() - 30 * DAY)
    with MemoryStore(path, clock=clock) as store:
        for namespace, category, content, tags in FACTS:
            clock.advance(1.7 * DAY)
            store.store(content, namespace=namespace, category=category, tags=tags)
        home = store.store("Bob lives in Oslo.", namespace="users/bob", category="fact")
        clock.advance(4 * DAY)
        store.store("Bob lives in Bergen.", namespace="users/bob", category="fact")
        store.store("Ann does not like dark mode.", namespace="users/ann")
        store.store("Ann likes dark mode.", namespace="users/ann")
        plan = store.store("Deployments happen on Mondays.", namespace="team", key="deploy-day")
        for text in ("on Thursdays, in the evening", "on Tuesdays, in the morning"):
            clock.advance(1.1 * DAY)
            plan = store.store(f"Deployments happen {text}.", namespace="team", key="deploy-day")
            for outcome in ("worked", "worked", "failed"):
                clock.advance(0.2 * DAY)
                store.record_outcome(plan.id, outcome)
        store.relate(plan.id, home.id, "about")
        store.snapshot("before summer")
        clock.advance(2 * DAY)
        store.store("The summer timetable starts on 1 June.", namespace="team", tags=["timetable"])
        return plan.id


def views(history: str) -> dict[str, tuple[str, str, str]]:
    """Return theme, address and a selector of the last part that appears, by picture."""
    question = "q=when+do+deployments+happen"
    return {
        "home": ("light", "/", "svg"),
        "recall": ("light", f"/recall?{question}&mode=all", "recall-view .score"),
        "memory": ("dark", f"/memories/{history}", "memory-view svg"),
        "time": ("light", f"/time?at=14&with=%2319&{question}", "time-view .score"),
        "conflicts": ("dark", "/conflicts", ".pair"),
        "context": ("light", f"/context?{question}&budget=160", "context-view .block"),
    }


def small(png: bytes) -> bytes:
    """Return *png* with a palette of few colours."""
    from PIL import Image

    kept = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(kept, "PNG", optimize=True)
    return kept.getvalue()


def pictures(server: Served, history: str, browser: Any) -> dict[str, bytes]:
    """Return every picture as PNG, by name."""
    made = {}
    for name, (theme, address, last) in views(history).items():
        context = browser.new_context(
            base_url=server.address, color_scheme=theme, viewport=SIZE, reduced_motion="reduce"
        )
        page = context.new_page()
        page.goto(f"/#token={server.token}")
        page.wait_for_selector(".figures")
        page.goto(address)
        page.locator(last).first.wait_for()
        page.locator("conflict-count:has(*)").wait_for()
        made[name] = small(page.screenshot())
        context.close()
    return made


def make(folder: Path, browser: Any) -> None:
    """Write every picture to *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        history = fill(Path(place) / "m.db")
        with served(Path(place)) as server:
            for name, png in pictures(server, history, browser).items():
                (folder / f"{name}.png").write_bytes(png)


def main(arguments: list[str]) -> None:
    """Write to the folder that *arguments* name, or to ``docs/pictures``."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        make(Path(arguments[0]) if arguments else FOLDER, browser)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
