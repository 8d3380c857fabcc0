// Saving a list as a file. The token travels in a header, so a plain link could not fetch the list.

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

/** Two buttons that save the whole list of a view as JSON, or with an item on each line.
 * @param {string} name of the file @param {() => Promise<any[]>} read every item of the list */
export function saving(name, read) {
  const run = async (ending, text) => {
    const items = await read();
    save(`${name}.${ending}`, new Blob([text(items)], { type: "application/json" }));
    toast(`Saved ${counted(items.length, "row")} to ${name}.${ending}`);
    announce("Saved");
  };
  const lines = (items) => items.map((item) => `${JSON.stringify(item)}\n`).join("");
  const whole = (items) => `${JSON.stringify(items, null, 2)}\n`;
  return html`<span class="saving">Save as
    <button class="plain" @click=${() => run("json", whole).catch(failed)}>.json</button>
    <button class="plain" @click=${() => run("jsonl", lines).catch(failed)}>.jsonl</button></span>`;
}
