// Home: what the chosen namespace holds, the newest memories, the state of the file.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { ago, bytes, count, counted, signed } from "../core/format.js";
import { href } from "../core/router.js";
import { scope, shared, values } from "../core/state.js";
import { each, html } from "../core/template.js";
import { bars, line } from "../parts/chart.js";
import { MOST_CONFLICTS } from "../parts/conflict_count.js";
import { empty, row, rowKeys, rows } from "../parts/rows.js";

const STATES = ["live", "superseded", "archived", "expired"];
const LONGEST = 8;
const NEWEST = 6;
const DAY = 86_400_000;

class Home extends View {
  opened() {
    rowKeys(this, (record) => record.id);
    this.listen(shared, "journal", () => this.load());
    this.listen(shared, "change", () => this.update());
    super.opened();
  }

  async read() {
    const { signal } = this.life;
    const [page, stats] = await Promise.all([api.get("/memories", { ...scope(), limit: NEWEST }, signal), api.get("/summary", scope(), signal)]);
    return { items: page.items, stats };
  }

  draw() {
    const { stats } = this;
    if (!stats) return html`<h1>Home</h1>`;
    return html`<div class="head"><h1>Home</h1>${stats.file && this.file(stats.file)}</div>
      <section class="figures" aria-label="Counts">${STATES.map((state) => html`
        <a href=${href("/memories", { state: state === "live" ? null : state })}><strong>${count(stats.states[state])}</strong><span class="soft">${state}</span></a>`)}
        <a href=${href("/conflicts")}><strong>${conflicts()}</strong><span class="soft">open conflicts</span></a></section>
      <div class="columns">${this.growth(stats.created)}${this.outcomes(stats.outcomes)}</div>
      <div class="columns">
        ${this.shares("By namespace", stats.namespaces, (name) => href("/memories", { ns: name }))}
        ${this.shares("By category", stats.categories, (category) => href("/memories", { category }))}
      </div>
      <section><h2>Newest</h2>${this.items.length
        ? rows(this.items, (record) => row(record, { now: record === this.items[this.at] }))
        : empty("No memory yet. Store one in Memories, on the command line, or from a program.", 'bethink store "Deployments happen on Tuesdays"')}</section>`;
  }

  file({ location, bytes: size, journal_length: entries, last_change: changed }) {
    return html`<p class="soft"><span class="id">${location}</span><br>${bytes(size)} · ${count(entries)} journal entries${changed && ` · changed ${ago(changed)}`} · <a href=${href("/data")}>check the file</a></p>`;
  }

  /** The number of live memories by day of creation, as a line. @param {Record<string, number>} created */
  growth(created) {
    const days = Object.entries(created);
    if (!days.length) return null;
    let total = 0;
    const points = days.map(([name, number]) => {
      total += number;
      return { at: Date.parse(name), value: total, name, text: `${count(number)} new, ${count(total)} in all` };
    });
    points.unshift({ at: points[0].at - DAY, value: 0, name: isoDay(points[0].at - DAY), text: "none" });
    const label = `${count(total)} live memories, stored on ${counted(days.length, "day")} from ${days[0][0]} to ${days[days.length - 1][0]}`;
    return html`<section><h2>Live memories by day of creation</h2>${line(points, { label, heads: ["Day", "Memories"], steps: true })}</section>`;
  }

  /** How many live memories have which outcome, as bars. @param {Record<string, number>} outcomes */
  outcomes(outcomes) {
    const all = Object.entries(outcomes).map(([text, number]) => ({ place: Number(text), value: number, name: signed(Number(text)), text: count(number) }));
    const judged = all.filter(({ place }) => place !== 0);
    if (!judged.length) return null;
    const sum = (bars) => bars.reduce((total, { value }) => total + value, 0);
    const label = `Of ${counted(sum(all), "live memory", "live memories")}, ${count(sum(judged.filter(({ place }) => place > 0)))} helped and ${count(sum(judged.filter(({ place }) => place < 0)))} misled`;
    return html`<section><h2>Outcomes</h2>${bars(all, { label, heads: ["Outcome", "Memories"] })}</section>`;
  }

  /** @param {string} title @param {Record<string, number>} counts @param {(name: string) => string} link */
  shares(title, counts, link) {
    const sorted = Object.entries(counts).sort(([, one], [, two]) => two - one);
    if (!sorted.length) return null;
    return html`<section><h2>${title}</h2><ul class="shares">${each(sorted.slice(0, LONGEST), ([name]) => name, ([name, number]) => html`
      <li><a href=${link(name)}><span>${name}</span><span class="soft">${count(number)}</span>
        <div class="track"><i .style=${{ width: `${(100 * number) / sorted[0][1]}%` }}></i></div></a></li>`)}</ul>
      ${sorted.length > LONGEST && html`<p class="soft">and ${count(sorted.length - LONGEST)} more</p>`}</section>`;
  }
}

/** The number of open conflicts of the navigation. */
const conflicts = () => (values.conflicts === null ? "…" : values.conflicts > MOST_CONFLICTS ? `${MOST_CONFLICTS}+` : count(values.conflicts));
/** @param {number} milliseconds Unix time */
const isoDay = (milliseconds) => new Date(milliseconds).toISOString().slice(0, 10);

define("home-view", Home);
