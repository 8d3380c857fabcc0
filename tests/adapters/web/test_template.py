"""The templates of the web interface, apart from the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .modules import modules


@pytest.fixture
def run(browser: Any) -> Iterator[Any]:
    with modules(browser) as made:
        yield made


def test_values_are_text_and_never_markup(run: Any) -> None:
    found = run("""
        const evil = '<img src=x onerror="document.title=1">"\\'><b>';
        render(html`<a title=${evil} class="row ${evil}">${evil}${[evil]}</a>`, main);
        const link = main.firstElementChild;
        return [main.querySelectorAll('*').length, link.title === evil,
                link.className === `row ${evil}`, link.textContent === evil + evil];
    """)
    assert found == [1, True, True, True]


def test_every_kind_of_child_is_shown_and_replaced(run: Any) -> None:
    found = run("""
        const node = document.createElement('b');
        const kinds = [null, 'text', 0, false, html`<i>${1}</i>`, undefined,
                       ['a', html`<u></u>`, 'c'], node, html`<i>${2}</i>`, [], true, 'end'];
        const shown = [];
        for (const one of kinds) for (const other of kinds) {
          const draw = (value) => render(html`<p>[${value}]</p>`, main);
          draw(one); draw(other); const twice = main.firstElementChild.textContent;
          const once = document.createElement('main');
          render(html`<p>[${other}]</p>`, once);
          if (twice !== once.textContent) shown.push([String(one), String(other), twice]);
        }
        return shown;
    """)
    assert found == []


def test_drawing_again_changes_only_what_differs(run: Any) -> None:
    found = run("""
        const draw = (name, many) => render(html`<p class=${name}>${name}<b>${many}</b></p>`, main);
        draw('one', 1);
        const [before, text] = [main.firstElementChild, main.querySelector('b').firstChild];
        const seen = [];
        const watch = new MutationObserver((all) => seen.push(...all.map((each) => each.type)));
        const all = {subtree: true, attributes: true, characterData: true, childList: true};
        watch.observe(main, all);
        draw('one', 2);
        await soon();
        return [before === main.firstElementChild, text === main.querySelector('b').firstChild,
                main.textContent, seen];
    """)
    assert found == [True, True, "one2", ["characterData"]]


def test_attributes_flags_properties_and_styles(run: Any) -> None:
    found = run("""
        const draw = (on, value) => render(html`<input title=${value} ?disabled=${on}
          .value=${value ?? ''} data-all="a ${value} b"
          .style=${{width: on ? '4px' : '2px', '--depth': '1'}}>`, main);
        draw(true, 'x');
        const input = main.firstElementChild;
        const shown = () => [input.disabled, input.value, input.dataset.all, input.style.width];
        const first = [input.title, ...shown(), input.style.getPropertyValue('--depth')];
        input.value = 'typed';
        draw(false, null);
        return [first, [input.hasAttribute('title'), ...shown()]];
    """)
    assert found == [
        ["x", True, "x", "a x b", "4px", "1"],
        [False, False, "", "a  b", "2px"],
    ]


def test_what_a_person_typed_gives_way_to_the_drawn_value(run: Any) -> None:
    found = run("""
        const box = () => html`<input type="checkbox" .checked=${false}>`;
        const inputs = () => html`<input .value=${'drawn'}>${box()}`;
        const draw = () => render(inputs(), main);
        draw();
        const [text, mark] = main.querySelectorAll('input');
        text.value = 'typed'; mark.checked = true;
        draw();
        return [text.value, mark.checked];
    """)
    assert found == ["drawn", False]


def test_a_listener_is_the_last_one_drawn(run: Any) -> None:
    found = run("""
        const heard = [];
        for (const name of ['one', 'two', null]) {
          const click = name && (() => heard.push(name));
          render(html`<button @click=${click}>b</button>`, main);
          main.querySelector('button').click();
        }
        return heard;
    """)
    assert found == ["one", "two"]


def test_nodes_of_a_list_move_with_their_keys(run: Any) -> None:
    """Many random lists: the order is the drawn order, and a kept key keeps the node."""
    found = run("""
        let seed = 7;
        const random = (most) => (seed = (seed * 48271) % 2147483647) % most;
        const items = () => [...main.querySelectorAll('li')];
        const nodes = () => new Map(items().map((node) => [node.dataset.key, node]));
        const item = (key, index) => html`<li data-key=${key}>${index}</li>`;
        const wrong = [];
        for (let round = 0, before = new Map(); round < 300; round++, before = nodes()) {
          const keys = [...new Set(Array.from({length: random(9)}, () => random(12)))];
          render(html`<ul>${each(keys, (key) => key, item)}</ul>`, main);
          const after = nodes();
          const order = [...after.keys()].join() === keys.join();
          const texts = items().every((node, index) => node.textContent === String(index));
          const same = [...after].every(([key, node]) => (before.get(key) ?? node) === node);
          if (!order || !texts || !same) wrong.push([round, keys, order, texts, same]);
        }
        return wrong;
    """)
    assert found == []


def test_a_value_in_no_place_is_refused(run: Any) -> None:
    found = run("""
        try { render(html`<p ${'hidden'}>x</p>`, main); } catch (error) { return error.message; }
    """)
    assert found.startswith("no attribute before a value")
