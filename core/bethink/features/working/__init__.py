"""Working memory: what an agent knows under a name while it works, and nothing about meaning."""

from .interface import Memory, MemoryItem, ScoredRecord
from .keyed import KeyedMemory
from .resident import LongTermMemory, ShortTermMemory

__all__ = [
    "KeyedMemory",
    "LongTermMemory",
    "Memory",
    "MemoryItem",
    "ScoredRecord",
    "ShortTermMemory",
]
