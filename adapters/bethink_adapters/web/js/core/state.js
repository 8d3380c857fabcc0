// What several parts of the page share: the chosen namespace, the namespaces, changes.

import * as api from "./api.js";

const MILLISECONDS_TOGETHER = 300;

/** Tells listeners: "change" for a changed value, "journal" for entries of the journal. */
export const shared = new EventTarget();

/** `conflicts`: open conflicts of the chosen namespace, null until counted.
 * @type {{namespaces: Record<string, number>, live: boolean, conflicts: number | null}} */
export const values = { namespaces: {}, live: false, conflicts: null };

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

/** Tell the views of a growing journal, for as long as the page is open. */
export async function followJournal() {
  const { signal } = new AbortController();
  for await (const _ of api.events({ signal, onState: (live) => set({ live }) })) tellSoon();
}

let timer = 0;

/** Tell once of all entries that come close together, such as those of an import. */
function tellSoon() {
  timer ||= window.setTimeout(() => {
    timer = 0;
    shared.dispatchEvent(new Event("journal"));
    refresh().catch(() => {});
  }, MILLISECONDS_TOGETHER);
}
