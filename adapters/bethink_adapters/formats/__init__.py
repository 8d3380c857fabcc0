"""Memories from elsewhere: a reader for each format, and one import for all of them."""

from .base import Found, Item, Link, Report, Skipped, import_from
from .memory_layer import read_memory_layer
from .remembrane import read_remembrane

__all__ = [
    "Found",
    "Item",
    "Link",
    "Report",
    "Skipped",
    "import_from",
    "read_memory_layer",
    "read_remembrane",
]
