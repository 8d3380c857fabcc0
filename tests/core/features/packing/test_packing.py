from __future__ import annotations

import asyncio
import copy
import math
import pickle
import random
from collections.abc import Callable
from itertools import combinations
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bethink import (
    AsyncMemoryStore,
    Explanation,
    MemoryRecord,
    MemoryStore,
    Packed,
    RecallResult,
    StoreClosedError,
    ValidationError,
    context_block,
)
from bethink.features.packing import Budget, pack
from bethink.features.packing.layout import INTRODUCTION
from bethink.text import estimate_tokens

from ...clock import Clock

Hits = list[RecallResult]
Counter = Callable[[str], Any]


def hit(number: int, content: str, score: float, **fields: Any) -> RecallResult:
    given = {"namespace": "n", "created_at": 0.0, "occurred_at": 0.0, "updated_at": 0.0}
    memory = MemoryRecord(id=f"{number:03}", content=content, **{**given, **fields})
    return RecallResult(memory, score, Explanation(score, {}, {}))


@st.composite
def recalled(draw: st.DrawFn, most: int = 12) -> Hits:
    """Draw results of different words, scores and groups."""
    count = draw(st.integers(0, most))
    scores = st.floats(0.01, 1) | st.sampled_from((0.3, 0.5))
    return [
        hit(
            number,
            f"w{number} " + draw(st.text("ab é会", max_size=60)),
            draw(scores),
            thread=draw(st.sampled_from((None, "s1", "s2"))),
            category=draw(st.sampled_from((None, "c"))),
            author=draw(st.sampled_from((None, "Ann"))),
        )
        for number in range(count)
    ]


def packed_into(hits: Hits, tokens: int, counter: Counter | None = None) -> Packed:
    return pack(hits, Budget(tokens, counter), nonce=lambda: "0" * 18)


def alone(each: RecallResult) -> str:
    return context_block([each], nonce=lambda: "0" * 18)


def brief(block: str) -> str:
    """Return *block* as a small budget has it."""
    return block.removeprefix(f"{INTRODUCTION}\n")


COUNTERS: dict[str, Counter] = {
    "estimate": estimate_tokens,
    "characters": len,
    "words": lambda text: len(text.split()),
    "float": lambda text: len(text) / 3.7,
    "charges for each call": lambda text: len(text) / 4 + 50,
    "grows faster than the text": lambda text: len(text) ** 2 / 500,
    "grows slower than the text": lambda text: math.sqrt(len(text)) * 5,
    "falls": lambda text: max(600 - len(text), 0),
    "random": lambda text: crc32(text.encode()) % 300,
    "all or nothing": lambda text: 10**400 if crc32(text.encode()) % 3 else 0,
    "likes single lines": lambda text: 10 if text.count("\n") < 4 else 10**6,
    "nothing": lambda text: 0,
}


@pytest.mark.slow
@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@settings(max_examples=25)
@given(hits=recalled(), tokens=st.integers(0, 400))
def test_no_counter_counts_more_than_the_budget(counter: Counter, hits: Hits, tokens: int) -> None:
    packed = packed_into(hits, tokens, counter)
    assert packed.tokens <= tokens
    assert bool(packed.text) == bool(packed.results)
    if packed.text:
        assert packed.tokens == math.ceil(counter(packed.text))


@pytest.mark.slow
@pytest.mark.parametrize("counter", COUNTERS.values(), ids=COUNTERS)
@settings(max_examples=25)
@given(hits=recalled(), tokens=st.integers(0, 400))
def test_the_best_that_fits_alone_is_in(counter: Counter, hits: Hits, tokens: int) -> None:
    packed = packed_into(hits, tokens, counter)
    ranked = sorted(hits, key=lambda each: (-each.score, each.memory.id))
    fitting = [each for each in ranked if counter(alone(each)) <= tokens] or [
        each for each in ranked if counter(brief(alone(each))) <= tokens
    ]
    assert packed.results[:1] == tuple(fitting[:1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counter", "cut"),
    [(None, 1), (len, 1), (lambda text: len(text) / 128, 100)],
    ids=["estimate", "characters", "fractions"],
)
@settings(max_examples=60)
@given(hits=recalled(7), tokens=st.integers(40, 600))
def test_no_other_choice_with_the_best_has_a_greater_sum_of_cubed_scores(
    counter: Counter | None, cut: int, hits: Hits, tokens: int
) -> None:
    tokens //= cut
    packed = packed_into(hits, tokens, counter)
    if not packed.results:
        return
    best, count = packed.results[0], counter or estimate_tokens
    frame = str if packed.text.startswith(INTRODUCTION) else brief
    others = [each for each in hits if each.score <= best.score and each is not best]
    fitting = (
        math.fsum(each.score**3 for each in chosen)
        for size in range(len(others) + 1)
        for some in combinations(others, size)
        if count(frame(context_block(chosen := [best, *some], nonce=lambda: "0" * 18))) <= tokens
    )
    assert math.fsum(each.score**3 for each in packed.results) == pytest.approx(max(fitting))


def test_a_relevant_memory_outweighs_several_short_vague_memories() -> None:
    best, relevant = hit(0, "cat", 0.9), hit(1, "a full answer " * 7, 0.6)
    vague = [hit(number, f"vague note number {number}", 0.25) for number in range(2, 5)]
    text = context_block([best, relevant], nonce=lambda: "0" * 18)
    room = estimate_tokens(text)
    assert estimate_tokens(context_block([best, *vague], nonce=lambda: "0" * 18)) <= room
    assert packed_into([best, relevant, *vague], room).results == (best, relevant)


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_the_scale_of_the_scores_does_not_matter(scale: float) -> None:
    hits = [hit(number, f"cat number {number}", scale / (1 + number)) for number in range(20)]
    assert packed_into(hits, 80).results == tuple(hits[:6])


@pytest.mark.slow
@given(hits=recalled(), tokens=st.integers(0, 400), seed=st.randoms())
def test_the_order_given_does_not_matter(hits: Hits, tokens: int, seed: random.Random) -> None:
    shuffled = list(hits)
    seed.shuffle(shuffled)
    assert packed_into(shuffled, tokens) == packed_into(hits, tokens)


@pytest.mark.slow
@given(hits=recalled(), tokens=st.integers(0, 400))
def test_every_result_is_told_once_best_first(hits: Hits, tokens: int) -> None:
    packed = packed_into(hits, tokens)
    for told in (packed.results, packed.left_out):
        assert list(told) == sorted(told, key=lambda each: (-each.score, each.memory.id))
    ids = [each.memory.id for each in packed.results + packed.left_out]
    assert sorted(ids) == sorted(each.memory.id for each in hits)
    assert [each.memory.content.split()[0] in packed.text for each in packed.results] == [
        True for _ in packed.results
    ]


def test_many_notes_do_not_push_out_the_best() -> None:
    best = hit(0, "the long and true answer " * 8, 0.75)
    notes = [hit(number, f"note {number}", 0.3) for number in range(1, 15)]
    tokens = estimate_tokens(alone(best))
    assert packed_into([best, *notes], tokens).results == (best,)
    assert packed_into([best, *notes], tokens - 1).results == tuple(notes[:10])


def test_a_best_hit_that_is_too_long_makes_way() -> None:
    long, short = hit(0, "long " * 500, 0.9), hit(1, "short", 0.2)
    packed = packed_into([long, short], 100)
    assert (packed.results, packed.left_out) == ((short,), (long,))


def test_a_small_budget_has_tags_and_no_introduction() -> None:
    hits = [hit(0, "cat", 0.9), hit(1, "dog", 0.8), hit(2, "word " * 40, 0.7)]
    packed = packed_into(hits, 30)
    assert packed.results == tuple(hits[:2])
    lines = "- 1970-01-01: cat\n- 1970-01-01: dog\n"
    assert packed.text == f"<memories {'0' * 18}>\n{lines}</memories {'0' * 18}>"
    assert packed_into(hits, 10) == Packed("", 0, (), tuple(hits))


def test_a_short_form_stands_in_for_one_that_does_not_fit() -> None:
    long = hit(0, "word " * 99 + "end", 0.9)
    short = hit(1, "word " * 99, 0.8)
    assert packed_into([long, short], 200).results == (long,)
    between = estimate_tokens(alone(short))
    assert packed_into([long, short], between).results == (short,)


@pytest.mark.parametrize("fits_alone", [False, True])
def test_what_fits_stands_in_for_the_same_under_a_heading_that_does_not(fits_alone: bool) -> None:
    best, plain = hit(0, "cat", 0.9), hit(2, "word " * 20, 0.7)
    text = context_block([best.memory, plain.memory], nonce=lambda: "0" * 18)
    heading = len("- 1970-01-01: cat\n") + (not fits_alone)  # or too long by a character
    under = hit(1, "word " * 20, 0.8, category="c" * (heading - len("## \n")))
    assert packed_into([best, under, plain], len(text), len).results == (best, plain)


def test_a_line_that_is_dear_alone_stands_where_the_counter_does_not_add_up() -> None:
    hits = [hit(0, "cat", 0.9), hit(1, "dog " * 14, 0.8), hit(2, "cow cow", 0.3)]
    packed = packed_into(hits, 27, lambda text: len(text.split()) ** 0.9)
    assert packed.results == tuple(hits[:2])


def test_a_repetition_is_left_out_and_another_number_is_not() -> None:
    hits = [
        hit(0, "The limit is 100 requests", 0.9),
        hit(1, "the limit is 100 requests.", 0.8),
        hit(2, "The limit is 200 requests", 0.7),
    ]
    packed = packed_into(hits, 500)
    assert (packed.results, packed.left_out) == ((hits[0], hits[2]), (hits[1],))


def test_no_two_lines_of_a_block_are_the_same() -> None:
    hits = [
        hit(number, "Ann is in Graz.", 0.9 - number / 10, key=f"key {number}", thread=thread)
        for number, thread in enumerate((None, None, "monday"))
    ]
    assert packed_into(hits, 500).results == (hits[0], hits[2])


def test_what_scores_nothing_takes_no_room() -> None:
    hits = [hit(0, "a", 0.5), hit(1, "b", 0.0), hit(2, "c", -0.5)]
    assert packed_into(hits, 500).results == (hits[0],)
    assert packed_into(hits[2:], 500).results == (hits[2],)


CATS = [hit(number, f"cat number {number}", 0.9 - number / 100) for number in range(20)]


def test_a_counter_that_counts_the_whole_for_less_leaves_no_room_unused() -> None:
    packed = packed_into(CATS, 40, lambda text: (cats := text.count("cat")) and 5 * cats + 1)
    assert (len(packed.results), packed.tokens) == (7, 36)


def test_a_best_line_that_counts_for_less_in_the_block_displaces_nothing() -> None:
    packed = packed_into(CATS[:2], 50, lambda text: 99 if text.endswith("number 0\n") else 1)
    assert packed.results == tuple(CATS[:2])


def test_headings_count_where_the_whole_counts_for_less() -> None:
    hits = [hit(number, f"cat {number}", 0.9, category=f"c{number % 5}") for number in range(20)]
    packed = packed_into(hits, 38, lambda text: math.ceil(len(text) / 16))
    assert packed.results == tuple(hits)


def test_a_counter_that_counts_the_whole_for_more_leaves_little_room_unused() -> None:
    packed = packed_into(CATS, 20, lambda text: (cats := text.count("cat")) * (1 + (cats > 1)))
    assert list(packed.results) == CATS[:10]


def test_of_choices_that_fit_the_one_found_first_stays_if_no_better_one_does() -> None:
    hits = [hit(0, "cat", 1.0), hit(1, "fox", 0.6), hit(2, "dog", 0.5), hit(3, "bee", 0.4)]

    def count(text: str) -> int:
        found = sum(
            text.count(each.memory.content) * size
            for each, size in zip(hits, (10, 30, 20, 20), strict=True)
        )
        return found - 10 * ("cat" in text and "fox" in text)

    assert [each.memory.content for each in packed_into(hits, 40, count).results] == ["cat", "fox"]


@pytest.mark.parametrize("share", [3, 3.5, 10])
def test_what_took_just_the_budget_takes_it_again(share: float) -> None:
    texts = ("Ann prefers tea", "Bob drives a red car", "The ferry leaves at noon")
    for padding in range(12):
        hits = [hit(i, text + "x" * padding, 0.5) for i, text in enumerate(texts)]
        full = pack(hits, Budget(10_000, lambda text: len(text) / share))
        again = pack(hits, Budget(full.tokens, lambda text: len(text) / share))
        assert len(again.results) == len(full.results) == len(texts)


def test_a_counter_that_charges_for_each_call_does_not_waste_the_budget() -> None:
    hits = [hit(number, f"memory number {number}", 0.5) for number in range(90)]
    packed = packed_into(hits, 2000, lambda text: len(text) + 100)
    assert 2000 - len(hits[-1].memory.content) - 20 < packed.tokens <= 2000


BAD: list[dict[str, Any]] = [
    *({"budget_tokens": tokens} for tokens in (-1, 1.5, "9", None, True)),
    {"count_tokens": 3},
    *(
        {"count_tokens": lambda text, told=told: told}
        for told in (math.nan, -1, math.inf, "9", None, True, [1])
    ),
    *({"k": k} for k in (-1, None)),
    {"namespace": None},
    {"mode": "fuzzy"},
    {"query": 3},
]


@pytest.mark.parametrize("given", BAD, ids=map(str, range(len(BAD))))
def test_a_wrong_argument_is_refused_before_anything_is_read(
    store: MemoryStore, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.store("a red cat")
    monkeypatch.setattr(store.embedder, "embed", lambda texts: pytest.fail("read"))
    with pytest.raises(ValidationError):
        store.pack(**{"query": "cat", **given})


def test_a_counter_that_fails_later_leaves_no_access(store: MemoryStore) -> None:
    record = store.store("a red cat")
    with pytest.raises(ValidationError, match="finite number"):
        store.pack("cat", count_tokens=lambda text: math.nan if text else 0)
    assert store.get(record.id) == record


def test_a_store_packs_what_it_recalls(store: MemoryStore) -> None:
    for number in range(30):
        store.store(f"the cat number {number} is red", thread="cats", author="Ann")
    packed = store.pack("red cat", budget_tokens=120, now=9.0)
    recalled = store.recall("red cat", k=100, now=9.0, touch=False)
    assert 2 < len(packed.results) < 30
    assert packed.tokens == estimate_tokens(packed.text) <= 120
    assert {each.memory.id for each in packed.results + packed.left_out} == {
        each.memory.id for each in recalled
    }
    assert "is red\n" in packed.text


def test_a_hundred_memories_are_considered(store: MemoryStore) -> None:
    store.store_many(f"cat {number}" for number in range(102))
    packed = store.pack("cat", budget_tokens=10_000)
    assert len(packed.results) + len(packed.left_out) == 100


def test_a_counter_that_charges_for_two_lines_leaves_the_best(store: MemoryStore) -> None:
    store.store_many(["a red cat", "a blue cat", "a green cat"])
    packed = store.pack("red cat", count_tokens=lambda text: 10**6 * (text.count(" cat") > 1))
    assert [hit.memory.content for hit in packed.results] == ["a red cat"]


def test_only_what_is_in_the_block_counts_as_accessed(store: MemoryStore) -> None:
    for number in range(9):
        store.store(f"the cat number {number} is red")
    packed = store.pack("red cat", budget_tokens=60)
    inside = {each.memory.id for each in packed.results}
    assert 0 < len(inside) < 9
    assert {record.id for record in store.all() if record.access_count} == inside
    store.pack("red cat", budget_tokens=60, touch=False)
    assert all(record.access_count <= 1 for record in store.all())


def test_recall_s_arguments_are_pack_s(store: MemoryStore) -> None:
    store.store("a red cat", namespace="a", author="Ann")
    bob = store.store("a red cat", namespace="a", author="Bob", vectors={"v": [1, 0]})
    assert store.pack("cat") == Packed("", 0, (), ())
    narrowed: list[dict[str, Any]] = [
        {"query": "cat", "where": {"author": "Bob"}},
        {"query": None, "vector": ("v", [1, 0])},
    ]
    for arguments in narrowed:
        packed = store.pack(**arguments, namespace="a")
        assert [each.memory.id for each in packed.results] == [bob.id]
    assert store.pack("cat", namespace="a", k=0).text == ""


def test_a_closed_store_does_not_pack() -> None:
    store = MemoryStore()
    store.close()
    with pytest.raises(StoreClosedError):
        store.pack("cat")


def test_packing_is_awaitable(store: MemoryStore) -> None:
    store.store("a red cat")
    packed = asyncio.run(AsyncMemoryStore.wrap(store).pack("cat", touch=False))
    assert len(packed.results) == 1


def test_results_are_told_as_they_were_whenever_they_are_asked_for() -> None:
    with MemoryStore() as store:
        store.store_many(["a cat sleeps", "a cat eats", "a cat plays with a ball of wool"])
        expected = store.recall("cat", k=3, touch=False, now=2e9)
        packed = store.pack("cat", budget_tokens=60, touch=False, now=2e9)
        store.touch([each.memory.id for each in expected])
        told = sorted((*packed.results, *packed.left_out), key=lambda each: each.memory.id)
        assert told == sorted(expected, key=lambda each: each.memory.id)
        assert packed.left_out
        assert packed.results is packed.results


def test_a_pack_that_was_not_asked_for_its_results_is_like_any_other() -> None:
    hits = [hit(0, "a cat", 0.9), hit(1, "a cat", 0.5)]
    told = packed_into(hits, 800)
    made = Packed(told.text, told.tokens, (hits[0],), (hits[1],))
    for same in (copy.copy, copy.deepcopy, repr, lambda each: pickle.loads(pickle.dumps(each))):
        assert same(packed_into(hits, 800)) == same(made)
    with pytest.raises(AttributeError, match="no attribute 'leftover'"):
        made.leftover  # type: ignore[attr-defined]  # noqa: B018


def test_a_blank_query_packs_the_newest_and_the_most_important(clock: Clock) -> None:
    with MemoryStore(clock=clock) as store:
        clock.now = 400 * 86_400.0
        store.store("old rule", importance=1.0, occurred_at=0.0)
        store.store("old note", importance=0.3, occurred_at=0.0)
        store.store("new note", importance=0.3)
        store.store("not for all", namespace="users/ann")
        packed = store.pack("  ", k=2)
        assert [hit.memory.content for hit in packed.results] == ["new note", "old rule"]
        first = packed.results[0]
        assert first.score == pytest.approx(sum(first.explain().contributions.values()))
        for options in ({"k": 1}, {"min_score": first.score}, {"min_share": 1.0}):
            (only,) = store.pack("", touch=False, **options).results
            assert only.memory.content == "new note"
        assert store.pack(None, where={"importance": 0.3}).results[0].memory.access_count == 1
        assert [hit.memory.content for hit in store.pack("", budget_tokens=20).results] == []
        assert "old note" in store.pack("", min_score=0.1).text
        assert "old note" not in store.pack("", min_score=0.2).text
        assert "old note" not in store.pack("", min_share=0.5).text


@pytest.mark.parametrize(("days", "recency"), [(-1, 1.0), (0, 1.0), (30, 0.5), (90, 0.125)])
def test_recency_halves_in_thirty_days(clock: Clock, days: float, recency: float) -> None:
    with MemoryStore(clock=clock) as store:
        store.store("note", importance=0.25, occurred_at=clock.now - days * 86_400)
        (packed,) = store.pack("").results
        assert packed.explain().signals == {"importance": 0.25, "recency": pytest.approx(recency)}
        assert packed.score == pytest.approx((0.25 + recency) / 2)


def test_a_budget_of_nothing_packs_nothing(store: MemoryStore) -> None:
    assert store.pack("cats", budget_tokens=0).text == ""


def test_a_block_has_at_most_800_tokens_by_default() -> None:
    with MemoryStore() as store:
        store.store_many(f"cat {number}" for number in range(200))
        packed = store.pack("cat", k=200)
        assert packed.left_out
        assert 790 < packed.tokens <= 800


def test_a_pack_without_a_query_judges_expiry_at_the_given_time(store: MemoryStore) -> None:
    now = store.store("a short note", expires_at=1e9 + 100.0, occurred_at=1e9).updated_at
    at = {"before": min(now, 1e9), "after": 1e9 + 200.0}
    found = {name: len(store.pack("", now=time).results) for name, time in at.items()}
    assert found == {"before": 1, "after": 0}


def test_a_block_prints_as_the_text_for_a_prompt(store: MemoryStore) -> None:
    store.store("Ann likes tea")
    packed = store.pack("tea", budget_tokens=200)
    assert f"{packed}" == str(packed) == packed.text
    assert "Ann likes tea" in packed.text
    assert packed
    assert not store.pack("tea", budget_tokens=1)
