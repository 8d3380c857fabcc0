// An upload: an export or a memory file, previewed on a copy, then imported or merged.

import * as api from "../core/api.js";
import { BethinkElement, define } from "../core/element.js";
import { count, counted } from "../core/format.js";
import { html } from "../core/template.js";
import { announce, failed, toast } from "../core/toasts.js";

const MEMORY_FILE = "SQLite format 3";
const LONGEST_EXCERPT = 160;
const LARGEST_QUOTED = 8_000_000;
const COUNTS = [
  ["added", "new"], ["absorbed", "of these joined with a near-duplicate"], ["outdated", "of these replaced by a newer fact"],
  ["same", "known already"], ["erased", "erased here earlier, left out"],
];

class DataUpload extends BethinkElement {
  path = "";

  /** Forget the chosen file. */
  discard() {
    Object.assign(this, { file: null, preview: null, done: null, problem: null });
    const input = this.querySelector("input[type=file]");
    if (input) input.value = "";
    this.update();
  }

  /** @param {Event} event */
  async choose(event) {
    const [file] = /** @type {HTMLInputElement} */ (event.target).files ?? [];
    if (!file) return this.discard();
    Object.assign(this, { file, preview: null, done: null, problem: null });
    this.update();
    const isStore = (await file.slice(0, MEMORY_FILE.length).text()) === MEMORY_FILE;
    this.path = isStore ? "/merge" : "/import";
    const preview = await this.send(true);
    if (file !== this.file) return;
    this.preview = preview;
    this.update();
    if (preview) announce(`${file.name}: ${counted(preview.added, "new memory", "new memories")}`);
  }

  /** Send the file; a damaged file becomes `problem`, with the damaged lines.
   * @param {boolean} dry write nothing */
  async send(dry) {
    const { file } = this;
    try {
      return await (await api.send("POST", this.path, { query: { dry_run: dry }, body: file, signal: this.life.signal })).json();
    } catch (error) {
      if (!(error instanceof api.Problem)) return failed(error);
      this.problem = { text: error.message, lines: await quoted(file, error.told.errors ?? []) };
    }
  }

  async take() {
    const { file } = this;
    const done = await this.send(false);
    Object.assign(this, { done, preview: null });
    this.update();
    if (!done) return;
    const told = `${counted(done.added, "memory", "memories")} added from ${file.name}`;
    toast(told);
    announce(told);
  }

  draw() {
    return html`<section class="panel" aria-label="Import" @keydown=${(event) => event.key === "Escape" && this.discard()}><h2>Import or merge</h2>
      <label>An export (.jsonl), or a memory file (.db)
        <input type="file" name="file" accept=".jsonl,.json,.db,.sqlite" @change=${(event) => this.choose(event)}></label>
      ${this.told()}</section>`;
  }

  told() {
    const { file, preview, done, problem } = this;
    if (problem) return this.damage(problem);
    if (preview || done) return this.counts(preview ?? done);
    return html`<p class="soft">${file ? "Reading…" : "First a preview, on a copy. Nothing is written before you agree."}</p>`;
  }

  counts(merged) {
    const shown = COUNTS.filter(([name]) => name === "added" || merged[name] > 0);
    return html`<dl class="counts">${shown.map(([name, text]) => html`<dt>${count(merged[name])}</dt><dd>${text}</dd>`)}</dl>
      ${this.done
        ? html`<p class="good">Done. Each change is in the journal.</p>`
        : html`<p class="soft">All or nothing. For a copy of the present, first: <code>bethink export before.jsonl</code></p>
          <p class="actions"><button class="first" @click=${() => this.take()}>${this.path === "/merge" ? "Merge" : "Import"} ${counted(merged.added, "memory", "memories")}</button>
            <button @click=${() => this.discard()}>Discard</button></p>`}`;
  }

  damage({ text, lines }) {
    return html`<div role="alert"><p class="bad">${this.file.name} is refused, and nothing was changed.</p>
      ${lines.length
        ? html`<ul class="story">${lines.map(({ line, what, excerpt }) => html`<li><strong>line ${count(line)}</strong> ${what}${excerpt && html`<code class="excerpt">${excerpt}</code>`}</li>`)}</ul>`
        : html`<p>${text}</p>`}</div>
      <p class="actions"><button @click=${() => this.discard()}>Discard</button></p>`;
  }
}

/** Each error with the beginning of the line in *file*. @param {File} file @param {{line: number, what: string}[]} errors */
async function quoted(file, errors) {
  if (!errors.length || file.size > LARGEST_QUOTED) return errors;
  const lines = (await file.text()).split("\n");
  return errors.map((error) => ({ ...error, excerpt: lines[error.line - 1]?.slice(0, LONGEST_EXCERPT) }));
}

define("data-upload", DataUpload);
