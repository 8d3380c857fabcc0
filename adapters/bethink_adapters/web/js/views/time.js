// Time machine: the memory as of an entry of the journal, and what changed since another one.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { when } from "../core/format.js";
import { changedQuery, go, memory, submitted } from "../core/router.js";
import { scope, shared } from "../core/state.js";
import { each, html } from "../core/template.js";
import { failed, toast } from "../core/toasts.js";
import { between, changes } from "../parts/changes.js";
import { empty, row, rowKeys, rows } from "../parts/rows.js";
import { score } from "../parts/score.js";

const ENTRIES = 1000;
const PAGE = 100;
const ENTRY = /^#?\d{1,9}$/;

class TimeMachine extends View {
  /** @type {any[]} */
  entries = [];
  /** @type {any[]} */
  snapshots = [];

  opened() {
    rowKeys(this, (item) => (item.memory ?? item).id);
    this.listen(shared, "journal", () => this.load());
    super.opened();
  }

  async read() {
    const { query } = this.place;
    const { signal } = this.life;
    const chosen = query.get("at");
    const [{ entries, older }, named] = await Promise.all([this.stretch(query.get("until"), chosen), api.get("/snapshots", {}, signal)]);
    const seq = Number(chosen ?? entries.at(-1)?.seq ?? 0);
    const asked = query.get("q") ?? "";
    const told = { entries, snapshots: named.items, seq, asked, older };
    if (!entries.length) return { ...told, items: [] };
    const [found, compared] = await Promise.all([this.found(seq, asked), this.compared(seq)]);
    return query === this.place.query ? { ...told, ...found, ...compared } : {};
  }

  /** The entries on the slider, the oldest first, and the last entry before: up to an entry, or around the chosen one.
   * @param {string | null} until @param {string | null} chosen */
  async stretch(until, chosen) {
    const { items } = await api.get("/log", { ...scope(), limit: ENTRIES, until }, this.life.signal);
    const older = items.length === ENTRIES ? items.pop().seq : null;
    if (until === null && older !== null && chosen !== null && Number(chosen) <= older) return this.stretch(chosen, chosen);
    return { entries: items.reverse(), older };
  }

  /** The memories, or the hits for a question, as of an entry; unchanged if they are shown already.
   * @param {number} seq @param {string} query */
  async found(seq, query) {
    const shown = JSON.stringify([scope(), seq, query]);
    if (shown === this.shown) return {};
    const { items, next } = query.trim()
      ? await api.recall({ ...scope(), query, as_of: `#${seq}` }, this.life.signal)
      : await this.page(seq);
    return { items, next, shown, at: -1 };
  }

  /** A page of the memories as of an entry. @param {number} seq @param {string | null} [cursor] else the first page */
  page(seq, cursor = null) {
    return api.get("/memories", { ...scope(), as_of: `#${seq}`, limit: PAGE, cursor }, this.life.signal);
  }

  async more() {
    const { shown } = this;
    const { items, next } = await this.page(this.seq, this.next);
    if (shown !== this.shown) return;
    Object.assign(this, { items: [...this.items, ...items], next });
    this.update();
  }

  /** What changed between an entry and the moment to compare with. @param {number} seq */
  async compared(seq) {
    const text = this.place.query.get("with") ?? "";
    if (!text) return { diff: null, fault: null };
    try {
      const other = ENTRY.test(text) ? Number(text.replace("#", "")) : await this.entryOf(text);
      const [since, until] = other < seq ? [other, seq] : [seq, other];
      return { diff: await api.get("/diff", { ...scope(), since: `#${since}`, until: `#${until}` }, this.life.signal), fault: null };
    } catch (error) {
      if (!(error instanceof api.Problem) || ![404, 422].includes(error.status)) throw error;
      return { diff: null, fault: error.message };
    }
  }

  /** The last entry up to a time or a snapshot. @param {string} moment */
  async entryOf(moment) {
    return (await api.get("/memories", { as_of: moment, limit: 1 }, this.life.signal)).seq;
  }

  /** The index of the last entry up to the chosen one. */
  position() {
    return Math.max(0, this.entries.findLastIndex((entry) => entry.seq <= this.seq));
  }

  /** @param {number} index */
  choose(index) {
    this.seq = this.entries[index].seq;
    this.update();
    go(changedQuery({ at: this.seq }), { replace: true });
  }

  told() {
    const entry = this.entries[this.position()];
    const names = this.snapshots.filter((each) => each.seq === this.seq).map((each) => `, snapshot ${each.name}`);
    return `Entry ${entry.seq}, ${when(entry.at)}: ${entry.action}${names.join("")}`;
  }

  /** @param {SubmitEvent} event */
  async take(event) {
    const { name } = submitted(event);
    await api.post("/snapshots", { name }).then(() => toast(`Snapshot ${name} taken`)).catch(failed);
    await this.load();
  }

  /** @param {SubmitEvent} event */
  search(event) {
    const { q, with: other } = submitted(event);
    go(changedQuery({ q, with: other }));
  }

  draw() {
    if (!this.loaded) return html`<h1>Time machine</h1>`;
    if (!this.entries.length) return html`<h1>Time machine</h1>${empty("The journal is empty.", 'bethink store "Deployments happen on Tuesdays"')}`;
    return html`<div class="head"><h1>Time machine</h1><p class="soft">${this.told()}</p></div>
      <label>Moment <input type="range" name="moment" list="moments" min="0" max=${this.entries.length - 1} .value=${String(this.position())} aria-valuetext=${this.told()}
        @input=${(event) => this.choose(Number(event.target.value))}></label>
      ${this.stretches()}<datalist id="moments">${each(this.marks(), ({ name }) => name, ({ name, index }) => html`<option value=${index} label=${name}></option>`)}</datalist>
      <p class="tools actions">${each(this.snapshots, ({ name }) => name, ({ name, seq }) => html`<a class="tag" href=${changedQuery({ at: seq })} aria-current=${seq === this.seq ? "true" : "false"}>${name}</a>`)}</p>
      ${this.forms()}${this.changes()}
      <section><h2>${this.asked ? "Hits" : "Memories"} as of this moment</h2>${this.items.length
        ? rows(this.items, (item, index) => row(item.memory ?? item, { now: index === this.at, inside: item.memory && score(item.explanation) }))
        : empty("No memory at this moment.")}
        ${this.next && html`<p><button @click=${() => this.more().catch(failed)}>Show ${PAGE} more</button></p>`}</section>`;
  }

  /** Where the slider is in a longer journal, and the ways on. */
  stretches() {
    const until = this.place.query.get("until");
    return (until || this.older) && html`<p class="tools actions soft">Entries ${this.entries[0].seq} to ${this.entries.at(-1).seq}
      ${this.older && html`<a href=${changedQuery({ until: this.older, at: this.older })}>Older entries</a>`}
      ${until && html`<a href=${changedQuery({ until: null, at: null })}>Newest entries</a>`}</p>`;
  }

  /** The snapshots with their places on the slider. */
  marks() {
    return this.snapshots.map(({ name, seq }) => ({ name, index: this.entries.findLastIndex((entry) => entry.seq <= seq) })).filter(({ index }) => index >= 0);
  }

  forms() {
    const others = [...this.snapshots.map(({ name, seq }) => [name, `entry ${seq}`]), [String(this.entries[0].seq), "the first entry here"], [String(this.entries.at(-1).seq), "the newest entry"]];
    return html`<form class="tools" role="search" @submit=${(event) => this.search(event)}>
        <label class="wide">Question <input type="search" name="q" .value=${this.asked}></label>
        <label class="wide">Compare with <input name="with" list="others" .value=${this.place.query.get("with") ?? ""} placeholder="an entry, a snapshot or a time such as 2026-11-24"></label>
        <datalist id="others">${others.map(([value, label]) => html`<option value=${value} label=${label}></option>`)}</datalist><button class="first">Look</button></form>
      <form class="tools" @submit=${(event) => this.take(event)}>
        <label>Name of a snapshot of the present <input name="name" required></label><button>Take snapshot</button></form>`;
  }

  changes() {
    const { diff } = this;
    if (this.fault) return html`<p class="bad" role="alert">${this.fault}</p>`;
    if (!diff) return null;
    const part = (title, items, text) => items.length > 0 && html`<h3>${title}</h3><ul class="story">${each(items, (item) => (item.after ?? item).id, (item) => html`<li>${text(item)}</li>`)}</ul>`;
    const link = (record) => html`<a href=${memory(record.id)}>${record.content}</a>`;
    return html`<section class="changes"><h2>From entry ${diff.since} to entry ${diff.until}</h2>
      ${part("Added", diff.added, link)}
      ${part("Changed", diff.changed, ({ before, after }) => html`${link(after)}${changes(between(before, after))}`)}
      ${part("Removed", diff.removed, (record) => html`<del>${link(record)}</del>`)}
      ${!(diff.added.length + diff.changed.length + diff.removed.length) && html`<p>Nothing changed.</p>`}</section>`;
  }
}

define("time-view", TimeMachine);
