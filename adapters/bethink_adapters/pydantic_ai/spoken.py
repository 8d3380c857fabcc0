"""What the messages of Pydantic AI say in words, and who says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, UserPromptPart


def prompt_text(part: UserPromptPart) -> str:
    """Return the words of a prompt, without its images and files."""
    if isinstance(part.content, str):
        return part.content
    texts = (
        each if isinstance(each, str) else getattr(each, "content", "") for each in part.content
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def spoken(messages: Iterable[ModelMessage]) -> Iterator[tuple[str, str]]:
    """Yield who says what in *messages*: users and the model; tools and instructions do not."""
    from pydantic_ai.messages import TextPart, UserPromptPart

    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                said = "user", prompt_text(part)
            elif isinstance(part, TextPart):
                said = "assistant", part.content
            else:
                continue
            if said[1].strip():
                yield said
