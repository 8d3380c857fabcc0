// A score as a bar of the signals' contributions, and two scores in comparison.

import { fixed, signed } from "../core/format.js";
import { each, html } from "../core/template.js";

const ORDER = ["keyword", "vector", "recency", "importance", "outcome"];
const COLOURS = 6;

/** The contributions as [name, value], the known signals first. @param {Record<string, number>} contributions */
const parts = (contributions) => Object.entries(contributions).sort(([one], [two]) => place(one) - place(two));
const place = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);

/** @param {{score: number, contributions: Record<string, number>}} explanation */
export const score = ({ score: sum, contributions }) => html`
  <div class="score"><div class="bar" role="img" aria-label=${`score ${fixed(sum)}`}>
    ${each(parts(contributions), ([name]) => name, ([name, value]) => html`<i class=${colour(name)} data-share=${value} .style=${{ width: `${Math.max(0, value) * 100}%` }}></i>`)}</div>
    <div class="legend"><strong>${fixed(sum)}</strong>
    ${each(parts(contributions), ([name]) => name, ([name, value]) => html`<span><b class=${colour(name)}></b>${name} ${fixed(value)}</span>`)}</div></div>`;

/** The class of a signal's colour. @param {string} name */
const colour = (name) => `s${Math.min(place(name), COLOURS - 1)}`;

/** Two hits beside each other: each signal as measured, and its part of the score.
 * @param {any[]} hits two, or else nothing is shown */
export function compared(hits) {
  if (hits.length !== 2) return hits.length === 1 ? html`<p class="soft tools">Choose a second hit to compare.</p>` : null;
  const [one, two] = hits;
  const names = parts({ ...one.explanation.contributions, ...two.explanation.contributions }).map(([name]) => name);
  const cells = (name) => {
    const [mine, other] = hits.map((hit) => hit.explanation.contributions[name] ?? 0);
    return html`<tr><th scope="row"><b class=${`swatch ${colour(name)}`}></b>${name}</th>${hits.map((hit) => cell(hit.explanation, name))}<td>${signed(mine - other)}</td></tr>`;
  };
  return html`<section class="panel compared" tabindex="0" role="region" aria-label="Comparison"><table>
    <thead><tr><th scope="col">Signal</th>${hits.map((hit) => html`<th scope="col">${hit.memory.content.slice(0, 80)} <span class="soft">${hit.mode}</span></th>`)}<th scope="col">Difference</th></tr></thead>
    <tbody>${names.map(cells)}</tbody>
    <tfoot><tr><th scope="row">score</th>${hits.map((hit) => html`<td>${fixed(hit.score)}</td>`)}<td>${signed(one.score - two.score)}</td></tr></tfoot></table></section>`;
}

/** The part of the score, and the signal from which the part is made. */
const cell = ({ contributions, signals }, name) => html`<td>${fixed(contributions[name] ?? 0)}${name in signals && html` <span class="soft">of ${fixed(signals[name])}</span>`}</td>`;
