// Memories: filter, sort, page, choose; forget, archive and tag many at once.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { count, counted, fixed, when } from "../core/format.js";
import { changedQuery, go, remembered } from "../core/router.js";
import { saving } from "../core/save.js";
import { scope } from "../core/state.js";
import { each, html } from "../core/template.js";
import { failed } from "../core/toasts.js";
import { choice, pageKeys, pageOf, pager } from "../parts/addressed.js";
import "../parts/bulk.js";
import "../parts/edit_form.js";
import { empty, row, rowKeys, rows } from "../parts/rows.js";

/** @type {[string, string][]} */
const STATES = [["", "live"], ["superseded", "superseded"], ["archived", "archived"], ["expired", "expired"]];
/** @type {[string, string][]} */
const ORDERS = [
  ["", "Newest first"], ["oldest", "Oldest first"], ["updated_at", "Last changed"], ["occurred_at", "Latest event"],
  ["importance", "Most important"], ["outcome", "Best outcome"], ["access_count", "Most recalled"],
];
const PAGE = 100;
const MOST = 1000; // memories of one change
const rounded = (value) => fixed(value, 2);
/** Figures of a memory that are shown on request, by field. */
const COLUMNS = {
  importance: rounded, confidence: rounded, access_count: String, updated_at: when,
  occurred_at: when, expires_at: when, thread: String, source: String, id: String,
};

/** A word as typed, in small letters, or with a capital. @param {string} word */
const spellings = (word) => [...new Set([word, word.toLowerCase(), word[0].toUpperCase() + word.slice(1).toLowerCase()])];

/** The filter of the address, as the API takes it. @param {URLSearchParams} asked */
function filterOf(asked) {
  const words = (asked.get("q") ?? "").split(/\s+/).filter(Boolean);
  /** @type {any[]} */
  const parts = words.map((word) => ({ content: { $contains_any: spellings(word) } }));
  for (const name of ["category", "author"]) if (asked.get(name)) parts.push({ [name]: asked.get(name) });
  if (asked.get("tag")) parts.push({ tags: { $contains: asked.get("tag") } });
  if (asked.get("since")) parts.push({ created_at: { $gte: asked.get("since") } });
  if (asked.get("until")) parts.push({ created_at: { $lt: asked.get("until") } });
  return parts.length ? { $and: parts } : null;
}

class Memories extends View {
  /** @type {Map<string, any>} */
  picked = new Map();

  opened() {
    rowKeys(this, (record) => record.id, [
      { key: "x", label: "Choose the row", run: () => this.items[this.at] && this.pick(this.items[this.at]) },
      { key: "a", label: "Choose all rows shown", run: () => this.pickAll(this.items) },
      { key: "c", label: "Store a new memory", run: () => go(changedQuery({ new: 1 })) },
      ...pageKeys(this),
    ]);
    super.opened();
  }

  /** The list of the address, as the API takes it. */
  listing() {
    const asked = this.place.query;
    return { ...scope(), where: filterOf(asked), state: asked.get("state"), order: asked.get("order") };
  }

  async read() {
    const { signal } = this.life;
    const listing = this.listing();
    const { state, order, ...counting } = listing;
    const page = pageOf(this.place.query);
    const [{ items, next }, total] = await Promise.all([
      api.get("/memories", { ...listing, limit: PAGE, offset: (page - 1) * PAGE }, signal),
      state ? null : api.get("/count", counting, signal).then(({ count }) => count),
    ]);
    if (!items.length && page > 1) go(changedQuery({}), { replace: true });
    if (page !== this.page) requestAnimationFrame(() => scrollTo(0, remembered("scroll") ?? 0));
    const list = JSON.stringify([counting, state]);
    return { items, total, page, list, more: next !== null, at: -1, picked: list === this.list ? this.picked : new Map() };
  }

  pick(record) {
    if (!this.picked.delete(record.id)) this.picked.set(record.id, record);
    this.update();
  }

  /** Choose *records* beside the chosen. @param {any[]} records */
  pickAll(records) {
    for (const record of records) this.picked.set(record.id, record);
    this.update();
  }

  /** Choose the whole list, of all pages. */
  async pickList() {
    const lines = await api.lines("/memories", this.listing(), this.life.signal);
    this.pickAll(lines.map((line) => JSON.parse(line)));
  }

  pickNone() {
    this.picked.clear();
    this.update();
  }

  draw() {
    const asked = this.place.query;
    const set = (name) => (event) => go(changedQuery({ [name]: event.target.value.trim() || null }));
    const field = (name, label, kind = "text") => html`<label>${label} <input type=${kind} name=${name} .value=${asked.get(name) ?? ""} @change=${set(name)}></label>`;
    return html`<div class="head"><h1>Memories</h1><p class="soft">${this.loaded && this.range()}
        ${this.items.length > 0 && saving("/memories", this.listing())} <a class="button" href=${changedQuery({ new: 1 })}>New memory</a></p></div>
      ${asked.has("new") && html`<edit-form .namespace=${asked.get("ns") ?? "default"} @done=${() => go(changedQuery({ new: null }))}></edit-form>`}
      <div class="tools">${field("q", "Words", "search")}${field("category", "Category")}${field("tag", "Tag")}${field("author", "Author")}
        ${field("since", "Stored since", "date")}${field("until", "Stored before", "date")}
        ${choice(asked, "state", "State", STATES)}${choice(asked, "order", "Order", ORDERS)}</div>
      ${this.columns(asked.getAll("show"))}
      ${this.picked.size > 0 && html`<bulk-actions .records=${[...this.picked.values()]} .state=${asked.get("state") ?? "live"}
        @bulk-none=${() => this.pickNone()} @bulk-done=${() => { this.picked.clear(); this.load(); }}></bulk-actions>
        ${this.total > this.picked.size && this.total <= MOST && html`<p class="tools"><button @click=${() => this.pickList().catch(failed)}>Choose all ${count(this.total)} of the list</button></p>`}`}
      ${this.items.length
        ? rows(this.items, (record, index) => row(record, { now: index === this.at, pick: this.box(record), inside: this.figures(record) }))
        : this.loaded && empty("No memory matches. Take a filter away, or store a memory.", 'bethink store "Ann prefers dark mode" --namespace users/ann')}
      ${this.loaded && pager(this.page, this.total && Math.ceil(this.total / PAGE), this.more)}`;
  }

  /** Which rows of how many show. */
  range() {
    const first = (this.page - 1) * PAGE;
    if (!this.more && !first) return counted(this.items.length, "row");
    return `rows ${count(first + 1)} to ${count(first + this.items.length)}${this.total ? ` of ${count(this.total)}` : ""}`;
  }

  /** The choice of figures. @param {string[]} shown */
  columns(shown) {
    const asked = this.place.query;
    const change = (name) => () => go(changedQuery({ show: shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name], page: asked.get("page") }), { replace: true });
    return html`<details class="choices" ?open=${shown.length > 0}><summary>Columns</summary><div class="actions">${each(Object.keys(COLUMNS), (name) => name, (name) => html`
      <label class="check"><input type="checkbox" name=${name} .checked=${shown.includes(name)} @change=${change(name)}>${name.replace("_", " ")}</label>`)}</div></details>`;
  }

  figures(record) {
    const shown = this.place.query.getAll("show").filter((name) => name in COLUMNS && record[name] !== null);
    return shown.length > 0 && html`<div class="facts">${each(shown, (name) => name, (name) => html`<span>${name.replace("_", " ")} <b>${COLUMNS[name](record[name])}</b></span>`)}</div>`;
  }

  box(record) {
    return html`<input type="checkbox" aria-label=${`Choose: ${record.content.slice(0, 60)}`} .checked=${this.picked.has(record.id)} @change=${() => this.pick(record)}>`;
  }
}

define("memories-view", Memories);
