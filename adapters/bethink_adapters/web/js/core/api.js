// The client of the REST API: token, problems, entity tags and the stream of events.

const TOKEN = "bethink-token";

/** A refused request, as RFC 9457 tells it, or a request without an answer. */
export class Problem extends Error {
  /** @param {{status: number, title?: string, detail?: string, type?: string, errors?: any[]}} [told] */
  constructor(told = { status: 0, title: "No answer", detail: "The server does not answer." }) {
    super(told.detail || told.title || `error ${told.status}`);
    this.status = told.status;
    this.title = told.title ?? "";
    this.kind = (told.type ?? "").split(":").pop();
    this.told = told;
  }
}

/** Take the token of `#token=…` out of the address; return whether there is one. */
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!found) return false;
  setToken(found);
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}

/** @param {string} token */
export function setToken(token) {
  sessionStorage.setItem(TOKEN, token.trim());
}

/** Lend the token to new tabs, or borrow one of an open tab; resolve to `hasToken`. */
export function shareToken() {
  const tabs = new BroadcastChannel(TOKEN);
  return new Promise((resolve) => {
    tabs.onmessage = ({ data }) => {
      if (data && !hasToken()) setToken(data);
      else if (!data && hasToken()) tabs.postMessage(token());
      resolve(hasToken());
    };
    if (!hasToken()) tabs.postMessage("");
    setTimeout(() => resolve(hasToken()), hasToken() ? 0 : 200);
  });
}

const token = () => sessionStorage.getItem(TOKEN) ?? "";
export const hasToken = () => token() !== "";

/** @typedef {{query?: Record<string, unknown>, body?: unknown, ifMatch?: string | null,
 *   signal?: AbortSignal}} Options  a `Blob` as the body is sent as it is */

/** Send a request; return the response, or throw a `Problem`.
 * @param {string} method @param {string} path below /v1 @param {Options} [options] */
export async function send(method, path, options = {}) {
  const headers = new Headers();
  const sent = token();
  headers.set("Authorization", `Bearer ${sent}`);
  if (options.ifMatch) headers.set("If-Match", options.ifMatch);
  let body;
  if (options.body instanceof Blob) body = options.body;
  else if (options.body !== undefined) {
    headers.set("Content-Type", "application/json");
    body = JSON.stringify(options.body);
  }
  let reply;
  try {
    reply = await fetch(address(path, options.query), { method, headers, body, signal: options.signal });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem();
  }
  if (reply.ok) return reply;
  const told = await reply.json().catch(() => ({ status: reply.status, title: reply.statusText }));
  if (reply.status === 401 && sent === token()) dispatchEvent(new Event("bethink-token"));
  throw new Problem({ ...told, status: reply.status });
}

/** @param {string} path @param {Record<string, unknown>} [query] */
export function address(path, query = {}) {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    all.append(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  const text = all.toString();
  return `/v1${path}${text ? `?${text}` : ""}`;
}

/** @param {string} method @param {string} path @param {Options} [options] */
async function json(method, path, options) {
  const reply = await send(method, path, options);
  return reply.status === 204 ? null : reply.json();
}

/** @param {string} path @param {Record<string, unknown>} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => json("GET", path, { query, signal });
/** @param {string} path @param {unknown} body @param {Options} [options] */
export const post = (path, body, options) => json("POST", path, { body, ...options });
/** The hits for a question, without leaving an access. @param {Record<string, unknown>} body @param {AbortSignal} signal */
export const recall = (body, signal) => post("/recall", { ...body, touch: false }, { signal });
/** @param {string} path @param {unknown} body @param {Options} [options] */
export const patch = (path, body, options) => json("PATCH", path, { body, ...options });
/** @param {string} path @param {Options} [options] */
export const remove = (path, options) => json("DELETE", path, options);

/** The items of the whole list at *path*, each as a line of JSON.
 * @param {string} path @param {Record<string, unknown>} [query] @param {AbortSignal} [signal] */
export async function lines(path, query, signal) {
  const text = await (await send("GET", `${path}.jsonl`, { query, signal })).text();
  return text.split("\n").slice(0, -1);
}

/** A memory with its entity tag. @param {string} id @param {AbortSignal} [signal] */
export async function getMemory(id, signal) {
  const reply = await send("GET", memoryPath(id), { signal });
  return { record: await reply.json(), etag: reply.headers.get("ETag") };
}

/** @param {string} id */
export const memoryPath = (id) => `/memories/${encodeURIComponent(id)}`;

/** The entries of the journal as they come, over broken connections too.
 * @param {{since?: number | null, signal: AbortSignal, onState?: (live: boolean) => void}} options */
export async function* events({ since = null, signal, onState }) {
  let last = since === null ? null : String(since);
  while (!signal.aborted) {
    try {
      const query = last === null ? {} : { since: last };
      const reply = await send("GET", "/events", { query, signal });
      onState?.(true);
      for await (const message of messages(/** @type {ReadableStream<Uint8Array>} */ (reply.body))) {
        last = message.id ?? last;
        if (message.data) yield JSON.parse(message.data);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && [401, 403].includes(error.status)) return;
    }
    onState?.(false);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** Parse server-sent events. @param {ReadableStream<Uint8Array>} body */
async function* messages(body) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = /** @type {string} */ (blocks.pop());
    for (const block of blocks) {
      const message = {};
      for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0) message[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
      }
      yield message;
    }
  }
}
