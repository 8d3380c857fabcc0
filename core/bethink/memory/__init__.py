"""The kernel: write, read and rank memories."""
