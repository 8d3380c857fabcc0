// The memories that a memory replaced, and the memories that replaced it, the oldest first.

import * as api from "../core/api.js";
import { when } from "../core/format.js";
import { memory } from "../core/router.js";
import { html } from "../core/template.js";

const MOST = 20;

/** The chain of *record*, itself in the chain; alone without a predecessor or successor.
 * @param {any} record @param {AbortSignal} signal @returns {Promise<any[]>} */
export async function lineage(record, signal) {
  const [before, after] = await Promise.all([predecessors(record, signal), successors(record, signal)]);
  return [...before, record, ...after];
}

/** What was replaced, step by step back. */
async function predecessors(record, signal) {
  const found = [];
  for (let ids = [record.id]; ids.length && found.length < MOST; ) {
    const where = { superseded_by: { $in: ids } };
    const { items } = await api.get("/memories", { where, state: "superseded", order: "oldest", limit: MOST }, signal);
    found.unshift(...items);
    ids = items.map(({ id }) => id);
  }
  return found;
}

/** What came after, step by step. */
async function successors(record, signal) {
  const found = [];
  for (let id = record.superseded_by; id && found.length < MOST; id = found[found.length - 1].superseded_by) {
    const { items } = await api.post("/get", { ids: [id] }, { signal });
    if (!items[0]) break;
    found.push(items[0]);
  }
  return found;
}

/** @param {any[]} chain @param {string} id of the memory shown */
export const chained = (chain, id) => chain.length > 1 && html`<section><h2>Versions</h2><ol class="story">${chain.map((record) => html`
  <li aria-current=${record.id === id && "true"}><a href=${memory(record.id)}>${record.content}</a> <span class="soft">${when(record.created_at)} · ${record.state}</span></li>`)}</ol></section>`;
