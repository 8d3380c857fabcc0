"""A model that answers the questions of crewAI's memory by fixed rules: no key, no network.

    memory = Memory(storage=storage, embedder=storage.embedder, llm=offline_llm())

A result is remembered sentence by sentence, without thoughts before a "Final Answer:", without
questions and without sentences of a word or two ("Approved."). An object or a list in JSON is
remembered whole. The words of a memory choose the category. A known text is not stored again,
unless the text is longer than the 200 characters that crewAI shows to the model. No memory is
rewritten or deleted. Equal questions get equal answers.
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any, Final

from bethink import ValidationError, guess_category
from bethink.adapting import MAX_CONTENT

from ..shared.extras import needs
from ..shared.texts import storable

if TYPE_CHECKING:
    from crewai.llms.base_llm import BaseLLM

_ABBREVIATION: Final = r"(?<![\w'\u2019])(?:[^\W\d_]|[A-Z][a-z]|Capt|Gen|Gov|Mrs|Prof|Rev|Sen|vs)\."
# German dates and ordinals, such as "am 3. 4. 2026", "4. April", "im 19. Jahrhundert". The English
# "I am 34. Julia is 30." is two sentences.
_MONTH: Final = (
    r"(?:Januar|J\u00e4nner|Februar|M\u00e4rz|April|Mai|Juni|Juli|August|September|Oktober|November"
    r"|Dezember)\b|(?:Jan|Feb|M\u00e4r|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez)(?:\.|\s\d)"
)
_ORDINAL: Final = (
    r"(?<![\w.])(?:(?i:(?<!\bI\s)am|bis|das|dem|den|der|des|die|im|seit|vom|zum|zur)\s\d\d?\."
    rf"|\d\d?\.(?=\s+(?:\d\d?\.|{_MONTH}))|(?<=\.\s)\d\d?\.(?=\s+\d{{4}}\b))"
)
# The ends of sentences; "kept" are list numbers, ordinals and abbreviations, which end no sentence.
_SENTENCE_END: Final = re.compile(
    rf"(?P<kept>^[^\w\n.]*[\d.]+\s+|(?:{_ABBREVIATION}|{_ORDINAL})\s+)"
    r"|(?<=\.)\s+(?![a-z\u00df-\u00ff\s])|(?<=[!?\u2026])\s+"
    r"|(?<=[\u3002\uff01\uff1f])(?![\u3002\uff01\uff1f\u2019\u201d\u300d\u300f\uff09])",
    re.MULTILINE,
)
# The lines that crewAI writes in front of the result of a task, and an agent's thoughts before the
# last "Final Answer:", where crewAI's own parser begins the answer.
_HEADER: Final = re.compile(
    r"\A(?:Task|Input): (?>.*?^Agent: )?.*?^(?>Expected result: .*?^(?=Result: ))?Result: "
    r"(?:.*Final Answer:)?",
    re.MULTILINE | re.DOTALL,
)
_FENCE: Final = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)
# A stored record in the prompt for a consolidation.
_KNOWN_RECORD: Final = re.compile(
    r"^- id=.*? \| scope=.*\n  content: ((?s:.*?))(?=\n\n- id=|\Z)", re.MULTILINE
)
_MIN_WORDS: Final = 3  # of a remembered sentence


def offline_llm() -> BaseLLM:
    """Return the model for ``Memory``.

    Questions of an agent raise ``ValidationError``; a missing crewAI raises ``MissingExtraError``.
    """
    kind: Any = _offline_class()
    made: BaseLLM = kind(model="bethink-offline")
    return made


@functools.cache
def _offline_class() -> type[Any]:
    with needs("crewai"):
        from crewai.llms.base_llm import BaseLLM

    class OfflineLLM(BaseLLM):
        """A model that answers only the questions of crewAI's memory."""

        def supports_function_calling(self) -> bool:
            return True  # so that crewAI passes the form of the answer as ``response_model``

        def supports_stop_words(self) -> bool:
            return False

        def get_context_window_size(self) -> int:
            return 1_000_000

        def call(self, messages: Any, *args: Any, **options: Any) -> Any:
            model = options.get("response_model")
            rule = _RULES.get(getattr(model, "__name__", ""))
            if model is None or rule is None:
                raise ValidationError("offline_llm answers only what crewAI's memory asks")
            prompt = messages if isinstance(messages, str) else str(messages[-1].get("content"))
            # Without a check, which would fill in empty lists of entities, dates and topics, for
            # crewAI to print below each memory in a prompt.
            return model.model_construct(**rule(prompt))

        async def acall(self, *args: Any, **options: Any) -> Any:
            return self.call(*args, **options)

    return OfflineLLM


def _extract(prompt: str) -> dict[str, Any]:
    content = _HEADER.sub("", _prompt_field(prompt, "extract_memories_user", "content")).strip()
    if _is_json(content):
        return {"memories": [content]}
    told = [each for each in _sentences(content) if _is_statement(each)]
    return {"memories": list(dict.fromkeys(told))}


def _is_json(text: str) -> bool:
    """Return whether *text*, a code block or not, is an object or a list that is not empty."""
    fenced = _FENCE.fullmatch(text)
    try:
        found = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict | list) and bool(found)


def _sentences(text: str) -> list[str]:
    """Return the sentences of *text*; list numbers and abbreviations end no sentence."""
    lines = _SENTENCE_END.sub(lambda found: found["kept"] or "\n", text).split("\n")
    return [line.strip() for line in lines]


def _is_statement(sentence: str) -> bool:
    """Return whether a sentence is no question and has at least three words.

    Words are counted in ASCII text only: in Chinese no spaces stand between words.
    """
    too_short = len(sentence.split()) < _MIN_WORDS and sentence.isascii()
    return bool(sentence) and not too_short and not sentence.endswith(("?", "\uff1f"))


def _analyse(prompt: str) -> dict[str, Any]:
    category = guess_category(_prompt_field(prompt, "save_user", "content"))
    categories = [category] if category else []
    return {"suggested_scope": "/", "categories": categories, "extracted_metadata": None}


def _consolidate(prompt: str) -> dict[str, Any]:
    new = _prompt_field(prompt, "consolidation_user", "new_content").strip()
    known = _KNOWN_RECORD.findall(_prompt_field(prompt, "consolidation_user", "records_summary"))
    return {"actions": [], "insert_new": storable(new, MAX_CONTENT) not in map(str.strip, known)}


def _plan(prompt: str) -> dict[str, Any]:
    return {"recall_queries": [_prompt_field(prompt, "query_user", "query")]}


_RULES: Final = {
    "ExtractedMemories": _extract,
    "MemoryAnalysis": _analyse,
    "ConsolidationPlan": _consolidate,
    "QueryAnalysis": _plan,
}


def _prompt_field(prompt: str, template: str, field: str) -> str:
    """Return the text of {field} in *prompt*, or all of a *prompt* not made from *template*."""
    found = _pattern(template).fullmatch(prompt)
    return found[field] if found else prompt


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    from crewai.memory.analyze import _get_prompt

    pieces = re.split(r"\{(\w+)\}", _get_prompt(template))
    pieces[0::2] = map(re.escape, pieces[0::2])
    pieces[1::2] = (f"(?P<{name}>.*?)" for name in pieces[1::2])
    return re.compile("".join(pieces), re.DOTALL)
