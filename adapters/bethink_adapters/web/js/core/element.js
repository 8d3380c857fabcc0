// The base of all elements of the page: light DOM, drawn by `draw()`, at most once a task.

import { render } from "./template.js";

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

/** Define the custom element *name* once. @param {string} name @param {CustomElementConstructor} type */
export function define(name, type) {
  if (!customElements.get(name)) customElements.define(name, type);
}
