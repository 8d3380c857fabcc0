// Numbers, times and sizes as people read them.

const number = new Intl.NumberFormat("en");
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const date = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
const STEPS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60],
]);

/** @param {number} value */
export const count = (value) => number.format(value);
/** @param {number} value @param {string} one @param {string} [many] */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
/** @param {number} seconds Unix time */
export const when = (seconds) => date.format(seconds * 1000);
/** @param {number} seconds Unix time */
export const iso = (seconds) => new Date(seconds * 1000).toISOString();

/** @param {number} seconds Unix time @param {number} [now] Unix time */
export function ago(seconds, now = Date.now() / 1000) {
  const passed = now - seconds;
  for (const [unit, length] of STEPS) {
    if (Math.abs(passed) >= length) return relative.format(-Math.round(passed / length), unit);
  }
  return "just now";
}

/** @param {number} value */
export function bytes(value) {
  const units = ["B", "kB", "MB", "GB"];
  let step = 0;
  while (value >= 1000 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  return `${value < 10 && step ? value.toFixed(1) : Math.round(value)} ${units[step]}`;
}

/** A number with a sign, such as an outcome. @param {number} value */
export const signed = (value) => (value > 0 ? `+${value.toFixed(2)}` : value.toFixed(2).replace("-", "−"));
/** @param {number} value @param {number} [digits] */
export const fixed = (value, digits = 3) => value.toFixed(digits);
/** A value of JSON as one line. @param {unknown} value */
export const json = (value) => (typeof value === "string" ? value : JSON.stringify(value));
