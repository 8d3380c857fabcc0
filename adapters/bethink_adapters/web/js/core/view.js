// The base of the views: what a view reads is shown again at every change of the address.

import { BethinkElement } from "./element.js";
import { failed } from "./toasts.js";

/** A view offers `read()`, which returns the fields to show, and `draw()`. */
export class View extends BethinkElement {
  static properties = ["place"];

  /** @type {any[]} */
  items = [];
  loaded = false;

  opened() {
    this.listen(window, "bethink-undone", () => this.load());
    this.load();
  }

  changed() {
    this.load();
  }

  async load() {
    try {
      Object.assign(this, await this.read(), { loaded: true });
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
