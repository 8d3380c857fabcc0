// Conflicts: pairs of memories that can hardly both hold; keep one of each pair.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { when } from "../core/format.js";
import { memory } from "../core/router.js";
import { saving } from "../core/save.js";
import { scope } from "../core/state.js";
import { each, html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { empty, rowKeys } from "../parts/rows.js";
import { marked } from "../parts/changes.js";

const PAGE = 100; // as the count of the navigation: the server answers equal questions once
const MOST = 1000; // pairs of a saved list

class Conflicts extends View {
  opened() {
    rowKeys(this, (pair) => pair.newer.id, [
      { key: "1", label: "Keep the older", run: () => this.keepOne("older") },
      { key: "2", label: "Keep the newer", run: () => this.keepOne("newer") },
    ]);
    super.opened();
  }

  async read() {
    const { items } = await api.get("/conflicts", { ...scope(), limit: PAGE }, this.life.signal);
    return { items, at: Math.min(this.at, items.length - 1) };
  }

  /** @param {"older" | "newer"} side @param {any} [pair] */
  async keepOne(side, pair = this.items[this.at]) {
    if (!pair) return;
    const [kept, dropped] = side === "older" ? [pair.older, pair.newer] : [pair.newer, pair.older];
    const change = async () => {
      await api.post("/resolve", { keep: kept.id, drop: [dropped.id] });
      this.items = this.items.filter(({ older, newer }) => ![older.id, newer.id].includes(dropped.id));
      this.update(); // before the next search
    };
    await undoable(`Kept the ${side} memory`, [kept.id, dropped.id], change).catch(failed);
    await this.load();
  }

  draw() {
    const side = (name, record, other) => html`<article><span class="soft">${name} · ${when(record.created_at)} · ${record.namespace}</span>
      <a class="content" href=${memory(record.id)}>${marked(record.content, other.content)}</a></article>`;
    return html`<div class="head"><h1>Conflicts</h1><p class="soft">${this.loaded && this.items.length > 0 && html`<kbd>j</kbd> <kbd>k</kbd> move, <kbd>1</kbd> <kbd>2</kbd> keep ${saving("/conflicts", { ...scope(), limit: MOST })}`}</p></div>
      ${this.items.length
        ? each(this.items, (pair) => pair.older.id + pair.newer.id, (pair, index) => html`<div class="pair" ?data-now=${index === this.at}>
          ${side("Older", pair.older, pair.newer)}${side("Newer", pair.newer, pair.older)}
          <div class="actions"><button @click=${() => this.keepOne("older", pair)}>Keep older</button><button @click=${() => this.keepOne("newer", pair)}>Keep newer</button>
            <span class="soft">${pair.tier}${pair.reason && `: ${pair.reason}`}</span></div></div>`)
        : this.loaded && empty("No two memories contradict each other.", "bethink conflicts")}`;
  }
}

define("conflicts-view", Conflicts);
