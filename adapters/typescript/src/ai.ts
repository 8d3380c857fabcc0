/** The AI SDK: tools for a model to search and write a memory, and a middleware that adds context. */

import { type LanguageModelMiddleware, jsonSchema, tool } from "ai";

import type { Bethink } from "./client.ts";
import type { Reader } from "./reader.ts";
import type { PackOptions, RecallOptions } from "./types.ts";

type Prompt = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"]["prompt"];

export interface MemoryToolsOptions extends Pick<RecallOptions, "namespace" | "subtree" | "minScore" | "minShare"> {
  /** The most memories of a recall (5). */
  k?: number;
  /** The most tokens of a context (800). */
  budgetTokens?: number;
}

const text = (description: string) => ({ type: "string", description }) as const;

/** Return an input of one required text. */
function one<Name extends string>(name: Name, description: string) {
  return jsonSchema<Record<Name, string>>({
    type: "object",
    properties: { [name]: text(description) },
    required: [name],
    additionalProperties: false,
  });
}

/**
 * Return the tools `recall`, `remember`, `forget` and `context`; pick those that a model may use.
 * The model cannot choose the namespace.
 */
export function memoryTools(client: Bethink, options: MemoryToolsOptions = {}) {
  const { k = 5, budgetTokens = 800, ...scope } = options;
  const namespace = scope.namespace ?? undefined;
  return {
    recall: tool({
      description: "Search the long-term memory for what is known about something. Returns memories, the best first.",
      inputSchema: one("query", "what to look for, in words"),
      execute: async ({ query }, { abortSignal }) => {
        const hits = await client.recall(query, { ...scope, k, signal: abortSignal });
        return hits.map(({ memory, score }) => ({ id: memory.id, content: memory.content, score }));
      },
    }),
    remember: tool({
      description: "Keep one fact in the long-term memory, when it will matter in later conversations.",
      inputSchema: one("content", "the fact, in a sentence that makes sense by itself"),
      execute: async ({ content }, { abortSignal, toolCallId }) => {
        const memory = await client.store(content, { namespace, source: toolCallId, signal: abortSignal });
        return { id: memory.id };
      },
    }),
    forget: tool({
      description: "Forget a memory that is wrong or unwanted. Can be undone by the user.",
      inputSchema: one("id", "the id that recall returned"),
      execute: async ({ id }, { abortSignal }) => {
        const where = { namespace: scope.namespace, subtree: scope.subtree ?? false };
        return { forgotten: await client.forgetMany({ ...where, ids: [id], signal: abortSignal }) };
      },
    }),
    context: tool({
      description: "Return an overview of the memory, or what is known about a topic, as one text.",
      inputSchema: jsonSchema<{ query?: string }>({
        type: "object",
        properties: { query: text("the topic; without: the newest and most important") },
        additionalProperties: false,
      }),
      execute: async ({ query = "" }, { abortSignal }) => {
        return (await client.pack(query, { ...scope, budgetTokens, signal: abortSignal })).text;
      },
    }),
  };
}

export interface MemoryMiddlewareOptions extends Omit<PackOptions, "signal"> {
  /** Called when the memory fails; the model is then asked without context. Warns on the console. */
  onError?: (error: unknown) => void;
}

/**
 * Return a middleware for `wrapLanguageModel`: memories about the last user message stand in front
 * of it, as one fenced block of at most `budgetTokens` (800). The block goes to the model only.
 */
export function memoryMiddleware(
  client: Reader,
  { onError = (error) => console.warn("bethink:", error), ...options }: MemoryMiddlewareOptions = {},
): LanguageModelMiddleware {
  return {
    specificationVersion: "v4",
    async transformParams({ params }) {
      const query = questionOf(params.prompt);
      if (query === "") return params;
      try {
        const packed = await client.pack(query, { ...options, signal: params.abortSignal });
        return packed.text === "" ? params : { ...params, prompt: withBlock(params.prompt, packed.text) };
      } catch (error) {
        onError(error);
        return params;
      }
    },
  };
}

/** Return the text of the last user message. */
function questionOf(prompt: Prompt): string {
  const message = prompt.findLast((each) => each.role === "user");
  const texts = message?.content.map((part) => (part.type === "text" ? part.text : "")) ?? [];
  return texts.filter(Boolean).join("\n").trim();
}

/** Return *prompt* with *block* in front of the last user message. */
function withBlock(prompt: Prompt, block: string): Prompt {
  const last = prompt.findLastIndex((each) => each.role === "user");
  return prompt.map((each, place) =>
    place === last && each.role === "user"
      ? { ...each, content: [{ type: "text", text: block }, ...each.content] }
      : each,
  );
}
