// Short messages with an optional Undo, and the announcer that screen readers follow.

import * as api from "./api.js";

export const toasts = new EventTarget();

/** @typedef {{id: number, text: string, kind: "done" | "error", undo?: () => Promise<void>}} Toast */
let serial = 0;

/** @param {string} text @param {{undo?: () => Promise<void>, kind?: "done" | "error"}} [options] */
export function toast(text, { undo, kind = "done" } = {}) {
  toasts.dispatchEvent(new CustomEvent("toast", { detail: { id: ++serial, text, kind, undo } }));
}

/** Tell an error in a toast; an ended request is none. @param {unknown} error */
export function failed(error) {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (error instanceof api.Problem && error.status === 401) return;
  toast(error instanceof Error ? error.message : String(error), { kind: "error" });
}

/** Say *text* to screen readers. @param {string} text */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = text;
}

/** The number of the last entry of the journal, in whatever namespace. */
async function lastEntry() {
  const { items } = await api.get("/log", { limit: 1 });
  return items.length ? items[0].seq : 0;
}

/** Run *change*, then show *text* with an Undo of every entry that the change made to *ids*.
 * @template T @param {string | ((result: T) => string)} text @param {string[] | ((result: T) => string[])} ids
 * @param {() => Promise<T>} change @returns {Promise<T>} */
export async function undoable(text, ids, change) {
  const since = await lastEntry();
  const result = await change();
  const { items } = await api.get("/log", { since, limit: 1000 });
  const changed = typeof ids === "function" ? ids(result) : ids;
  const made = items.filter((entry) => changed.includes(entry.id));
  const told = typeof text === "function" ? text(result) : text;
  toast(told, made.length ? { undo: () => undo(made.map((entry) => entry.seq)) } : {});
  announce(told);
  return result;
}

/** Undo entries of the journal, the newest first. @param {number[]} numbers */
export async function undo(numbers) {
  for (const seq of numbers.sort((one, two) => two - one)) await api.post("/undo", { seq });
  announce("Undone");
  dispatchEvent(new Event("bethink-undone"));
}
