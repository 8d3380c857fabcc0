import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { Bethink, ValidationError } from "../src/index.ts";
import { listed, served } from "./serving.ts";

const server = served();

test("a memory keeps every field that was given", async () => {
  const client = server.client();
  const fields = {
    key: "theme",
    value: { dark_mode: true, fontSize: 12 },
    thread: "s1",
    author: "Ann",
    category: "preference",
    tags: ["ui"],
    importance: 0.9,
    confidence: 0.8,
    source: "chat",
    metadata: { user_id: 7, userName: "ann" },
    occurredAt: new Date("2025-01-02T03:04:05Z"),
  };
  const stored = await client.store("Ann prefers dark mode", fields);
  const { occurredAt, ...others } = fields;
  assert.deepEqual({ ...stored, ...others, namespace: client.namespace, state: "live" }, stored);
  assert.equal(stored.occurredAt, occurredAt.getTime() / 1000);
  assert.deepEqual(await client.get(stored.id), stored);
  const again = await client.store("Ann prefers light mode", { key: "theme", occurredAt: 1.7e9 });
  assert.equal((await client.get(stored.id))?.supersededBy, again.id);
  assert.equal(again.occurredAt, 1.7e9);
  const texts = (await client.audit("theme")).map((each) => each.content);
  assert.deepEqual(texts, ["Ann prefers dark mode", "Ann prefers light mode"]);
});

test("many are stored, all or none, and read by ids", async () => {
  const client = server.client();
  const [one, two] = await client.storeMany(["one", { content: "two", tags: ["n"], occurredAt: "2025-01-02" }]);
  assert.ok(one && two);
  assert.deepEqual(await client.getMany([two.id, "none", one.id]), [two, null, one]);
  await assert.rejects(client.storeMany(["three"], { forget: ["none"] }));
  const [three] = await client.storeMany(["three"], { forget: [one.id], onSimilar: "keep" });
  assert.deepEqual((await listed(client.all({ order: "oldest" }))).map((each) => each.id), [two.id, three?.id]);
  assert.equal(await client.get(one.id), null);
});

test("two stores with one idempotency key are one", async () => {
  const client = server.client();
  const [one, again] = [1, 2].map(() => client.store("once", { idempotencyKey: "k1" }));
  assert.equal((await one)?.id, (await again)?.id);
  assert.equal(await client.count(), 1);
});

test("recall finds by meaning, filter and scope, and tells why", async () => {
  const client = server.client();
  const [dark] = await client.storeMany([
    { content: "Ann prefers dark mode", category: "preference", metadata: { appName: "editor" } },
    { content: "The port is 80", importance: 0.9 },
  ]);
  await client.store("Bob prefers light mode", { namespace: `${client.namespace}/bob` });
  const [hit, ...others] = await client.recall("which mode does Ann like?", { k: 3, minShare: 0.5 });
  assert.equal(hit?.memory.id, dark?.id);
  assert.deepEqual(others, []);
  const sum = Object.values(hit?.explanation.contributions ?? {}).reduce((total, each) => total + each, 0);
  assert.ok(Math.abs(sum - (hit?.score ?? 0)) < 1e-9);
  const below = await client.recall("mode", { subtree: true, mode: "keyword" });
  assert.equal(below.length, 2);
  const filters = [
    { category: "preference" },
    { "metadata.appName": "editor" },
    { createdAt: { $gte: new Date(0) }, $not: { importance: { $gt: 0.6 } } },
    { $or: [{ category: { $in: ["preference"] } }, { accessCount: { $gt: 99 } }] },
  ];
  for (const where of filters) {
    assert.deepEqual((await listed(client.all({ where }))).map((each) => each.id), [dark?.id]);
    assert.equal(await client.count({ where }), 1);
    assert.equal((await client.recall("mode or port", { where })).length, 1);
  }
  assert.equal((await client.whyNot(dark!.id, "mode", { k: 0 })).reason, "outranked");
  assert.equal((await client.similar("Ann prefers dark mode")).length, 1);
  assert.deepEqual(await client.similarTo(dark!.id), []);
});

test("pack keeps to the budget, and gives an overview without a query", async () => {
  const client = server.client();
  await client.storeMany(["Ann prefers dark mode", "The port is 80"]);
  const packed = await client.pack("mode", { budgetTokens: 60 });
  assert.match(packed.text, /dark mode/);
  assert.ok(packed.tokens <= 60);
  assert.match((await client.pack()).text, /port is 80/);
});

test("all yields each memory once, over pages, while others are stored", async () => {
  const client = server.client();
  await client.storeMany(Array.from({ length: 7 }, (_, number) => `memory ${number}`));
  const seen: string[] = [];
  for await (const each of client.all({ limit: 3, order: "oldest" })) {
    seen.push(each.content);
    await client.store("later");
  }
  assert.deepEqual(seen, Array.from({ length: 7 }, (_, number) => `memory ${number}`));
  const page = await client.page({ limit: 5, order: "createdAt" });
  assert.equal(page.items.length, 5);
  assert.equal((await client.page({ limit: 5, order: "createdAt", cursor: page.next })).items.length, 5);
});

test("only the version that was read is changed or forgotten", async () => {
  const client = server.client();
  const read = await client.store("The port is 80");
  const changed = await client.update(read.id, { content: "The port is 90", tags: ["net"] }, { ifMatch: read.etag });
  assert.notEqual(changed.etag, read.etag);
  await assert.rejects(client.update(read.id, { importance: 1 }, { ifMatch: read.etag }), { status: 412 });
  await assert.rejects(client.forget(read.id, { ifMatch: read.etag }), { name: "PreconditionError" });
  await client.forget(read.id, { ifMatch: changed.etag });
  assert.equal(await client.get(read.id), null);
});

test("a memory is forgotten, restored, archived, and shown again", async () => {
  const client = server.client();
  const { id } = await client.store("The port is 80");
  await client.forget(id);
  assert.deepEqual([await client.restore(id), await client.count()], [1, 1]);
  assert.deepEqual([await client.archive(id), await client.count()], [1, 0]);
  assert.deepEqual([await client.unarchive(id), await client.count()], [1, 1]);
  assert.equal((await client.reinforce(id, 0.2)).importance, 0.7);
});

test("many are forgotten or erased in one call; a dry run only counts", async () => {
  const client = server.client();
  const [one] = await client.storeMany([{ content: "one", category: "old" }, { content: "two", category: "old" }, "three"]);
  const where = { category: "old" };
  assert.equal(await client.forgetMany({ where, dryRun: true }), 2);
  assert.equal(await client.count(), 3);
  assert.equal(await client.forgetMany({ where }), 2);
  assert.equal(await client.erase({ ids: [one!.id] }), 1);
  assert.equal(await client.restore(one!.id), 0);
  assert.equal(await client.archiveMany({ namespace: client.namespace! }), 1);
  assert.equal(await client.unarchiveMany({ namespace: client.namespace! }), 1);
  assert.equal(await client.restoreMany({ namespace: client.namespace! }), 1);
  assert.equal(await client.tagMany({ where }, { add: ["kept"] }), 1);
  assert.deepEqual((await client.page({ where: { tags: { $contains: "kept" } } })).items.map((each) => each.content), ["two"]);
  await assert.rejects(client.erase({}), ValidationError);
  assert.equal(await client.erase({ namespace: client.namespace! }), 2);
  assert.equal(await client.count(), 0);
});

test("outcomes and links are kept, and removed", async () => {
  const client = server.client();
  const [one, two] = (await client.storeMany(["one", "two"])).map((each) => each.id) as [string, string];
  const judged = await client.recordOutcome([one, two], "worked", { session: "s1" });
  assert.deepEqual(judged.map((each) => each.outcome), [0.2, 0.2]);
  await client.recordOutcome(one, "useful");
  assert.deepEqual((await client.outcomes(one)).map((each) => [each.action, each.session]), [["worked", "s1"], ["useful", null]]);
  assert.deepEqual([await client.relate(one, two, "fixes"), await client.relate(one, two, "fixes")], [true, false]);
  const [link] = await client.related(two);
  assert.deepEqual([link?.direction, link?.kind, link?.memory.id], ["in", "fixes", one]);
  assert.equal(await client.unrelate(one, two, "fixes"), true);
});

test("a conflict is found and resolved; near-duplicates are merged", async () => {
  const client = server.client();
  const [older, newer] = await client.storeMany(["The port is 80", "The port is 90"]);
  const [found] = await client.conflicts();
  assert.deepEqual([found?.older.id, found?.newer.id], [older?.id, newer?.id]);
  assert.equal(await client.resolve(newer!.id, older!.id, { reason: "moved" }), 1);
  assert.deepEqual(await client.conflicts("port"), []);
  await client.storeMany(["Use tabs in Go", "use tabs in Go"]);
  assert.equal((await client.consolidate({ dryRun: true })).length, 1);
  assert.equal(await client.count(), 3);
  const [merge] = await client.consolidate();
  assert.equal(merge?.others.length, 1);
  assert.equal(await client.count(), 2);
});

test("the past is listed, compared, recalled and undone", async () => {
  const client = server.client();
  const { id } = await client.store("The port is 80");
  const name = `before ${client.namespace}`;
  const { seq } = await client.snapshot(name);
  assert.ok((await client.snapshots()).some((each) => each.name === name));
  await client.update(id, { content: "The port is 90" });
  for (const asOf of [name, `#${seq}`]) {
    assert.equal((await client.recall("port", { asOf }))[0]?.memory.content, "The port is 80");
    assert.equal((await client.get(id, { asOf }))?.content, "The port is 80");
    assert.equal((await client.getMany([id], { asOf }))[0]?.content, "The port is 80");
  }
  assert.equal(await client.count({ asOf: new Date(0) }), 0);
  assert.equal(await client.count({ asOf: Date.now() / 1000 }), 1);
  const [change] = (await client.diff(name)).changed;
  assert.deepEqual([change?.before.content, change?.after.content], ["The port is 80", "The port is 90"]);
  const [entry] = await client.log({ limit: 1 });
  assert.deepEqual([entry?.action, entry?.changes], ["update", { content: "The port is 90" }]);
  assert.equal((await client.undo(entry!.seq)).content, "The port is 80");
  assert.deepEqual((await client.history(id, { limit: 2 })).map((each) => each.action), ["undo", "update"]);
});

test("threads of any name keep messages in order", async () => {
  const client = server.client();
  for (const name of ["s1", "users/ann #1", "ÄÖ%2F"]) {
    const thread = client.thread(name);
    await thread.append([1, 2, 3].map((n) => ({ value: { turnNumber: n }, content: `turn ${n}`, author: "Ann" })));
    assert.deepEqual((await thread.read(2)).map((each) => each.value), [{ turnNumber: 2 }, { turnNumber: 3 }]);
  }
  assert.deepEqual((await client.threads()).sort(), ["s1", "users/ann #1", "ÄÖ%2F"]);
  assert.equal(await client.thread("s1").clear(), 3);
  assert.deepEqual(await client.thread("s1").read(), []);
});

test("an export streams, and comes back by import", async () => {
  const client = server.client();
  const [one] = await client.storeMany([{ content: "one", vectors: { v: [1, 2] } }, "two"]);
  assert.deepEqual(await client.vector(one!.id, "v"), [1, 2]);
  const lines = await new Response(await client.export()).text();
  assert.equal(lines.split("\n").filter((line) => line.includes('"two"')).length > 0, true);
  await client.erase({ where: { id: { $exists: true } } });
  assert.equal(await client.count(), 0);
  for (const upload of [lines, new Blob([lines]), new TextEncoder().encode(lines), new Blob([lines]).stream()]) {
    const merged = await client.import(upload);
    assert.equal(merged.erased, 2);
  }
  await client.store("before the preview");
  const [last] = await client.log({ limit: 1 });
  assert.equal((await client.import(lines, { dryRun: true })).erased, 2);
  assert.deepEqual(await client.log({ limit: 1 }), [last]);
  await assert.rejects(client.merge("no file"), { status: 409 });
});

test("the whole file is counted, checked and tidied", async () => {
  const client = server.client();
  await client.store("The port is 80");
  assert.equal((await client.namespaces())[client.namespace!], 1);
  assert.equal((await client.stats()).namespaces[client.namespace!], 1);
  const { items } = await client.map({ limit: 10 });
  assert.deepEqual(items.map(({ content, x, y }) => [content, x, y]), [["The port is 80", 0, 0]]);
  const [last] = await client.log({ limit: 1 });
  assert.deepEqual(await client.log({ until: last!.seq, limit: 1 }), [last]);
  assert.deepEqual(await client.verify(), { problems: [] });
  assert.deepEqual(await client.repair(), { mended: [], left: [] });
  const { confirm, ...counted } = await client.tidy({ dryRun: true });
  assert.deepEqual([typeof confirm, counted], ["string", { expired: 0, drifted: 0, dryRun: true }]);
  const compacted = await client.compact({ keep: 10_000 });
  assert.deepEqual([compacted.entries, compacted.dryRun], [0, false]);
  assert.deepEqual(await client.tidy(), { expired: 0, drifted: 0, dryRun: false, confirm: null });
});

test("a closed task counts for its memories, once", async () => {
  const client = server.client();
  const { id } = await client.store("Run the migration before the deploy");
  const write = (status: string) => {
    const task = { id: "bd-1", title: "Deploy", status, priority: 1, updated_at: "2025-01-02T00:00:00Z" };
    const closed = status === "closed" ? { closed_at: "2099-01-01T00:00:00Z" } : {};
    return writeFile(join(server.folder, ".beads", "issues.jsonl"), `${JSON.stringify({ ...task, ...closed })}\n`);
  };
  await mkdir(join(server.folder, ".beads"));
  await write("open");
  assert.deepEqual((await client.tasks()).items.map((each) => [each.source, each.title]), [["beads", "Deploy"]]);
  assert.equal(await client.linkTask("beads", "bd-1", [id]), 1);
  assert.deepEqual((await client.taskMemories("beads", "bd-1")).map((each) => each.id), [id]);
  assert.equal(await client.unlinkTask("beads", "bd-1", id), true);
  assert.equal(await client.unlinkTask("beads", "bd-1", id), false);
  assert.equal(await client.linkTask("beads", "bd-1", [id]), 1);
  assert.deepEqual(await client.syncTasks(), []);
  await write("closed");
  assert.deepEqual((await client.tasks({ closed: true })).items[0]?.closedAt, 4070908800);
  const verdicts = await client.syncTasks({ dryRun: true });
  assert.deepEqual(verdicts.map((each) => [each.memory, each.verdict]), [[id, "worked"]]);
  assert.equal((await client.syncTasks()).length, 1);
  await client.syncTasks();
  assert.equal((await client.get(id))?.outcome, 0.2);
});

test("without a namespace all is seen, with null, too", async () => {
  const client = server.client();
  const { id } = await client.store("The quokka sleeps");
  const { url, token } = server;
  assert.equal((await new Bethink({ url: new URL(url), token }).recall("quokka"))[0]?.memory.id, id);
  assert.equal((await server.client().recall("quokka", { namespace: null }))[0]?.memory.id, id);
  assert.deepEqual(await server.client().recall("quokka"), []);
});
