import assert from "node:assert/strict";
import { test } from "node:test";

import { type ServerEvent, ServerError, parseEvents } from "../src/index.ts";
import { listed } from "./serving.ts";

/** A stream of the bytes of *text* in chunks of *size*. */
function streamed(text: string, size = Infinity): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
}

const parsed = async (text: string, size?: number) => listed(parseEvents(streamed(text, size)));
const event = (data: string, more: Partial<ServerEvent> = {}) => ({ id: "", event: "message", data, ...more });

test("one event has id, name and data", async () => {
  assert.deepEqual(await parsed("id: 7\nevent: store\ndata: {}\n\n"), [{ id: "7", event: "store", data: "{}" }]);
});

test("any split into chunks gives the same events, also inside of a character or of CRLF", async () => {
  const text = "\uFEFF: hello\r\nid: 1\r\ndata: Zürich 🏔\r\ndata: zwei\r\n\r\ndata:drei\r\rdata: vier\n\n";
  const expected = [
    event("Zürich 🏔\nzwei", { id: "1" }),
    event("drei", { id: "1" }),
    event("vier", { id: "1" }),
  ];
  for (const size of [1, 2, 3, 5, 7, Infinity]) assert.deepEqual(await parsed(text, size), expected);
});

test("comments, unknown fields and events without data are no events", async () => {
  assert.deepEqual(await parsed(": note\nretry: 10\nfoo: bar\nevent: empty\n\n:\n\ndata\n\n"), [event("")]);
});

test("only one space after the colon is taken away, and NUL is in no id", async () => {
  assert.deepEqual(await parsed("data:  two\nid: a\0b\n\n"), [event(" two")]);
});

test("an event that the end cuts off is no event", async () => {
  assert.deepEqual(await parsed("data: one\n\ndata: tw"), [event("one")]);
  assert.deepEqual(await parsed("data: one\n\ndata: two\n"), [event("one")]);
});

test("a lost connection is an error after the events before", async () => {
  const lost = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("data: one\n\n")),
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
  const events = parseEvents(lost);
  assert.equal((await events.next()).value?.data, "one");
  await assert.rejects(events.next(), ServerError);
});

test("a reader that stops cancels the stream", async () => {
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: x\n\n")),
    cancel: () => void (cancelled = true),
  });
  for await (const each of parseEvents(endless)) {
    assert.equal(each.data, "x");
    break;
  }
  assert.ok(cancelled);
});
