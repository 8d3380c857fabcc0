/** LangGraph.js keeps its long-term memory in bethink: `graph.compile({ store })`. */

import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
  getTextAtPath,
} from "@langchain/langgraph-checkpoint";

import type { Bethink } from "./client.ts";
import type { Memory, NewMemory, RecallOptions, Where } from "./types.ts";

const MAX_CONTENT = 100_000;
const NO_TEXT = "-"; // a memory needs a visible character; no query finds this one

export interface StoreInput {
  client: Bethink;
  /** Where the items live, with nothing else; without: `langgraph` below the client's namespace. */
  namespace?: string;
  /** Paths to the texts of an item that are searched; "$" is the whole item. */
  fields?: string[];
  /** How searches with a query rank. */
  mode?: NonNullable<RecallOptions["mode"]>;
}

/**
 * A store of items. Writes of a batch are one transaction, after all reads. Putting an item again
 * supersedes the memory, so `log` and `audit` have every earlier value. A search with a query
 * ranks alike items first; then come unlike items without a score.
 */
export class BethinkStore extends BaseStore {
  readonly #client: Bethink;
  readonly #root: string;
  readonly #fields: string[];
  readonly #mode: NonNullable<RecallOptions["mode"]>;

  constructor({ client, namespace, fields = ["$"], mode = "hybrid" }: StoreInput) {
    super();
    this.#client = client;
    this.#root = namespace ?? [client.namespace, "langgraph"].filter(Boolean).join("/");
    this.#fields = fields;
    this.#mode = mode;
  }

  async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const known = await this.#known(operations.filter((each) => "key" in each));
    const results = await Promise.all(
      operations.map((each) => {
        if ("namespacePrefix" in each) return this.#search(each);
        if ("value" in each) return undefined;
        if ("key" in each) return this.#item(known.get(this.#place(each)));
        return this.#listed(each);
      }),
    );
    await this.#write(operations.filter((each) => "value" in each), known);
    return results as OperationResults<Op>;
  }

  /** Return the memories of the items that *operations* name, by place. */
  async #known(operations: (GetOperation | PutOperation)[]): Promise<Map<string, Memory>> {
    const found = new Map<string, Memory>();
    if (operations.length === 0) return found;
    const $or = operations.map(({ namespace, key }) => ({ namespace: this.#path(namespace), key: quotedKey(key) }));
    for await (const each of this.#client.all({ namespace: this.#root, subtree: true, where: { $or } })) {
      found.set(`${each.namespace}\n${each.key}`, each);
    }
    return found;
  }

  /** Of two puts of an item the last counts. */
  async #write(puts: PutOperation[], known: Map<string, Memory>): Promise<void> {
    const last = new Map(puts.map((each) => [this.#place(each), each]));
    const items: NewMemory[] = [];
    const gone: string[] = [];
    for (const [place, { namespace, key, value, index }] of last) {
      const before = known.get(place);
      if (value === null) {
        if (before) gone.push(before.id);
        continue;
      }
      items.push({
        content: this.#content(value, index),
        value,
        namespace: this.#path(namespace),
        key: quotedKey(key),
        metadata: before ? { created_at: firstPut(before) } : {},
      });
    }
    if (items.length > 0) await this.#client.storeMany(items, { forget: gone });
    else if (gone.length > 0) await this.#client.forgetMany({ ids: gone });
  }

  async #search({ namespacePrefix, filter, limit = 10, offset = 0, query }: SearchOperation): Promise<SearchItem[]> {
    const scope = { namespace: this.#path(namespacePrefix), subtree: true };
    const where = asWhere(filter ?? {});
    const k = offset + limit;
    const hits = query ? await this.#client.recall(query, { ...scope, where, k, mode: this.#mode }) : [];
    const found = hits.map(({ memory, score }): SearchItem => ({ ...this.#toItem(memory), score }));
    if (found.length < k) {
      const others: Where = { $and: [where, { id: { $nin: hits.map(({ memory }) => memory.id) } }] };
      for await (const each of this.#client.all({ ...scope, where: others, order: "newest" })) {
        found.push({ ...this.#toItem(each), score: undefined as never });
        if (found.length === k) break;
      }
    }
    return found.slice(offset, k);
  }

  async #listed({ matchConditions = [], maxDepth, limit, offset = 0 }: ListNamespacesOperation): Promise<string[][]> {
    const names = Object.keys(await this.#client.namespaces()).filter((each) => each.startsWith(`${this.#root}/`));
    const all = names.map((each) => this.#labels(each));
    const wanted = all.filter((labels) => matchConditions.every((each) => meets(labels, each)));
    const cut = wanted.map((labels) => labels.slice(0, maxDepth));
    const paths = new Map(cut.map((labels) => [labels.map(segment).join("/"), labels]));
    const sorted = [...paths].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, labels]) => labels);
    return sorted.slice(offset, limit === undefined ? undefined : offset + limit);
  }

  #item(memory: Memory | undefined): Item | null {
    return memory === undefined ? null : this.#toItem(memory);
  }

  #toItem(memory: Memory): Item {
    return {
      value: memory.value as Item["value"],
      key: unquoted(memory.key ?? memory.id),
      namespace: this.#labels(memory.namespace),
      createdAt: new Date(firstPut(memory) * 1000),
      updatedAt: new Date(memory.createdAt * 1000),
    };
  }

  #content(value: Record<string, unknown>, index: PutOperation["index"]): string {
    const paths = index === false ? [] : (index ?? this.#fields);
    const texts = paths.flatMap((path) => (path === "$" ? told("", value) : getTextAtPath(value, path)));
    return texts.join("\n").slice(0, MAX_CONTENT).trim() || NO_TEXT;
  }

  #place({ namespace, key }: GetOperation | PutOperation): string {
    return `${this.#path(namespace)}\n${quotedKey(key)}`;
  }

  #path(labels: string[]): string {
    return [this.#root, ...labels.map(segment)].join("/");
  }

  #labels(namespace: string): string[] {
    return namespace.slice(this.#root.length + 1).split("/").filter(Boolean).map(unsegment);
  }
}

/** Return the time of the item's first put, in Unix seconds. */
function firstPut(memory: Memory): number {
  const noted = memory.metadata["created_at"];
  return typeof noted === "number" ? noted : memory.createdAt;
}

/** Return the leaves of *value* as lines "name: text". */
function told(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => told(name, each));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, each]) => told(key, each));
  }
  return value == null ? [] : [`${name}: ${value}`];
}

/** Return LangGraph's filter on fields of the item as a filter on memories. */
function asWhere(filter: Record<string, unknown>, path = "value"): Where {
  const parts = Object.entries(filter).map(([name, condition]): Where => {
    const field = `${path}.${name}`;
    const single = typeof condition !== "object" || condition === null || Array.isArray(condition);
    if (single) return compared(field, "$eq", condition);
    const inner = Object.entries(condition);
    if (!inner.some(([each]) => each.startsWith("$"))) return asWhere(condition as Record<string, unknown>, field);
    return { $and: inner.map(([operator, operand]) => compared(field, operator, operand)) };
  });
  return { $and: parts };
}

/** A missing field differs from every value, as in LangGraph's own store. */
function compared(field: string, operator: string, operand: unknown): Where {
  const opposite = { $ne: "$eq", $nin: "$in" }[operator];
  const where = { [field]: { [opposite ?? operator]: operand } } as Where;
  return opposite ? { $not: where } : where;
}

function meets(labels: string[], { matchType, path }: MatchCondition): boolean {
  if (path.length > labels.length) return false;
  const part = matchType === "prefix" ? labels.slice(0, path.length) : labels.slice(labels.length - path.length);
  return path.every((wanted, place) => wanted === "*" || wanted === part[place]);
}

/** Quote any label into one segment of a namespace, as Python's `segment` does. */
function segment(label: string): string {
  const hex = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  const quote = (run: string) => Array.from(new TextEncoder().encode(run), hex).join("");
  return label.replace(/[%/\x00-\x1f\x7f-\x9f]|^\*+$/g, quote) || "%";
}

function unsegment(quoted: string): string {
  return quoted === "%" ? "" : quoted.replace(/(?:%[0-9A-F]{2})+/g, decodeURIComponent);
}

/** Return the memory's key for the key of an item, any text; blank or odd keys are quoted. */
function quotedKey(key: string): string {
  const plain = key.trim() !== "" && !key.startsWith("%") && !/(?! )[\p{C}\p{Z}]/u.test(key);
  return plain ? key : `%${segment(key)}`;
}

function unquoted(key: string): string {
  return key.startsWith("%") ? unsegment(key.slice(1)) : key;
}
