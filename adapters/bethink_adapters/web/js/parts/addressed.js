// What the address holds: a choice among a few values, and the page of a list.

import { count } from "../core/format.js";
import { changedQuery, go } from "../core/router.js";
import { each, html } from "../core/template.js";

/** @param {URLSearchParams} query of the address @param {string} name in the query @param {string} label
 * @param {string[][]} options values and texts @param {string} [fallback] chosen when the query names none */
export const choice = (query, name, label, options, fallback = "") => html`<label>${label}
  <select name=${name} @change=${(event) => go(changedQuery({ [name]: event.target.value || null }))}>
    ${each(options, ([value]) => value, ([value, text]) => html`<option value=${value} ?selected=${(query.get(name) ?? fallback) === value}>${text}</option>`)}
  </select></label>`;

/** The page of the address, from 1. @param {URLSearchParams} query of the address */
export const pageOf = (query) => Math.max(1, Math.trunc(Number(query.get("page"))) || 1);

/** @param {number} page */
const at = (page) => changedQuery({ page: page > 1 ? page : null });

/** @param {number} page @param {number | null} last the last page, null if unknown @param {boolean} more whether a page follows */
export function pager(page, last, more) {
  if (page === 1 && !more) return null;
  const link = (label, to) => html`<a class="button" href=${at(to)}>${label}</a>`;
  return html`<nav class="actions pages" aria-label="Pages">
    ${page > 1 && html`${link("First", 1)}${link("Previous", page - 1)}`}
    <span class="soft">Page ${count(page)}${last && ` of ${count(last)}`}</span>
    ${more && html`${link("Next", page + 1)}${last && link("Last", last)}`}</nav>`;
}

/** Keys for the next page and the page before of *view*, which offers `page` and `more`.
 * @param {any} view @returns {import("../core/keys.js").Key[]} */
export const pageKeys = (view) => [
  { key: "n", label: "Next page", run: () => view.more && go(at(view.page + 1)) },
  { key: "p", label: "Page before", run: () => view.page > 1 && go(at(view.page - 1)) },
];
