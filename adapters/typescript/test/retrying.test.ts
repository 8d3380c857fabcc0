import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";

import { Bethink, NotFoundError, RateLimitError, ServerError } from "../src/index.ts";
import { served } from "./serving.ts";

const server = served();

/** A fetch that breaks the first *times* answers, after the server has done the work. */
function breaking(times: number, broken: () => Response = () => { throw new TypeError("lost"); }) {
  const keys: (string | null)[] = [];
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    keys.push(request.headers.get("Idempotency-Key"));
    const response = await globalThis.fetch(request);
    return keys.length <= times ? broken() : response;
  };
  return { keys, fetch };
}

test("a write whose answer was lost is done once, with one key", async () => {
  const { keys, fetch } = breaking(2);
  const client = server.client({ fetch });
  const memory = await client.store("The port is 80");
  assert.equal(new Set(keys).size, 1);
  assert.match(keys[0] ?? "", /^[0-9a-f-]{36}$/);
  assert.deepEqual((await client.log()).map((each) => each.id), [memory.id]);
});

test("every kind of write is safe: change with ifMatch, outcome, link, forget", async () => {
  const steady = server.client();
  const [one, two] = [await steady.store("one"), await steady.store("two")];
  const lossy = () => server.client({ namespace: steady.namespace, fetch: breaking(1).fetch });
  const changed = await lossy().update(one.id, { importance: 0.9 }, { ifMatch: one.etag });
  assert.equal(changed.importance, 0.9);
  const [judged] = await lossy().recordOutcome(one.id, "worked");
  assert.equal(judged?.outcome, 0.2);
  assert.equal(await lossy().relate(one.id, two.id, "fixes"), true);
  assert.equal(await lossy().unrelate(one.id, two.id, "fixes"), true);
  await lossy().thread("t").append([{ value: { n: 1 } }]);
  assert.equal((await steady.thread("t").read()).length, 1);
  const { etag } = (await steady.get(two.id))!;
  await lossy().forget(two.id, { ifMatch: etag });
  assert.equal(await steady.count(), 1);
});

test("a read is repeated without a key", async () => {
  const { keys, fetch } = breaking(2);
  assert.deepEqual(await server.client({ fetch }).recall("anything"), []);
  assert.deepEqual(keys, [null, null, null]);
});

test("503 and 429 are repeated, and Retry-After is kept", async () => {
  for (const status of [503, 429]) {
    const { keys, fetch } = breaking(1, () => new Response(null, { status, headers: { "Retry-After": "1" } }));
    const began = performance.now();
    await server.client({ fetch }).count();
    assert.equal(keys.length, 2);
    assert.ok(performance.now() - began >= 990);
  }
});

test("nothing else is repeated, and a long wait is the caller's decision", async () => {
  for (const [status, kind, wait] of [[404, NotFoundError, "0"], [500, ServerError, "0"], [429, RateLimitError, "3000"]] as const) {
    const { keys, fetch } = breaking(9, () => new Response(null, { status, headers: { "Retry-After": wait } }));
    const failed = server.client({ fetch }).count();
    await assert.rejects(failed, (error: unknown) => error instanceof kind && error.retryAfter === Number(wait));
    assert.equal(keys.length, 1);
  }
});

test("after the last try the network's error is told, with the cause", async () => {
  const { keys, fetch } = breaking(9);
  await assert.rejects(server.client({ fetch, retries: 1 }).count(), (error: unknown) => {
    assert.ok(error instanceof ServerError && error.cause instanceof TypeError);
    assert.deepEqual([error.status, error.type, keys.length], [0, "urn:bethink:problem:network", 2]);
    return true;
  });
});

test("an abort ends the call, in work and between tries", async () => {
  await assert.rejects(server.client().recall("x", { signal: AbortSignal.abort() }), { name: "AbortError" });
  const controller = new AbortController();
  const { keys, fetch } = breaking(9, () => {
    setImmediate(() => controller.abort(new Error("enough")));
    throw new TypeError("lost");
  });
  await assert.rejects(server.client({ fetch, retries: 9 }).count({ signal: controller.signal }), /enough/);
  assert.equal(keys.length, 1);
});

/** Return the address of a server that cuts the first *times* answers off, and then counts 7. */
async function cutting(context: TestContext, times: number): Promise<string> {
  const cut = createServer((_, response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "11" });
    if (times-- > 0) response.write('{"cou', () => response.destroy());
    else response.end('{"count":7}');
  }).listen(0, "127.0.0.1");
  await once(cut, "listening");
  context.after(() => cut.close());
  return `http://127.0.0.1:${(cut.address() as AddressInfo).port}`;
}

test("an answer that is cut off is repeated", async (context) => {
  for (const times of [1, 2]) {
    const url = await cutting(context, times);
    assert.equal(await new Bethink({ url, token: "x" }).count(), 7);
  }
  const url = await cutting(context, 9);
  await assert.rejects(new Bethink({ url, token: "x", retries: 1 }).count(), ServerError);
});

test("an answer without a body is an error that says so", async () => {
  for (const [status, headers] of [[204, {}], [200, { "Content-Length": "0" }]] as const) {
    const fetch = async () => new Response(null, { status, headers });
    const told = { name: "ServerError", status, message: /without a body/ };
    await assert.rejects(server.client({ fetch }).count(), told);
    await assert.rejects(server.client({ fetch }).recall("x"), told);
    await assert.rejects(server.client({ fetch }).store("x"), told);
  }
});

test("a refused connection tells the address and the reason", async () => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const { port } = gone.address() as AddressInfo;
  gone.close();
  const client = new Bethink({ url: `http://127.0.0.1:${port}`, token: "x", retries: 0 });
  await assert.rejects(client.count(), { message: new RegExp(`ECONNREFUSED 127\\.0\\.0\\.1:${port}`) });
});
