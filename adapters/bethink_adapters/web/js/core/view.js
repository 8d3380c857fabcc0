// The base of the views: what a view reads is shown again at every change of the address.

import { BethinkElement } from "./element.js";
import { failed } from "./toasts.js";

/** A view offers `read()`, which returns the fields to show, and `draw()`. */
export class View extends BethinkElement {
  static properties = ["place"];

  /** @type {any[]} */
  items = [];
  loaded = false;
  turn = 0;

  opened() {
    this.listen(window, "bethink-undone", () => this.load());
    this.load();
  }

  changed() {
    this.load();
  }

  /** Read and show; of loads at the same time the last one shows. */
  async load() {
    const turn = ++this.turn;
    try {
      const fields = await this.read();
      if (turn !== this.turn) return;
      Object.assign(this, fields, { loaded: true });
      this.update();
    } catch (error) {
      failed(error);
    }
  }

  /** @returns {Promise<Record<string, unknown>>} */
  async read() {
    return {};
  }
}
