// The memories linked with a task, and a search for more.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { changedQuery, go, submitted } from "../core/router.js";
import { scope } from "../core/state.js";
import { html } from "../core/template.js";
import { announce, failed, toast } from "../core/toasts.js";
import { empty, row, rows } from "./rows.js";

const FOUND = 6;
const TASK_RECORDS = { tags: { $contains: "task" } };

/** Dispatches "change" after a link was made or removed. */
class TaskLinks extends View {
  static properties = ["place", "task", "readOnly"];

  path() {
    return `/tasks/${this.task.source}/${encodeURIComponent(this.task.id)}/memories`;
  }

  async read() {
    const { signal } = this.life;
    const asked = this.place.query.get("q") ?? this.task.title;
    const [linked, hits] = await Promise.all([
      api.get(this.path(), {}, signal),
      api.recall({ ...scope(), query: asked, k: FOUND, where: { $not: TASK_RECORDS } }, signal),
    ]);
    const known = new Set(linked.items.map((record) => record.id));
    return { asked, items: linked.items, found: hits.items.map((hit) => hit.memory).filter(({ id }) => !known.has(id)) };
  }

  link = (record) => api.send("PUT", this.path(), { body: { ids: [record.id] } });
  unlink = (record) => api.remove(this.path(), { query: { memory: record.id } });

  /** @param {string} text @param {(record: any) => Promise<unknown>} change @param {(record: any) => Promise<unknown>} back @param {any} record */
  async apply(text, change, back, record) {
    const run = async (step, told) => {
      await step(record);
      announce(told);
      this.dispatchEvent(new Event("change"));
    };
    await run(change, text).then(() => toast(text, { undo: () => run(back, "Undone") })).catch(failed);
    this.querySelector(".panel")?.focus();
  }

  /** @param {SubmitEvent} event */
  search(event) {
    go(changedQuery({ q: submitted(event).q }), { replace: true });
  }

  draw() {
    if (!this.loaded) return null;
    const button = (text, run, record) => (this.readOnly ? null : html`<button class="small" aria-label=${`${text}: ${record.content.slice(0, 60)}`} @click=${run}>${text}</button>`);
    const unlink = (record) => button("Unlink", () => this.apply("Memory unlinked", this.unlink, this.link, record), record);
    const link = (record) => button("Link", () => this.apply("Memory linked", this.link, this.unlink, record), record);
    return html`<div class="panel" tabindex="-1" role="group" aria-label="Memories of the task">
      ${this.items.length
        ? rows(this.items, (record) => row(record, { pick: unlink(record) }))
        : html`<p class="soft">${this.task.closed ? "No memory helped with this task." : "No linked memory yet. When the task is closed, each linked memory earns an outcome."}</p>`}
      <form class="tools" role="search" @submit=${(event) => this.search(event)}>
        <label class="wide">Memories that may help <input type="search" name="q" maxlength="2000" .value=${this.asked}></label><button>Search</button></form>
      ${this.found.length
        ? rows(this.found, (record) => row(record, { pick: link(record) }))
        : empty("No further memory matches. Ask in other words, or store a memory.", 'bethink store "Tar holds the planks"')}</div>`;
  }
}

define("task-links", TaskLinks);
