"""The memory within a process, of the last items."""

from bethink import ShortTermMemory as ShortTermMemory
