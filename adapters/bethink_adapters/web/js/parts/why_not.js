// Why a memory is missing from an answer: choose the memory by words or id, read the reason.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { fixed } from "../core/format.js";
import { changedQuery, go, submitted } from "../core/router.js";
import { html } from "../core/template.js";
import { row, rows } from "./rows.js";
import { score } from "./score.js";

const FOUND = 6;
const ID = /^[0-9a-f]{32}$/;

class WhyNot extends View {
  static properties = ["place", "body", "modes"];

  async read() {
    const { query } = this.place;
    const [why, find] = [query.get("why"), query.get("find")];
    const [told, found] = await Promise.all([why ? this.told(why) : {}, find ? this.search(find) : []]);
    return { reasons: [], record: null, fault: null, ...told, found, why };
  }

  /** The reasons of the API, one for each way to search. @param {string} id */
  async told(id) {
    const { signal } = this.life;
    const ask = (mode) => api.post(`${api.memoryPath(id)}/why`, { ...this.body, mode }, { signal });
    try {
      const [reasons, record] = await Promise.all([Promise.all(this.modes.map(ask)), api.post("/get", { ids: [id] }, { signal })]);
      return { reasons: reasons.map((reason, index) => ({ ...reason, mode: this.modes[index] })), record: record.items[0] };
    } catch (error) {
      if (!(error instanceof api.Problem) || error.status === 401) throw error;
      return { fault: error.message };
    }
  }

  /** @param {string} words */
  async search(words) {
    const { namespace, subtree } = this.body;
    const { items } = await api.recall({ namespace, subtree, query: words, k: FOUND }, this.life.signal);
    return items.map((hit) => hit.memory);
  }

  /** @param {SubmitEvent} event */
  submit(event) {
    const { find } = submitted(event);
    go(changedQuery(ID.test(find) ? { why: find, find: null } : { find, why: null }), { replace: true });
  }

  draw() {
    if (!this.loaded) return null;
    const asked = this.place.query.get("find") ?? this.why ?? "";
    const pick = (record) => html`<a class="button small" href=${changedQuery({ why: record.id })} aria-label=${`Why not: ${record.content.slice(0, 60)}`} aria-current=${record.id === this.why && "true"}>Why</a>`;
    return html`<section class="panel why-not"><h2>Why not this one?</h2>
      <form class="tools" @submit=${(event) => this.submit(event)}>
        <label class="wide">A memory that you miss, by words or id <input name="find" maxlength="2000" .value=${asked}></label><button>Look</button></form>
      ${this.fault && html`<p class="bad" role="alert">${this.fault}</p>`}
      ${this.reasons.length > 0 && html`<div role="status">${this.record && html`<p>${this.record.content}</p>`}${this.reasons.map((reason) => this.reason(reason))}</div>`}
      ${this.found.length > 0 && rows(this.found, (record) => row(record, { pick: pick(record) }))}
      ${this.place.query.has("find") && !this.found.length && html`<p class="soft">No live memory is found by these words. The id of a memory finds each memory.</p>`}</section>`;
  }

  reason({ mode, reason, rank, score: sum, explanation, detail }) {
    const placed = rank === null ? "" : `, at rank ${rank}`;
    const scored = sum === null ? "" : ` with a score of ${fixed(sum)}`;
    return html`<p class="reason"><strong>${mode}</strong> ${reason}${placed}${scored}${detail && ` (${detail})`}</p>${explanation && score(explanation)}`;
  }
}

define("why-not", WhyNot);
