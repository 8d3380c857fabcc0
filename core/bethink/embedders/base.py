"""The interface of an embedder, and the checks of every embedder."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..calls import suggesting
from ..errors import DimensionError, MissingExtraError, ValidationError
from ..model.arrays import Matrix
from ..model.fields import function, integer, label, number

_loading = threading.Lock()


@runtime_checkable
class Embedder(Protocol):
    """Turn texts into vectors that are close if the texts are about a common subject.

    Three optional attributes calibrate the embedder: two texts without a common word count as
    related only above the cosine ``floor`` (default 0); the vector signal rises from 0 at the
    cosine ``zero`` (default: the floor), less than 1; ``share``, from 0 to 1, is the vector's part
    of hybrid similarity (default .4).
    """

    @property
    def name(self) -> str:
        """The name of the model (and dimension); equal names mean comparable vectors."""

    @property
    def dimension(self) -> int:
        """Give the length of each vector."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed the texts as rows of shape (n, dimension): L2-normalised, zero for empty text."""


def normalise(matrix: npt.ArrayLike) -> Matrix:
    """Scale each row to length 1, as float32; a zero row stays zero."""
    rows = np.asarray(matrix, dtype=np.float64)
    peaks = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    rows = rows / np.where(peaks > 0, peaks, 1.0)  # squares of tiny or huge numbers stay finite
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def check_texts(texts: Sequence[str]) -> Sequence[str]:
    """Return *texts* if a list of strings."""
    if isinstance(texts, str) or not isinstance(texts, Collection):
        given = "one string" if isinstance(texts, str) else type(texts).__name__
        raise ValidationError(f"texts must be a list of strings, not {given}")
    for text in texts:
        if not isinstance(text, str):
            raise ValidationError(f"texts must be strings, not {type(text).__name__}")
    return texts


def check_embedder(embedder: Embedder) -> Embedder:
    """Return *embedder* if valid; no model is loaded."""
    embeds = callable(getattr(embedder, "embed", None)) and not isinstance(embedder, type)
    if not embeds:
        given = type(embedder).__name__
        if isinstance(embedder, type):
            given = f"the class {embedder.__name__}"
        elif callable(embedder):
            given += "; CallableEmbedder(function, name='my-model') makes one of a function"
        raise ValidationError(f"embedder must be an Embedder such as HashEmbedder(), not {given}")
    label("the embedder's name", getattr(embedder, "name", None))
    floor = number("the embedder's floor", getattr(embedder, "floor", 0.0), -1, 1)
    if number("the embedder's zero", getattr(embedder, "zero", floor), -1, 1) == 1:
        raise ValidationError("the embedder's zero, or the floor without one, must be less than 1")
    number("the embedder's share", getattr(embedder, "share", 0.0), 0, 1)
    return embedder


def stated_dimension(embedder: Embedder) -> int:
    """Return the length that *embedder* states of its vectors."""
    return integer("the embedder's dimension", getattr(embedder, "dimension", None), 1)


def check_rows(vectors: npt.ArrayLike, count: int, dimension: int | None) -> Matrix:
    """Return an embedder's result as float32 rows; refuse wrong shapes and values."""
    rows = _as_float32(vectors)
    if rows.ndim != 2 or len(rows) != count or rows.shape[1] == 0:
        raise ValidationError(f"the embedder returned shape {rows.shape} for {count} texts")
    if dimension is not None and rows.shape[1] != dimension:
        raise DimensionError(dimension, rows.shape[1])
    if not np.isfinite(rows).all():
        raise ValidationError("the embedder returned numbers that are not finite")
    return rows


def _as_float32(vectors: npt.ArrayLike) -> Matrix:
    if type(vectors) is np.ndarray and vectors.dtype == np.float32:
        return vectors  # errstate costs more than all other checks
    try:
        with np.errstate(over="ignore"):
            return np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        if isinstance(vectors, Coroutine):
            vectors.close()
            raise ValidationError(
                "the embedder's embed is async and returned a coroutine, no rows"
            ) from None
        raise ValidationError("the embedder returned something else than rows of numbers") from None


def import_extra(module: str, extra: str) -> Any:
    """Import and return *module*; without the package, raise an error that names *extra*."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise MissingExtraError(module.replace("_", "-"), extra) from None


class LazyEmbedder(Embedder):
    """The common part of embedders with a model.

    Blank text never reaches the model: the row is zero. An unknown dimension is measured by
    embedding a word. A model in memory is loaded at the first text, and stays out of pickles.
    ``floor``, ``zero`` and ``share`` are those of ``Embedder``; None keeps the class's.
    """

    floor: float = 0.0

    def __init__(
        self,
        name: str,
        dimension: int | None,
        *,
        floor: float | None = None,
        zero: float | None = None,
        share: float | None = None,
    ) -> None:
        self._name = name
        self._dimension = None if dimension is None else integer("dimension", dimension, 1)
        self._loaded: Any = None
        calibration = {"floor": floor, "zero": zero, "share": share}
        vars(self).update({name: given for name, given in calibration.items() if given is not None})
        check_embedder(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loaded": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def name(self) -> str:
        """Name the model."""
        return self._name

    @property
    def dimension(self) -> int:
        """Give the length of each vector; asking may load the model."""
        return self._dimension or self._rows(["dimension"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed the texts as rows of length one; blank texts as zeros."""
        texts = check_texts(texts)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if not filled:
            return np.zeros((len(texts), self.dimension), np.float32)
        vectors = self._rows([texts[row] for row in filled])
        matrix = np.zeros((len(texts), vectors.shape[1]), np.float32)
        matrix[filled] = vectors
        return matrix

    def _rows(self, texts: list[str]) -> Matrix:
        rows = check_rows(self._compute(texts), len(texts), self._dimension)
        self._dimension = rows.shape[1]
        return normalise(rows)

    def _model(self) -> Any:
        """Return the model; a single thread loads the model, on first use."""
        with _loading:
            if self._loaded is None:
                self._loaded = self._load()
        return self._loaded

    def _load(self) -> Any:
        """Load the model of an embedder that keeps a model in memory."""

    @abstractmethod
    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        """Return one vector for each of one or more texts, none blank."""


@suggesting
class CallableEmbedder(LazyEmbedder):
    """Use your own function *fn*: a list of n texts in, n vectors of equal length out.

    The store's file keeps *name*, so change the name whenever the function's vectors change.
    Vectors of a length other than *dimension* (default: of the first vectors) raise
    ``DimensionError``. For *floor*, *zero* and *share* see ``Embedder``.
    """

    def __init__(
        self,
        fn: Callable[[Sequence[str]], npt.ArrayLike],
        *,
        dimension: int | None = None,
        name: str,
        floor: float | None = None,
        zero: float | None = None,
        share: float | None = None,
    ) -> None:
        super().__init__(label("name", name), dimension, floor=floor, zero=zero, share=share)
        self._fn = function("fn", fn)

    def _compute(self, texts: list[str]) -> npt.ArrayLike:
        return self._fn(texts)
