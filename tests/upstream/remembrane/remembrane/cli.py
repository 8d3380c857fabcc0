"""bethink has no command line."""

from .absent import absent

main = _main_wrapper = absent("the command line")
