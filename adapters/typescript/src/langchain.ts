/** LangChain.js remembers in bethink: the messages of sessions, and documents for a question. */

import { BaseListChatMessageHistory } from "@langchain/core/chat_history";
import { Document } from "@langchain/core/documents";
import { type BaseMessage, type StoredMessage, mapStoredMessagesToChatMessages } from "@langchain/core/messages";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";

import type { Bethink } from "./client.ts";
import type { Reader } from "./reader.ts";
import type { Thread } from "./thread.ts";
import type { Hit, Memory, Message, RecallOptions } from "./types.ts";

const MAX_CONTENT = 100_000; // characters of a memory that are searched

export interface ChatHistoryInput {
  client: Bethink;
  sessionId: string;
  /** The most messages to show, from a human message on; without: all. */
  window?: number;
  /** Where threads live; without: `messages` below the client's namespace. */
  namespace?: string;
}

/** The messages of a session; `bethink_adapters.langchain` in Python reads and writes the same. */
export class BethinkChatMessageHistory extends BaseListChatMessageHistory {
  lc_namespace = ["bethink", "chat_history"];
  readonly sessionId: string;
  readonly window: number | undefined;
  readonly #thread: Thread;

  constructor({ client, sessionId, window, namespace }: ChatHistoryInput) {
    super();
    this.sessionId = sessionId;
    this.window = window;
    this.#thread = client.thread(sessionId, namespace === undefined ? {} : { namespace });
  }

  async getMessages(): Promise<BaseMessage[]> {
    const messages = mapStoredMessagesToChatMessages((await this.#thread.read(this.window)).map(stored));
    if (this.window === undefined) return messages;
    const first = messages.findIndex((each) => each.type === "human");
    return first < 0 ? [] : messages.slice(first);
  }

  addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message]);
  }

  /** Add messages, all or none. */
  override async addMessages(messages: BaseMessage[]): Promise<void> {
    if (messages.length > 0) await this.#thread.append(messages.map(asMessage));
  }

  /** Forget the messages of the session. */
  override async clear(): Promise<void> {
    await this.#thread.clear();
  }
}

function asMessage(message: BaseMessage): Message {
  const { type, data } = message.toDict();
  if (type === "remove") throw new TypeError("a history has no place for a RemoveMessage");
  const author = data.name ?? data.role ?? type;
  return { value: { type, data }, content: message.text.slice(0, MAX_CONTENT), author };
}

/** Python calls a message with a role of its own "chat", JavaScript "generic". */
function stored({ value, content, author }: Memory): StoredMessage {
  const found = value as StoredMessage | null;
  if (found === null) return { type: "generic", data: { content, role: author ?? "unknown" } as StoredMessage["data"] };
  return found.type === "chat" ? { ...found, type: "generic" } : found;
}

export interface RetrieverInput extends BaseRetrieverInput, Omit<RecallOptions, "signal"> {
  client: Reader;
}

/** Recalls memories as documents, with score and explanation in the metadata. */
export class BethinkRetriever extends BaseRetriever {
  lc_namespace = ["bethink", "retrievers"];
  readonly #client: Reader;
  readonly #options: RecallOptions;

  static override lc_name(): string {
    return "BethinkRetriever";
  }

  constructor({ client, callbacks, tags, metadata, verbose, ...options }: RetrieverInput) {
    super({ callbacks, tags, metadata, verbose } as BaseRetrieverInput);
    this.#client = client;
    this.#options = options;
  }

  override async _getRelevantDocuments(query: string): Promise<Document[]> {
    return (await this.#client.recall(query, this.#options)).map(asDocument);
  }
}

function asDocument({ memory, score, explanation }: Hit): Document {
  const { author, thread, category, key, occurredAt } = memory;
  const told = Object.entries({ author, thread, category, key, occurredAt }).filter(([, each]) => each !== null);
  const metadata = { ...memory.metadata, ...Object.fromEntries(told), score, explanation: explanation.contributions };
  return new Document({ id: memory.id, pageContent: memory.content, metadata });
}
