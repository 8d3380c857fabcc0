// Memories: filter, sort, page, choose; forget, archive and tag many at once.

import * as api from "../core/api.js";
import { define } from "../core/element.js";
import { counted, fixed, when } from "../core/format.js";
import { changedQuery, go, keep, remembered } from "../core/router.js";
import { saving } from "../core/save.js";
import { scope } from "../core/state.js";
import { each, html } from "../core/template.js";
import { failed } from "../core/toasts.js";
import { View } from "../core/view.js";
import "../parts/bulk.js";
import { choice } from "../parts/choice.js";
import { empty, row, rowKeys } from "../parts/rows.js";

/** @type {[string, string][]} */
const STATES = [["", "live"], ["superseded", "superseded"], ["archived", "archived"], ["expired", "expired"]];
/** @type {[string, string][]} */
const ORDERS = [["", "Newest first"], ["oldest", "Oldest first"]];
const PAGE = 100;
const MOST = 200; // of the rows that a search finds, and of a page while saving
/** Figures of a memory that are shown on request, by field. */
const COLUMNS = {
  importance: rounded, confidence: rounded, access_count: String, updated_at: when,
  occurred_at: when, expires_at: when, thread: String, source: String, id: String,
};

/** @param {number} value */
function rounded(value) {
  return fixed(value, 2);
}

/** The filter of the address, as the API takes it. @param {URLSearchParams} asked */
function filterOf(asked) {
  const parts = [];
  for (const name of ["category", "author"]) if (asked.get(name)) parts.push({ [name]: asked.get(name) });
  if (asked.get("tag")) parts.push({ tags: { $contains: asked.get("tag") } });
  if (asked.get("since")) parts.push({ created_at: { $gte: asked.get("since") } });
  if (asked.get("until")) parts.push({ created_at: { $lt: asked.get("until") } });
  return parts.length ? { $and: parts } : null;
}

class Memories extends View {
  opened() {
    this.picked = new Map();
    rowKeys(this, (record) => record.id, [
      { key: "x", label: "Choose the row", run: () => this.items[this.at] && this.pick(this.items[this.at]) },
      { key: "a", label: "Choose all rows shown", run: () => this.pickAll() },
    ]);
    super.opened();
  }

  async read() {
    const kept = this.loaded ? null : remembered("memories");
    if (kept) requestAnimationFrame(() => scrollTo(0, remembered("scroll") ?? 0));
    return { ...(kept ?? (await this.rows())), picked: new Map(), at: -1 };
  }

  async more() {
    Object.assign(this, await this.rows(this.items, this.next));
    this.update();
  }

  /** Read a page after *items*, and keep all rows for Back.
   * @param {any[]} [items] @param {string | null} [cursor] of the page; else the first */
  async rows(items = [], cursor = null) {
    const page = this.place.query.get("q") ? await this.search() : await this.page(cursor);
    const rows = { items: [...items, ...page.items], next: page.next };
    keep("memories", rows);
    return rows;
  }

  /** @param {string | null} cursor @param {number} [limit] */
  page(cursor, limit = PAGE) {
    const asked = this.place.query;
    const query = { ...scope(), where: filterOf(asked), state: asked.get("state"), order: asked.get("order"), limit, cursor };
    return api.get("/memories", query, this.life.signal);
  }

  /** The memories with words of the query, the best first. */
  async search() {
    const asked = this.place.query;
    const body = { ...scope(), where: filterOf(asked), query: asked.get("q"), mode: "keyword", k: MOST, touch: false };
    const { items } = await api.post("/recall", body, { signal: this.life.signal });
    return { items: items.map((hit) => hit.memory), next: null };
  }

  /** Every row of the list, of the pages that are not shown, too. */
  async all() {
    if (this.place.query.get("q")) return this.items;
    const items = [];
    for (let cursor = null; ; ) {
      const page = await this.page(cursor, MOST);
      items.push(...page.items);
      if (!page.next) return items;
      cursor = page.next;
    }
  }

  pick(record) {
    if (!this.picked.delete(record.id)) this.picked.set(record.id, record);
    this.update();
  }

  pickAll() {
    this.picked = new Map(this.items.map((record) => [record.id, record]));
    this.update();
  }

  pickNone() {
    this.picked.clear();
    this.update();
  }

  draw() {
    const asked = this.place.query;
    const set = (name) => (event) => go(changedQuery({ [name]: event.target.value.trim() || null }));
    const field = (name, label, kind = "text") => html`<label>${label} <input type=${kind} name=${name} .value=${asked.get(name) ?? ""} @change=${set(name)}></label>`;
    return html`<div class="head"><h1>Memories</h1><p class="soft">${this.loaded && `${counted(this.items.length, "row")}${this.next ? ", more below" : ""}`}
        ${this.items.length > 0 && saving("memories", () => this.all())}</p></div>
      <div class="tools">${field("q", "Words", "search")}${field("category", "Category")}${field("tag", "Tag")}${field("author", "Author")}
        ${field("since", "Stored since", "date")}${field("until", "Stored before", "date")}
        ${!asked.get("q") && html`${choice(asked, "state", "State", STATES)}${choice(asked, "order", "Order", ORDERS)}`}</div>
      ${this.columns(asked.getAll("show"))}
      ${this.picked.size > 0 && html`<bulk-actions .records=${[...this.picked.values()]} .state=${asked.get("state") ?? "live"}
        @bulk-none=${() => this.pickNone()} @bulk-done=${() => this.load()}></bulk-actions>`}
      ${this.items.length
        ? html`<ul class="rows">${each(this.items, (record) => record.id, (record, index) => row(record, { now: index === this.at, pick: this.box(record), inside: this.figures(record) }))}</ul>`
        : this.loaded && empty("No memory matches. Take a filter away, or store a memory.", 'bethink store "Ann prefers dark mode" --namespace users/ann')}
      ${this.next && html`<p><button @click=${() => this.more().catch(failed)}>Show ${PAGE} more</button></p>`}`;
  }

  /** The choice of figures. @param {string[]} shown */
  columns(shown) {
    const change = (name) => () => go(changedQuery({ show: shown.includes(name) ? shown.filter((each) => each !== name) : [...shown, name] }), { replace: true });
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
