import assert from "node:assert/strict";
import { test } from "node:test";

import type { LanguageModelV4CallOptions, LanguageModelV4Content } from "@ai-sdk/provider";
import { ToolLoopAgent, generateText, isStepCount, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

import { memoryMiddleware, memoryTools } from "../src/ai.ts";
import { served } from "./serving.ts";

const server = served();
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that answers with *contents*, one after the other. */
function model(...contents: LanguageModelV4Content[][]) {
  const results = contents.map((content) => {
    const unified = content.some((each) => each.type === "tool-call") ? ("tool-calls" as const) : ("stop" as const);
    return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
  });
  return new MockLanguageModelV4({ doGenerate: results });
}
const says = (text: string): LanguageModelV4Content[] => [{ type: "text", text }];
const calls = (toolName: string, input: object): LanguageModelV4Content[] => [
  { type: "tool-call", toolCallId: `call-${toolName}`, toolName, input: JSON.stringify(input) },
];
const promptOf = (asked: LanguageModelV4CallOptions | undefined) => JSON.stringify(asked?.prompt);

test("an agent remembers, recalls, reads the context and forgets by its tools", async () => {
  const client = server.client();
  const tools = memoryTools(client, { k: 3 });
  const ask = async (...contents: LanguageModelV4Content[][]) => {
    const agent = new ToolLoopAgent({ model: model(...contents), tools, stopWhen: isStepCount(5) });
    const { steps } = await agent.generate({ prompt: "go" });
    return steps.flatMap((step) => step.toolResults.map((each) => each.output as never));
  };
  const [stored] = (await ask(calls("remember", { content: "Ann prefers dark mode" }), says("ok"))) as never as [{ id: string }];
  const memory = await client.get(stored.id);
  assert.deepEqual([memory?.content, memory?.namespace], ["Ann prefers dark mode", client.namespace]);
  const [hits, context] = (await ask(calls("recall", { query: "which mode?" }), calls("context", {}), says("dark"))) as never as
    [{ id: string; content: string; score: number }[], string];
  assert.deepEqual(hits.map((each) => [each.id, each.content]), [[stored.id, "Ann prefers dark mode"]]);
  assert.match(context, /dark mode/);
  assert.deepEqual(await ask(calls("forget", { id: stored.id }), says("gone")), [{ forgotten: 1 }]);
  assert.deepEqual(await ask(calls("recall", { query: "which mode?" }), says("?")), [[]]);
});

test("a tool sees its own namespace only, and its failure is told to the model", async () => {
  const client = server.client();
  const other = await client.store("Bob's secret is 42", { namespace: `${client.namespace}/bob` });
  const tools = memoryTools(client, { namespace: `${client.namespace}/ann` });
  const mock = model(calls("recall", { query: "secret" }), calls("forget", { id: other.id }), calls("forget", { id: "none" }), says("ok"));
  const { steps } = await generateText({ model: mock, tools, prompt: "go", stopWhen: isStepCount(5) });
  assert.deepEqual(steps.flatMap((each) => each.toolResults.map(({ output }) => output as unknown)), [[], { forgotten: 0 }]);
  assert.ok(steps.some((step) => step.content.some((part) => part.type === "tool-error" && /none/.test(`${part.error}`))));
  assert.ok(await client.get(other.id));
});

test("the model sees the context once, in front of the question, and no history keeps it", async () => {
  const client = server.client();
  await client.store("Ann prefers dark mode");
  const mock = model(calls("look", {}), says("dark"));
  const wrapped = wrapLanguageModel({ model: mock, middleware: memoryMiddleware(client, { budgetTokens: 200 }) });
  const { look } = { look: { ...memoryTools(client).context, execute: async () => "nothing" } };
  const messages = [
    { role: "user" as const, content: "hello" },
    { role: "assistant" as const, content: "hi" },
    { role: "user" as const, content: "which mode does Ann like?" },
  ];
  const result = await generateText({ model: wrapped, system: "Be brief", messages, tools: { look }, stopWhen: isStepCount(3) });
  assert.equal(result.text, "dark");
  assert.equal(mock.doGenerateCalls.length, 2);
  for (const call of mock.doGenerateCalls) {
    assert.equal(promptOf(call)?.match(/prefers dark mode/g)?.length, 1);
    const [block, question] = call.prompt[3]?.content as { text: string }[];
    assert.match(block?.text ?? "", /prefers dark mode/);
    assert.equal(question?.text, "which mode does Ann like?");
    assert.deepEqual(call.prompt[1]?.content, [{ type: "text", text: "hello" }]);
  }
  assert.doesNotMatch(JSON.stringify(result.response.messages), /prefers/);
});

test("a stream gets the context, too; a question without memories stays as it is", async () => {
  const client = server.client();
  await client.store("Ann prefers dark mode");
  const stream = () =>
    simulateReadableStream({
      chunks: [
        { type: "text-start" as const, id: "1" },
        { type: "text-delta" as const, id: "1", delta: "dark" },
        { type: "text-end" as const, id: "1" },
        { type: "finish" as const, finishReason: { unified: "stop" as const, raw: undefined }, usage },
      ],
    });
  const mock = new MockLanguageModelV4({ doStream: async () => ({ stream: stream() }) });
  const wrapped = wrapLanguageModel({ model: mock, middleware: memoryMiddleware(client) });
  assert.equal(await streamText({ model: wrapped, prompt: "which mode?" }).text, "dark");
  assert.match(promptOf(mock.doStreamCalls[0]) ?? "", /prefers dark mode/);
  await streamText({ model: wrapped, prompt: "qwertz" }).text;
  assert.deepEqual(mock.doStreamCalls[1]?.prompt[0]?.content, [{ type: "text", text: "qwertz" }]);
});

test("a memory that fails is told, and the model answers without it", async () => {
  const errors: unknown[] = [];
  const client = server.client({ token: "wrong" });
  const middleware = memoryMiddleware(client, { onError: (error) => errors.push(error) });
  const { text } = await generateText({ model: wrapLanguageModel({ model: model(says("hi")), middleware }), prompt: "hello" });
  assert.equal(text, "hi");
  assert.equal((errors[0] as Error).name, "AccessError");
});
