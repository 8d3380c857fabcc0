// Addresses. The path and the query hold all state of a view; Back and Forward bring it back.

/** @typedef {{path: string, title: string, key: string, tag: string, load: () => Promise<unknown>}} Route */
/** @typedef {{route: Route, params: Record<string, string>, query: URLSearchParams}} Place */

/** @type {Route[]} */
let routes = [];
/** What views keep for Back, by the entry of the history: rows, cursors, positions. */
const kept = new Map();
let serial = 0;

/** @param {Route[]} table */
export function install(table) {
  routes = table;
  history.scrollRestoration = "manual";
  if (!history.state?.entry) history.replaceState({ entry: fresh() }, "");
  addEventListener("popstate", () => changed());
  document.addEventListener("click", follow);
}

const fresh = () => `${Date.now().toString(36)}.${++serial}`;
const changed = () => dispatchEvent(new Event("bethink-place"));
const matcher = (path) => new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}/?$`);

/** @returns {Place | null} */
export function place() {
  for (const route of routes) {
    const found = matcher(route.path).exec(location.pathname);
    if (!found) continue;
    const params = /** @type {Record<string, string>} */ ({});
    for (const [name, text] of Object.entries(found.groups ?? {})) params[name] = decodeURIComponent(text);
    return { route, params, query: new URLSearchParams(location.search) };
  }
  return null;
}

/** The address of *path* with *query*; the chosen namespace stays.
 * @param {string} path @param {Record<string, unknown>} [query] */
export function href(path, query = {}) {
  const all = new URLSearchParams();
  const scope = new URLSearchParams(location.search).get("ns");
  const given = { ...(scope ? { ns: scope } : {}), ...query };
  for (const [name, value] of Object.entries(given)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== null && item !== undefined && item !== "" && item !== false) all.append(name, String(item));
    }
  }
  const text = all.toString();
  return text ? `${path}?${text}` : path;
}

/** The address of a memory. @param {string} id @param {Record<string, unknown>} [query] */
export const memory = (id, query) => href(`/memories/${encodeURIComponent(id)}`, query);

/** The present address with *changes* to the query; null removes. A changed list begins at the first page. @param {Record<string, unknown>} changes */
export function changedQuery(changes) {
  const query = {};
  const now = new URLSearchParams(location.search);
  for (const name of new Set(now.keys())) query[name] = now.getAll(name);
  return href(location.pathname, { ...query, page: null, ...changes });
}

/** The fields of a form instead of a request; the keys of the page work again. @param {SubmitEvent} event */
export function submitted(event) {
  event.preventDefault();
  /** @type {HTMLElement} */ (document.activeElement).blur();
  const fields = [...new FormData(/** @type {HTMLFormElement} */ (event.target))];
  return Object.fromEntries(fields.map(([name, value]) => [name, String(value).trim()]));
}

/** @param {string} url @param {{replace?: boolean}} [options] */
export function go(url, { replace = false } = {}) {
  if (url === location.pathname + location.search && !replace) return;
  if (!replace) keep("scroll", scrollY);
  const entry = replace ? history.state?.entry : fresh();
  history[replace ? "replaceState" : "pushState"]({ entry }, "", url);
  changed();
}

/** Keep *value* for the present entry of the history. @param {string} name @param {unknown} value */
export function keep(name, value) {
  const entry = history.state?.entry;
  if (!kept.has(entry)) kept.set(entry, {});
  kept.get(entry)[name] = value;
}

/** What was kept for the present entry. @param {string} name */
export const remembered = (name) => kept.get(history.state?.entry)?.[name];

/** Follow links to views without loading the page again. @param {MouseEvent} event */
function follow(event) {
  const path = event.composedPath().find((node) => node instanceof HTMLAnchorElement);
  const link = /** @type {HTMLAnchorElement | undefined} */ (path);
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey) return;
  if (event.shiftKey || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.hash && link.pathname === location.pathname) return;
  if (!routes.some((route) => matcher(route.path).test(link.pathname))) return;
  event.preventDefault();
  go(link.pathname + link.search);
}
