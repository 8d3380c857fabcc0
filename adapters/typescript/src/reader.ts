/** The verbs that change nothing. */

import { NotFoundError } from "./errors.ts";
import { following } from "./following.ts";
import { type BethinkOptions, type Http, type Query, answer, connect, list, value, versioned } from "./http.ts";
import { moment, wireName, wired } from "./names.ts";
import { Thread } from "./thread.ts";
import type * as T from "./types.ts";

type Call = T.CallOptions;
type At = Call & { asOf?: T.Moment | undefined };

/** What a token that only reads may do. */
export class Reader {
  /** Where calls write and look unless they say otherwise. */
  readonly namespace: string | undefined;
  protected readonly http: Http;

  constructor(options: BethinkOptions) {
    this.namespace = options.namespace;
    this.http = connect(options);
  }

  /** Search by meaning and words, best first. */
  async recall(query: string, { signal, ...options }: T.RecallOptions = {}): Promise<T.Hit[]> {
    return list(this.http.POST("/v1/recall", { body: this.#search(query, options), signal }));
  }

  /** Pack the best memories into a text for a prompt; without a query an overview. */
  async pack(query = "", { signal, ...options }: T.PackOptions = {}): Promise<T.Packed> {
    return value(this.http.POST("/v1/pack", { body: this.#search(query, options), signal }));
  }

  /** Return the memories that `onSimilar` takes for the same as *content*, the most similar first. */
  async similar(content: string, { signal, ...options }: T.SimilarOptions = {}): Promise<T.Similar[]> {
    const body = wired<T.Schemas["SimilarBody"]>({ ...this.scoped(options), content });
    return list(this.http.POST("/v1/similar", { body, signal }));
  }

  /** Return the near-duplicates of a memory, the most similar first. */
  async similarTo(id: string, { signal, ...options }: T.SimilarToOptions = {}): Promise<T.Similar[]> {
    const params = { path: { id }, query: this.scoped(options) };
    return list(this.http.GET("/v1/memories/{id}/similar", { params, signal }));
  }

  /** Tell what keeps a memory out of the answer to a search. */
  async whyNot(id: string, query: string, { signal, ...options }: T.WhyOptions = {}): Promise<T.WhyNot> {
    const init = { params: { path: { id } }, body: this.#search(query, options), signal };
    return value(this.http.POST("/v1/memories/{id}/why", init));
  }

  /** Return a memory, also a superseded or archived memory; null for an id that is absent. */
  async get(id: string, { asOf, signal }: At = {}): Promise<T.Versioned | null> {
    const params = { path: { id }, query: { as_of: moment(asOf) } };
    try {
      return await versioned(this.http.GET("/v1/memories/{id}", { params, signal }));
    } catch (error) {
      if (error instanceof NotFoundError && error.id === id) return null;
      throw error;
    }
  }

  /** Return memories, each in the place of the id. */
  async getMany(ids: string[], { asOf, signal }: At = {}): Promise<(T.Memory | null)[]> {
    return list(this.http.POST("/v1/get", { body: { ids, as_of: moment(asOf) ?? null }, signal }));
  }

  /** Yield memories, page by page, as they were at the first page. */
  async *all(options: T.ListOptions = {}): AsyncGenerator<T.Memory, void> {
    let cursor: string | null | undefined;
    do {
      const page = await this.page({ limit: 200, ...options, cursor });
      yield* page.items;
      cursor = page.next;
    } while (cursor !== null);
  }

  /** Return a page of memories; `next` is the *cursor* of the next page. */
  async page({ signal, asOf, order, ...options }: T.PageOptions = {}): Promise<T.Page> {
    const told = wired<object>(this.scoped(options));
    const query = { ...told, as_of: moment(asOf), order: order && wireName(order) } as Query<"/v1/memories">;
    return value(this.http.GET("/v1/memories", { params: { query }, signal }));
  }

  /** Count live memories. */
  async count({ signal, asOf, ...options }: T.CountOptions = {}): Promise<number> {
    const query = wired<Query<"/v1/count">>({ ...this.scoped(options), asOf: moment(asOf) });
    return (await value(this.http.GET("/v1/count", { params: { query }, signal }))).count;
  }

  /** List how following a memory went, the oldest first. */
  async outcomes(id: string, { signal }: Call = {}): Promise<T.OutcomeEntry[]> {
    return list(this.http.GET("/v1/memories/{id}/outcomes", { params: { path: { id } }, signal }));
  }

  /** List the memories linked with a memory. */
  async related(id: string, { signal }: Call = {}): Promise<T.Relation[]> {
    return list(this.http.GET("/v1/memories/{id}/relations", { params: { path: { id } }, signal }));
  }

  /** List pairs of memories that can hardly both hold; with a query among the relevant memories. */
  async conflicts(query?: string, { signal, asOf, ...options }: T.ConflictOptions = {}): Promise<T.Conflict[]> {
    const asked = wired<Query<"/v1/conflicts">>({ ...this.scoped(options), query, asOf: moment(asOf) });
    return list(this.http.GET("/v1/conflicts", { params: { query: asked }, signal }));
  }

  /** List journal entries, the newest first. */
  async log({ signal, ...options }: T.LogOptions = {}): Promise<T.LogEntry[]> {
    return list(this.http.GET("/v1/log", { params: { query: this.scoped(options) }, signal }));
  }

  /** List the journal entries of a memory, the newest first. */
  async history(id: string, { limit, signal }: Call & { limit?: number } = {}): Promise<T.LogEntry[]> {
    const params = { path: { id }, query: { limit } };
    return list(this.http.GET("/v1/memories/{id}/history", { params, signal }));
  }

  /** List every version of the fact *key*, the oldest first. */
  async audit(key: string, { asOf, signal, ...scope }: At & { namespace?: string } = {}): Promise<T.Version[]> {
    const params = { path: { key }, query: { ...this.scoped(scope), as_of: moment(asOf) } };
    return list(this.http.GET("/v1/facts/{key}", { params, signal }));
  }

  /** Tell what changed between two moments; without *until* up to now. */
  async diff(since: T.Moment, until?: T.Moment, { signal, ...scope }: T.ScopeOptions = {}): Promise<T.Diff> {
    const query = { ...this.scoped(scope), since: moment(since), until: moment(until) };
    return value(this.http.GET("/v1/diff", { params: { query }, signal }));
  }

  /** List the named moments, the oldest first. */
  async snapshots({ signal }: Call = {}): Promise<T.Snapshot[]> {
    return list(this.http.GET("/v1/snapshots", { signal }));
  }

  /** Return the vector *name* of a memory. */
  async vector(id: string, name: string, { signal }: Call = {}): Promise<number[]> {
    const params = { path: { id }, query: { name } };
    return (await value(this.http.GET("/v1/memories/{id}/vectors", { params, signal }))).vector;
  }

  /** Return the log of messages *name*, in `messages` below the client's namespace. */
  thread(name: string, { namespace = this.#threads }: { namespace?: string | undefined } = {}): Thread {
    return new Thread(this.http, name, namespace);
  }

  /** List the names of threads that have messages. */
  async threads({ namespace = this.#threads, signal }: Call & { namespace?: string } = {}): Promise<string[]> {
    return list(this.http.GET("/v1/threads", { params: { query: { namespace } }, signal }));
  }

  /** List the open tasks of Beads and Claude Code in the server's working directory; or all. */
  async tasks({ closed, signal }: Call & { closed?: boolean } = {}): Promise<T.Tasks> {
    return value(this.http.GET("/v1/tasks", { params: { query: { closed } }, signal }));
  }

  /** List the memories that are linked with a task. */
  async taskMemories(source: T.TaskSource, id: string, options: T.TaskOptions = {}): Promise<T.Memory[]> {
    const { namespace, signal } = options;
    const params = { path: { source, id }, query: { namespace } };
    return list(this.http.GET("/v1/tasks/{source}/{id}/memories", { params, signal }));
  }

  /** Yield the journal as it grows; a lost connection is opened again, and no event is lost. */
  async *events(options: T.EventOptions = {}): AsyncGenerator<T.JournalEvent, void> {
    const { signal } = options;
    const since = options.since ?? (await this.log({ limit: 1, namespace: null, signal }))[0]?.seq ?? 0;
    yield* following(this.http, since, options);
  }

  /** Stream all visible memories, in any state, with history, as lines of JSON. */
  async export({ signal, ...scope }: T.ScopeOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const params = { query: this.scoped(scope) };
    return (await answer(this.http.GET("/v1/export", { params, parseAs: "stream", signal }))).data;
  }

  /** Count memories by state, namespace and category. */
  async stats({ signal }: Call = {}): Promise<T.Stats> {
    return value(this.http.GET("/v1/stats", { signal }));
  }

  /** Lay the newest memories out in a plane, like memories close together. */
  async map({ signal, ...options }: T.MapOptions = {}): Promise<T.MemoryMap> {
    return value(this.http.GET("/v1/map", { params: { query: this.scoped(options) }, signal }));
  }

  /** Return the visible namespaces with the numbers of live memories. */
  async namespaces({ signal }: Call = {}): Promise<Record<string, number>> {
    return (await value(this.http.GET("/v1/namespaces", { signal }))).namespaces;
  }

  /** Check the file and the history. */
  async verify({ signal }: Call = {}): Promise<T.Integrity> {
    return value(this.http.POST("/v1/verify", { signal }));
  }

  /** Return *options* with the namespace to look in. */
  protected scoped<Options extends T.ScopeOptions>(
    options: Options,
  ): Omit<Options, "namespace"> & { namespace?: string } {
    const { namespace = this.namespace, ...rest } = options;
    return namespace == null ? rest : { ...rest, namespace };
  }

  get #threads(): string | undefined {
    return this.namespace && `${this.namespace}/messages`;
  }

  #search(query: string, { asOf, ...options }: T.PackOptions): T.Schemas["PackBody"] {
    return wired({ ...this.scoped(options), query, asOf: moment(asOf) });
  }
}
