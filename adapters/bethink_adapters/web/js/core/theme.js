// The theme: auto follows the system; light and dark are kept in the browser.

const NAME = "bethink-theme";
export const THEMES = ["auto", "light", "dark"];

export const theme = () => localStorage.getItem(NAME) ?? "auto";

/** @param {string} name */
export function setTheme(name) {
  localStorage.setItem(NAME, name);
  apply();
}

export function apply() {
  document.documentElement.dataset.theme = theme();
}

export const nextTheme = () => THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];
