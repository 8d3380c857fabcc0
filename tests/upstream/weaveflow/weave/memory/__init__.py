"""Weave's memory."""
