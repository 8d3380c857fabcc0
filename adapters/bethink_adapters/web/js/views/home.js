// Home: what the file holds, the newest memories, the state of the file.

import * as api from "../core/api.js";
import { define } from "../core/element.js";
import { ago, bytes, count } from "../core/format.js";
import { href } from "../core/router.js";
import { scope, shared } from "../core/state.js";
import { each, html } from "../core/template.js";
import { View } from "../core/view.js";
import { empty, row, rowKeys } from "../parts/rows.js";

const STATES = ["live", "superseded", "archived", "expired"];
const LONGEST = 8;
const NEWEST = 6;

class Home extends View {
  opened() {
    rowKeys(this, (record) => record.id);
    this.listen(shared, "journal", () => this.load());
    super.opened();
  }

  async read() {
    const [page, stats] = await Promise.all([api.get("/memories", { ...scope(), limit: NEWEST }), readStats()]);
    return { items: page.items, stats };
  }

  draw() {
    const { stats } = this;
    if (!stats) return html`<h1>Home</h1>`;
    return html`<div class="head"><h1>Home</h1>${stats.journal_length !== undefined && html`<p class="soft">${bytes(stats.bytes)} · ${count(stats.journal_length)} journal entries${stats.last_change && ` · changed ${ago(stats.last_change)}`}</p>`}</div>
      <section class="figures" aria-label="Counts">${STATES.filter((state) => state in stats.states).map((state) => html`
        <a href=${href("/memories", { state: state === "live" ? null : state })}><strong>${count(stats.states[state])}</strong><span class="soft">${state}</span></a>`)}</section>
      <div class="columns">
        ${this.shares("By namespace", stats.namespaces, (name) => href("/memories", { ns: name }))}
        ${stats.categories && this.shares("By category", stats.categories, (category) => href("/memories", { category }))}
      </div>
      <section><h2>Newest</h2>${this.items.length
        ? html`<ul class="rows">${each(this.items, (record) => record.id, (record) => row(record, { now: record === this.items[this.at] }))}</ul>`
        : empty("No memory yet. Store one from the command line, or from a program.", 'bethink store "Deployments happen on Tuesdays"')}</section>`;
  }

  /** @param {string} title @param {Record<string, number>} counts @param {(name: string) => string} link */
  shares(title, counts, link) {
    const sorted = Object.entries(counts).sort(([, one], [, two]) => two - one);
    if (!sorted.length) return null;
    return html`<section><h2>${title}</h2><ul class="shares">${each(sorted.slice(0, LONGEST), ([name]) => name, ([name, number]) => html`
      <li><a href=${link(name)}><span>${name}</span><span class="soft">${count(number)}</span>
        <div class="track"><i .style=${{ width: `${(100 * number) / sorted[0][1]}%` }}></i></div></a></li>`)}</ul>
      ${sorted.length > LONGEST && html`<p class="soft">and ${count(sorted.length - LONGEST)} more</p>`}</section>`;
  }
}

/** The counts of the file; a token for some namespaces sees only these. */
async function readStats() {
  try {
    return await api.get("/stats");
  } catch (error) {
    if (!(error instanceof api.Problem) || error.status !== 403) throw error;
    const { namespaces } = await api.get("/namespaces");
    return { namespaces, states: { live: Object.values(namespaces).reduce((one, two) => one + two, 0) } };
  }
}

define("home-view", Home);
