// Recall: search in three ways, side by side, and see from what each score is made.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { changedQuery, go, submitted } from "../core/router.js";
import { scope } from "../core/state.js";
import { each, html } from "../core/template.js";
import { choice } from "../parts/addressed.js";
import { empty, row, rowKeys, rows } from "../parts/rows.js";
import { compared, score } from "../parts/score.js";
import "../parts/why_not.js";

const MODES = ["hybrid", "keyword", "semantic"];
const ALL = "all";
const COUNTS = ["5", "10", "20", "50"];
const USUAL_COUNT = "10";

/** The ways to search that the address names. @param {URLSearchParams} asked */
function chosen(asked) {
  const mode = asked.get("mode") ?? MODES[0];
  return mode === ALL ? MODES : [mode];
}

/** The question of the address, as the API takes it; raises SyntaxError for a filter that is no JSON.
 * @param {URLSearchParams} asked */
function question(asked) {
  const where = asked.get("where");
  return {
    ...scope(),
    query: asked.get("q") ?? "",
    k: Number(asked.get("k") ?? USUAL_COUNT),
    min_score: Number(asked.get("min_score") ?? 0),
    as_of: asked.get("as_of"),
    where: where ? JSON.parse(where) : null,
  };
}

const pickOf = ({ mode, memory }) => `${mode}:${memory.id}`;

class Recall extends View {
  opened() {
    rowKeys(this, (hit) => hit.memory.id, [
      { key: "x", label: "Choose the hit to compare", run: () => this.items[this.at] && this.pick(this.items[this.at]) },
    ]);
    super.opened();
  }

  async read() {
    const asked = this.place.query;
    try {
      const body = question(asked);
      const found = body.query.trim() ? await Promise.all(chosen(asked).map((mode) => this.search(mode, body))) : [];
      const text = JSON.stringify([body, chosen(asked)]);
      return { body, found, text, items: found.flatMap(({ hits }) => hits), at: text === this.text ? this.at : -1, fault: null };
    } catch (error) {
      if (error instanceof SyntaxError) return { items: [], found: [], fault: `The filter is no JSON. ${error.message}` };
      throw error;
    }
  }

  /** The hits of one way to search, or the reason why there are none. @param {string} mode @param {any} body */
  async search(mode, body) {
    try {
      const { items } = await api.recall({ ...body, mode }, this.life.signal);
      return { mode, hits: items.map((hit) => ({ ...hit, mode })) };
    } catch (error) {
      if (!(error instanceof api.Problem) || error.status === 401) throw error;
      return { mode, hits: [], fault: error.message };
    }
  }

  /** Choose a hit to compare, or no more; the last two are compared. */
  pick(hit) {
    const name = pickOf(hit);
    const before = this.place.query.getAll("pick");
    const after = before.includes(name) ? before.filter((other) => other !== name) : [...before, name].slice(-2);
    go(changedQuery({ pick: after }), { replace: true });
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    const { q, as_of, min_score, where } = submitted(event);
    go(changedQuery({ q, as_of, min_score, where, pick: null }));
  }

  draw() {
    const { query } = this.place;
    return html`<div class="head"><h1>Recall</h1><p class="soft">Looking here counts as no access.</p></div>
      ${this.form(query)}
      ${this.fault && html`<p class="bad" role="alert">${this.fault}</p>`}
      ${compared(this.items.filter((hit) => query.getAll("pick").includes(pickOf(hit))))}
      ${this.body?.query.trim()
        ? html`${this.lists()}<why-not .place=${this.place} .body=${this.body} .modes=${chosen(query)}></why-not>`
        : !this.fault && empty("Ask a question. The command line gives the same hits.", 'bethink recall "when do we deploy?"')}`;
  }

  form(asked) {
    const modes = MODES.map((name) => /** @type {[string, string]} */ ([name, name]));
    return html`<form class="tools" role="search" @submit=${(event) => this.submit(event)}>
        <label class="wide">Question <input type="search" name="q" .value=${asked.get("q") ?? ""} placeholder="when do we deploy?"></label>
        ${choice(asked, "mode", "Mode", [...modes, [ALL, "all, side by side"]], MODES[0])}
        ${choice(asked, "k", "Hits", COUNTS.map((name) => [name, name]), USUAL_COUNT)}
        <label>Least score <input type="number" name="min_score" min="0" step="any" .value=${asked.get("min_score") ?? ""} placeholder="0"></label>
        <label>As of <input name="as_of" .value=${asked.get("as_of") ?? ""} placeholder="now, or #12"></label>
        <label class="wide">Filter <input name="where" class="id" spellcheck="false" .value=${asked.get("where") ?? ""} placeholder='{"category": "fact"}'></label>
        <button class="first">Search</button></form>`;
  }

  lists() {
    return html`<div class=${this.found.length > 1 ? "columns lists" : "lists"}>${each(this.found, ({ mode }) => mode, (list) => html`
      <section aria-label=${list.mode}>${this.found.length > 1 && html`<h2>${list.mode}</h2>`}
        ${list.fault ? html`<p class="bad" role="alert">${list.fault}</p>` : this.hits(list.hits)}</section>`)}</div>`;
  }

  hits(hits) {
    if (!hits.length) return empty("Nothing relevant. Look below why a memory is missing.");
    return rows(hits, (hit) => row(hit.memory, {
      now: hit === this.items[this.at], pick: this.box(hit), inside: score(hit.explanation) }));
  }

  box(hit) {
    const picked = this.place.query.getAll("pick").includes(pickOf(hit));
    return html`<input type="checkbox" aria-label=${`Compare: ${hit.memory.content.slice(0, 60)}`} .checked=${picked} @change=${() => this.pick(hit)}>`;
  }
}

define("recall-view", Recall);
