from __future__ import annotations

import pytest

from bethink import EmbedderMismatchError, HashEmbedder, MiniLMEmbedder, StaticEmbedder
from bethink.embedders import embedder_for, embedder_from_name


def test_a_new_file_takes_the_embedder_it_is_given() -> None:
    given = HashEmbedder(16)
    assert embedder_for(None, given) is given
    assert embedder_for("hash-16", given) is given


def test_a_file_gets_its_embedder_back_if_its_name_tells_how() -> None:
    assert embedder_for("hash-64", None).name == "hash-64"
    with pytest.raises(EmbedderMismatchError) as caught:
        embedder_for("openai/some-model", None)
    assert caught.value.stored == "openai/some-model"


def test_another_embedder_is_refused() -> None:
    with pytest.raises(EmbedderMismatchError, match="reembed"):
        embedder_for("hash-64", HashEmbedder(32))


def test_hash_is_rebuilt_from_its_name() -> None:
    again = embedder_from_name(HashEmbedder(96).name)
    assert again is not None
    assert (again.name, again.dimension) == ("hash-96", 96)
    assert HashEmbedder().name == "hash-256"
    assert repr(HashEmbedder(96)) == "HashEmbedder(96)"


@pytest.mark.parametrize("name", ["static-minilm-128-v1", "minilm-l6-v2-int8"])
def test_the_embedders_that_need_nothing_are_rebuilt_from_their_names(name: str) -> None:
    again = embedder_from_name(name, (StaticEmbedder, MiniLMEmbedder))
    assert again is not None
    assert again.name == name


def test_a_new_file_gets_the_static_table_by_default() -> None:
    assert embedder_for(None, None).name == "static-minilm-128-v1"


@pytest.mark.parametrize("name", ["", "hash-", "hash-0", "hash-x", "openai/x", "hash-256 "])
def test_other_names_need_more_than_a_name(name: str) -> None:
    assert embedder_from_name(name) is None
