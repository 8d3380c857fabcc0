import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnablePassthrough, RunnableWithMessageHistory } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";

import { BethinkChatMessageHistory, BethinkRetriever } from "../src/langchain.ts";
import { served } from "./serving.ts";

const server = served();

const MESSAGES: BaseMessage[] = [
  new SystemMessage("Be brief"),
  new HumanMessage({ content: "hi", id: "h1", name: "Ann", additional_kwargs: { camelCase: 1, a_b: { cD: [null] } } }),
  new AIMessage({
    content: [{ type: "text", text: "calling" }],
    id: "a1",
    tool_calls: [{ name: "f", args: { aB: 1, c_d: 2 }, id: "t1", type: "tool_call" }],
    invalid_tool_calls: [{ name: "g", args: "{", id: "t2", error: "no JSON", type: "invalid_tool_call" }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    response_metadata: { modelName: "m" },
  }),
  new ToolMessage({ content: "42", tool_call_id: "t1", name: "f", artifact: { rows: [1] }, status: "error" }),
  new ChatMessage("go on", "boss"),
  new FunctionMessage({ content: "r", name: "fn" }),
];

test("messages come back exactly, with calls, ids and keywords", async () => {
  const client = server.client();
  const history = () => new BethinkChatMessageHistory({ client, sessionId: "users/ann 1" });
  await history().addMessages(MESSAGES);
  assert.deepEqual(await history().getMessages(), MESSAGES);
  await history().addUserMessage("more");
  await history().addMessage(new AIMessageChunk({ content: "streamed", id: "c1" }));
  const last = (await history().getMessages()).slice(-2);
  assert.deepEqual(last.map((each) => [each.type, each.text, each.id]), [["human", "more", undefined], ["ai", "streamed", "c1"]]);
  await assert.rejects(history().addMessages([new RemoveMessage({ id: "h1" })]), TypeError);
  await history().clear();
  assert.deepEqual(await history().getMessages(), []);
});

test("sessions are apart; a window begins with a human message", async () => {
  const client = server.client();
  const history = (sessionId: string, window?: number) =>
    new BethinkChatMessageHistory({ client, sessionId, ...(window === undefined ? {} : { window }) });
  for (const n of [1, 2, 3]) await history("s").addMessages([new HumanMessage(`q${n}`), new AIMessage(`a${n}`)]);
  const texts = async (window: number) => (await history("s", window).getMessages()).map((each) => each.text);
  assert.deepEqual(await texts(4), ["q2", "a2", "q3", "a3"]);
  assert.deepEqual(await texts(3), ["q3", "a3"]);
  assert.deepEqual(await texts(1), []);
  assert.deepEqual(await history("t").getMessages(), []);
  assert.equal((await client.recall("q2", { namespace: `${client.namespace}/messages`, subtree: true }))[0]?.memory.author, "human");
});

test("a message that Python wrote is read", async () => {
  const client = server.client();
  await client.thread("p").append([
    { value: { type: "chat", data: { content: "go", role: "boss", type: "chat", id: null, name: null } } },
    { value: { type: "ai", data: { content: "ok", tool_calls: [], invalid_tool_calls: [], type: "ai", id: "x" } } },
  ]);
  const [chat, ai] = await new BethinkChatMessageHistory({ client, sessionId: "p" }).getMessages();
  assert.deepEqual([(chat as ChatMessage).role, chat?.text, ai?.id, ai?.text], ["boss", "go", "x", "ok"]);
});

test("a chain with history sees earlier turns of its own session only", async () => {
  const client = server.client();
  const seen: string[][] = [];
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
  const note = RunnableLambda.from((value: Awaited<ReturnType<typeof prompt.invoke>>) => {
    seen.push(value.toChatMessages().map((each) => each.text));
    return value;
  });
  const chain = new RunnableWithMessageHistory({
    runnable: prompt.pipe(note).pipe(new FakeListChatModel({ responses: ["one", "two", "three"] })),
    getMessageHistory: (sessionId: string) => new BethinkChatMessageHistory({ client, sessionId }),
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  });
  const ask = (input: string, sessionId: string) => chain.invoke({ input }, { configurable: { sessionId } });
  await ask("I am Ann", "ann");
  await ask("who am I?", "ann");
  await ask("who am I?", "bob");
  assert.deepEqual(seen, [["I am Ann"], ["I am Ann", "one", "who am I?"], ["who am I?"]]);
});

test("a retriever in a chain gives documents with ids, metadata and scores", async () => {
  const client = server.client();
  const memory = await client.store("Ann prefers dark mode", { author: "Ann", category: "preference", metadata: { app: "editor" } });
  await client.store("The port is 80", { category: "fact" });
  const retriever = new BethinkRetriever({ client, k: 2, where: { category: "preference" }, tags: ["memory"] });
  const [document, ...others] = await retriever.invoke("which mode?");
  assert.deepEqual(others, []);
  assert.deepEqual([document?.id, document?.pageContent], [memory.id, "Ann prefers dark mode"]);
  const { score, explanation, ...told } = document!.metadata;
  const fields = { app: "editor", author: "Ann", category: "preference", occurredAt: memory.occurredAt };
  assert.deepEqual(told, fields);
  const parts = Object.values(explanation as Record<string, number>);
  assert.ok(Math.abs(parts.reduce((sum, each) => sum + each, 0) - score) < 1e-9);
  const context = retriever.pipe((found) => found.map((each) => each.pageContent).join("\n"));
  const prompt = ChatPromptTemplate.fromTemplate("{context}\n\n{question}");
  const chain = RunnablePassthrough.assign({ context: (input: { question: string }) => context.invoke(input.question) }).pipe(prompt);
  assert.match((await chain.invoke({ question: "which mode?" })).toString(), /dark mode\n\nwhich mode/);
});
