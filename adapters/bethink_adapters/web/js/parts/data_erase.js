// Erasing: count first, then type the count; nothing brings erased memories back.

import * as api from "../core/api.js";
import { BethinkElement, define } from "../core/element.js";
import { count, counted } from "../core/format.js";
import { changedQuery, go } from "../core/router.js";
import { scope } from "../core/state.js";
import { html } from "../core/template.js";
import { announce, failed, toast } from "../core/toasts.js";

class DataErase extends BethinkElement {
  static properties = ["place"];

  /** A different address means other memories. */
  changed() {
    this.discard();
  }

  discard() {
    Object.assign(this, { counted: null, typed: "" });
    this.update();
  }

  /** The memories of the address, as the API takes the choice. */
  chosen() {
    const { query } = this.place;
    const parts = [query.get("category") && { category: query.get("category") }, query.get("tag") && { tags: { $contains: query.get("tag") } }].filter(Boolean);
    return { ...scope(), ...(parts.length ? { where: { $and: parts } } : {}) };
  }

  async count() {
    const chosen = this.chosen();
    const found = await api.post("/erase", { ...chosen, dry_run: true }, { signal: this.life.signal }).catch(failed);
    if (!found) return;
    Object.assign(this, { counted: found, typed: "" });
    announce(this.warning());
    this.update();
    queueMicrotask(() => queueMicrotask(() => this.querySelector("input[name=confirm]")?.focus()));
  }

  /** @param {SubmitEvent} event */
  async erase(event) {
    event.preventDefault();
    if (this.typed !== this.phrase()) return;
    const { confirm } = this.counted;
    const done = await api.post("/erase", { ...this.chosen(), dry_run: false, confirm }).catch(failed);
    this.discard();
    this.querySelector("button")?.focus();
    if (!done) return;
    toast(`${counted(done.count, "memory", "memories")} erased`);
    announce("Erased");
  }

  phrase() {
    return `erase ${this.counted.count}`;
  }

  warning() {
    return `${counted(this.counted.count, "memory", "memories")} would be erased, in any state, with every trace of the texts. There is no way back.`;
  }

  draw() {
    const { query } = this.place;
    const { namespace } = scope();
    const field = (name, label) => html`<label>${label} <input name=${name} .value=${query.get(name) ?? ""} @change=${(event) => go(changedQuery({ [name]: event.target.value.trim() || null }))}></label>`;
    return html`<section class="panel danger" aria-label="Erase" @keydown=${(event) => event.key === "Escape" && this.discard()}><h2>Erase</h2>
      <p>Memories of ${namespace ? html`<strong>${namespace}</strong> and below` : html`<strong>everything</strong>; choose a namespace in the navigation for less`}.</p>
      <div class="tools">${field("category", "Category")}${field("tag", "Tag")}<button @click=${() => this.count()}>Count</button></div>
      ${this.counted && (this.counted.count ? this.form() : html`<p role="status">No memory to erase.</p>`)}</section>`;
  }

  form() {
    return html`<form @submit=${(event) => this.erase(event)}><p class="bad" role="alert">${this.warning()}</p>
      <div class="tools"><label class="wide">Type “${this.phrase()}” to go on <input name="confirm" autocomplete="off" .value=${this.typed} @input=${(event) => { this.typed = event.target.value; this.update(); }}></label>
        <button class="first" ?disabled=${this.typed !== this.phrase()}>Erase ${count(this.counted.count)}</button>
        <button type="button" @click=${() => this.discard()}>Keep</button></div></form>`;
  }
}

define("data-erase", DataErase);
