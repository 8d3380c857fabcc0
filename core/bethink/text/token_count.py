"""How many tokens a text has, about."""

from __future__ import annotations

from math import ceil

from .tokenizer import UNSPACED_RUN


def estimate_tokens(text: str) -> int:
    """Estimate what a language model's tokenizer makes of the text.

    A character of an unspaced script counts as one token, four UTF-8 bytes of anything else as one.
    """
    return ceil(rough_tokens(text))


def rough_tokens(text: str) -> float:
    """Return ``estimate_tokens`` before it is rounded up; that of joined texts is the sum."""
    if text.isascii():
        return len(text) / 4
    spaced = UNSPACED_RUN.sub("", text)
    size = len(spaced.encode("utf-8", "surrogatepass"))
    return len(text) - len(spaced) + size / 4
