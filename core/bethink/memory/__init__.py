"""The kernel: memories are written, read, ranked, and asked for as they were."""
