"""`python -m bethink_adapters.mcp`: run the server by the command line's arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..cli import main as bethink


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve by the command line's *arguments*; return the exit code."""
    return bethink(["mcp", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
