// The base of all elements of the page, and of the views: light DOM, drawn by `draw()`, at most once a task.

import { render } from "./template.js";
import { failed } from "./toasts.js";

/** @typedef {import("./template.js").Template} Template */

/** An element takes fields of any name: a view keeps what `read()` returned.
 * @type {new () => { querySelector(selectors: string): any, querySelectorAll(selectors: string): any } & HTMLElement & Record<string, any>} */
const Base = HTMLElement;

export class BethinkElement extends Base {
  /** Names of properties whose change draws the element again. @type {string[]} */
  static properties = [];

  constructor() {
    super();
    this.#declare();
    this.planned = false;
    /** Ends when the element leaves the page. */
    this.life = new AbortController();
  }

  /** Turn the declared names into properties, keeping what was set before the upgrade. */
  #declare() {
    for (const name of /** @type {typeof BethinkElement} */ (this.constructor).properties) {
      let value = Object.hasOwn(this, name) ? this[name] : undefined;
      Object.defineProperty(this, name, {
        configurable: true,
        get: () => value,
        set: (next) => {
          if (next === value) return;
          value = next;
          if (this.isConnected) this.changed();
          this.update();
        },
      });
    }
  }

  connectedCallback() {
    if (this.life.signal.aborted) this.life = new AbortController();
    this.opened();
    this.update();
  }

  disconnectedCallback() {
    queueMicrotask(() => {
      if (!this.isConnected) this.life.abort();
    });
  }

  /** Draw soon. */
  update() {
    if (this.planned || !this.isConnected) return;
    this.planned = true;
    queueMicrotask(() => {
      this.planned = false;
      if (!this.isConnected) return;
      render(this.draw(), this);
    });
  }

  /** Listen to *target* as long as the element is on the page.
   * @param {EventTarget} target @param {string} name @param {(event: any) => void} run */
  listen(target, name, run) {
    target.addEventListener(name, run, { signal: this.life.signal });
  }

  /** Called when the element comes onto the page. */
  opened() {}
  /** Called when a declared property changes while on the page. */
  changed() {}
  /** @returns {unknown} */
  draw() {
    return null;
  }
}

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
    this.ariaBusy = "true";
    try {
      const fields = await this.read();
      if (turn !== this.turn) return;
      Object.assign(this, fields, { loaded: true });
      this.update();
    } catch (error) {
      failed(error);
    } finally {
      if (turn === this.turn) this.ariaBusy = "false";
    }
  }

  /** @returns {Promise<Record<string, unknown>>} */
  async read() {
    return {};
  }
}

/** Define the custom element *name* once. @param {string} name @param {CustomElementConstructor} type */
export function define(name, type) {
  if (!customElements.get(name)) customElements.define(name, type);
}
