"""LangChain documents as records, for the retriever and the vector store."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from bethink import MemoryRecord, RecallResult, ValidationError
from bethink.adapting import MAX_CONTENT, Mode, one_of, unknown_name

from ..shared.extras import require
from ..shared.texts import present, storable
from .encoding import decode, encode

if TYPE_CHECKING:
    from langchain_core.documents import Document

Filter = Mapping[str, Any] | None

_TOLD: Final = ("author", "thread", "category", "key", "occurred_at")


@cache
def part(name: str) -> ModuleType:
    """Return a module of ``langchain_core``; raise ``MissingExtraError`` without LangChain."""
    return require("langchain", f"langchain_core.{name}")


def to_item(key: str, text: str, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a document as arguments of ``MemoryStore.store``.

    A text beyond a record's content, such as an empty text, is kept as the value. Metadata that
    cannot be restored raise ``ValidationError``.
    """
    content = storable(text, MAX_CONTENT)
    words = content if content.strip() else ""
    kept = encode(dict(metadata or {}), "metadata", is_strict=True)
    item = {"key": key, "content": words, "metadata": kept}
    return item if words and words == text else {**item, "value": text}


def to_items(
    texts: Iterable[str],
    metadatas: Sequence[Mapping[str, Any]] | None,
    ids: Sequence[str | None] | None,
) -> list[dict[str, Any]]:
    """Return documents as arguments of ``store_many``; refuse lists of unlike lengths."""
    contents = list(texts)
    if isinstance(texts, str) or not all(isinstance(text, str) for text in contents):
        raise ValidationError("texts must be a list of str")
    for name, given in (("metadatas", metadatas), ("ids", ids)):
        if given and len(given) != len(contents):
            raise ValidationError(f"{len(contents)} texts, but {len(given)} {name}")
    names = [id or uuid.uuid4().hex for id in ids or [None] * len(contents)]
    each = zip(names, contents, metadatas or [{}] * len(contents), strict=True)
    return [to_item(name, text, metadata) for name, text, metadata in each]


def text_in(item: Mapping[str, Any]) -> str:
    """Return the text given to ``to_item``."""
    text: str = item.get("value", item["content"])
    return text


def parts_of(documents: Iterable[Document]) -> dict[str, list[Any]]:
    """Return texts, metadata and ids of *documents*."""
    given = list(documents)
    return {
        "texts": [each.page_content for each in given],
        "metadatas": [each.metadata for each in given],
        "ids": [each.id for each in given],
    }


def to_document(record: MemoryRecord) -> Document:
    """Return the document given to ``to_item``."""
    document: Document = part("documents").Document(
        page_content=present(record.value, record.content),
        metadata=decode(record.metadata),
        id=record.key or record.id,
    )
    return document


def to_memory(hit: RecallResult) -> Document:
    """Return a recalled memory with fields of the record, score and explanation."""
    record, why = hit.memory, hit.explain()
    told = {name: value for name in _TOLD if (value := getattr(record, name)) is not None}
    metadata = {**decode(record.metadata), **told, "score": hit.score}
    metadata["explanation"] = dict(why.contributions)
    document: Document = part("documents").Document(
        page_content=record.content, metadata=metadata, id=record.id
    )
    return document


def check_mode(mode: Mode) -> Mode:
    """Return *mode*; raise ``ValidationError`` for an unknown mode."""
    return one_of("mode", mode, ("hybrid", "keyword", "semantic"))


def listed(ids: Sequence[str]) -> list[str]:
    """Return *ids* as a list; one str is one id."""
    return [ids] if isinstance(ids, str) else list(ids)


def refuse(unknown: Iterable[str], *known: str) -> None:
    """Raise ``ArgumentError`` for the first argument that a search does not know."""
    for name in unknown:
        raise unknown_name("argument", name, ("query", "k", "filter", *known))
