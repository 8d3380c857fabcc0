"""Working memory: values kept by name while an agent works."""

from .atomic import MISSING, AtomicMemory
from .interface import Memory, MemoryItem, ScoredRecord
from .keyed import KeyedMemory
from .resident import LongTermMemory, ShortTermMemory
from .vectors import VectorMemory

__all__ = [
    "MISSING",
    "AtomicMemory",
    "KeyedMemory",
    "LongTermMemory",
    "Memory",
    "MemoryItem",
    "ScoredRecord",
    "ShortTermMemory",
    "VectorMemory",
]
