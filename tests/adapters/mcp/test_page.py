"""docs/mcp.md tells of every tool, resource, prompt and option."""

import re
from pathlib import Path

from bethink_adapters.mcp import http
from bethink_adapters.mcp.answers import ANSWER_TOKENS, GET_TOKENS
from bethink_adapters.mcp.prompts import PROMPTS
from bethink_adapters.mcp.protocol import HANDSHAKE, MODERN
from bethink_adapters.mcp.resources import LISTED, TEMPLATES
from bethink_adapters.mcp.stdio import MAX_LINE
from bethink_adapters.mcp.tools import MORE, USUAL

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
FIRST_CELLS = re.findall(r"^\| `([^`]+)`", PAGE, re.MULTILINE)


def test_the_tables_name_what_is_offered() -> None:
    offered = [
        *(each["name"] for each in (*USUAL, *MORE)),
        *(each["uri"] for each in LISTED),
        *(each["uriTemplate"] for each in TEMPLATES),
        *PROMPTS,
    ]
    assert [each for each in FIRST_CELLS if not each.startswith("--")] == offered


def test_the_page_tells_versions_and_limits() -> None:
    for told in (
        *MODERN,
        *HANDSHAKE,
        f"{GET_TOKENS:,} tokens",
        f"{ANSWER_TOKENS:,} for the rest",
        f"{MAX_LINE >> 20} MB",
        f"{http.MAX_BODY >> 20} MB",
    ):
        assert told in PAGE
