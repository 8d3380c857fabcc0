"""The memory within a process, of any length."""

from bethink import LongTermMemory as LongTermMemory
