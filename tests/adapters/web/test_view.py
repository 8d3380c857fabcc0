"""The elements and views of the web interface, apart from the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .modules import modules


@pytest.fixture
def run(browser: Any) -> Iterator[Any]:
    with modules(browser) as made:
        yield made


def test_many_changes_draw_once(run: Any) -> None:
    found = run("""
        let drawn = 0;
        class Counter extends BethinkElement {
          static properties = ['one', 'two'];
          draw() { drawn++; return html`${this.one}-${this.two}`; }
        }
        define('a-counter', Counter);
        const element = document.createElement('a-counter');
        main.append(element);
        Object.assign(element, {one: 1, two: 2}); element.one = 3; element.one = 3;
        await soon();
        return [drawn, element.textContent];
    """)
    assert found == [1, "3-2"]


def test_a_property_set_before_the_definition_is_kept(run: Any) -> None:
    found = run("""
        const element = document.createElement('a-late');
        element.name = 'early';
        main.append(element);
        define('a-late', class extends BethinkElement {
          static properties = ['name'];
          draw() { return this.name; }
        });
        await soon();
        return element.textContent;
    """)
    assert found == "early"


def test_listeners_end_with_the_element_but_not_with_a_move(run: Any) -> None:
    found = run("""
        const source = new EventTarget(); let heard = 0;
        class Ear extends BethinkElement {
          opened() { this.listen(source, 'sound', () => heard++); }
        }
        define('an-ear', Ear);
        const [ear, counts] = [document.createElement('an-ear'), []];
        const step = async (change) => {
          change(); await soon();
          heard = 0; source.dispatchEvent(new Event('sound')); counts.push(heard);
        };
        await step(() => main.append(ear));
        await step(() => ear.remove());
        await step(() => main.append(ear));
        return counts;
    """)
    assert found == [1, 0, 1]


def test_of_loads_at_the_same_time_the_last_one_shows(run: Any) -> None:
    found = run("""
        const answers = [];
        class Slow extends View {
          async read() {
            const shown = this.place;
            await new Promise((done) => answers.push(done));
            return {shown};
          }
          draw() { return this.shown; }
        }
        define('slow-view', Slow);
        const view = Object.assign(document.createElement('slow-view'), {place: 'first'});
        main.append(view);
        view.place = 'second';
        answers[1](); await soon();
        answers[0](); await soon();
        return [answers.length, view.textContent];
    """)
    assert found == [2, "second"]


def test_an_error_is_told_and_the_view_stays(run: Any) -> None:
    found = run("""
        const told = []; let fails = false;
        toasts.addEventListener('toast', ({detail}) => told.push([detail.kind, detail.text]));
        class Frail extends View {
          async read() { if (fails) throw new Error('no answer'); return {shown: 'rows'}; }
          draw() { return this.shown; }
        }
        define('frail-view', Frail);
        const view = document.createElement('frail-view');
        main.append(view); await soon();
        fails = true;
        dispatchEvent(new Event('bethink-undone')); await soon();
        return [told, view.textContent];
    """)
    assert found == [[["error", "no answer"]], "rows"]
