// The words in which two texts differ.

import { html } from "../core/template.js";

const WORDS = /\s+/;

/** *text* with each word marked that *other* lacks. @param {string} text @param {string} other */
export function marked(text, other) {
  const known = new Set(other.split(WORDS));
  return text.split(WORDS).map((word) => (known.has(word) ? `${word} ` : html`<mark>${word}</mark>${" "}`));
}
