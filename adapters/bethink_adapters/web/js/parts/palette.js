// The palette: each view, key, namespace and theme by a few letters, and memories by a search.

import * as api from "../core/api.js";
import { BethinkElement, define } from "../core/element.js";
import { go, href, memory } from "../core/router.js";
import { scope, shared } from "../core/state.js";
import { html } from "../core/template.js";
import { failed } from "../core/toasts.js";

/** @typedef {{group: string, label: string, key?: string, run: () => void}} Command */

const FOUND = 6;
const SHOWN = 40;
const LEAST_LETTERS = 2;
const MILLISECONDS_STILL = 150;

/** The commands that name each of the words. @param {Command[]} commands @param {string} text */
function matching(commands, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const named = ({ group, label }) => words.every((word) => `${group} ${label}`.toLowerCase().includes(word));
  return commands.filter(named).slice(0, SHOWN);
}

class Palette extends BethinkElement {
  /** What may be chosen. @type {() => Command[]} */
  commands = () => [];
  /** @type {Command[]} */
  known = [];
  /** @type {Command[]} */
  items = [];
  /** @type {any[]} */
  memories = [];
  text = "";
  at = 0;
  /** The label chosen by arrow keys. */
  chosen = "";
  turn = 0;

  opened() {
    this.listen(shared, "change", () => this.ask());
  }

  open() {
    if (document.querySelector("dialog[open]")) return;
    Object.assign(this, { text: "", memories: [], chosen: "" });
    this.ask();
    this.querySelector("dialog").showModal();
  }

  ask() {
    this.known = this.commands();
    this.list();
  }

  /** Show what matches the text. */
  list() {
    const found = this.memories.map((record) => ({ group: "Memory", label: record.content, run: () => go(memory(record.id)) }));
    const question = this.text.trim();
    const recall = question ? [{ group: "Recall", label: `“${question}”`, run: () => go(href("/recall", { q: question })) }] : [];
    this.items = [...matching(this.known, this.text), ...found, ...recall];
    this.at = Math.max(0, this.items.findIndex(({ label }) => label === this.chosen));
    this.update();
  }

  /** @param {string} text */
  async type(text) {
    const turn = ++this.turn;
    Object.assign(this, { text, memories: [], chosen: "" });
    this.list();
    await new Promise((resolve) => setTimeout(resolve, MILLISECONDS_STILL));
    if (turn !== this.turn || text.trim().length < LEAST_LETTERS) return;
    const { items } = await api.recall({ ...scope(), query: text.trim(), k: FOUND }, this.life.signal);
    if (turn !== this.turn) return;
    this.memories = items.map((hit) => hit.memory);
    this.list();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Enter") this.choose(this.items[this.at]);
    else if (event.key in steps) this.move(this.at + steps[event.key]);
    else return;
    event.preventDefault();
  }

  /** @param {number} index the ends join */
  move(index) {
    this.at = (index + this.items.length) % this.items.length || 0;
    this.chosen = this.items[this.at]?.label ?? "";
    this.update();
    queueMicrotask(() => this.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }));
  }

  /** @param {Command | undefined} command */
  choose(command) {
    this.turn++;
    this.querySelector("dialog").close();
    command?.run();
  }

  draw() {
    return html`<dialog class="palette" aria-label="Commands">
      <input name="command" role="combobox" autocomplete="off" aria-label="Command, view or memory" aria-autocomplete="list" aria-expanded="true" aria-controls="commands"
        aria-activedescendant=${this.items.length > 0 && `command-${this.at}`} placeholder="Type a command, a view or words of a memory" .value=${this.text}
        @input=${(event) => this.type(event.target.value).catch(failed)} @keydown=${(event) => this.press(event)}>
      <ul id="commands" role="listbox" aria-label="Commands">${this.items.map((item, index) => html`
        <li id=${`command-${index}`} role="option" aria-selected=${String(index === this.at)} @click=${() => this.choose(item)}>
          <span class="soft">${item.group}</span><span class="label">${item.label}</span>${item.key && html`<kbd>${item.key}</kbd>`}</li>`)}</ul>
      <p class="unseen" role="status">${this.items.length} found</p></dialog>`;
  }
}

define("bethink-palette", Palette);
