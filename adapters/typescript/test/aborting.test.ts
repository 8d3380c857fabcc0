/** Signals that end calls, also after a garbage collection. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { type RequestListener, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Bethink } from "../src/index.ts";
import { listed } from "./serving.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Return the address of a server that answers with *listener* until the end of the test. */
async function stalled(context: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const STALLS: Record<string, RequestListener> = {
  headers: () => undefined,
  body: (_, response) => void response.setHeader("Content-Type", "application/json").write('{"count":'),
};
const CALLS: Record<string, (client: Bethink, signal: AbortSignal) => Promise<unknown>> = {
  read: (client, signal) => client.count({ signal }),
  write: (client, signal) => client.store("The port is 80", { signal }),
};
const SIGNALS: Record<string, () => AbortSignal> = {
  timeout: () => AbortSignal.timeout(400),
  controller: () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 400);
    return controller.signal;
  },
};

/** Check that *call* is aborted in time although all garbage is collected before. */
async function isAborted(call: Promise<unknown>): Promise<void> {
  for (const wait of [100, 200, 300]) setTimeout(collect, wait);
  const began = performance.now();
  const late = new Promise((_, reject) => setTimeout(reject, 5000, new Error("the call hangs")).unref());
  await assert.rejects(Promise.race([call, late]), (error: Error) => /^(Abort|Timeout)Error$/.test(error.name));
  assert.ok(performance.now() - began < 3000);
}

for (const [part, listener] of Object.entries(STALLS)) {
  for (const [kind, call] of Object.entries(CALLS)) {
    for (const [name, signal] of Object.entries(SIGNALS)) {
      for (const retries of [0, 3]) {
        test(`a ${name} ends a ${kind} with stalled ${part} and ${retries} retries`, async (context) => {
          const url = await stalled(context, listener);
          await isAborted(call(new Bethink({ url, token: "x", retries }), signal()));
        });
      }
    }
  }
}

for (const [name, signal] of Object.entries(SIGNALS)) {
  test(`a ${name} ends a silent stream of events`, async (context) => {
    const url = await stalled(context, (_, response) => {
      response.setHeader("Content-Type", "text/event-stream").write(": events\n\n");
    });
    await isAborted(listed(new Bethink({ url, token: "x" }).events({ since: 0, signal: signal() })));
  });
}
