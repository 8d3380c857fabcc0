"""The command line."""

from bethink_adapters.cli import main as main

_main_wrapper = main
