// What closed tasks say of the linked memories: a preview, then the recorded outcomes.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { counted } from "../core/format.js";
import { changedQuery, go, memory } from "../core/router.js";
import { html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { empty } from "./rows.js";

class TaskOutcomes extends View {
  static properties = ["place", "tasks"];

  opened() {
    this.recorded = null;
    this.listen(window, "bethink-undone", () => (this.recorded = null));
    super.opened();
  }

  async read() {
    return { items: this.recorded ?? (await this.sync(true)) };
  }

  /** @param {boolean} dry record nothing */
  async sync(dry) {
    const body = { dry_run: dry, allow_failed: this.place.query.has("failed") };
    const { items } = await api.post("/tasks/sync", body, { signal: this.life.signal });
    const { items: memories } = await api.post("/get", { ids: items.map((verdict) => verdict.memory) });
    return items.map((verdict, index) => ({ ...verdict, content: memories[index]?.content ?? verdict.memory }));
  }

  /** The task of a verdict. */
  task(verdict) {
    return this.tasks.find((task) => `task:${task.source}:${task.id}` === verdict.task);
  }

  /** Record the outcomes; Undo also takes back that the tasks were counted. */
  async record() {
    const ids = this.items.flatMap((verdict) => [verdict.memory, this.task(verdict)?.record]);
    const told = (items) => `${counted(items.filter((verdict) => verdict.recorded).length, "outcome")} recorded`;
    await undoable(told, ids, async () => (this.recorded = await this.sync(false))).catch(failed);
    await this.load();
  }

  draw() {
    if (!this.loaded) return null;
    const { items, recorded } = this;
    const close = html`<a class="button" href=${changedQuery({ sync: null, failed: null })}>Close</a>`;
    return html`<section class="panel" aria-label="Outcomes of closed tasks"><h2>${recorded ? "Recorded" : "Outcomes of closed tasks"}</h2>
      ${items.length
        ? html`<ul class="rows">${items.map((verdict) => this.row(verdict))}</ul>`
        : empty("Nothing to record: each closed task with linked memories has been counted.", "bethink tasks sync --dry-run")}
      ${!recorded && html`<label class="check"><input type="checkbox" name="failed" .checked=${this.place.query.has("failed")}
        @change=${(event) => go(changedQuery({ failed: event.target.checked ? 1 : null }), { replace: true })}> Tasks closed as failed or reverted count against the memories</label>`}
      <p class="actions">${recorded
        ? html`<button @click=${() => { this.recorded = null; this.load(); }}>Preview again</button>`
        : items.length > 0 && html`<button class="first" @click=${() => this.record()}>Record ${counted(items.length, "outcome")}</button>`}${close}</p></section>`;
  }

  row(verdict) {
    const kept = this.recorded && !verdict.recorded;
    return html`<li><span class="verdict ${verdict.verdict === "worked" ? "good" : "bad"}">${verdict.verdict}</span>
      <a class="text" href=${memory(verdict.memory)}>${verdict.content}</a><span></span>
      <div class="facts"><span>by the task “${this.task(verdict)?.title ?? verdict.task}”</span>${kept && html`<span class="bad">not recorded: too many failures this hour, or the memory is gone</span>`}</div></li>`;
  }
}

define("task-outcomes", TaskOutcomes);
