"""hosts: bethink in the settings of agent hosts, and the hooks that the hosts call."""

from .install import Change, Place, SettingsError, install, is_installed, uninstall
from .settings import Program
from .table import HOSTS, Host

__all__ = [
    "HOSTS",
    "Change",
    "Host",
    "Place",
    "Program",
    "SettingsError",
    "install",
    "is_installed",
    "uninstall",
]
