// Activity: the journal as it grows, with an undo for each entry.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { iso, when } from "../core/format.js";
import { memory } from "../core/router.js";
import { saving } from "../core/save.js";
import { scope, shared, values } from "../core/state.js";
import { each, html } from "../core/template.js";
import { failed, toast, undo } from "../core/toasts.js";
import { choice } from "../parts/addressed.js";
import { empty, rowKeys } from "../parts/rows.js";

const PAGE = 100;
const MOST = 1000; // entries of a saved list
const FINAL = new Set(["touch", "snapshot", "erase"]);

class Activity extends View {
  opened() {
    rowKeys(this, (entry) => entry.id);
    this.listen(shared, "journal", () => this.paused || this.load());
    this.listen(shared, "change", () => this.update());
    super.opened();
  }

  async read() {
    const { items } = await api.get("/log", { ...scope(), limit: PAGE }, this.life.signal);
    const action = this.place.query.get("action");
    this.keep = (entry) => !action || entry.action === action;
    return { all: items, items: items.filter(this.keep) };
  }

  async undo(entry) {
    await undo([entry.seq]).then(() => toast(`Entry ${entry.seq} undone`)).catch(failed);
  }

  draw() {
    const actions = [...new Set((this.all ?? []).map((entry) => entry.action))].sort();
    return html`<div class="head"><h1>Activity</h1><p class="soft">${values.live ? "live" : "connecting"} ${this.items.length > 0 && saving("/log", { ...scope(), limit: MOST }, this.keep)}</p></div>
      <div class="tools">${choice(this.place.query, "action", "Action", [["", "all"], ...actions.map((name) => [name, name])])}
        <button @click=${() => { this.paused = !this.paused; this.load(); }}>${this.paused ? "Go on" : "Pause"}</button></div>
      ${this.items.length
        ? html`<ul class="rows">${each(this.items, (entry) => entry.seq, (entry, index) => html`<li ?data-now=${index === this.at}>
            <span class="id soft">${entry.seq}</span><div><strong>${entry.action}</strong> ${entry.id && html`<a class="id" href=${memory(entry.id)}>${entry.id.slice(-8)}</a>`} <span class="soft">${entry.namespace}</span></div>
            <time class="when" datetime=${iso(entry.at)}>${when(entry.at)}</time>
            ${entry.changes?.content && html`<p class="facts">${entry.changes.content}</p>`}
            ${!FINAL.has(entry.action) && html`<div class="facts"><button class="plain" @click=${() => this.undo(entry)}>Undo</button></div>`}</li>`)}</ul>`
        : this.loaded && empty("The journal is empty.", 'bethink store "Deployments happen on Tuesdays"')}`;
  }
}

define("activity-view", Activity);
