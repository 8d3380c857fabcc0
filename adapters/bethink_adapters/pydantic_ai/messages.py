"""The prompts and the spoken texts in the messages of Pydantic AI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from ..shared.texts import present

if TYPE_CHECKING:
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequestPart,
        ModelResponsePart,
        SpeechPart,
        UserPromptPart,
    )


def is_prompt(
    part: ModelRequestPart | ModelResponsePart,
) -> TypeGuard[UserPromptPart | SpeechPart]:
    """Return whether *part* of a message holds a user's words, written or (newer) spoken."""
    if part.part_kind == "speech":
        return part.speaker == "user"
    return part.part_kind == "user-prompt"


def prompt_text(part: UserPromptPart | SpeechPart) -> str:
    """Return the words of a prompt, without images and files."""
    if isinstance(part.content, str):
        return part.content
    texts = (
        each if isinstance(each, str) else getattr(each, "content", "") for each in part.content
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def drop_tool_prompts(message: ModelMessage, prompt: Any) -> ModelMessage:
    """Return *message* without the prompts that tools wrote.

    In a message with results of tools, only *prompt*, the prompt of the run, is a user's.
    """
    from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

    if not isinstance(message, ModelRequest):
        return message
    parts = message.parts
    if not any(isinstance(part, ToolReturnPart) for part in parts):
        return message
    kept = [p for p in parts if not isinstance(p, UserPromptPart) or p.content == prompt]
    return replace(message, parts=kept)


def drop_refused(messages: Sequence[ModelMessage]) -> Iterator[ModelMessage]:
    """Yield *messages* without the answers that the next message refuses."""
    for message, after in zip_longest(messages, messages[1:]):
        if not any(map(_refuses, after.parts if after else ())):
            yield message


def _refuses(part: ModelRequestPart | ModelResponsePart) -> bool:
    """Return whether *part* asks for an answer anew; newer releases have a kind of their own."""
    is_prompt_again = part.part_kind == "retry-prompt" and part.tool_name is None
    return is_prompt_again or part.part_kind == "retry-feedback"


def spoken_texts(messages: Iterable[ModelMessage]) -> Iterator[tuple[str, str]]:
    """Yield author ("user" or "assistant") and text of the words of users and the model.

    Results of tools, instructions and blank texts are left out.
    """
    for message in messages:
        for part in message.parts:
            if is_prompt(part):
                said = "user", prompt_text(part)
            elif part.part_kind == "text" or part.part_kind == "speech":
                said = "assistant", part.content
            else:
                continue
            if said[1].strip():
                yield said


def with_words(message: ModelMessage, content: str) -> ModelMessage:
    """Return *message* with *content* as the words, if an update or a screen changed the words."""
    told = "\n".join(text for _, text in spoken_texts([message]))
    text = present(told, content)
    if text == told:
        return message
    edited: Any = message
    parts, left = [], [text]
    for part in edited.parts:
        if not any(spoken_texts([replace(edited, parts=[part])])):
            parts.append(part)
        elif left:
            parts.append(_with_text(part, left.pop()))
    return cast("ModelMessage", replace(edited, parts=parts))


def _with_text(part: Any, text: str) -> Any:
    """Return *part* with *text* in place of the texts; the sound of a former text is dropped."""
    if part.part_kind == "speech":
        return replace(part, transcript=text, audio=None, timestamps=None)
    if isinstance(part.content, str):
        return replace(part, content=text)
    others = [each for each in part.content if not isinstance(getattr(each, "content", each), str)]
    return replace(part, content=[text, *others])
