/** Requests that are repeated: on network errors, 429 and 503, with growing random pauses. */

import { ServerError, networkError, retryAfter } from "./errors.ts";

const READS = /\/v1\/(get|recall|pack|similar|verify)$|\/why$/; // POST, but nothing changes
const FIRST_PAUSE = 0.25; // seconds
const LONGEST_PAUSE = 10;

/** A request that keeps the caller's signal: the copy of a signal in a request may be collected. */
export class Signalled extends Request {
  readonly given: AbortSignal | null;

  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(input, init);
    this.given = init?.signal ?? null;
  }
}

/** Return *fetch* with at most *retries* repetitions; a write keeps one Idempotency-Key. */
export function retrying(fetch: typeof globalThis.fetch, retries: number) {
  return async (request: Request): Promise<Response> => {
    const isRead = request.method === "GET" || READS.test(new URL(request.url).pathname);
    if (!isRead && !request.headers.has("Idempotency-Key")) {
      request.headers.set("Idempotency-Key", crypto.randomUUID());
    }
    const signal = request instanceof Signalled && request.given ? request.given : request.signal;
    for (let left = retries; ; left--) {
      const found = await answer(fetch, left > 0 ? request.clone() : request, signal);
      const asked = found instanceof Response ? (retryAfter(found) ?? 0) : 0;
      if (left <= 0 || !mayRepeat(found) || asked > LONGEST_PAUSE) {
        if (found instanceof Response) return found;
        throw found;
      }
      if (found instanceof Response) await found.body?.cancel();
      await sleep(Math.max(asked, pause(retries - left)), signal);
    }
  };
}

/** Return the seconds to wait after try *number*, from 0: twice as long each time, with jitter. */
export function pause(number: number): number {
  return Math.min(FIRST_PAUSE * 2 ** number, LONGEST_PAUSE) * (0.5 + Math.random() / 2);
}

/** Wait *seconds*; reject as soon as *signal* is aborted. */
export function sleep(seconds: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Return the response, or the error of the network; an abort is thrown. */
async function answer(
  fetch: typeof globalThis.fetch,
  request: Request,
  signal: AbortSignal,
): Promise<Response | ServerError> {
  try {
    return await complete(await fetch(request, { signal }));
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    return networkError(cause);
  }
}

/** Return a *response* of JSON with the whole body, so that a cut-off body is an error here. */
async function complete(response: Response): Promise<Response> {
  if (!response.body || !/\bjson\b/.test(response.headers.get("Content-Type") ?? "")) return response;
  const { status, statusText, headers } = response;
  return new Response(await response.arrayBuffer(), { status, statusText, headers });
}

function mayRepeat(found: Response | ServerError): boolean {
  return found instanceof ServerError || found.status === 429 || found.status === 503;
}
