// Saving a list as a file. The token travels in a header, so a plain link could not fetch the list.

import * as api from "./api.js";
import { counted } from "./format.js";
import { html } from "./template.js";
import { announce, failed, toast } from "./toasts.js";

/** Save *content* under *name* on the machine of the browser. @param {string} name @param {Blob} content */
export function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

/** Links to the list at *path* of the API. A program with a token can read each address; a click
 * saves the items to *keep*, as JSON or with an item on each line.
 * @param {string} path @param {Record<string, unknown>} [query] @param {(item: any) => unknown} [keep] */
export function saving(path, query, keep = () => true) {
  const link = (ending, href, text) => html`<a href=${href} download
    @click=${(event) => { event.preventDefault(); run(`${path.slice(1)}.${ending}`, text).catch(failed); }}>.${ending}</a>`;
  const run = async (name, text) => {
    const lines = (await api.lines(path, query)).filter((line) => keep(JSON.parse(line)));
    save(name, new Blob([text(lines)], { type: "application/json" }));
    toast(`Saved ${counted(lines.length, "row")} to ${name}`);
    announce("Saved");
  };
  return html`<span class="saving">Save as ${link("json", api.address(path, query), (lines) => `[\n${lines.join(",\n")}\n]\n`)}
    ${link("jsonl", api.address(`${path}.jsonl`, query), (lines) => lines.map((line) => `${line}\n`).join(""))}</span>`;
}
