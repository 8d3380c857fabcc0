// Recall: search in three modes, and see from what each score is made.

import * as api from "../core/api.js";
import { define } from "../core/element.js";
import { changedQuery, go } from "../core/router.js";
import { scope } from "../core/state.js";
import { each, html } from "../core/template.js";
import { View } from "../core/view.js";
import { choice } from "../parts/choice.js";
import { empty, row, rowKeys } from "../parts/rows.js";
import { score } from "../parts/score.js";

const MODES = ["hybrid", "keyword", "semantic"];
const COUNTS = ["5", "10", "20", "50"];
const USUAL_COUNT = "10";

class Recall extends View {
  opened() {
    rowKeys(this, (hit) => hit.memory.id);
    super.opened();
  }

  async read() {
    const asked = this.place.query;
    const query = asked.get("q") ?? "";
    const body = { ...scope(), query, k: Number(asked.get("k") ?? USUAL_COUNT), mode: asked.get("mode") ?? MODES[0], touch: false };
    if (asked.get("as_of")) body.as_of = asked.get("as_of");
    const found = query.trim() ? await api.post("/recall", body, { signal: this.life.signal }) : { items: [] };
    return { query, items: found.items, at: -1 };
  }

  /** @param {SubmitEvent} event */
  search(event) {
    event.preventDefault();
    const { elements } = /** @type {HTMLFormElement} */ (event.target);
    elements["q"].blur();
    go(changedQuery({ q: elements["q"].value, as_of: elements["as_of"].value.trim() }));
  }

  draw() {
    const asked = this.place.query;
    return html`<div class="head"><h1>Recall</h1><p class="soft">Looking here counts as no access.</p></div>
      <form class="tools" role="search" @submit=${(event) => this.search(event)}>
        <label class="wide">Question <input type="search" name="q" .value=${this.query ?? ""} placeholder="when do we deploy?"></label>
        ${choice(asked, "mode", "Mode", MODES.map((name) => [name, name]), MODES[0])}
        ${choice(asked, "k", "Hits", COUNTS.map((name) => [name, name]), USUAL_COUNT)}
        <label>As of <input name="as_of" .value=${asked.get("as_of") ?? ""} placeholder="now, or #12"></label>
        <button class="first">Search</button></form>
      ${this.items.length
        ? html`<ul class="rows">${each(this.items, (hit) => hit.memory.id, (hit, index) => row(hit.memory, { now: index === this.at, inside: score(hit.explanation) }))}</ul>`
        : this.query ? empty("Nothing relevant. No memory is returned for recency or importance alone.") : empty("Ask a question. The command line gives the same hits.", 'bethink recall "when do we deploy?"')}`;
  }
}

define("recall-view", Recall);
