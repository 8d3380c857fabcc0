"""Answers of a model, kept so that no prompt is answered twice."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bethink import StorageError
from bethink.adapting import check_namespace, finish_in_thread, make_async_write, number

from ..shared.opening import StoreOrPath, open_store
from ..shared.subclassing import made_on
from .documents import part
from .encoding import decode, encode
from .messages import as_message, to_item

if TYPE_CHECKING:
    from langchain_core.caches import BaseCache as _Base
    from langchain_core.outputs import Generation
else:
    _Base = object  # a type checker sees LangChain's base class; an object gets it when it is made

_logger: Final = logging.getLogger(__name__)
_LONGEST: Final = 1e11


@made_on("langchain", "langchain_core.caches", "BaseCache")
class BethinkCache(_Base):
    """Cache answers in a *namespace* of a bethink *store*, for *ttl* seconds (None: for ever).

    Only the digest of a prompt is stored, and no recall finds an answer. ``clear`` erases, because
    nobody needs the history of a cache. A store that fails is logged, and the model is asked.
    """

    def __init__(
        self, store: StoreOrPath, *, namespace: str = "llm_cache", ttl: float | None = None
    ) -> None:
        self.store = open_store(store)
        self.namespace = check_namespace(namespace)
        self.ttl = None if ttl is None else number("ttl", ttl, 0.0, _LONGEST)

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        """Return the model's answer, None if unknown or unreadable."""
        key = _key(prompt, llm_string)
        try:
            found = self.store.get(namespace=self.namespace, key=key)
        except StorageError as error:
            _logger.warning("The cached answer %s cannot be read: %r", key, error)
            return None
        if found is None:
            return None
        try:
            return [_generation(each) for each in found.value]
        except Exception as error:
            _logger.warning("The cached answer %s cannot be read: %r", found.id, error)
            return None

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """Keep the model's answer."""
        key = _key(prompt, llm_string)
        try:
            self.store.store(
                "",
                key=key,
                value=[_value(each) for each in return_val],
                namespace=self.namespace,
                expires_at=None if self.ttl is None else self.store.clock() + self.ttl,
            )
        except StorageError as error:
            _logger.warning("The answer %s cannot be cached: %r", key, error)

    def clear(self, **kwargs: Any) -> None:
        """Erase all answers."""
        self.store.erase(namespace=self.namespace)

    aupdate = make_async_write(update)

    async def aclear(self, **kwargs: Any) -> None:
        """Erase all answers."""
        await finish_in_thread(self.clear, **kwargs)


def _key(prompt: str, llm_string: str) -> str:
    digest = hashlib.sha256()
    for text in (prompt, llm_string):
        written = text.encode("utf-8", "surrogatepass")
        digest.update(len(written).to_bytes(8, "big") + written)
    return digest.hexdigest()


def _value(generation: Any) -> dict[str, Any]:
    told = {"info": encode(generation.generation_info, "generation_info")}
    if hasattr(generation, "message"):
        return {**told, "message": to_item(as_message(generation.message))["value"]}
    return {**told, "text": generation.text}


def _generation(value: dict[str, Any]) -> Generation:
    outputs, info = part("outputs"), decode(value["info"])
    made: Generation
    if "message" in value:
        (message,) = part("messages").messages_from_dict([decode(value["message"])])
        made = outputs.ChatGeneration(message=message, generation_info=info)
    else:
        made = outputs.Generation(text=value["text"], generation_info=info)
    return made
