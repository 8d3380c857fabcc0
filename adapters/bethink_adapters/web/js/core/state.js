// What several parts of the page share: the chosen namespace, the namespaces, changes.

import * as api from "./api.js";

/** Tells listeners: "change" for a changed value, "journal" for entries of the journal. */
export const shared = new EventTarget();

/** @type {{namespaces: Record<string, number>, live: boolean}} */
export const values = { namespaces: {}, live: false };

/** @param {Partial<typeof values>} changes */
export function set(changes) {
  Object.assign(values, changes);
  shared.dispatchEvent(new Event("change"));
}

/** The chosen namespace with all below as arguments of the API; nothing chosen: everything. */
export function scope() {
  const namespace = new URLSearchParams(location.search).get("ns");
  return namespace ? { namespace, subtree: true } : {};
}

/** Load the namespaces. */
export async function refresh() {
  const found = await api.get("/namespaces");
  set({ namespaces: found.namespaces });
}

/** Tell the views of entries of the journal, for as long as the page is open. */
export async function followJournal() {
  const { signal } = new AbortController();
  for await (const entry of api.events({ signal, onState: (live) => set({ live }) })) {
    shared.dispatchEvent(new CustomEvent("journal", { detail: entry }));
    later();
  }
}

let timer = 0;
function later() {
  clearTimeout(timer);
  timer = window.setTimeout(() => refresh().catch(() => {}), 400);
}
