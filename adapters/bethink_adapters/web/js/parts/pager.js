// Moving among the pages of a list; the address holds the page.

import { count } from "../core/format.js";
import { changedQuery, go } from "../core/router.js";
import { html } from "../core/template.js";

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
