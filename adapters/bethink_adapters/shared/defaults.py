"""What an adapter recalls unless told otherwise. No memory core is imported."""

from __future__ import annotations

from typing import Final

DEFAULT_K: Final = 5
"""The number of memories."""

DEFAULT_BUDGET_TOKENS: Final = 800
"""The most tokens of a block."""
