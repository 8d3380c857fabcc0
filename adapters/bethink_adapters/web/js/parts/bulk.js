// What to do with the chosen memories: a preview first, then one request, then Undo in a message.

import * as api from "../core/api.js";
import { BethinkElement, define } from "../core/element.js";
import { counted } from "../core/format.js";
import { each, html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";

const SHOWN = 5;
/** By name: the label, what happened, and the state of the memories that the action takes. */
const ACTIONS = {
  forget: { label: "Forget", done: "forgotten", states: ["live", "superseded", "archived", "expired"] },
  archive: { label: "Archive", done: "archived", states: ["live"] },
  unarchive: { label: "Unarchive", done: "shown again", states: ["archived"] },
  tags: { label: "Tag…", done: "tagged", states: ["live"] },
};

const memories = (count) => counted(count, "memory", "memories");
const tagsOf = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

/** Set `records`, the chosen memories, and `state`; listen to "bulk-done". */
class Bulk extends BethinkElement {
  static properties = ["records", "state"];

  /** What the request holds. @type {any} */
  body = null;

  /** Ask for confirmation of an action, or for the tags. @param {string} name */
  async ask(name) {
    this.action = name;
    this.body = { ids: this.records.map((record) => record.id), dry_run: true };
    this.told = name === "tags" ? null : await api.post(`/${name}`, this.body, { signal: this.life.signal });
    this.update();
    /** @type {HTMLDialogElement} */ (this.querySelector("dialog")).showModal();
  }

  /** @param {SubmitEvent} event */
  async confirm(event) {
    const { elements } = /** @type {HTMLFormElement} */ (event.target);
    const { action, body } = this;
    const tags = action === "tags" ? { add: tagsOf(elements["add"].value), remove: tagsOf(elements["remove"].value) } : {};
    const asked = { ...body, ...tags };
    const change = async () => {
      const told = this.told ?? (await api.post(`/${action}`, asked));
      return api.post(`/${action}`, { ...asked, dry_run: false, confirm: told.confirm });
    };
    await undoable(({ count }) => `${memories(count)} ${ACTIONS[action].done}`, body.ids, change);
    this.dispatchEvent(new Event("bulk-done"));
  }

  draw() {
    const { label } = ACTIONS[this.action ?? "forget"];
    const offered = Object.entries(ACTIONS).filter(([, action]) => action.states.includes(this.state));
    const rest = this.records.length - SHOWN;
    return html`<div class="tools actions" role="toolbar" aria-label="Chosen memories"><span>${memories(this.records.length)} chosen</span>
        ${each(offered, ([name]) => name, ([name, action]) => html`<button @click=${() => this.ask(name).catch(failed)}>${action.label}</button>`)}
        <button class="plain" @click=${() => this.dispatchEvent(new Event("bulk-none"))}>Choose none</button></div>
      <dialog aria-label=${label}><form method="dialog" @submit=${(event) => event.submitter?.value === "yes" && this.confirm(event).catch(failed)}>
        <h1>${this.told ? `${label} ${memories(this.told.count)}?` : `Tag ${memories(this.records.length)}`}</h1>
        <ul class="preview">${each(this.records.slice(0, SHOWN), (record) => record.id, (record) => html`<li>${record.content}</li>`)}</ul>
        ${rest > 0 && html`<p class="soft">and ${memories(rest)} more</p>`}
        ${this.action === "tags" && html`<label>Add tags, with commas between <input name="add" autocomplete="off"></label>
          <label>Remove tags <input name="remove" autocomplete="off"></label>`}
        <div class="actions"><button class="first" value="yes">${this.action === "tags" ? "Tag" : label}</button><button value="no" formnovalidate>Cancel</button></div></form></dialog>`;
  }
}

define("bulk-actions", Bulk);
