// Small charts as SVG. Each chart has a label and a table of the same numbers for readers who do not see.

import { html } from "../core/template.js";

const WIDTH = 600;
const HEIGHT = 96;
const EDGE = 6;
const BAR = 14;

/** Return a function from *low*…*high* to *start*…*end*. */
function scale(low, high, start, end) {
  return high > low ? (value) => start + ((value - low) / (high - low)) * (end - start) : () => (start + end) / 2;
}

/** The numbers of a chart as a table that opens.
 * @param {string[]} heads of the two columns @param {[string, string][]} rows */
const table = (heads, rows) => html`<details class="soft"><summary>As a table</summary><table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
  <tbody>${rows.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}</tbody></table></details>`;

/** What stands below a chart, from the left to the right. @param {string[]} texts */
const axis = (texts) => html`<div class="axis soft" aria-hidden="true">${texts.map((text) => html`<span>${text}</span>`)}</div>`;

/** A line through *points*, by time; `steps` holds each value until the next point.
 * @param {{at: number, value: number, name: string, text: string}[]} points
 * @param {{label: string, heads: string[], low?: number, high?: number, steps?: boolean}} options */
export function line(points, { label, heads, low = 0, high = Math.max(...points.map(({ value }) => value)), steps = false }) {
  const x = scale(points[0].at, points[points.length - 1].at, EDGE, WIDTH - EDGE);
  const y = scale(low, high, HEIGHT - EDGE, EDGE);
  const places = points.map(({ at, value }) => [x(at).toFixed(1), y(value).toFixed(1)]);
  const path = places.map(([across, down], index) => (index === 0 ? `M${across} ${down}` : steps ? `H${across}V${down}` : `L${across} ${down}`)).join("");
  const dots = places.map(([across, down]) => `M${across} ${down}h0`).join("");
  return html`<div class="chart"><svg viewBox="0 0 600 96" preserveAspectRatio="none" role="img" aria-label=${label}>
      <path class="zero" d=${`M0 ${y(low < 0 ? 0 : low)}H${WIDTH}`}></path><path class="line" d=${path}></path><path class="dots" d=${steps ? "" : dots}></path></svg>
    ${axis([points[0].name, points[points.length - 1].name])}
    ${table(heads, points.map(({ name, text }) => [name, text]))}</div>`;
}

/** Bars of numbers at places from −1 to 1; the number at 0 is told in the table only.
 * @param {{place: number, value: number, name: string, text: string}[]} bars
 * @param {{label: string, heads: string[]}} options */
export function bars(bars, { label, heads }) {
  const drawn = bars.filter(({ place }) => place !== 0);
  const x = scale(-1, 1, BAR, WIDTH - BAR);
  const y = scale(0, Math.max(...drawn.map(({ value }) => value)), HEIGHT, EDGE);
  const path = (wanted) => drawn.filter(({ place }) => wanted(place)).map(({ place, value }) => `M${x(place).toFixed(1)} ${HEIGHT}V${y(value).toFixed(1)}`).join("");
  return html`<div class="chart bars"><svg viewBox="0 0 600 96" preserveAspectRatio="none" role="img" aria-label=${label}>
      <path class="zero" d=${`M${x(0)} 0V${HEIGHT}`}></path><path class="low" d=${path((place) => place < 0)}></path><path class="high" d=${path((place) => place > 0)}></path></svg>
    ${axis(["−1, misled", "0", "helped, +1"])}
    ${table(heads, bars.map(({ name, text }) => [name, text]))}</div>`;
}
