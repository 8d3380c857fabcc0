// A score as a bar whose parts are the contributions of the signals.

import { fixed } from "../core/format.js";
import { each, html } from "../core/template.js";

const ORDER = ["keyword", "vector", "recency", "importance", "outcome"];
const COLOURS = 6;

/** The contributions as [name, value], the known signals first. @param {Record<string, number>} contributions */
export const parts = (contributions) => Object.entries(contributions).sort(([one], [two]) => place(one) - place(two));
const place = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

/** @param {{score: number, contributions: Record<string, number>}} explanation */
export const score = ({ score: sum, contributions }) => html`
  <div class="score"><div class="bar" role="img" aria-label=${`score ${fixed(sum)}`}>
    ${each(parts(contributions), ([name]) => name, ([name, value]) => html`<i class=${colour(name)} data-share=${value} .style=${{ width: `${Math.max(0, value) * 100}%` }}></i>`)}</div>
    <div class="legend"><strong>${fixed(sum)}</strong>
    ${each(parts(contributions), ([name]) => name, ([name, value]) => html`<span><b class=${colour(name)}></b>${name} ${fixed(value)}</span>`)}</div></div>`;

/** The class of a signal's colour. @param {string} name */
export const colour = (name) => `s${Math.min(place(name), COLOURS - 1)}`;
