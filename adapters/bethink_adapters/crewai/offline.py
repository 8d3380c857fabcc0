"""What crewAI's memory asks a model, answered by rules: no key, no network, always the same.

    memory = Memory(storage=storage, embedder=storage.embedder, llm=offline_llm())

A result is remembered sentence by sentence, without its questions and without what has only one or
two words ("Approved."). A memory gets the category that its words say, and what is there word for
word is not stored again, unless it is longer than the 200 characters that crewAI shows of it.
Nothing is rewritten or deleted.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final

from bethink import ValidationError, guess_category
from bethink.adapting import MAX_CONTENT

from ..shared.extras import needs
from ..shared.texts import storable

if TYPE_CHECKING:
    from crewai.llms.base_llm import BaseLLM

_ABBREVIATION: Final = r"(?<![\w'\u2019])(?:[^\W\d_]|[A-Z][a-z]|Capt|Gen|Gov|Mrs|Prof|Rev|Sen|vs)\."
_BREAK: Final = re.compile(
    rf"(?P<kept>^[^\w\n.]*[\d.]+\s+|{_ABBREVIATION}\s+)"
    r"|(?<=\.)\s+(?![a-z\u00df-\u00ff\s])|(?<=[!?\u2026])\s+"
    r"|(?<=[\u3002\uff01\uff1f])(?![\u3002\uff01\uff1f\u2019\u201d\u300d\u300f\uff09])",
    re.MULTILINE,
)
_HEADER: Final = re.compile(
    r"\A(?:Task|Input): (?>.*?^Agent: )?.*?^(?>Expected result: .*?^(?=Result: ))?Result: ",
    re.MULTILINE | re.DOTALL,
)
_KNOWN: Final = re.compile(
    r"^- id=.*? \| scope=.*\n  content: ((?s:.*?))(?=\n\n- id=|\Z)", re.MULTILINE
)
_FEWEST_WORDS: Final = 3


def offline_llm() -> BaseLLM:
    """Return the model to give to ``Memory``; an agent that asks it anything else is refused."""
    kind: Any = _kind()
    made: BaseLLM = kind(model="bethink-offline")
    return made


@functools.cache
def _kind() -> type[Any]:
    with needs("crewai>=1.9.3", "crewai"):
        from crewai.llms.base_llm import BaseLLM

    class OfflineLLM(BaseLLM):
        """Answers the questions of crewAI's memory, and no others."""

        def supports_function_calling(self) -> bool:
            return True  # so that crewAI says what form an answer must have

        def supports_stop_words(self) -> bool:
            return False

        def get_context_window_size(self) -> int:
            return 1_000_000

        def call(self, messages: Any, *args: Any, **options: Any) -> Any:
            model = options.get("response_model")
            rule = _RULES.get(getattr(model, "__name__", ""))
            if model is None or rule is None:
                raise ValidationError("offline_llm answers only what crewAI's memory asks")
            asked = messages if isinstance(messages, str) else str(messages[-1].get("content"))
            return model(**rule(asked))

        async def acall(self, *args: Any, **options: Any) -> Any:
            return self.call(*args, **options)

    return OfflineLLM


def _extracted(asked: str) -> dict[str, Any]:
    content = _part(asked, "extract_memories_user", "content")
    told = [each for each in _sentences(_HEADER.sub("", content)) if _tells(each)]
    return {"memories": list(dict.fromkeys(told))}


def _sentences(text: str) -> list[str]:
    """Return the sentences of *text*; numbers of a list and abbreviations end none."""
    lines = _BREAK.sub(lambda found: found["kept"] or "\n", text).split("\n")
    return [line.strip() for line in lines]


def _tells(sentence: str) -> bool:
    """Say whether a sentence states something: it has some words, and does not ask."""
    few = len(sentence.split()) < _FEWEST_WORDS and sentence.isascii()
    return bool(sentence) and not few and not sentence.endswith(("?", "\uff1f"))


def _analysed(asked: str) -> dict[str, Any]:
    category = guess_category(_part(asked, "save_user", "content"))
    return {"suggested_scope": "/", "categories": [category] if category else []}


def _consolidated(asked: str) -> dict[str, Any]:
    new = _part(asked, "consolidation_user", "new_content").strip()
    known = _KNOWN.findall(_part(asked, "consolidation_user", "records_summary"))
    return {"actions": [], "insert_new": storable(new, MAX_CONTENT) not in map(str.strip, known)}


def _planned(asked: str) -> dict[str, Any]:
    return {"recall_queries": [_part(asked, "query_user", "query")]}


_RULES: Final = {
    "ExtractedMemories": _extracted,
    "MemoryAnalysis": _analysed,
    "ConsolidationPlan": _consolidated,
    "QueryAnalysis": _planned,
}


def _part(asked: str, prompt: str, name: str) -> str:
    """Return what stands in *asked* for {name}, of the prompt that crewAI made it from."""
    found = _pattern(prompt).fullmatch(asked)
    return found[name] if found else asked


@functools.cache
def _pattern(prompt: str) -> re.Pattern[str]:
    from crewai.memory.analyze import _get_prompt

    pieces = re.split(r"\{(\w+)\}", _get_prompt(prompt))
    pieces[0::2] = map(re.escape, pieces[0::2])
    pieces[1::2] = (f"(?P<{name}>.*?)" for name in pieces[1::2])
    return re.compile("".join(pieces), re.DOTALL)
