"""The embedders: what they return, what they refuse, and what they never do."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import MemoryStore
from bethink.embedders import CallableEmbedder, Embedder, HashEmbedder
from bethink.embedders.base import normalise
from bethink.errors import DimensionError, EmbedderError, ValidationError
from bethink.features.models import OpenAIEmbedder, SentenceTransformerEmbedder

KEY = "sk-very-secret"


def cosine(left: str, right: str) -> float:
    one, other = HashEmbedder().embed([left, right])
    return float(one @ other)


@pytest.mark.slow
@given(st.lists(st.text(), max_size=6))
def test_hash_of_a_batch_equals_the_hash_of_each_text(texts: list[str]) -> None:
    embedder = HashEmbedder(64)
    batch = embedder.embed(texts)
    assert batch.shape == (len(texts), 64)
    assert batch.dtype == np.float32
    for row, text in zip(batch, texts, strict=True):
        assert np.array_equal(row, embedder.embed([text])[0])


@given(st.text())
def test_hash_rows_have_length_one_or_zero(text: str) -> None:
    length = np.linalg.norm(HashEmbedder().embed([text])[0])
    assert length == pytest.approx(1, abs=1e-5) or length == 0


def test_hash_is_the_same_everywhere() -> None:
    row = HashEmbedder(8).embed(["remember the milk, 猫 and тёмная"])[0]
    expected = [0.494302, 0.089975, -0.089975, -0.619652, -0.314352, -0.3053, 0.404327, 0.0]
    assert row.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("User prefers dark mode", "which mode do users prefer?"),
        ("the databse migration failed", "database migration failure"),
        ("用户喜欢深色模式", "用户偏好深色主题"),
        ("Тёмная тема редактора", "темная тема"),
    ],
)
def test_hash_brings_related_texts_above_the_floor(left: str, right: str) -> None:
    assert cosine(left, right) > HashEmbedder.floor


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("User prefers dark mode", "the release train leaves on Fridays"),
        ("What is it about?", "It is about the weather"),
        ("用户喜欢深色模式", "明天早上八点开会"),
    ],
)
def test_hash_keeps_unrelated_texts_below_the_floor(left: str, right: str) -> None:
    assert cosine(left, right) < HashEmbedder.floor


def test_hash_hears_a_repeated_word_louder_but_not_in_proportion() -> None:
    once, twice, often = (cosine("apple " * n + "pear", "apple") for n in (1, 2, 20))
    assert once < twice < often < 1


@pytest.mark.parametrize("texts", [[], [""], ["  ", "!?"]])
def test_hash_of_nothing_is_zero(texts: list[str]) -> None:
    assert not HashEmbedder().embed(texts).any()


def test_hash_larger_than_a_block_keeps_the_order() -> None:
    texts = [f"text number {n}" for n in range(1200)]
    rows = HashEmbedder(32).embed(texts)
    assert np.array_equal(rows[1100], HashEmbedder(32).embed([texts[1100]])[0])


@pytest.mark.parametrize("embedder", [HashEmbedder(), CallableEmbedder(len, name="own")])
@pytest.mark.parametrize("texts", ["one string", [1], [None]])
def test_only_lists_of_strings_are_embedded(embedder: Embedder, texts: list[str]) -> None:
    with pytest.raises(ValidationError):
        embedder.embed(texts)


@pytest.mark.parametrize(
    "make", [HashEmbedder, lambda n: CallableEmbedder(len, name="x", dimension=n)]
)
@pytest.mark.parametrize("wrong", [0, 8.0, True, "8"])
def test_a_dimension_is_an_int_of_one_or_more(
    make: Callable[[Any], Embedder], wrong: object
) -> None:
    with pytest.raises(ValidationError, match="dimension must"):
        make(wrong)


@pytest.mark.parametrize("name", ["", " ", "x" * 2000, "\ud800"], ids=ascii)
def test_an_embedder_needs_a_name_that_a_file_can_keep(name: str) -> None:
    with pytest.raises(ValidationError, match="name"):
        CallableEmbedder(len, name=name)
    nameless = type("Nameless", (HashEmbedder,), {"name": name})
    with pytest.raises(ValidationError, match="name"):
        MemoryStore(embedder=nameless())


def test_normalised_rows_survive_tiny_and_huge_numbers() -> None:
    rows = normalise([[3.0, 4.0], [0.0, 0.0], [3e-30, 4e-30], [3e30, 4e30]])
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0.6, 0.8], [0.6, 0.8]]))
    assert normalise(np.zeros((0, 3))).shape == (0, 3)


def test_callable_finds_out_its_dimension_when_asked() -> None:
    calls: list[list[str]] = []

    def embed(texts: Sequence[str]) -> list[list[float]]:
        calls.append(list(texts))
        return [[len(text), 1.0] for text in texts]

    embedder = CallableEmbedder(embed, name="lengths")
    assert calls == []
    assert (embedder.name, embedder.dimension) == ("lengths", 2)
    assert embedder.embed([]).shape == (0, 2)
    assert len(calls) == 1
    assert isinstance(embedder, Embedder)


def test_callable_never_sees_blank_text() -> None:
    embedder = CallableEmbedder(lambda texts: [[float(len(t)), 0.0] for t in texts], name="own")
    assert embedder.embed(["", "ab", " \n"]).tolist() == [[0, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize(
    "vectors", [[[1.0]], [1.0, 2.0], [[1.0], [1.0, 2.0]], [[], []], "no", [["a"], ["b"]], None]
)
def test_callable_must_return_a_row_for_each_text(vectors: Any) -> None:
    with pytest.raises(ValidationError):
        CallableEmbedder(lambda _: vectors, name="own").embed(["one", "two"])


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300])
def test_callable_must_return_finite_numbers(number: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        CallableEmbedder(lambda _: [[number, 1.0]], name="own").embed(["one"])


def test_callable_must_keep_its_dimension() -> None:
    with pytest.raises(DimensionError) as caught:
        CallableEmbedder(lambda _: [[1.0, 2.0]], name="own", dimension=3).embed(["one"])
    assert (caught.value.expected, caught.value.found) == (3, 2)


class Service:
    """A server that speaks /v1/embeddings on this machine; `answers` go out before vectors do."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}/v1"
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, str]] = []

    def answer(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> tuple[int, str]:
        self.requests.append(body)
        self.headers.append(headers)
        if self.answers:
            return self.answers.pop(0)
        if path != "/v1/embeddings":
            return 404, "no such path"
        width = body.get("dimensions", 4)
        vectors = HashEmbedder(width).embed(body["input"]) * 2
        data = [{"index": i, "embedding": row.tolist()} for i, row in enumerate(vectors)]
        return 200, json.dumps({"data": data[::-1], "model": body["model"]})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(variable, raising=False)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, text = spoken.answer(self.path, dict(self.headers), body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        spoken = Service(server)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield spoken
        server.shutdown()
        thread.join()


def client(service: Service, **options: Any) -> OpenAIEmbedder:
    settings: dict[str, Any] = {"model": "tiny", "base_url": service.url, "backoff": 0}
    return OpenAIEmbedder(**settings | options)


def test_openai_embeds_in_batches_and_in_order(service: Service) -> None:
    embedder = client(service, api_key=KEY, batch_size=2)
    texts = ["alpha", "", "beta", "gamma"]
    assert embedder.embed(texts) == pytest.approx(HashEmbedder(4).embed(texts), abs=1e-6)
    assert [request["input"] for request in service.requests] == [["alpha", "beta"], ["gamma"]]
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert embedder.name == "openai/tiny"


def test_openai_takes_address_and_key_from_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", service.url + "/")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIEmbedder("tiny").embed(["alpha"]).shape == (1, 4)
    assert service.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_openai_without_a_key_sends_none(service: Service) -> None:
    client(service).embed(["alpha"])
    assert "Authorization" not in service.headers[0]


def test_openai_asks_for_shorter_vectors_and_says_so_in_its_name(service: Service) -> None:
    embedder = client(service, dimension=6)
    assert embedder.embed(["alpha"]).shape == (1, 6)
    assert service.requests[0]["dimensions"] == 6
    assert (embedder.name, embedder.dimension) == ("openai/tiny-6", 6)


def test_openai_opens_no_socket_before_the_first_text(service: Service) -> None:
    embedder = client(service, dimension=4)
    assert isinstance(embedder, Embedder)
    assert OpenAIEmbedder().dimension == 1536
    assert not embedder.embed([""]).any()
    assert service.requests == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_openai_asks_again_when_the_server_is_busy(service: Service, status: int) -> None:
    service.answers = [(status, "later")] * 2
    assert client(service).embed(["alpha"]).any()
    assert len(service.requests) == 3


def test_openai_gives_up_after_the_last_retry(service: Service) -> None:
    service.answers = [(503, "later")] * 9
    with pytest.raises(EmbedderError, match="HTTP 503: later"):
        client(service, retries=2).embed(["alpha"])
    assert len(service.requests) == 3


def test_openai_does_not_repeat_a_refused_request_nor_tell_the_key(service: Service) -> None:
    service.answers = [(401, f"Incorrect API key provided: {KEY}")]
    with pytest.raises(EmbedderError, match="Incorrect API key") as caught:
        client(service, api_key=KEY).embed(["alpha"])
    assert KEY not in str(caught.value)
    assert len(service.requests) == 1


@pytest.mark.parametrize("answer", ["no json", "[]", '{"data": [{"index": 0}]}', '{"error": "x"}'])
def test_openai_answer_that_is_no_list_of_embeddings_is_an_error(
    service: Service, answer: str
) -> None:
    service.answers = [(200, answer)]
    with pytest.raises(EmbedderError, match="not a list of embeddings"):
        client(service).embed(["alpha"])


def test_openai_answer_with_too_few_rows_is_an_error(service: Service) -> None:
    service.answers = [(200, '{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}')]
    with pytest.raises(ValidationError, match="for 2 texts"):
        client(service).embed(["alpha", "beta"])


def test_openai_server_out_of_reach_is_an_error(service: Service) -> None:
    with pytest.raises(EmbedderError, match="openai/tiny"):
        client(service, base_url="http://127.0.0.1:9", retries=1, timeout=1).embed(["alpha"])


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"retries": -1},
        {"retries": 1.5},
        {"backoff": -0.5},
        {"timeout": -1},
        {"timeout": "30"},
        {"model": ["tiny"]},
    ],
)
def test_openai_refuses_settings_that_cannot_work(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"must (be|lie)"):
        OpenAIEmbedder(api_key=KEY, **options)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:8080", 8080])
def test_openai_speaks_http_only(url: Any) -> None:
    with pytest.raises(ValidationError, match="http"):
        OpenAIEmbedder(base_url=url).embed(["alpha"])


def test_openai_key_is_neither_shown_nor_pickled(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = client(service, api_key=KEY)
    frozen = pickle.dumps(embedder)
    assert KEY not in repr(embedder)
    assert KEY.encode() not in frozen
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    pickle.loads(frozen).embed(["alpha"])
    assert service.headers[0]["Authorization"] == "Bearer from-the-environment"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_missing_sentence_transformers_names_the_pip_line() -> None:
    output = run(
        "import sys; sys.modules['sentence_transformers'] = None\n"
        "from bethink import SentenceTransformerEmbedder\n"
        "from bethink.errors import MissingExtraError\n"
        "embedder = SentenceTransformerEmbedder()\n"
        "assert embedder.name == 'sentence-transformers/all-MiniLM-L6-v2'\n"
        "try: embedder.embed(['alpha'])\n"
        "except MissingExtraError as error: print(error)\n"
    )
    assert "pip install '.[sentence-transformers]'" in output


@pytest.mark.slow
def test_making_an_embedder_loads_nothing() -> None:
    output = run(
        "import sys\n"
        "from bethink import OpenAIEmbedder, SentenceTransformerEmbedder\n"
        "OpenAIEmbedder(), SentenceTransformerEmbedder()\n"
        "print([m for m in ('torch', 'sentence_transformers', 'urllib.request') "
        "if m in sys.modules])\n"
    )
    assert output == "[]"


def test_sentence_transformers_embeds_for_real() -> None:
    pytest.importorskip("sentence_transformers", exc_type=ImportError)
    embedder = SentenceTransformerEmbedder(local_files_only=True)
    try:
        assert embedder.dimension == 384
    except OSError:
        pytest.skip("the model is not on this machine")
    rows = embedder.embed(["dark mode", "", "a dark theme", "the train leaves on Fridays"])
    assert rows[0] @ rows[2] > 0.5 > rows[0] @ rows[3]
    assert not rows[1].any()


def test_an_embedder_without_a_dimension_is_refused_by_the_first_write() -> None:
    class Bare:
        name = "bare"

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[1.0] for _ in texts]

    with (
        MemoryStore(embedder=Bare()) as store,  # type: ignore[arg-type]
        pytest.raises(ValidationError, match="the embedder's dimension must be an int"),
    ):
        store.store("one")


def test_an_async_embedder_is_refused_in_words() -> None:
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    embedder = CallableEmbedder(embed, name="async", dimension=1)  # type: ignore[arg-type]
    with (
        MemoryStore(embedder=embedder) as store,
        pytest.raises(ValidationError, match="is async and returned a coroutine"),
    ):
        store.store("one")


def count_vowels(texts: Sequence[str]) -> list[list[float]]:
    return [[text.count(letter) + 0.1 for letter in "aeiou"] for text in texts]


MODELS: list[Callable[..., Any]] = [
    lambda **given: CallableEmbedder(count_vowels, name="vowels", **given),
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
]


@pytest.mark.parametrize("make", MODELS)
def test_a_model_can_be_calibrated_and_stays_so_in_a_pickle(make: Callable[..., Any]) -> None:
    told = {"floor": 0.6, "zero": 0.2, "share": 0.3}
    embedder = make(**told)
    assert {name: getattr(embedder, name) for name in told} == told
    assert make().floor == 0
    if make is not MODELS[0]:
        assert vars(pickle.loads(pickle.dumps(embedder))) == vars(embedder)


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize(
    "wrong", [{"floor": 2.0}, {"floor": "high"}, {"floor": 1.0}, {"zero": -2}, {"share": 1.1}]
)
def test_a_calibration_out_of_range_is_refused(
    make: Callable[..., Any], wrong: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match=f"embedder's ({next(iter(wrong))}|zero)"):
        make(**wrong)


@pytest.mark.parametrize(("floor", "found"), [(None, 1), (0.999, 0)])
def test_unrelated_texts_are_found_below_the_floor_only(floor: float | None, found: int) -> None:
    embedder = CallableEmbedder(count_vowels, name="vowels", floor=floor)
    with MemoryStore(embedder=embedder) as store:
        store.store("The ferry leaves at six")
        assert len(store.recall("parrot")) == found
