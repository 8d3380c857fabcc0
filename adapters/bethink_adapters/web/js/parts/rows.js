// Rows of memories, and the keys that move among rows.

import { keys } from "../core/keys.js";
import { ago, iso, signed } from "../core/format.js";
import { go, href, memory } from "../core/router.js";
import { each, html } from "../core/template.js";

/** @param {any} record @param {{now?: boolean, pick?: unknown, inside?: unknown}} [options] */
export const row = (record, { now = false, pick = null, inside = null } = {}) => html`
  <li ?data-now=${now}>${pick ?? html`<span></span>`}
    <a class="text" href=${memory(record.id)}>${record.content}</a>
    <time class="when" datetime=${iso(record.created_at)} title=${iso(record.created_at)}>${ago(record.created_at)}</time>
    <div class="facts">${facts(record)}</div>${inside}</li>`;

/** The items of a list by *make*. @param {any[]} items memories, hits, links or entries @param {(item: any, index: number) => unknown} make */
export const rows = (items, make) => html`<ul class="rows">${each(items, (item) => item.seq ?? (item.memory ?? item).id, make)}</ul>`;

/** @param {any} record */
export const facts = (record) => html`
  <span>${record.namespace}</span>
  ${record.state !== "live" && html`<span class="bad">${record.state}</span>`}
  ${record.key && html`<span>key ${record.key}</span>`}
  ${record.author && html`<span>by ${record.author}</span>`}
  ${record.category && html`<a href=${href("/memories", { category: record.category })}>${record.category}</a>`}
  ${each(record.tags, (tag) => tag, (tag) => html`<a class="tag" href=${href("/memories", { tag })}>${tag}</a>`)}
  ${record.outcome !== 0 && html`<span>outcome ${signed(record.outcome)}</span>`}`;

/** Keys j, k and Enter over the `items` of *view*; `view.at` is the chosen index, −1 for none.
 * A key among *more* takes the place of the usual key.
 * @param {any} view @param {(item: any) => string} id @param {import("../core/keys.js").Key[]} [more] */
export function rowKeys(view, id, more = []) {
  view.at = -1;
  const move = (step) => {
    view.at = Math.min(view.items.length - 1, Math.max(0, view.at + step));
    view.update();
    queueMicrotask(() => view.querySelector("[data-now]")?.scrollIntoView({ block: "nearest" }));
  };
  const open = () => view.items[view.at] && go(memory(id(view.items[view.at])));
  const usual = [
    { key: "j", label: "Next row", run: () => move(1) },
    { key: "k", label: "Row before", run: () => move(-1) },
    { key: "Enter", label: "Open the row", run: open },
  ];
  keys([...usual.filter(({ key }) => !more.some((each) => each.key === key)), ...more], view.life.signal);
}

/** What stands where nothing is: a sentence, and a command that changes that.
 * @param {string} text @param {string} [command] */
export const empty = (text, command) => html`<div class="empty"><p>${text}</p>${command && html`<code>${command}</code>`}</div>`;
