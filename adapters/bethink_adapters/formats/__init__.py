"""Memories from elsewhere: a reader for each format, and one import for all of them."""

from .base import Found, Item, Link, Report, Skipped, import_from

__all__ = [
    "Found",
    "Item",
    "Link",
    "Report",
    "Skipped",
    "import_from",
]
