// The form that stores or edits a memory: nothing is overwritten when another writer was faster.

import * as api from "../core/api.js";
import { BethinkElement, define } from "../core/element.js";
import { html } from "../core/template.js";
import { failed, undoable } from "../core/toasts.js";
import { between, changes, marked } from "./changes.js";

const NEW = { content: "", tags: [], key: null, category: null, importance: 0.5 };

/** Edits `record`, or stores a new memory in `namespace`. Dispatches "done" after Save or Cancel,
 * "elsewhere" when the memory is another version by now. */
class EditForm extends BethinkElement {
  static properties = ["record", "etag", "namespace"];

  /** The fields as typed so far. @type {any} */
  draft = null;

  opened() {
    this.record ??= NEW;
    this.draft = this.fields(this.record);
    this.elsewhere = false;
    queueMicrotask(() => queueMicrotask(() => this.querySelector("textarea")?.focus()));
  }

  /** The fields of *record* that the form edits. */
  fields({ content, tags, key, category, importance }) {
    return { content, tags, key, category, importance };
  }

  /** Take what was typed into the draft. */
  type() {
    const { elements } = this.querySelector("form");
    const text = (name) => elements[name].value.trim() || null;
    this.draft = {
      content: elements["content"].value,
      tags: elements["tags"].value.split(",").map((tag) => tag.trim()).filter(Boolean),
      key: text("key"),
      category: text("category"),
      importance: Number(elements["importance"].value),
    };
    this.update();
  }

  /** The fields that the draft changes. */
  changes() {
    return between(this.fields(this.record), this.draft);
  }

  async save() {
    this.type();
    const { id } = this.record;
    const body = Object.fromEntries(this.changes().map(({ name, after }) => [name, after]));
    try {
      if (!id) {
        const namespace = this.querySelector("[name=namespace]").value.trim();
        await undoable("Memory stored", (stored) => [stored.id], () => api.post("/memories", { ...body, namespace }));
      } else if (Object.keys(body).length) await undoable("Memory changed", [id], () => api.patch(api.memoryPath(id), body, { ifMatch: this.etag }));
      this.dispatchEvent(new Event("done"));
    } catch (error) {
      if (!(error instanceof api.Problem) || error.status !== 412) return failed(error);
      this.elsewhere = true;
      this.dispatchEvent(new Event("elsewhere"));
    }
  }

  draw() {
    const { draft } = this;
    const made = this.changes();
    return html`<form class="sheet" @input=${() => this.type()} @submit=${(event) => { event.preventDefault(); this.save(); }}>
      ${this.elsewhere && html`<p class="bad" role="alert">Changed elsewhere meanwhile. The text there: <br>${marked(this.record.content, draft.content)}</p>`}
      <label>Text <textarea name="content" required .value=${draft.content}></textarea></label>
      <div class="tools"><label class="wide">Tags, separated by commas <input name="tags" value=${this.record.tags.join(", ")}></label>
        <label>Key <input name="key" value=${this.record.key ?? ""}></label><label>Category <input name="category" value=${this.record.category ?? ""}></label>
        ${!this.record.id && html`<label>Namespace <input name="namespace" required value=${this.namespace}></label>`}
        <label>Importance <input name="importance" type="number" min="0" max="1" step="any" required value=${this.record.importance}></label></div>
      ${this.record.id && made.length > 0 && html`<div class="panel" role="group" aria-label="Changes">${changes(made)}</div>`}
      <p class="actions"><button class="first">Save</button><button type="button" @click=${() => this.dispatchEvent(new Event("done"))}>Cancel</button></p></form>`;
  }
}

define("edit-form", EditForm);
