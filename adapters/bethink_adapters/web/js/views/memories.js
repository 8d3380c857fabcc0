// Memories: filter, sort, page, choose, forget.

import * as api from "../core/api.js";
import { define } from "../core/element.js";
import { counted } from "../core/format.js";
import { changedQuery, go, keep, remembered } from "../core/router.js";
import { scope } from "../core/state.js";
import { each, html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { View } from "../core/view.js";
import { choice } from "../parts/choice.js";
import { empty, row, rowKeys } from "../parts/rows.js";

/** @type {[string, string][]} */
const STATES = [["", "live"], ["superseded", "superseded"], ["archived", "archived"], ["expired", "expired"]];
/** @type {[string, string][]} */
const ORDERS = [["", "Newest first"], ["oldest", "Oldest first"]];
const PAGE = 100;

class Memories extends View {
  opened() {
    this.picked = new Set();
    rowKeys(this, (record) => record.id, [
      { key: "x", label: "Choose the row", run: () => this.items[this.at] && this.pick(this.items[this.at].id) },
    ]);
    super.opened();
  }

  query() {
    const asked = this.place.query;
    const where = {};
    for (const name of ["category", "author"]) if (asked.get(name)) where[name] = asked.get(name);
    if (asked.get("tag")) where.tags = { $contains: asked.get("tag") };
    return {
      ...scope(),
      where: Object.keys(where).length ? where : null,
      state: asked.get("state"),
      order: asked.get("order"),
      limit: PAGE,
    };
  }

  async read() {
    const kept = this.loaded ? null : remembered("memories");
    if (kept) requestAnimationFrame(() => scrollTo(0, remembered("scroll") ?? 0));
    return { ...(kept ?? (await this.rows())), picked: new Set(), at: -1 };
  }

  async more() {
    Object.assign(this, await this.rows(this.items, this.next));
    this.update();
  }

  /** Read a page after *items*, and keep all rows for Back.
   * @param {any[]} [items] @param {string | null} [cursor] of the page; else the first */
  async rows(items = [], cursor = null) {
    const page = await api.get("/memories", { ...this.query(), cursor }, this.life.signal);
    const rows = { items: [...items, ...page.items], next: page.next };
    keep("memories", rows);
    return rows;
  }

  /** @param {string} id */
  pick(id) {
    if (!this.picked.delete(id)) this.picked.add(id);
    this.update();
  }

  async forget() {
    const ids = [...this.picked];
    const change = async () => {
      for (const id of ids) await api.remove(api.memoryPath(id));
    };
    await undoable(`${counted(ids.length, "memory", "memories")} forgotten`, ids, change).catch(failed);
    await this.load();
  }

  draw() {
    const asked = this.place.query;
    const field = (name, label) => html`<label>${label} <input name=${name} .value=${asked.get(name) ?? ""} @change=${(event) => go(changedQuery({ [name]: event.target.value.trim() || null }))}></label>`;
    return html`<div class="head"><h1>Memories</h1><p class="soft">${this.loaded && `${counted(this.items.length, "row")}${this.next ? ", more below" : ""}`}</p></div>
      <div class="tools">${field("category", "Category")}${field("tag", "Tag")}${field("author", "Author")}
        ${choice(asked, "state", "State", STATES)}${choice(asked, "order", "Order", ORDERS)}</div>
      ${this.picked.size > 0 && html`<div class="tools actions"><span>${counted(this.picked.size, "memory", "memories")} chosen</span>
        <button @click=${() => this.forget()}>Forget</button><button class="plain" @click=${() => { this.picked.clear(); this.update(); }}>Choose none</button></div>`}
      ${this.items.length
        ? html`<ul class="rows">${each(this.items, (record) => record.id, (record, index) => row(record, { now: index === this.at, pick: this.box(record) }))}</ul>`
        : this.loaded && empty("No memory matches. Take a filter away, or store a memory.", 'bethink store "Ann prefers dark mode" --namespace users/ann')}
      ${this.next && html`<p><button @click=${() => this.more().catch(failed)}>Show ${PAGE} more</button></p>`}`;
  }

  box(record) {
    return html`<input type="checkbox" aria-label=${`Choose: ${record.content.slice(0, 60)}`} .checked=${this.picked.has(record.id)} @change=${() => this.pick(record.id)}>`;
  }
}

define("memories-view", Memories);
