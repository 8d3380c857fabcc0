import assert from "node:assert/strict";
import { test } from "node:test";

import { Annotation, InMemoryStore, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import type { Item, Operation } from "@langchain/langgraph-checkpoint";

import { BethinkStore } from "../src/langgraph.ts";
import { served } from "./serving.ts";

const server = served();
const stripped = (items: { namespace: string[]; key: string; value: unknown }[]) =>
  items.map(({ namespace, key, value }) => ({ namespace, key, value }));

test("an item is put, read, put again and deleted", async () => {
  const client = server.client();
  const store = new BethinkStore({ client });
  await store.put(["users", "ann"], "theme", { dark_mode: true, fontSize: 12, list: [1, { a_b: null }] });
  const first = await store.get(["users", "ann"], "theme");
  assert.deepEqual(first?.value, { dark_mode: true, fontSize: 12, list: [1, { a_b: null }] });
  assert.ok(first.createdAt instanceof Date && Math.abs(first.createdAt.getTime() - Date.now()) < 60_000);
  await store.put(["users", "ann"], "theme", { dark_mode: false });
  const second = await store.get(["users", "ann"], "theme");
  assert.deepEqual(second?.value, { dark_mode: false });
  assert.equal(second.createdAt.getTime(), first.createdAt.getTime());
  assert.ok(second.updatedAt.getTime() > first.updatedAt.getTime());
  await store.delete(["users", "ann"], "theme");
  assert.equal(await store.get(["users", "ann"], "theme"), null);
  const versions = await client.audit("theme", { namespace: `${client.namespace}/langgraph/users/ann` });
  assert.equal(versions.length, 2);
});

test("labels and keys may be any text", async () => {
  const store = new BethinkStore({ client: server.client() });
  const namespaces = [["a/b", "c"], ["a", "b/c"], ["***", "50%", "Zoë 🏔"], ["a%2Fb"]];
  const keys = ["k/1", " ", "%41", "tab\t", "ключ"];
  for (const namespace of namespaces) {
    for (const key of keys) await store.put(namespace, key, { at: [...namespace, key] });
  }
  for (const namespace of namespaces) {
    for (const key of keys) {
      const found = await store.get(namespace, key);
      assert.deepEqual([found?.namespace, found?.key, found?.value], [namespace, key, { at: [...namespace, key] }]);
    }
  }
  assert.equal((await store.listNamespaces({ limit: 9 })).length, 4);
});

test("a batch answers in order as things were before, and of two puts the last counts", async () => {
  const store = new BethinkStore({ client: server.client() });
  await store.put(["n"], "gone", { v: 0 });
  const operations: Operation[] = [
    { namespace: ["n"], key: "a", value: { v: 1 } },
    { namespace: ["n"], key: "a" },
    { namespace: ["n"], key: "a", value: { v: 2 } },
    { namespace: ["n"], key: "gone", value: null },
    { namespace: ["n"], key: "gone" },
    { namespacePrefix: ["n"], limit: 5 },
    { matchConditions: [], limit: 5, offset: 0 },
  ];
  const [put, early, again, removed, gone, found, spaces] = (await store.batch(operations)) as unknown[];
  assert.deepEqual([put, early, again, removed], [undefined, null, undefined, undefined]);
  assert.deepEqual((gone as Item).value, { v: 0 });
  assert.deepEqual((found as Item[]).map((each) => each.key), ["gone"]);
  assert.deepEqual(spaces, [["n"]]);
  assert.deepEqual((await store.get(["n"], "a"))?.value, { v: 2 });
  assert.equal(await store.get(["n"], "gone"), null);
});

test("searches filter, page and list namespaces as LangGraph's own store does", async () => {
  const [ours, theirs] = [new BethinkStore({ client: server.client() }), new InMemoryStore()];
  const items: [string[], string, Record<string, unknown>][] = [
    [["docs", "a"], "1", { color: "red", score: 1, nested: { deep: 5 } }],
    [["docs", "a"], "2", { color: "blue", score: 4.5 }],
    [["docs", "b", "v1"], "3", { color: "red", score: 9, done: true }],
    [["docsx"], "4", { color: "red", score: 7 }],
    [["users", "ann", "v1"], "5", { name: "Ann" }],
  ];
  for (const [namespace, key, value] of items) {
    for (const store of [ours, theirs]) await store.put(namespace, key, value);
  }
  const filters = [
    undefined, { color: "red" }, { score: { $gt: 1 } }, { score: { $gte: 1, $lt: 9 } }, { color: { $ne: "red" } },
    { color: "red", score: { $lte: 7 } }, { score: { $eq: 9 } }, { done: true }, { color: "none" }, { score: { $in: [1, 9] } },
  ];
  const byKey = (found: { key: string }[]) => found.map((each) => each.key).sort();
  for (const prefix of [[], ["docs"], ["docs", "a"], ["doc"], ["users"]]) {
    for (const filter of filters) {
      const options = { limit: 10, ...(filter && { filter }) };
      assert.deepEqual(byKey(await ours.search(prefix, options)), byKey(await theirs.search(prefix, options)), JSON.stringify([prefix, filter]));
    }
  }
  assert.deepEqual(byKey(await ours.search(["docs"], { filter: { nested: { deep: 5 } } })), ["1"]);
  await ours.put(["lists"], "6", { tags: ["a", { firstName: "Ann" }] });
  for (const tags of [["a", { firstName: "Ann" }], { $in: [["a", { firstName: "Ann" }]] }]) {
    assert.deepEqual(byKey(await ours.search(["lists"], { filter: { tags } })), ["6"]);
  }
  await ours.delete(["lists"], "6");
  const pages = [0, 2, 4].map(async (offset) => byKey(await ours.search([], { limit: 2, offset })));
  assert.deepEqual((await Promise.all(pages)).flat().sort(), ["1", "2", "3", "4", "5"]);
  const lists = [
    {}, { prefix: ["docs"] }, { suffix: ["v1"] }, { maxDepth: 1 }, { prefix: ["*", "a"] }, { limit: 2, offset: 1 },
    { prefix: ["docs"], suffix: ["v1"] }, { prefix: ["docs", "b", "v1", "more"] },
  ];
  for (const options of lists) {
    assert.deepEqual(await ours.listNamespaces(options), await theirs.listNamespaces(options), JSON.stringify(options));
  }
});

test("a query ranks alike items first, then come the others without a score", async () => {
  const store = new BethinkStore({ client: server.client(), fields: ["text"] });
  await store.put(["m"], "port", { text: "The port is 80" });
  await store.put(["m"], "mode", { text: "Ann prefers dark mode", hidden: "secret word" });
  await store.put(["m"], "mute", { text: "prefers a dark room" }, false);
  await store.put(["m"], "own", { text: "nothing", title: "dark chocolate" }, ["title"]);
  const found = await store.search(["m"], { query: "dark mode" });
  assert.equal(found[0]?.key, "mode");
  assert.ok((found[0]?.score ?? 0) > (found[1]?.score ?? 0));
  assert.deepEqual(found.filter((each) => each.score === undefined).map((each) => each.key).sort(), ["mute", "port"]);
  assert.deepEqual((await store.search(["m"], { query: "dark mode", limit: 1, offset: 1 }))[0]?.key, "own");
  assert.equal((await store.search(["m"], { query: "secret" }))[0]?.score, undefined);
});

test("a graph remembers across threads by its store", async () => {
  const client = server.client();
  const state = Annotation.Root({ user: Annotation<string>, said: Annotation<string>, known: Annotation<string[]> });
  const remember = async ({ user, said }: typeof state.State, { store }: LangGraphRunnableConfig) => {
    const known = await store!.search([user], { query: said });
    await store!.put([user], said, { said });
    return { known: known.map((each) => each.value["said"]) };
  };
  const graph = new StateGraph(state).addNode("remember", remember).addEdge(START, "remember");
  const compiled = graph.compile({ store: new BethinkStore({ client }) });
  await compiled.invoke({ user: "ann", said: "I like dark mode" });
  const again = await compiled.invoke({ user: "ann", said: "which mode do I like?" });
  assert.deepEqual(again.known, ["I like dark mode"]);
  assert.deepEqual((await compiled.invoke({ user: "bob", said: "which mode do I like?" })).known, []);
  const many = Array.from({ length: 20 }, (_, n) => compiled.invoke({ user: `user${n % 4}`, said: `fact ${n}` }));
  await Promise.all(many);
  const items = await new BethinkStore({ client }).search([], { limit: 50 });
  assert.equal(stripped(items).length, 23);
});
