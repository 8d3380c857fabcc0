"""Working memory: values that an agent keeps by name while working."""

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
