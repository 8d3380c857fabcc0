// The number of open conflicts of a namespace, counted again as the journal grows.

import * as api from "../core/api.js";
import { BethinkElement, define } from "../core/element.js";
import { scope, set, shared, values } from "../core/state.js";
import { html } from "../core/template.js";
import { failed } from "../core/toasts.js";

export const MOST_CONFLICTS = 99;
/** The server compares many texts: the page waits this many times as long as the last count took. */
const REST = 10;
/** The view of the address is read first. */
const FIRST_MILLISECONDS = 1000;

class ConflictCount extends BethinkElement {
  static properties = ["namespace"];

  turn = 0;
  wait = 0;
  stale = false;

  opened() {
    this.listen(shared, "journal", () => this.soon());
    this.listen(shared, "change", () => this.update());
    this.stale = true;
    this.wait = window.setTimeout(() => this.rested(), FIRST_MILLISECONDS);
  }

  /** Another namespace counts at once. */
  changed() {
    clearTimeout(this.wait);
    this.wait = 0;
    set({ conflicts: null });
    this.count().catch(failed);
  }

  /** Count now, or after the rest from the last count. */
  soon() {
    if (this.wait) this.stale = true;
    else this.count().catch(failed);
  }

  async count() {
    const turn = ++this.turn;
    const start = performance.now();
    this.stale = false;
    this.wait = -1;
    try {
      const { items } = await api.get("/conflicts", { ...scope(), limit: MOST_CONFLICTS + 1 }, this.life.signal);
      if (turn === this.turn) set({ conflicts: items.length });
    } finally {
      if (turn === this.turn) this.wait = window.setTimeout(() => this.rested(), REST * (performance.now() - start));
    }
  }

  rested() {
    this.wait = 0;
    if (this.stale) this.soon();
  }

  draw() {
    const { conflicts } = values;
    return conflicts ? html`<span class="badge">${conflicts > MOST_CONFLICTS ? `${MOST_CONFLICTS}+` : conflicts}<span class="unseen"> open</span></span>` : null;
  }
}

define("conflict-count", ConflictCount);
