"""Memories of foreign systems: a reader for each format, and an import for all formats."""

from .base import DatedLink, Found, Incomplete, Item, Link, Memory, Moment, Report, Skipped
from .chatgpt import read_chatgpt
from .claude import read_claude
from .importing import import_from
from .markdown import export_markdown, read_markdown
from .mcp_memory import read_mcp_memory
from .mem0 import read_mem0, read_mem0_history
from .memory_layer import read_memory_layer
from .remembrane import read_remembrane

__all__ = [
    "DatedLink",
    "Found",
    "Incomplete",
    "Item",
    "Link",
    "Memory",
    "Moment",
    "Report",
    "Skipped",
    "export_markdown",
    "import_from",
    "read_chatgpt",
    "read_claude",
    "read_markdown",
    "read_mcp_memory",
    "read_mem0",
    "read_mem0_history",
    "read_memory_layer",
    "read_remembrane",
]
