/** The values and arguments of the verbs, from the server's description. */

import type { Camel, Named } from "./names.ts";
import type { components, operations } from "./schema.d.ts";

/** Bodies of requests and answers as on the wire. */
export type Schemas = components["schemas"];
type Value<Name extends keyof Schemas> = Named<Schemas[Name]>;
type ListQuery = NonNullable<operations["list_memories"]["parameters"]["query"]>;
type Overriding<T, With> = Omit<T, keyof With> & With;

/** One remembered text or value. Times are Unix seconds (UTC). */
export type Memory = Value<"MemoryRecord">;
/** A memory with the tag of the version, for `ifMatch`. */
export type Versioned = Memory & { etag: string };
/** A recalled memory; `explanation` has the parts that sum to `score`. */
export type Hit = Value<"RecallResult">;
export type Similar = Value<"SimilarMemory">;
export type Packed = Value<"Packed">;
export type WhyNot = Value<"WhyNot">;
export type Conflict = Value<"Conflict">;
export type Relation = Value<"Relation">;
export type OutcomeEntry = Value<"OutcomeEntry">;
export type Merge = Value<"Consolidated">;
export type Version = Value<"Version">;
export type LogEntry = Value<"LogEntry">;
export type Diff = Value<"Diff">;
export type Snapshot = Value<"Snapshot">;
export type Stats = Value<"Stats">;
export type Integrity = Value<"Integrity">;
export type Repair = Value<"Repair">;
export type Merged = Value<"Merged">;
export type Page = Value<"Page">;
/** Memories as points of a plane, and the shares of variance on the two axes. */
export type MemoryMap = Value<"Map">;
export type Tidied = Value<"Tidied">;
export type Compacted = Value<"Compacted">;
export type Outcome = Schemas["OutcomeBody"]["outcome"];
export type Tasks = Value<"Tasks">;
export type Task = Value<"TaskFacts">;
export type Verdict = Value<"Verdict">;
/** An entry of the journal as it comes, without the text. */
export type JournalEvent = Pick<LogEntry, "seq" | "at" | "id" | "namespace" | "action">;

/** A time: a Date, Unix seconds, or ISO 8601. */
export type Time = Date | number | string;
/** A moment of the store: a time, a journal entry such as "#12", or the name of a snapshot. */
export type Moment = Time;

type Scalar = boolean | number | string | null;
type Tags = Scalar | unknown[] | Schemas["Condition"];
type Text = string | null | Schemas["Texts"];
type Measure = number | null | Schemas["Numbers"];
type Inside = Scalar | unknown[] | Schemas["Inside"] | Record<string, unknown>;
type Instant = Time | null | { [Operator in keyof Schemas["Moments"]]: Instant | boolean | (Time | null)[] };

/** A filter: fields with values or conditions, `$and`, `$or`, `$not`, metadata and value. */
export type Where = {
  [Field in "id" | "namespace" | "content" | "key" | "thread" | "author" | "category" | "source" | "supersededBy"]?: Text;
} & { tags?: Tags } & { [Field in "importance" | "confidence" | "accessCount" | "outcome"]?: Measure } & {
  [Field in "createdAt" | "occurredAt" | "updatedAt" | "expiresAt" | "lastAccessedAt"]?: Instant;
} & { [Path in "value" | `metadata.${string}` | `value.${string}`]?: Inside } & {
  $and?: Where[];
  $or?: Where[];
  $not?: Where;
};

/** What every call takes. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Where to read: the client's namespace unless *namespace* is given; null is all that is visible. */
export interface ScopeOptions extends CallOptions {
  namespace?: string | null | undefined;
  /** Also everything below the namespace. */
  subtree?: boolean;
}

export interface FilterOptions extends ScopeOptions {
  where?: Where | undefined;
}

interface Repeatable extends CallOptions {
  /** Two writes with one key are one write, also after a restart of this program. */
  idempotencyKey?: string;
}

type Timed = { occurredAt?: Time | null; expiresAt?: Time | null };
/** A memory to store, in the client's namespace unless another is named. */
export type NewMemory = Overriding<Value<"NewMemory">, Timed & { namespace?: string | null | undefined }>;
/** The fields of a memory to change. */
export type Changes = Overriding<Value<"UpdateBody">, Timed>;
export type StoreOptions = Omit<NewMemory, "content"> &
  Pick<Value<"StoreBody">, "onSimilar" | "similarity"> &
  Repeatable;
export type StoreManyOptions = Pick<Value<"BatchBody">, "forget" | "onSimilar"> & Repeatable;
export type AppendOptions = Repeatable;
/** A message of a thread: `value` is the message, `content` the text to search. */
export type Message = Value<"MessageBody">;

type Searching<Body> = Overriding<Omit<Body, "query">, FilterOptions & { asOf?: Moment | undefined }>;
export type RecallOptions = Searching<Value<"RecallBody">>;
export type PackOptions = Searching<Value<"PackBody">>;
export type WhyOptions = Searching<Value<"WhyBody">>;
export type SimilarToOptions = ScopeOptions & { similarity?: number };
export type SimilarOptions = Overriding<Omit<Value<"SimilarBody">, "content">, FilterOptions>;

export interface CountOptions extends FilterOptions {
  asOf?: Moment | undefined;
}
export interface ListOptions extends CountOptions {
  state?: ListQuery["state"];
  /** "oldest", "newest", or a field, the greatest first. */
  order?: Camel<NonNullable<ListQuery["order"]>>;
  /** Memories a page, at most 200. */
  limit?: number;
}
export interface PageOptions extends ListOptions {
  cursor?: string | null | undefined;
}
export interface ConflictOptions extends ScopeOptions {
  minTier?: "likely" | "possible";
  limit?: number;
  asOf?: Moment | undefined;
}
export interface LogOptions extends ScopeOptions {
  /** Only entries after this one. */
  since?: number;
  /** Only entries up to this one. */
  until?: number;
  limit?: number;
}
export interface MapOptions extends ScopeOptions {
  limit?: number;
}
type TaskName = operations["get_task"]["parameters"]["path"];
export type TaskSource = TaskName["source"];
/** Where the links of tasks are: in the namespace of the server's working directory unless named. */
export interface TaskOptions extends CallOptions {
  namespace?: string;
}
export interface SyncOptions extends TaskOptions, DryRun {
  /** Whether a reason such as "reverted" counts as failed. */
  allowFailed?: boolean;
}
/** Which memories go: those with the *ids*, or all of *namespace*, that pass *where*. */
export interface Which extends FilterOptions {
  ids?: string[];
}
/** A dry run changes nothing, and tells what would change. */
export interface DryRun {
  dryRun?: boolean;
}
export interface TidyOptions extends CallOptions, DryRun {
  /** Forget memories unused for so many days, */
  retention?: number;
  /** or weaker than this strength. */
  floor?: number;
}
/** Give one of both. */
export interface CompactOptions extends CallOptions, DryRun {
  /** History before this moment goes: a time, "#12" for a journal entry, or a snapshot. */
  before?: string;
  /** So many days of history stay. */
  keep?: number;
}
export interface EventOptions extends CallOptions {
  /** The journal entry to start after; without: from now on. */
  since?: number;
  /** false: end after the last entry. */
  follow?: boolean;
}
/** The bytes of an upload. */
export type Upload = Blob | ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string;
