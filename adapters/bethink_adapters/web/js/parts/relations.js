// The links of a memory: follow, remove, add by a search.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { changedQuery, go, submitted } from "../core/router.js";
import { scope } from "../core/state.js";
import { html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { row, rows } from "./rows.js";

const FOUND = 6;
const KINDS = ["about", "depends on", "fixes", "follows", "used"];
const ID = /^[0-9a-f]{32}$/;

/** Dispatches "change" after a link was made or removed. */
class MemoryRelations extends View {
  static properties = ["place", "record"];

  async read() {
    const { signal } = this.life;
    const words = this.place.query.get("link") ?? "";
    const [{ items }, found] = await Promise.all([api.get(`${api.memoryPath(this.record.id)}/relations`, {}, signal), this.found(words)]);
    return { items, words, candidates: found.filter(({ id }) => id !== this.record.id) };
  }

  /** The memories that the words, or the id, name. @param {string} words */
  async found(words) {
    const { signal } = this.life;
    if (ID.test(words)) return (await api.post("/get", { ids: [words] }, { signal })).items.filter(Boolean);
    if (!words.trim()) return [];
    const { items } = await api.recall({ ...scope(), query: words, k: FOUND }, signal);
    return items.map((hit) => hit.memory);
  }

  /** @param {string} text @param {string} source whose entry the journal gets @param {() => Promise<unknown>} change */
  async apply(text, source, change) {
    await undoable(text, [source], change).catch(failed);
    await this.load();
    this.dispatchEvent(new Event("change"));
    this.querySelector("section")?.focus();
  }

  add(target) {
    const input = /** @type {HTMLInputElement} */ (this.querySelector("input[name=kind]"));
    if (!input.reportValidity()) return;
    const path = `${api.memoryPath(this.record.id)}/relations`;
    this.apply("Link added", this.record.id, () => api.send("PUT", path, { body: { target: target.id, kind: input.value.trim() } }));
  }

  drop({ memory: other, kind, direction }) {
    const [source, target] = direction === "out" ? [this.record, other] : [other, this.record];
    const path = `${api.memoryPath(source.id)}/relations`;
    this.apply("Link removed", source.id, () => api.remove(path, { query: { target: target.id, kind } }));
  }

  /** @param {SubmitEvent} event */
  search(event) {
    go(changedQuery({ link: submitted(event).link }), { replace: true });
  }

  draw() {
    if (!this.loaded) return null;
    const short = ({ content }) => content.slice(0, 60);
    const remove = (each) => html`<button class="small" aria-label=${`Remove: ${each.kind} ${short(each.memory)}`} @click=${() => this.drop(each)}>Remove</button>`;
    const link = (record) => html`<button class="small" aria-label=${`Link: ${short(record)}`} @click=${() => this.add(record)}>Link</button>`;
    return html`<section tabindex="-1" aria-label="Links"><h2>Links</h2>
      ${this.items.length > 0 && rows(this.items, (link) => row(link.memory, {
        pick: remove(link), inside: html`<p class="why soft">${link.direction === "out" ? `${link.kind} → this memory` : `${link.kind} ← from this memory`}</p>` }))}
      <form class="tools" @submit=${(event) => this.search(event)}>
        <label>Kind of a new link <input name="kind" list="kinds" maxlength="64" required value="about"></label>
        <datalist id="kinds">${KINDS.map((kind) => html`<option value=${kind}></option>`)}</datalist>
        <label class="wide">To a memory, by words or id <input name="link" maxlength="2000" .value=${this.words}></label><button>Look</button></form>
      ${this.candidates.length > 0 && rows(this.candidates, (record) => row(record, { pick: link(record) }))}
      ${this.words && !this.candidates.length && html`<p class="soft">No other memory matches.</p>`}</section>`;
  }
}

define("memory-relations", MemoryRelations);
