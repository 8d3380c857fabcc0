// A choice among a few values; the address holds the chosen one.

import { changedQuery, go } from "../core/router.js";
import { each, html } from "../core/template.js";

/** @param {URLSearchParams} query of the address @param {string} name in the query @param {string} label
 * @param {string[][]} options values and texts @param {string} [fallback] chosen when the query names none */
export const choice = (query, name, label, options, fallback = "") => html`<label>${label}
  <select name=${name} @change=${(event) => go(changedQuery({ [name]: event.target.value || null }))}>
    ${each(options, ([value]) => value, ([value, text]) => html`<option value=${value} ?selected=${(query.get(name) ?? fallback) === value}>${text}</option>`)}
  </select></label>`;
