import assert from "node:assert/strict";
import { test } from "node:test";

import { named, wired } from "../src/names.ts";

test("answers get names in camelCase, at every depth", () => {
  const answer = { items: [{ created_at: 1, memory: { superseded_by: null } }], left_out: [] };
  const expected = { items: [{ createdAt: 1, memory: { supersededBy: null } }], leftOut: [] };
  assert.deepEqual(named(answer), expected);
});

test("names inside of metadata, value and other maps are the user's own", () => {
  const own = { user_id: 1, userName: { first_name: "Ann" } };
  for (const name of ["metadata", "value", "namespaces", "changes", "renamed", "vectors"]) {
    assert.deepEqual(named({ [name]: own }), { [name]: own });
    assert.deepEqual(wired({ [name]: own }), { [name]: own });
  }
});

test("arguments get names in snake_case; paths and operators stay", () => {
  const where = {
    createdAt: { $gt: new Date(0) },
    "metadata.userId": { $contains_any: [1] },
    "value.person": { firstName: "Ann" },
    $and: [{ accessCount: 2 }],
  };
  const expected = {
    created_at: { $gt: "1970-01-01T00:00:00.000Z" },
    "metadata.userId": { $contains_any: [1] },
    "value.person": { firstName: "Ann" },
    $and: [{ access_count: 2 }],
  };
  assert.deepEqual(wired({ minScore: 0.5, where, threadId: undefined }), { min_score: 0.5, where: expected });
});
