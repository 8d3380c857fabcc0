/** bethink's memory over HTTP: `new Bethink({ url, token })`. */

export { Bethink } from "./client.ts";
export * from "./errors.ts";
export { type ServerEvent, parseEvents } from "./events.ts";
export type { BethinkOptions } from "./http.ts";
export { Reader } from "./reader.ts";
export type { Thread } from "./thread.ts";
export type * from "./types.ts";
