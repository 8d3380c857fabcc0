"""A folder of Markdown notes, such as an Obsidian vault: records written out, and read in again."""

from .reading import read_markdown
from .writing import export_markdown

__all__ = ["export_markdown", "read_markdown"]
