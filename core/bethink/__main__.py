"""``python -m bethink FILE``: what a file holds, the newest memories, conflicts and health.

``python -m bethink COMMAND`` is the command line of ``bethink_adapters.cli``; a file with the name
of a command is ``./NAME``.
"""

from __future__ import annotations

import sys
from importlib import import_module


def run(words: list[str]) -> int | str:
    """Show the file if *words* are the name of a file alone, else run the command line."""
    command_line = import_module("bethink_adapters.cli")
    if len(words) > 1 or (words and command_line.is_command(words[0])):
        return int(command_line.main(words))
    shown: int | str = command_line.show_file(words)
    return shown


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
