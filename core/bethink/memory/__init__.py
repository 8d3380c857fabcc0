"""The kernel: write, read and rank memories, and answer as of a moment of the past."""
