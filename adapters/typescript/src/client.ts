/** The client: every verb of a bethink store, over HTTP. */

import { ValidationError } from "./errors.ts";
import { type BethinkOptions, answer, connect, keyed, list, upload, value, versioned } from "./http.ts";
import { type Named, wired } from "./names.ts";
import { Reader } from "./reader.ts";
import type * as T from "./types.ts";

type Call = T.CallOptions;
type IfMatch = Call & { /** The `etag` of the version to change. */ ifMatch?: string | undefined };
type Bulk = Record<`/v1/${"forget" | "restore" | "archive" | "unarchive" | "erase" | "tags"}`, "Affected"> & {
  "/v1/tidy": "Tidied";
  "/v1/compact": "Compacted";
};

/** A memory behind `bethink serve`; the verbs are those of Python's `MemoryStore`. */
export class Bethink extends Reader {
  readonly #once: ReturnType<typeof connect>;

  constructor(options: BethinkOptions) {
    super(options);
    this.#once = connect({ ...options, retries: 0 });
  }

  /** Remember *content*. A memory with a `key` supersedes the live memory with the key. */
  async store(content: string, options: T.StoreOptions = {}): Promise<T.Versioned> {
    const { signal, idempotencyKey, ...fields } = options;
    const body = wired<T.Schemas["StoreBody"]>(this.#placed({ ...fields, content }));
    return versioned(this.http.POST("/v1/memories", { body, signal, headers: keyed(idempotencyKey) }));
  }

  /** Remember *items*, and forget the ids in `forget`: all or none. */
  async storeMany(items: (string | T.NewMemory)[], options: T.StoreManyOptions = {}): Promise<T.Memory[]> {
    const { signal, idempotencyKey, ...rest } = options;
    const placed = items.map((each) => this.#placed(typeof each === "string" ? { content: each } : each));
    const body = wired<T.Schemas["BatchBody"]>({ ...rest, items: placed });
    return list(this.http.POST("/v1/memories/batch", { body, signal, headers: keyed(idempotencyKey) }));
  }

  /** Change fields of a live memory; with *ifMatch* only that version. */
  async update(id: string, changes: T.Changes, { ifMatch, signal }: IfMatch = {}): Promise<T.Versioned> {
    const params = { path: { id }, header: { "if-match": ifMatch } };
    const body = wired<T.Schemas["UpdateBody"]>(changes);
    return versioned(this.http.PATCH("/v1/memories/{id}", { params, body, signal }));
  }

  /** Forget a memory; with *ifMatch* only that version. `restore` brings the memory back. */
  async forget(id: string, { ifMatch, signal }: IfMatch = {}): Promise<void> {
    const params = { path: { id }, header: { "if-match": ifMatch } };
    await answer(this.http.DELETE("/v1/memories/{id}", { params, signal }), true);
  }

  /** Forget all memories that pass; return the number. A dry run only counts. */
  async forgetMany(which: T.Which & T.DryRun): Promise<number> {
    return (await this.#confirmed("/v1/forget", this.#chosen(which))).count;
  }

  /** Bring all forgotten memories that pass back; return the number. */
  async restoreMany(which: T.Which & T.DryRun): Promise<number> {
    return (await this.#confirmed("/v1/restore", this.#chosen(which))).count;
  }

  /** Archive all live memories that pass; return the number. */
  async archiveMany(which: T.Which & T.DryRun): Promise<number> {
    return (await this.#confirmed("/v1/archive", this.#chosen(which))).count;
  }

  /** Bring all archived memories that pass back; return the number. */
  async unarchiveMany(which: T.Which & T.DryRun): Promise<number> {
    return (await this.#confirmed("/v1/unarchive", this.#chosen(which))).count;
  }

  /** Add and remove tags of all live memories that pass; return the number of changed memories. */
  async tagMany(which: T.Which & T.DryRun, tags: { add?: string[]; remove?: string[] }): Promise<number> {
    return (await this.#confirmed("/v1/tags", { ...this.#chosen(which), ...tags })).count;
  }

  /** Erase all memories that pass, with every trace of the texts; there is no way back. */
  async erase(which: T.Which & T.DryRun): Promise<number> {
    return (await this.#confirmed("/v1/erase", this.#chosen(which))).count;
  }

  /** Forget expired and unused memories, and let outcomes of unused memories drift to 0. */
  async tidy(options: T.TidyOptions = {}): Promise<T.Tidied> {
    return this.#confirmed("/v1/tidy", options);
  }

  /** Remove the history before a moment from the file, for good. */
  async compact(options: T.CompactOptions): Promise<T.Compacted> {
    return this.#confirmed("/v1/compact", options);
  }

  /** Bring a forgotten memory back; return the number of memories. */
  restore(id: string, options?: Call): Promise<number> {
    return this.#move("restore", id, options);
  }

  /** Hide a live memory from searches without forgetting the memory. */
  archive(id: string, options?: Call): Promise<number> {
    return this.#move("archive", id, options);
  }

  /** Bring an archived memory back. */
  unarchive(id: string, options?: Call): Promise<number> {
    return this.#move("unarchive", id, options);
  }

  /** Raise the importance of a live memory. */
  async reinforce(id: string, amount = 0.1, { signal }: Call = {}): Promise<T.Versioned> {
    const init = { params: { path: { id } }, body: { amount }, signal };
    return versioned(this.http.POST("/v1/memories/{id}/reinforce", init));
  }

  /** Record how following memories went. */
  async recordOutcome(
    ids: string | string[],
    outcome: T.Outcome,
    { session = null, signal }: Call & { session?: string | null } = {},
  ): Promise<T.Memory[]> {
    return list(this.http.POST("/v1/outcomes", { body: { ids: [ids].flat(), outcome, session }, signal }));
  }

  /** Link a memory to *target*, with a *kind* such as "fixes"; return whether the link is new. */
  async relate(id: string, target: string, kind: string, { signal }: Call = {}): Promise<boolean> {
    const init = { params: { path: { id } }, body: { target, kind }, signal };
    return (await value(this.http.PUT("/v1/memories/{id}/relations", init))).changed;
  }

  /** Remove a link; return whether there was a link. */
  async unrelate(id: string, target: string, kind: string, { signal }: Call = {}): Promise<boolean> {
    const params = { path: { id }, query: { target, kind } };
    return (await value(this.http.DELETE("/v1/memories/{id}/relations", { params, signal }))).changed;
  }

  /** Settle a conflict: *keep* supersedes *drop*; return the number of superseded memories. */
  async resolve(
    keep: string,
    drop: string | string[],
    { reason = null, signal }: Call & { reason?: string | null } = {},
  ): Promise<number> {
    return (await value(this.http.POST("/v1/resolve", { body: { keep, drop: [drop].flat(), reason }, signal }))).count;
  }

  /** Merge memories that nearly repeat each other; a dry run tells the groups. */
  async consolidate({ signal, ...options }: T.FilterOptions & T.DryRun = {}): Promise<T.Merge[]> {
    const body = wired<T.Schemas["ConsolidateBody"]>({ dryRun: false, ...this.scoped(options) });
    return list(this.http.POST("/v1/consolidate", { body, signal }));
  }

  /** Give the present a name. */
  async snapshot(name: string, { signal }: Call = {}): Promise<T.Snapshot> {
    return value(this.http.POST("/v1/snapshots", { body: { name }, signal }));
  }

  /** Undo journal entry *seq* by a new entry. */
  async undo(seq: number, { signal }: Call = {}): Promise<T.Versioned> {
    return versioned(this.http.POST("/v1/undo", { body: { seq }, signal }));
  }

  /** Link memories with a task: closing the task counts for the memories. Return the number of new links. */
  async linkTask(source: T.TaskSource, id: string, ids: string[], options: T.TaskOptions = {}): Promise<number> {
    const { namespace, signal } = options;
    const init = { params: { path: { source, id }, query: { namespace } }, body: { ids }, signal };
    return (await value(this.http.PUT("/v1/tasks/{source}/{id}/memories", init))).count;
  }

  /** Remove the link of a task with a memory; recorded outcomes stay. Return whether the link existed. */
  async unlinkTask(source: T.TaskSource, id: string, memory: string, options: T.TaskOptions = {}): Promise<boolean> {
    const { namespace, signal } = options;
    const init = { params: { path: { source, id }, query: { memory, namespace } }, signal };
    return (await value(this.http.DELETE("/v1/tasks/{source}/{id}/memories", init))).changed;
  }

  /** Record outcomes for the memories of tasks closed since; a dry run only tells. */
  async syncTasks({ signal, ...options }: T.SyncOptions = {}): Promise<T.Verdict[]> {
    const body = wired<T.Schemas["SyncBody"]>({ dryRun: false, ...options });
    return list(this.http.POST("/v1/tasks/sync", { body, signal }));
  }

  /** Import the lines of an export, all or nothing; sent once, without repetitions. A dry run only counts. */
  async import(lines: T.Upload, { dryRun, signal }: Call & { dryRun?: boolean } = {}): Promise<T.Merged> {
    const params = { query: { dry_run: dryRun } };
    return value(this.#once.POST("/v1/import", { ...upload(lines), params, signal }));
  }

  /** Merge the memories of a bethink file, all or nothing; sent once, without repetitions. A dry run only counts. */
  async merge(file: T.Upload, { dryRun, signal }: Call & { dryRun?: boolean } = {}): Promise<T.Merged> {
    const params = { query: { dry_run: dryRun } };
    return value(this.#once.POST("/v1/merge", { ...upload(file), params, signal }));
  }

  /** Mend what can be mended in the file. */
  async repair({ signal }: Call = {}): Promise<T.Repair> {
    return value(this.http.POST("/v1/repair", { signal }));
  }

  #placed(memory: T.NewMemory): T.NewMemory {
    return { ...memory, namespace: memory.namespace ?? this.namespace };
  }

  async #move(verb: "restore" | "archive" | "unarchive", id: string, { signal }: Call = {}): Promise<number> {
    return (await value(this.http.POST(`/v1/memories/{id}/${verb}`, { params: { path: { id } }, signal }))).count;
  }

  /** Return *which* with a namespace; ids need none. A call without any criterion is a mistake. */
  #chosen({ namespace, ...which }: T.Which & T.DryRun) {
    if (namespace === undefined && !which.ids && !which.where) {
      throw new ValidationError({ detail: "give ids, where or namespace; namespace: null is everything" });
    }
    return this.scoped({ ...which, namespace: which.ids && namespace === undefined ? null : namespace });
  }

  /** Count first, then do the same with the token that confirms the count. */
  async #confirmed<Path extends keyof Bulk>(path: Path, options: Call & T.DryRun) {
    const { signal, dryRun = false, ...which } = options;
    const ask = async (more: object) => {
      const body = wired<T.Schemas["TagsBody"] & T.Schemas["TidyBody"] & T.Schemas["CompactBody"]>({ ...which, ...more });
      return (await value(this.http.POST(path as "/v1/forget", { body, signal }))) as Named<T.Schemas[Bulk[Path]]>;
    };
    const counted = await ask({ dryRun: true });
    return dryRun ? counted : ask({ dryRun: false, confirm: counted.confirm });
  }
}
