// The shell: navigation, namespace, theme, keys, messages, and the view of the present address.
//
// A view is a module in views/ that defines one custom element. The shell loads the module of the
// address first, sets `place` (router.js) at every change of the address. The address holds all
// state of a view; a view reads `place` and calls `go(changedQuery({...}))`.

import * as api from "./core/api.js";
import { BethinkElement, define } from "./core/element.js";
import { keys, known } from "./core/keys.js";
import { changedQuery, go, href, install, place } from "./core/router.js";
import { followJournal, refresh, shared, values } from "./core/state.js";
import { each, html } from "./core/template.js";
import { failed, toasts } from "./core/toasts.js";
import { choice } from "./parts/addressed.js";
import "./parts/conflict_count.js";
import "./parts/palette.js";

/** @type {import("./core/router.js").Route[]} */
const ROUTES = [
  { path: "/", title: "Home", key: "h", tag: "home-view", load: () => import("./views/home.js") },
  { path: "/memories", title: "Memories", key: "m", tag: "memories-view", load: () => import("./views/memories.js") },
  { path: "/memories/:id", title: "Memory", key: "", tag: "memory-view", load: () => import("./views/memory.js") },
  { path: "/recall", title: "Recall", key: "r", tag: "recall-view", load: () => import("./views/recall.js") },
  { path: "/context", title: "Context", key: "p", tag: "context-view", load: () => import("./views/context.js") },
  { path: "/time", title: "Time machine", key: "t", tag: "time-view", load: () => import("./views/time.js") },
  { path: "/conflicts", title: "Conflicts", key: "c", tag: "conflicts-view", load: () => import("./views/conflicts.js") },
  { path: "/tasks", title: "Tasks", key: "s", tag: "tasks-view", load: () => import("./views/tasks.js") },
  { path: "/activity", title: "Activity", key: "a", tag: "activity-view", load: () => import("./views/activity.js") },
  { path: "/data", title: "Data", key: "d", tag: "data-view", load: () => import("./views/data.js") },
];
const [HOME] = ROUTES;
const RECALL = /** @type {typeof HOME} */ (ROUTES.find((route) => route.path === "/recall"));
const TOAST_MILLISECONDS = 8000;

class App extends BethinkElement {
  turn = 0;

  opened() {
    this.view = null;
    this.messages = [];
    this.refused = false;
    this.listen(window, "bethink-place", () => this.show());
    this.listen(window, "bethink-token", () => this.ask());
    this.listen(shared, "change", () => this.update());
    this.listen(toasts, "toast", (event) => this.tell(event.detail));
    keys(this.keys(), this.life.signal);
    api.shareToken().then((found) => (found ? this.start() : this.ask()));
  }

  start() {
    refresh().catch(failed);
    followJournal().catch(failed);
    this.show().then(() => ROUTES.forEach((route) => route.load().catch(() => 0))); // only once
  }

  keys() {
    const visits = ROUTES.filter((route) => route.key);
    return [
      ...visits.map((route) => ({ group: "View", key: `g ${route.key}`, label: route.title, run: () => go(href(route.path)) })),
      { key: "/", label: "Search", run: () => this.search() },
      { key: "z", label: "Undo the last change", run: () => this.takeBack(this.messages.findLast((message) => message.undo)) },
      { key: "Ctrl+k", label: "Commands", run: () => this.querySelector("bethink-palette").open() },
      { key: "?", label: "This help", run: () => this.querySelector("dialog.help")?.showModal() },
    ];
  }

  /** What the palette offers: each known key, the namespaces and the themes. */
  commands() {
    const spaces = [["", "Everything"], ...namespaces().map((name) => [name, name])];
    return [
      ...known().filter(({ key }) => key !== "Ctrl+k").map((key) => ({ group: "Do", ...key })),
      ...spaces.map(([name, label]) => ({ group: "Namespace", label, run: () => go(changedQuery({ ns: name || null })) })),
      ...THEMES.map((name) => ({ group: "Theme", label: name, run: () => this.wear(name) })),
    ];
  }

  /** @param {string} name of a theme */
  wear(name) {
    localStorage.setItem(THEME, name);
    showTheme();
    this.update();
  }

  async search() {
    if (place()?.route !== RECALL) go(href(RECALL.path));
    await RECALL.load();
    requestAnimationFrame(() => requestAnimationFrame(() => this.querySelector("input[type=search]")?.focus()));
  }

  /** Show the present address: at once in the view of the address, else after its module. */
  async show() {
    const found = place() ?? { route: HOME, params: {}, query: new URLSearchParams() };
    const turn = ++this.turn;
    if (this.view?.localName !== found.route.tag) {
      await found.route.load().catch(() => failed(new api.Problem()));
      if (turn !== this.turn || !customElements.get(found.route.tag)) return;
      this.view = document.createElement(found.route.tag);
    }
    this.view.place = found;
    document.title = `${found.route.title} · bethink`;
    this.update();
  }

  ask() {
    this.refused = api.hasToken();
    this.update();
    const dialog = this.querySelector("dialog.token");
    if (dialog && !dialog.open) dialog.showModal();
    else if (!dialog) setTimeout(() => this.ask());
  }

  /** @param {SubmitEvent} event */
  enter(event) {
    const form = /** @type {HTMLFormElement} */ (event.target);
    api.setToken(form.elements["token"].value);
    this.start();
  }

  tell(message) {
    this.messages = [...this.messages, message];
    setTimeout(() => this.untell(message), TOAST_MILLISECONDS);
    this.update();
  }

  untell(message) {
    this.messages = this.messages.filter((other) => other !== message);
    this.update();
  }

  /** Undo what *message* tells. */
  takeBack(message) {
    message?.undo().catch(failed);
    this.untell(message);
  }

  draw() {
    const now = place()?.route;
    const scope = new URLSearchParams(location.search).get("ns");
    return html`
      <nav class="side" aria-label="Views">
        <a class="brand" href=${href("/")}><img src="/web/icon.svg" alt="">bethink</a>
        <ul>${each(ROUTES.filter((route) => route.key), (route) => route.path, (route) => html`
          <li><a href=${href(route.path)} aria-current=${now && (now.path === route.path || now.path.startsWith(`${route.path}/`)) && "page"}>${route.title}${route.path === "/conflicts" && api.hasToken() && html`<conflict-count .namespace=${scope}></conflict-count>`}<kbd>g ${route.key}</kbd></a></li>`)}</ul>
        <div class="foot">
          ${choice(new URLSearchParams(location.search), "ns", "Namespace", [["", "Everything"], ...namespaces().map((name) => [name, name])])}
          <button @click=${() => this.wear(nextTheme())}>Theme: ${theme()}</button>
        </div>
      </nav>
      <main id="main" tabindex="-1">${this.view}</main>
      <div class="toasts">${each(this.messages, (message) => message.id, (message) => html`
        <div class="toast ${message.kind}" role=${message.kind === "error" ? "alert" : null}><span>${message.text}</span>
          ${message.undo && html`<button @click=${() => this.takeBack(message)}>Undo</button>`}</div>`)}</div>
      <dialog class="token" aria-label="Token"><form method="dialog" @submit=${(event) => this.enter(event)}>
        <h1>Enter a token</h1>
        <p class="soft">Take a token from <code>tokens.json</code>; the server prints the path at the start. <code>bethink serve --open</code> opens this page with a token.</p>
        ${this.refused && html`<p class="bad" role="alert">The server refuses the present token.</p>`}
        <label>Token <input name="token" type="password" autocomplete="off" required></label>
        <div class="actions"><button class="first">Continue</button></div></form></dialog>
      <dialog class="help" aria-label="Keys"><div class="sheet"><h1>Keys</h1>
        <dl>${each(known(), (key) => key.key, (key) => html`<dt><kbd>${key.key}</kbd></dt><dd>${key.label}</dd>`)}</dl>
        <form method="dialog"><button>Close</button></form></div></dialog>
      <bethink-palette .commands=${() => this.commands()}></bethink-palette>`;
  }
}

const THEME = "bethink-theme";
const THEMES = ["auto", "light", "dark"]; // auto follows the system
const theme = () => localStorage.getItem(THEME) ?? "auto";
const nextTheme = () => THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length];

function showTheme() {
  document.documentElement.dataset.theme = theme();
}

/** Every namespace, and every path above. */
function namespaces() {
  const chosen = new URLSearchParams(location.search).get("ns");
  const all = new Set(chosen ? [chosen] : []);
  for (const name of Object.keys(values.namespaces)) {
    const parts = name.split("/");
    parts.forEach((_, index) => all.add(parts.slice(0, index + 1).join("/")));
  }
  return [...all].sort();
}

api.takeToken();
addEventListener("hashchange", () => api.takeToken() && location.reload());
showTheme();
install(ROUTES);
define("bethink-app", App);
