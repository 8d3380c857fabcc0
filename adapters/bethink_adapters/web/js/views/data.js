// Data: memories in and out of the file, the health of the file, erasing, and agent hosts.

import * as api from "../core/api.js";
import { View, define } from "../core/element.js";
import { bytes, counted } from "../core/format.js";
import { keys } from "../core/keys.js";
import { save } from "../core/save.js";
import { scope, shared } from "../core/state.js";
import { each, html } from "../core/template.js";
import { announce, failed, toast } from "../core/toasts.js";
import { empty } from "../parts/rows.js";
import "../parts/data_erase.js";
import "../parts/data_upload.js";

class Data extends View {
  opened() {
    keys([
      { key: "i", label: "Choose a file to import", run: () => this.querySelector("input[type=file]")?.focus() },
      { key: "o", label: "Export", run: () => this.export() },
      { key: "v", label: "Verify", run: () => this.rights && !this.rights.namespaces.length && this.check("verify") },
      { key: "Escape", label: "Discard previews", run: () => this.querySelectorAll("data-upload, data-erase").forEach((part) => part.discard()) },
    ], this.life.signal);
    this.listen(shared, "journal", () => this.load());
    super.opened();
  }

  async read() {
    const { signal } = this.life;
    const rights = await api.get("/token", {}, signal);
    if (rights.namespaces.length) return { rights };
    const [stats, hosts] = await Promise.all([api.get("/stats", {}, signal), api.get("/hosts", {}, signal)]);
    return { rights, stats, hosts: hosts.items };
  }

  /** Save the export as a file. */
  async export() {
    const { namespace } = scope();
    const reply = await api.send("GET", "/export", { query: scope(), signal: this.life.signal }).catch(failed);
    if (!reply) return;
    const file = await reply.blob();
    const name = `${["bethink", ...(namespace ?? "").split("/")].filter(Boolean).join("-")}-${new Date().toISOString().slice(0, 10)}.jsonl`;
    save(name, file);
    toast(`Exported ${bytes(file.size)} to ${name}`);
    announce("Exported");
  }

  /** @param {"verify" | "repair"} verb */
  async check(verb) {
    const found = await api.post(`/${verb}`, undefined, { signal: this.life.signal }).catch(failed);
    if (!found) return;
    this.report = { mended: [], ...found, left: found.problems ?? found.left };
    announce(this.verdict());
    this.update();
  }

  verdict() {
    const { mended, left } = this.report;
    const told = mended.length ? `${counted(mended.length, "problem")} mended. ` : "";
    return told + (left.length ? `${counted(left.length, "problem")} found.` : "The file is whole.");
  }

  draw() {
    const { rights, stats } = this;
    if (!rights) return html`<h1>Data</h1>`;
    const whole = !rights.namespaces.length;
    return html`<div class="head"><h1>Data</h1><p class="soft">${whole && `${bytes(stats.bytes)} · ${counted(stats.journal_length, "journal entry", "journal entries")}`}${rights.read_only && " · this token only reads"}</p></div>
      <div class="panels">${whole && !rights.read_only && html`<data-upload></data-upload>`}${this.out()}${whole && this.health()}${whole && this.agents()}</div>
      ${!rights.read_only && html`<data-erase .place=${this.place}></data-erase>`}
      ${!whole && empty("Import, the check of the file and agent hosts need a token for the whole file.", "bethink serve --new-token")}`;
  }

  out() {
    const { namespace } = scope();
    return html`<section class="panel"><h2>Export</h2><p>Every memory of ${namespace ? html`<strong>${namespace}</strong> and below` : this.rights.namespaces.length ? "this token" : "the file"}, in any state, with history, as lines of JSON.</p>
      <p class="actions"><button class="first" @click=${() => this.export()}>Download</button><code class="soft">bethink export memories.jsonl</code></p></section>`;
  }

  health() {
    const { report } = this;
    const list = (problems) => html`<ul class="story">${problems.map(({ kind, where, what }) => html`<li><strong>${kind}</strong> ${where}: ${what}</li>`)}</ul>`;
    return html`<section class="panel"><h2>Check</h2><p>Verify reads the whole file: journal, memories, vectors and links.</p>
      ${report && html`<p class=${report.left.length ? "bad" : "good"} role="status">${this.verdict()}</p>${report.left.length > 0 && list(report.left)}${report.mended.length > 0 && html`<h3>Mended</h3>${list(report.mended)}`}`}
      <p class="actions"><button class=${report?.left.length ? "" : "first"} @click=${() => this.check("verify")}>Verify</button>
        ${report?.left.length > 0 && !this.rights.read_only && html`<button class="first" @click=${() => this.check("repair")}>Repair</button>`}<code class="soft">bethink verify</code></p></section>`;
  }

  agents() {
    return html`<section class="panel"><h2>Agent hosts</h2>${this.hosts.length
      ? html`<ul class="rows">${each(this.hosts, (host) => host.name, ({ name, title, installed, detail }) => html`
          <li data-state=${installed ? "closed" : "open"}><span class="dot" aria-hidden="true"></span><span>${title}</span>
            ${installed ? html`<span class="when good">installed</span>` : html`<code class="when">bethink install ${name}</code>`}
            ${detail && html`<p class="facts bad">${detail}</p>`}</li>`)}</ul>`
      : empty("No agent host of this user. A host shows here once the host is on the computer.", "bethink install")}</section>`;
  }
}

define("data-view", Data);
