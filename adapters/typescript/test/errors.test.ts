import assert from "node:assert/strict";
import { test } from "node:test";

import * as errors from "../src/errors.ts";
import { BethinkError, NotFoundError, SimilarMemoryError, ValidationError } from "../src/index.ts";
import { served } from "./serving.ts";

const server = served();

async function failure(call: Promise<unknown>): Promise<BethinkError> {
  return call.then(() => assert.fail("no error"), (error: unknown) => error as BethinkError);
}

test("each refusal is an error of one class, with the problem's fields", async () => {
  const client = server.client();
  const { id } = await client.store("Use tabs in Go");
  const cases: [() => Promise<unknown>, string, number][] = [
    [() => server.client({ token: "wrong" }).count(), "AccessError", 401],
    [() => client.undo(99_999), "NotFoundError", 404],
    [() => client.recall("x", { asOf: "never" }), "NotFoundError", 404],
    [() => client.get(id, { asOf: "never" }), "NotFoundError", 404],
    [() => client.store("x", { id }), "ConflictError", 409],
    [() => client.update(id, { content: "y" }, { ifMatch: '"old"' }), "PreconditionError", 412],
    [() => client.store("x", { importance: 2 }), "ValidationError", 422],
    [() => client.store("x".repeat(5_000_000)), "ValidationError", 413],
  ];
  for (const [call, name, status] of cases) {
    const error = await failure(call());
    assert.ok(error instanceof BethinkError && error instanceof (errors as never)[name], name);
    assert.deepEqual([error.name, error.status], [name, status]);
    assert.match(error.type, /^urn:bethink:problem:[a-z-]+$/);
    assert.equal(error.message, error.detail);
    assert.ok(error.title.length > 0 && error.detail.length > 0);
  }
});

test("an error names the id, the fields, and the similar memory", async () => {
  const client = server.client();
  const { id } = await client.store("Use tabs in Go");
  const similar = await failure(client.store("use tabs in Go", { onSimilar: "raise" }));
  assert.ok(similar instanceof SimilarMemoryError);
  assert.equal(similar.id, id);
  const missing = await failure(client.forget("none"));
  assert.ok(missing instanceof NotFoundError);
  assert.equal(missing.id, "none");
  const invalid = await failure(client.store("x", { importance: 2, tags: [""] }));
  assert.ok(invalid instanceof ValidationError);
  assert.deepEqual(invalid.errors.map((each) => (each["where"] as string[])[1]), ["tags", "importance"]);
});

test("an answer that is no problem is an error all the same", async () => {
  const fetch = async () => new Response("<h1>Bad gateway</h1>", { status: 502, statusText: "Bad Gateway" });
  const error = await failure(server.client({ fetch, retries: 0 }).count());
  assert.deepEqual([error.name, error.status, error.message], ["ServerError", 502, "Bad Gateway"]);
});
