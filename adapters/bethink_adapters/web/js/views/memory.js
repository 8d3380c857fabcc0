// One memory: the text, the fields, the past; edit, forget, judge.

import * as api from "../core/api.js";
import { define } from "../core/element.js";
import { fixed, json, signed, when } from "../core/format.js";
import { keys } from "../core/keys.js";
import { go, href, memory } from "../core/router.js";
import { each, html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { View } from "../core/view.js";
import { facts } from "../parts/rows.js";
import { marked } from "../parts/words.js";

class Memory extends View {
  opened() {
    keys([
      { key: "e", label: "Edit", run: () => this.edit() },
      { key: "u", label: "The memory helped", run: () => this.judge("worked") },
      { key: "d", label: "The memory misled", run: () => this.judge("failed") },
    ], this.life.signal);
    super.opened();
  }

  async read() {
    const { id } = this.place.params;
    try {
      const [found, past] = await Promise.all([
        api.getMemory(id, this.life.signal),
        api.get(`${api.memoryPath(id)}/history`, { limit: 50 }, this.life.signal),
      ]);
      return { ...found, past: past.items, missing: false };
    } catch (error) {
      if (!(error instanceof api.Problem) || error.status !== 404) throw error;
      return { missing: true };
    }
  }

  edit() {
    Object.assign(this, { draft: this.record.content, other: null });
    this.update();
    queueMicrotask(() => queueMicrotask(() => this.querySelector("textarea")?.focus()));
  }

  async save() {
    const { id } = this.record;
    const content = this.querySelector("textarea").value;
    const tags = this.querySelector("input[name=tags]").value.split(",").map((tag) => tag.trim()).filter(Boolean);
    try {
      await undoable("Memory changed", [id], () => api.patch(api.memoryPath(id), { content, tags }, { ifMatch: this.etag }));
      Object.assign(this, { draft: null, other: null });
    } catch (error) {
      if (!(error instanceof api.Problem) || error.status !== 412) return failed(error);
      Object.assign(this, { draft: content, other: true });
    }
    return this.load();
  }

  async forget() {
    const { id } = this.record;
    await undoable("Memory forgotten", [id], () => api.remove(api.memoryPath(id), { ifMatch: this.etag })).catch(failed);
    go(href("/memories"));
  }

  async judge(outcome) {
    const { id } = this.record;
    await undoable(`Outcome recorded: ${outcome}`, [id], () => api.post(`${api.memoryPath(id)}/outcomes`, { outcome })).catch(failed);
    await this.load();
  }

  draw() {
    if (this.missing) return html`<div class="head"><h1>No such memory</h1></div><p>The memory was forgotten or erased, or the token does not reach the namespace.</p>`;
    const { record } = this;
    if (!record) return html`<h1>Memory</h1>`;
    return html`<div class="head"><h1>Memory</h1><div class="actions">
        <button @click=${() => this.edit()}>Edit</button><button @click=${() => this.judge("worked")}>Helped</button>
        <button @click=${() => this.judge("failed")}>Misled</button><button @click=${() => this.forget()}>Forget</button></div></div>
      <section>${this.draft == null ? html`<p class="content">${record.content}</p>` : this.form(record)}</section>
      <section class="facts">${facts(record)}</section>
      <section><h2>Fields</h2><dl>${each(this.fields(record), ([name]) => name, ([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>
      <section><h2>History</h2><ol class="story">${each(this.past, (entry) => entry.seq, (entry) => html`
        <li><strong>${entry.action}</strong> <span class="soft">entry ${entry.seq} · ${when(entry.at)}</span>${entry.changes?.content && html`<p>${entry.changes.content}</p>`}</li>`)}</ol></section>`;
  }

  fields(record) {
    return [
      ["id", html`<span class="id">${record.id}</span>`],
      ["created", when(record.created_at)],
      ["happened", when(record.occurred_at)],
      ["importance", fixed(record.importance, 2)],
      ["confidence", fixed(record.confidence, 2)],
      ["outcome", signed(record.outcome)],
      ["recalled", `${record.access_count} times`],
      ["replaced by", record.superseded_by && html`<a class="id" href=${memory(record.superseded_by)}>${record.superseded_by}</a>`],
      ["value", record.value !== null && html`<code>${json(record.value)}</code>`],
      ["metadata", Object.keys(record.metadata).length > 0 && html`<code>${json(record.metadata)}</code>`],
    ].filter(([, value]) => value);
  }

  form(record) {
    return html`<form class="sheet" @submit=${(event) => { event.preventDefault(); this.save(); }}>
      ${this.other && html`<p class="bad" role="alert">Changed elsewhere meanwhile. The text there: <br>${marked(record.content, this.draft)}</p>`}
      <label>Text <textarea .value=${this.draft}></textarea></label>
      <label>Tags, separated by commas <input name="tags" value=${record.tags.join(", ")}></label>
      <p class="actions"><button class="first">Save</button><button type="button" @click=${() => { this.draft = null; this.update(); }}>Cancel</button></p></form>`;
  }
}

define("memory-view", Memory);
