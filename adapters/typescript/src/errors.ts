/** Errors: each problem of the server (RFC 9457) is an error of one class. */

import type { components } from "./schema.d.ts";

type Problem = components["schemas"]["ProblemModel"];

/** A refused request; `type` and `status` tell why, `detail` is one sentence. */
export class BethinkError extends Error {
  readonly type: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** What is wrong with which field, for a request that is not valid. */
  readonly errors: NonNullable<Problem["errors"]>;
  /** The id of the memory that the error is about. */
  readonly id: string | null;
  /** The seconds after which a new try may succeed. */
  readonly retryAfter: number | null;

  constructor(problem: Partial<Problem>, retryAfter: number | null = null, options?: ErrorOptions) {
    super(problem.detail || problem.title || "The request failed", options);
    this.name = new.target.name;
    this.type = problem.type ?? "about:blank";
    this.status = problem.status ?? 0;
    this.title = problem.title ?? "";
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
    this.id = problem.id ?? null;
    this.retryAfter = retryAfter;
  }
}

/** No token, or a token, host or page that is not allowed (401, 403). */
export class AccessError extends BethinkError {}
/** No such memory, moment, key or namespace, or not for this token (404). */
export class NotFoundError extends BethinkError {}
/** The state of the store forbids the change (409). */
export class ConflictError extends BethinkError {}
/** A memory that nearly repeats the memory `id` (409). */
export class SimilarMemoryError extends ConflictError {}
/** The memory is not the version that `ifMatch` names (412). */
export class PreconditionError extends BethinkError {}
/** An argument is wrong (413, 415, 422); `errors` names all. */
export class ValidationError extends BethinkError {}
/** Too many requests or failures (429). */
export class RateLimitError extends BethinkError {}
/** The server, or the network on the way, failed (500 and above; 0 without an answer). */
export class ServerError extends BethinkError {}

const CLASSES: Readonly<Record<number, typeof BethinkError>> = {
  401: AccessError,
  403: AccessError,
  404: NotFoundError,
  409: ConflictError,
  412: PreconditionError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
  429: RateLimitError,
};

/** Return the error for a *response* whose body is *body*. */
export function errorOf(response: Response, body: unknown): BethinkError {
  const { status, statusText } = response;
  const told = typeof body === "object" && body !== null ? (body as Partial<Problem>) : {};
  const problem = { title: statusText, ...told, status };
  const similar = problem.type?.endsWith(":similar-memory");
  const Kind = similar ? SimilarMemoryError : (CLASSES[status] ?? (status >= 500 ? ServerError : BethinkError));
  return new Kind(problem, retryAfter(response));
}

/** Return the error for a connection that was refused or lost because of *cause*. */
export function networkError(cause: unknown): ServerError {
  const detail = `no answer from the server: ${reasons(cause).join(": ")}`;
  return new ServerError({ type: "urn:bethink:problem:network", title: "No answer", detail }, null, { cause });
}

/** Return the messages of *error* and of all its causes, such as "connect ECONNREFUSED 127.0.0.1:1". */
function reasons(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  const several = error instanceof AggregateError ? error.errors.flatMap(reasons).join(", ") : "";
  const own = error.message || several || error.name;
  return error.cause === undefined ? [own] : [own, ...reasons(error.cause)];
}

/** Return the seconds that a *response* asks to wait. */
export function retryAfter(response: Response): number | null {
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  return Number.isNaN(seconds) ? null : seconds;
}
