// What changed: the words of a text, and the fields of a memory by an entry or between two moments.

import { json, signed, when } from "../core/format.js";
import { html } from "../core/template.js";

/** @typedef {{name: string, before: any, after: any}} Change `before` undefined: unknown */

const FIELDS = ["content", "namespace", "key", "value", "thread", "author", "category", "tags", "importance", "confidence",
  "source", "metadata", "occurred_at", "expires_at", "state", "superseded_by", "outcome"];
const TIMES = ["occurred_at", "expires_at"];
const USUAL = { tags: [], metadata: {} };

const WORDS = /\s+/;

/** *text* with each word marked that *other* lacks. @param {string} text @param {string} other */
export function marked(text, other) {
  const known = new Set(other.split(WORDS));
  return text.split(WORDS).map((word) => (known.has(word) ? `${word} ` : html`<mark>${word}</mark>${" "}`));
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The fields that differ between two records. @returns {Change[]} */
export const between = (before, after) =>
  FIELDS.filter((name) => !same(before[name], after[name])).map((name) => ({ name, before: before[name], after: after[name] }));

/** The entries of a memory, the newest first, each with the fields that the entry changed.
 * An entry that makes the memory changes no field.
 * @param {any[]} entries the newest first @returns {(any & {fields: Change[]})[]} */
export function told(entries) {
  const known = {};
  const oldestFirst = [...entries].reverse().map((entry, index) => {
    const made = index === 0 && "content" in entry.changes;
    if (made) for (const name of FIELDS) known[name] = USUAL[name] ?? null;
    const names = FIELDS.filter((name) => name in entry.changes && !same(known[name], entry.changes[name]));
    const fields = names.map((name) => ({ name, before: known[name], after: entry.changes[name] }));
    for (const { name, after } of fields) known[name] = after;
    return { ...entry, fields: made ? [] : fields };
  });
  return oldestFirst.reverse();
}

/** A value as people read it. @param {string} name @param {any} value */
function shown(name, value) {
  if (value === undefined) return "unknown";
  if (value === null || value === "" || same(value, USUAL[name])) return "none";
  if (TIMES.includes(name)) return when(value);
  if (name === "tags") return value.join(", ");
  return name === "outcome" ? signed(value) : json(value);
}

/** Each changed field by name, before and after; of texts the differing words are marked. @param {Change[]} fields */
export const changes = (fields) => fields.length > 0 && html`<dl class="changed">${fields.map(({ name, before, after }) => html`
  <dt>${name.replaceAll("_", " ")}</dt><dd>${name === "content" && before !== undefined
    ? html`<del>${marked(before ?? "", after ?? "")}</del><ins>${marked(after ?? "", before ?? "")}</ins>`
    : html`<del>${shown(name, before)}</del><ins>${shown(name, after)}</ins>`}</dd>`)}</dl>`;
