/** A thread: a log of messages. */

import { type Http, keyed, list, value } from "./http.ts";
import { wired } from "./names.ts";
import type { AppendOptions, CallOptions, Memory, Message, Schemas } from "./types.ts";

/** The messages of a conversation, the oldest first; no thread sees messages of a second thread. */
export class Thread {
  readonly name: string;
  readonly #http: Http;
  readonly #params: { path: { thread: string }; query: { namespace: string | undefined } };

  constructor(http: Http, name: string, namespace: string | undefined) {
    this.name = name;
    this.#http = http;
    this.#params = { path: { thread: name }, query: { namespace } };
  }

  /** Append *messages*, all or none. */
  async append(messages: Message[], { signal, idempotencyKey }: AppendOptions = {}): Promise<Memory[]> {
    const body = wired<Schemas["AppendBody"]>({ messages });
    const headers = keyed(idempotencyKey);
    return list(this.#http.POST("/v1/threads/{thread}", { params: this.#params, body, signal, headers }));
  }

  /** Return the *last* messages, or all. */
  async read(last?: number, { signal }: CallOptions = {}): Promise<Memory[]> {
    const params = { ...this.#params, query: { ...this.#params.query, last } };
    return list(this.#http.GET("/v1/threads/{thread}", { params, signal }));
  }

  /** Forget all messages; return the number of messages. */
  async clear({ signal }: CallOptions = {}): Promise<number> {
    return (await value(this.#http.DELETE("/v1/threads/{thread}", { params: this.#params, signal }))).count;
  }
}
