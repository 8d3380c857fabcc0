// Context: the block that a program puts into a prompt, at a budget of tokens.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { count, counted } from "../core/format.js";
import { changedQuery, go, submitted } from "../core/router.js";
import { scope } from "../core/state.js";
import { html } from "../core/template.js";
import { announce, failed, toast } from "../core/toasts.js";
import { empty, row, rowKeys, rows } from "../parts/rows.js";

const USUAL = 800;
const STEP = 50;
const SLIDER_END = 4000;
const MOST = 1_000_000;

/** The budget of the address, in tokens. @param {URLSearchParams} asked */
function wanted(asked) {
  const budget = Number(asked.get("budget") ?? USUAL);
  return Number.isInteger(budget) && budget >= 0 && budget <= MOST ? budget : USUAL;
}

class Context extends View {
  opened() {
    rowKeys(this, (hit) => hit.memory.id);
    super.opened();
  }

  async read() {
    const query = this.place.query.get("q") ?? "";
    const budget = wanted(this.place.query);
    const pack = (tokens) => api.get("/context", { ...scope(), query, budget_tokens: tokens }, this.life.signal);
    const [packed, roomy] = await Promise.all([pack(budget), pack(MOST)]);
    // What even the largest budget leaves out is left out for another reason than room.
    const repeated = new Set(roomy.left_out.map((hit) => hit.memory.id));
    return { query, budget, chosen: budget, packed, repeated, all: roomy.tokens, items: [...packed.results, ...packed.left_out], at: -1 };
  }

  async load() {
    await super.load();
    if (this.packed) announce(`${this.used()}, ${counted(this.packed.results.length, "memory", "memories")} in, ${count(this.packed.left_out.length)} left out`);
  }

  used() {
    return `${count(this.packed.tokens)} of ${counted(this.budget, "token")}`;
  }

  /** @param {SubmitEvent} event */
  search(event) {
    go(changedQuery({ q: submitted(event).q }));
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.packed.text);
      toast("Copied the block");
      announce("Copied the block");
    } catch (error) {
      failed(error);
    }
  }

  draw() {
    return html`<div class="head"><h1>Context</h1><p class="soft">${this.query
        ? "Looking here counts as no access."
        : html`Without a question: the newest and most important memories, as <code>bethink context</code> packs them.`}</p></div>
      <form class="tools" role="search" @submit=${(event) => this.search(event)}>
        <label class="wide">Question <input type="search" name="q" maxlength="2000" .value=${this.query ?? ""} placeholder="plan the week"></label>
        ${this.slider()}<button class="first">Pack</button></form>
      ${this.packed && (this.packed.text ? this.block() : html`<section>${this.nothing()}</section>`)}
      ${this.packed && this.rows("In the block", this.packed.results, 0)}
      ${this.packed && this.rows("Left out", this.packed.left_out, this.packed.results.length)}`;
  }

  slider() {
    const asked = wanted(this.place.query);
    const chosen = this.chosen ?? asked;
    // The first step is the rest of the budget by the step: each budget of an address is a step.
    return html`<label class="wide">Budget: ${counted(chosen, "token")}
      <input type="range" name="budget" aria-label="Budget" aria-valuetext=${counted(chosen, "token")}
        min=${asked % STEP} max=${Math.max(SLIDER_END, asked)} step=${STEP} .value=${String(chosen)}
        @input=${(event) => { this.chosen = Number(event.target.value); this.update(); }}
        @change=${(event) => go(changedQuery({ budget: event.target.value }), { replace: true })}></label>`;
  }

  block() {
    const { tokens, text } = this.packed;
    return html`<section><div class="head used"><p>${this.used()}</p><button @click=${() => this.copy()}>Copy</button></div>
      <div class="bar" role="meter" aria-label="Tokens used" aria-valuemin="0" aria-valuenow=${tokens} aria-valuemax=${this.budget} aria-valuetext=${this.used()}>
        <i class="s0" .style=${{ width: `${(100 * tokens) / this.budget}%` }}></i></div>
      <pre class="block" tabindex="0" role="region" aria-label="Block">${text}</pre></section>`;
  }

  nothing() {
    if (this.items.length) return empty(`No memory fits into ${counted(this.budget, "token")}. A larger budget holds more, here and on the command line.`, `bethink context --budget ${USUAL}`);
    if (this.query) return empty("Nothing relevant. Without a question the newest and most important memories are packed.", "bethink context");
    return empty("No memory to pack. Store one, then pack a block for a prompt.", 'bethink store "Deployments happen on Tuesdays"');
  }

  /** @param {string} title @param {any[]} hits @param {number} start of *hits* among the items */
  rows(title, hits, start) {
    if (!hits.length) return null;
    const left = hits === this.packed.left_out;
    return html`<section><h2>${title}: ${count(hits.length)}${left && this.all > this.budget && ` · ${counted(this.all, "token")} leave room for all`}</h2>
      ${rows(hits, (hit, index) => row(hit.memory, { now: start + index === this.at, inside: left && html`<p class="why soft">${this.reason(hit)}</p>` }))}</section>`;
  }

  /** Why *hit* is left out. @param {any} hit */
  reason(hit) {
    if (hit.score <= 0) return "Scores nothing";
    return this.repeated.has(hit.memory.id) ? "Repeats another memory" : "No room within the budget";
  }
}

define("context-view", Context);
