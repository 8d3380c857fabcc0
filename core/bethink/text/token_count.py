"""An estimate of a language model's count of tokens."""

from __future__ import annotations

from math import ceil

from .tokenizer import UNSPACED_RUN


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens that a language model makes of *text*.

    A character of an unspaced script counts 1, a UTF-8 byte of a spaced script .25.
    """
    return ceil(rough_tokens(text))


def rough_tokens(text: str) -> float:
    """Return ``estimate_tokens`` before rounding up; the value of joined texts is the sum."""
    if text.isascii():
        return len(text) / 4
    spaced = UNSPACED_RUN.sub("", text)
    size = len(spaced.encode("utf-8", "surrogatepass"))
    return len(text) - len(spaced) + size / 4
