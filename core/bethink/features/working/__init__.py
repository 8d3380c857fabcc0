"""Working memory: values kept by name while an agent works."""

from .atomic import MISSING as MISSING
from .atomic import UNCHANGED as UNCHANGED
from .atomic import AtomicMemory as AtomicMemory
from .interface import Memory as Memory
from .interface import MemoryItem as MemoryItem
from .interface import ScoredRecord as ScoredRecord
from .keyed import KeyedMemory as KeyedMemory
from .keyed import VectorMemory as VectorMemory
from .resident import LongTermMemory as LongTermMemory
from .resident import ShortTermMemory as ShortTermMemory
