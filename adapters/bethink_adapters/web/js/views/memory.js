// One memory: the text, the fields, the past; edit, forget, judge, link.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { count, fixed, json, signed, when } from "../core/format.js";
import { keys } from "../core/keys.js";
import { go, href, memory } from "../core/router.js";
import { each, html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { changes, told } from "../parts/changes.js";
import { line } from "../parts/chart.js";
import "../parts/edit_form.js";
import { chained, lineage } from "../parts/lineage.js";
import "../parts/relations.js";
import { facts } from "../parts/rows.js";

const ENTRIES = 1000;
/** @type {[string, string, string][]} the outcome, the name of the button, the key */
const JUDGEMENTS = [["worked", "Helped", "u"], ["partial", "Helped partly", "p"], ["failed", "Misled", "d"]];

class Memory extends View {
  opened() {
    this.editing = false;
    keys([
      { key: "e", label: "Edit", run: () => this.edit(true) },
      ...JUDGEMENTS.map(([outcome, name, key]) => ({ key, label: `The memory ${name.toLowerCase()}`, run: () => this.judge(outcome) })),
    ], this.life.signal);
    super.opened();
  }

  async read() {
    const path = api.memoryPath(this.place.params.id);
    const { signal } = this.life;
    try {
      const [found, past, outcomes] = await Promise.all([
        api.getMemory(this.place.params.id, signal),
        api.get(`${path}/history`, { limit: ENTRIES }, signal),
        api.get(`${path}/outcomes`, {}, signal),
      ]);
      const chain = await lineage(found.record, signal);
      return { ...found, past: told(past.items), outcomes: outcomes.items, chain, missing: false };
    } catch (error) {
      if (!(error instanceof api.Problem) || error.status !== 404) throw error;
      return { missing: true };
    }
  }

  /** @param {boolean} editing */
  edit(editing) {
    this.editing = editing && this.record?.state === "live";
    this.update();
  }

  async forget() {
    const { id } = this.record;
    await undoable("Memory forgotten", [id], () => api.remove(api.memoryPath(id), { ifMatch: this.etag })).catch(failed);
    go(href("/memories"));
  }

  /** @param {string} outcome */
  async judge(outcome) {
    const { id } = this.record;
    await undoable(`Outcome recorded: ${outcome}`, [id], () => api.post(`${api.memoryPath(id)}/outcomes`, { outcome })).catch(failed);
    await this.load();
  }

  draw() {
    if (this.missing) return html`<div class="head"><h1>No such memory</h1></div><p>The memory was forgotten or erased, or the token does not reach the namespace.</p>`;
    const { record } = this;
    if (!record) return html`<h1>Memory</h1>`;
    const live = record.state === "live";
    return html`<div class="head"><h1>Memory</h1>${live && this.actions()}</div>
      <section>${this.editing ? this.form() : html`<p class="content">${record.content}</p>`}</section>
      <section class="facts">${facts(record)}</section>
      <section><h2>Fields</h2><dl>${each(this.fields(record), ([name]) => name, ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>
      ${this.judged()}${chained(this.chain, record.id)}
      ${live && html`<memory-relations .place=${this.place} .record=${record} @change=${() => this.load()}></memory-relations>`}
      <section><h2>History</h2><ol class="story">${each(this.past, (entry) => entry.seq, (entry) => this.entry(entry))}</ol></section>`;
  }

  actions() {
    return html`<div class="actions"><button @click=${() => this.edit(true)}>Edit</button>
      ${JUDGEMENTS.map(([outcome, name]) => html`<button @click=${() => this.judge(outcome)}>${name}</button>`)}
      <button @click=${() => this.forget()}>Forget</button></div>`;
  }

  form() {
    return html`<edit-form .record=${this.record} .etag=${this.etag} @done=${() => { this.edit(false); this.load(); }} @elsewhere=${() => this.load()}></edit-form>`;
  }

  fields(record) {
    return [
      ["id", html`<span class="id">${record.id}</span>`],
      ["created", when(record.created_at)],
      ["happened", when(record.occurred_at)],
      ["expires", record.expires_at !== null && when(record.expires_at)],
      ["importance", fixed(record.importance, 2)],
      ["confidence", fixed(record.confidence, 2)],
      ["outcome", signed(record.outcome)],
      ["recalled", `${record.access_count} times`],
      ["source", record.source],
      ["value", record.value !== null && html`<code>${json(record.value)}</code>`],
      ["metadata", Object.keys(record.metadata).length > 0 && html`<code>${json(record.metadata)}</code>`],
    ].filter(([, value]) => value);
  }

  /** The outcome over time: a line and a table. */
  judged() {
    if (!this.outcomes.length) return null;
    const points = this.outcomes.map(({ at, action, outcome }) => ({ at, value: outcome, name: when(at), text: `${action}, ${signed(outcome)}` }));
    const label = `Outcome after each of ${count(points.length)} judgements, now ${signed(this.record.outcome)}`;
    return html`<section><h2>Outcomes</h2>${line(points, { label, heads: ["When", "Outcome"], low: -1, high: 1 })}</section>`;
  }

  entry({ seq, action, at, changes: given, fields }) {
    return html`<li><strong>${action}</strong> <span class="soft">entry ${seq} · ${when(at)}</span>
      ${given.kind && html`<p>${given.kind} → <a class="id" href=${memory(given.target ?? "")}>${(given.target ?? "").slice(-8)}</a></p>`}
      ${given.reason && html`<p class="soft">${given.reason}</p>`}
      ${fields.length ? changes(fields) : given.content && html`<p>${given.content}</p>`}</li>`;
  }
}

define("memory-view", Memory);
