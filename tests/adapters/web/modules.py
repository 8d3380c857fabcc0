"""Modules of the web interface alone, in a browser without a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from bethink_adapters.rest.pages import FOLDER

ADDRESS = "http://modules.test"
_IMPORTS = {
    "template": "{ html, each, render }",
    "element": "{ BethinkElement, View, define }",
    "toasts": "{ toasts }",
}


def _answer(route: Any) -> None:
    """Answer with a file of the web interface, or an empty page."""
    path = FOLDER / urlsplit(route.request.url).path.removeprefix("/web/").lstrip("/")
    if path.is_file():
        route.fulfill(path=path, content_type="text/javascript")
    else:
        route.fulfill(body="<!doctype html><main></main>", content_type="text/html")


@contextmanager
def modules(browser: Any) -> Iterator[Any]:
    """Yield a function that runs JavaScript with the modules and the element *main* at hand."""
    context = browser.new_context()
    page, faults = context.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.route("**/*", _answer)
    page.goto(ADDRESS)
    imports = "\n".join(
        f"const {names} = await import('/web/js/core/{name}.js');"
        for name, names in _IMPORTS.items()
    )
    begin = (
        "const main = document.querySelector('main'); const soon = () => new Promise(setTimeout);"
    )

    def run(body: str) -> Any:
        return page.evaluate(f"async () => {{ {imports} {begin} {body} }}")

    yield run
    context.close()
    assert faults == []
