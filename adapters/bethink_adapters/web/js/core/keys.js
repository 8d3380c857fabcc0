// Keys. Views add theirs with `keys(element, table)`; the table goes when the element goes.

/** @typedef {{key: string, label: string, group?: string, run: () => void}} Key of the table, shown in *group* of the palette */

/** @type {Set<Key[]>} */
const tables = new Set();
/** The first key of two, and its moment on the clock of the events: a slow page makes no key late. */
let first = { name: "", at: 0 };

const MILLISECONDS_BETWEEN = 1200;

/** Add *table* while *signal* lasts. @param {Key[]} table @param {AbortSignal} [signal] */
export function keys(table, signal) {
  tables.add(table);
  signal?.addEventListener("abort", () => tables.delete(table));
}

/** All keys, for the help sheet and the palette. */
export const known = () => [...tables].flat();

/** @param {EventTarget | null} target */
export function typing(target) {
  const element = /** @type {HTMLElement} */ (target);
  if (!element?.matches) return false;
  return element.isContentEditable || element.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=range])");
}

/** Whether Enter belongs to *target*, such as a button. @param {EventTarget | null} target */
const pressable = (target) => Boolean(/** @type {Element} */ (target)?.closest?.("a, button, summary"));

/** @param {KeyboardEvent} event */
export const pressed = (event) => `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.key.length === 1 && !event.shiftKey ? event.key.toLowerCase() : event.key}`;

/** Run what stands for the pressed key; the last table that was added is asked first. @param {KeyboardEvent} event */
function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const name = pressed(event);
  if (typing(event.target) && !name.startsWith("Ctrl+")) return;
  if (name === "Enter" && pressable(event.target)) return;
  if (document.querySelector("dialog[open]") && !name.startsWith("Ctrl+")) return;
  const both = first.name && event.timeStamp - first.at < MILLISECONDS_BETWEEN ? `${first.name} ${name}` : name;
  first = { name: "", at: 0 };
  for (const table of [...tables].reverse()) {
    const found = table.find((item) => item.key === both);
    if (!found) continue;
    event.preventDefault();
    found.run();
    return;
  }
  if (name === "g") first = { name, at: event.timeStamp };
}

document.addEventListener("keydown", onKey);
