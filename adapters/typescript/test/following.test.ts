import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { test } from "node:test";

import { type JournalEvent, ServerError } from "../src/index.ts";
import { listed, served } from "./serving.ts";

const server = served();
const seqs = (events: JournalEvent[]) => events.map((each) => each.seq);

/** A way to the server that can be cut. */
async function cuttable() {
  const sockets = new Set<Socket>();
  const gate = createServer((near) => {
    const far = connect(Number(new URL(server.url).port), "127.0.0.1");
    for (const each of [near, far]) sockets.add(each.on("error", () => undefined));
    near.pipe(far).pipe(near);
  }).listen(0, "127.0.0.1");
  await once(gate, "listening");
  const { port } = gate.address() as AddressInfo;
  const cut = () => sockets.forEach((each) => each.destroy());
  return { url: `http://127.0.0.1:${port}`, cut, close: () => (cut(), gate.close()), gate };
}

test("events name what changed, and end without follow", async () => {
  const client = server.client();
  const [before] = await client.log({ limit: 1, namespace: null });
  const { id } = await client.store("The port is 80");
  await client.forget(id);
  const events = await listed(client.events({ since: before?.seq ?? 0, follow: false }));
  assert.deepEqual(events.map((each) => each.action), ["store", "forget"]);
  assert.deepEqual(Object.keys(events[0]!).sort(), ["action", "at", "id", "namespace", "seq"]);
  assert.deepEqual([events[0]?.id, events[0]?.namespace], [id, client.namespace]);
});

test("events follow from now on, until the signal", async () => {
  const client = server.client();
  await client.store("before");
  const [before] = await client.log({ limit: 1 });
  const controller = new AbortController();
  const events = client.events({ signal: controller.signal });
  let found: JournalEvent | undefined;
  const first = events.next().then(({ value }) => (found = value as JournalEvent));
  while (found === undefined) await client.store("after"); // the stream begins some time after the call
  assert.equal((await first).namespace, client.namespace);
  assert.ok(found.seq > before!.seq);
  controller.abort();
  await assert.rejects(events.next(), { name: "AbortError" });
});

test("a lost connection goes on after the last event, without gap or repetition", async () => {
  const client = server.client();
  const way = await cuttable();
  const far = server.client({ url: way.url, namespace: client.namespace });
  const [before] = await client.log({ limit: 1, namespace: null });
  const events = far.events({ since: before?.seq ?? 0 });
  const seen: JournalEvent[] = [];
  for (let round = 0; round < 3; round++) {
    await client.storeMany([`one of ${round}`, `two of ${round}`]);
    for (let n = 0; n < 2; n++) seen.push((await events.next()).value!);
    way.cut();
  }
  await events.return();
  way.close();
  const entries = await client.log({ limit: 6 });
  assert.deepEqual(seqs(seen), entries.map((each) => each.seq).reverse());
});

test("a first connection that fails is an error, and so is a refusal", async () => {
  const way = await cuttable();
  way.close();
  await once(way.gate, "close");
  const events = server.client({ url: way.url, retries: 0 }).events({ since: 0 });
  await assert.rejects(events.next(), ServerError);
  await assert.rejects(server.client({ token: "wrong" }).events({ since: 0 }).next(), { status: 401 });
});
