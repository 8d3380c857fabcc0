"""Working memory: values kept by name while an agent works."""

from .interface import Memory, MemoryItem, ScoredRecord
from .keyed import KeyedMemory
from .resident import LongTermMemory, ShortTermMemory
from .vectors import VectorMemory

__all__ = [
    "KeyedMemory",
    "LongTermMemory",
    "Memory",
    "MemoryItem",
    "ScoredRecord",
    "ShortTermMemory",
    "VectorMemory",
]
