// Tasks: the lists of Beads and Claude Code, with the memories that help with each task.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { ago, count, counted, iso } from "../core/format.js";
import { changedQuery, go } from "../core/router.js";
import { saving } from "../core/save.js";
import { each, html } from "../core/template.js";
import { choice } from "../parts/addressed.js";
import { empty, rowKeys } from "../parts/rows.js";
import "../parts/task_links.js";
import "../parts/task_outcomes.js";

/** @type {[string, string][]} */
const SOURCES = [["beads", "Beads"], ["claude-tasks", "Claude Code tasks"], ["claude-todos", "Claude Code todos"]];
const STATES = ["progress", "open", "blocked", "closed"];
const OLD_SECONDS = 3600;

const keyOf = (task) => `${task.source}:${task.id}`;
/** An id of Claude Code is made of long random parts, whose beginnings tell tasks apart. @param {string} source @param {string} id */
const short = (source, id) => (source === "beads" ? id : id.split("/").map((part) => part.slice(0, 8)).join("/"));

/** One of STATES; each source has words of its own. */
function stateOf(task) {
  if (task.closed) return "closed";
  if (task.blocked_by.length || task.status === "blocked") return "blocked";
  return task.status === "in_progress" ? "progress" : "open";
}

/** Tasks by source, then work under way first, then the newest change first. */
function sorted(tasks) {
  const sources = SOURCES.map(([source]) => source);
  const place = (task) => sources.indexOf(task.source) * STATES.length + STATES.indexOf(stateOf(task));
  return tasks.sort((one, two) => place(one) - place(two) || (two.updated_at ?? 0) - (one.updated_at ?? 0));
}

class Tasks extends View {
  opened() {
    rowKeys(this, keyOf, [
      { key: "Enter", label: "Open or close the task", run: () => this.items[this.at] && go(this.toggled(this.items[this.at])) },
      { key: "l", label: "Look for a memory to link", run: () => this.querySelector("task-links input")?.select() },
      { key: "s", label: "Preview outcomes", run: () => go(changedQuery({ sync: 1 })) },
      { key: "Escape", label: "Close what is open", run: () => go(changedQuery({ sync: null, failed: null, task: null, q: null })) },
    ]);
    super.opened();
  }

  async read() {
    const { query } = this.place;
    const { signal } = this.life;
    const rights = await api.get("/token", {}, signal);
    if (rights.namespaces.length) return { rights };
    const listing = await api.get("/tasks", { closed: true }, signal);
    const all = sorted(listing.items);
    const open = all.find((task) => keyOf(task) === query.get("task"));
    const shown = this.keep = (task) => (!query.get("source") || task.source === query.get("source")) && (query.has("closed") || !task.closed);
    const items = all.filter((task) => task === open || shown(task));
    return { rights, listing, all, open, items, at: open ? items.indexOf(open) : Math.min(this.at, items.length - 1) };
  }

  /** The address with *task* open, or closed again. */
  toggled(task) {
    return changedQuery({ task: task === this.open ? null : keyOf(task), q: null });
  }

  draw() {
    if (!this.rights) return html`<h1>Tasks</h1>`;
    if (this.rights.namespaces.length) return html`<div class="head"><h1>Tasks</h1></div>
      ${empty("Tasks belong to the user of this computer. A token for the whole file shows tasks.", "bethink serve --new-token")}`;
    const { query } = this.place;
    const open = this.all.filter((task) => !task.closed).length;
    return html`<div class="head"><h1>Tasks</h1><p class="soft">${count(open)} open · ${count(this.all.length - open)} closed · links in ${this.listing.namespace}
        ${this.items.length > 0 && saving("/tasks", { closed: query.has("closed") }, this.keep)}</p></div>
      <div class="tools">${choice(query, "source", "Source", [["", "all"], ...SOURCES])}${choice(query, "closed", "Show", [["", "open tasks"], ["1", "closed tasks, too"]])}
        ${!this.rights.read_only && html`<a class="button" href=${changedQuery({ sync: 1 })}>Preview outcomes</a>`}</div>
      ${query.has("sync") && !this.rights.read_only && html`<task-outcomes .place=${this.place} .tasks=${this.all}></task-outcomes>`}
      ${SOURCES.map(([source, title]) => this.list(title, this.items.filter((task) => task.source === source)))}
      ${!this.items.length && this.nothing()}${this.skipped(this.listing.skipped)}`;
  }

  nothing() {
    if (this.all.length) return empty("No open task here. The closed tasks are a choice away, and on the command line.", "bethink tasks --done");
    return empty("No task of Beads or Claude Code in the folder of the server. A task shows here as soon as a list has one.", 'bd create "Mend the ferry"');
  }

  /** @param {string} title @param {any[]} tasks */
  list(title, tasks) {
    if (!tasks.length) return null;
    const changed = Math.max(...tasks.map((task) => task.file_changed_at ?? 0));
    const isOld = changed && tasks[0].source === "beads" && Date.now() / 1000 - changed > OLD_SECONDS;
    return html`<section><h2>${title}<span class="aside">${changed ? `file changed ${ago(changed)}` : "read from bd"}${isOld && html`; newer with <code>bd export &gt; .beads/issues.jsonl</code>`}</span></h2>
      <ul class="rows">${each(tasks, keyOf, (task) => this.row(task))}</ul></section>`;
  }

  row(task) {
    const state = stateOf(task);
    return html`<li ?data-now=${task === this.items[this.at]} data-state=${state}><span class="dot" aria-hidden="true"></span>
      <a class="text" href=${this.toggled(task)} aria-expanded=${String(task === this.open)}>${task.title}</a>
      ${task.updated_at ? html`<time class="when" datetime=${iso(task.updated_at)} title=${iso(task.updated_at)}>${ago(task.updated_at)}</time>` : html`<span></span>`}
      <div class="facts"><span class="id" title=${task.id}>${short(task.source, task.id)}</span><span>${task.status.replaceAll("_", " ")}</span>
        ${task.close_reason && html`<span>${task.close_reason}</span>`}
        ${task.blocked_by.map((id) => html`<span>after ${this.blocker(task.source, id)}</span>`)}
        ${task.memories > 0 && html`<span>${counted(task.memories, "memory", "memories")}</span>`}</div>
      ${task === this.open && html`<task-links class="inside" .place=${this.place} .task=${task} .readOnly=${this.rights.read_only} @change=${() => this.load()}></task-links>`}</li>`;
  }

  /** @param {string} source @param {string} id */
  blocker(source, id) {
    const task = this.all.find((other) => other.source === source && other.id === id);
    return task ? html`<a href=${changedQuery({ task: keyOf(task), q: null })}>${task.title}</a>` : short(source, id);
  }

  /** @param {string[]} parts */
  skipped(parts) {
    return parts.length > 0 && html`<details class="soft"><summary>${counted(parts.length, "part")} of the lists could not be read</summary>
      <ul>${parts.map((part) => html`<li>${part}</li>`)}</ul></details>`;
  }
}

define("tasks-view", Tasks);
