/** The connection to a server: openapi-fetch with the server's description, retries and errors. */

import createClient, { type Client } from "openapi-fetch";

import { ServerError, errorOf } from "./errors.ts";
import { type Named, named } from "./names.ts";
import { Signalled, retrying } from "./retrying.ts";
import type { components, paths } from "./schema.d.ts";
import type { Memory, Upload, Versioned } from "./types.ts";

export interface BethinkOptions {
  /** The address that `bethink serve` prints. */
  url: string | URL;
  /** The token of `tokens.json`. */
  token: string;
  /** Where to write and to look unless a call says otherwise; without: all that the token opens. */
  namespace?: string | undefined;
  /** Used in place of the global fetch. */
  fetch?: typeof globalThis.fetch;
  /** How often a request is repeated after network errors, 429 and 503 (3). */
  retries?: number;
}

export type Http = Client<paths>;
/** The parameters in the address of the operation GET *Path*. */
export type Query<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Found } } }
  ? NonNullable<Found>
  : never;
type Reply<Data> = Promise<{ data?: Data | undefined; error?: unknown; response: Response }>;

/** Return the connection. */
export function connect({ url, token, fetch = globalThis.fetch, retries = 3 }: BethinkOptions): Http {
  return createClient<paths>({
    baseUrl: url.toString(),
    headers: { Authorization: `Bearer ${token}` },
    fetch: retrying(fetch, retries),
    Request: Signalled,
    querySerializer: (query) => {
      const given = Object.entries(query).filter(([, each]) => each != null);
      const text = given.map(([name, each]) => [name, typeof each === "object" ? JSON.stringify(each) : `${each}`]);
      return new URLSearchParams(text as [string, string][]).toString();
    },
  });
}

/** Return the answer of *call*, or throw its problem; an answer without a body is one unless *mayBeEmpty*. */
export async function answer<Data>(
  call: Reply<Data>,
  mayBeEmpty = false,
): Promise<{ data: NonNullable<Data>; response: Response }> {
  const { data, error, response } = await call;
  if (!response.ok) throw errorOf(response, error);
  if (!mayBeEmpty && (data === undefined || (data as unknown) === "")) {
    const detail = `the server answered ${response.status} without a body, where a value belongs`;
    throw new ServerError({ title: "Empty answer", status: response.status, detail });
  }
  return { data: data as NonNullable<Data>, response };
}

/** Return the value that *call* resolves to. */
export async function value<Data>(call: Reply<Data>): Promise<Named<NonNullable<Data>>> {
  return named((await answer(call)).data);
}

/** Return the list that *call* resolves to. */
export async function list<Item>(call: Reply<{ items: Item[] }>): Promise<Named<Item>[]> {
  return named((await answer(call)).data.items) as Named<Item>[];
}

/** Return the memory that *call* resolves to, with the tag of the version. */
export async function versioned(call: Reply<components["schemas"]["MemoryRecord"]>): Promise<Versioned> {
  const { data, response } = await answer(call);
  return { ...(named(data) as Memory), etag: response.headers.get("ETag") ?? "" };
}

/** Return the headers of a write with the *key*, or of a write that gets a key of its own. */
export function keyed(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { "Idempotency-Key": key };
}

/** Return the parts of a request that sends *body* as it is; the description calls bytes a string. */
export function upload(body: Upload) {
  const headers = { "Content-Type": "application/octet-stream" };
  return { body: body as string, bodySerializer: (given: unknown) => given, headers, duplex: "half" };
}
