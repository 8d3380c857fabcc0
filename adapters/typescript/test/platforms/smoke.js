/** What every platform must do, with the built package: `node smoke.js URL TOKEN` prints the results. */

import { Bethink, ConflictError, NotFoundError } from "../../dist/index.js";

export async function smoke(url, token, platform) {
  const client = new Bethink({ url, token, namespace: `on/${platform}` });
  const name = (error) => error.name;
  const memory = await client.store("Ann prefers dark mode", { metadata: { user_id: 1 }, occurredAt: new Date(0) });
  const [hit] = await client.recall("which mode?");
  const changed = await client.update(memory.id, { importance: 0.9 }, { ifMatch: memory.etag });
  const failures = [
    await client.update(memory.id, { importance: 1 }, { ifMatch: memory.etag }).catch(name),
    await client.store("x", { id: memory.id }).catch((error) => error instanceof ConflictError),
    await client.forget("none").catch((error) => error instanceof NotFoundError),
    await client.recall("x", { signal: AbortSignal.abort() }).catch(name),
  ];
  const actions = [];
  for await (const event of client.events({ since: 0, follow: false })) {
    if (event.id === memory.id) actions.push(event.action);
  }
  const controller = new AbortController();
  const following = client.events({ since: 0, signal: controller.signal });
  const first = (await following.next()).value.seq;
  controller.abort();
  const ended = await following.next().catch(name);
  const lines = await new Response(await client.export()).text();
  const { same } = await client.import(new Blob([lines]));
  return {
    hit: hit.memory.id === memory.id,
    importance: changed.importance,
    occurredAt: changed.occurredAt,
    metadata: changed.metadata,
    failures,
    actions,
    first,
    ended,
    imported: same >= 1,
  };
}

if (globalThis.process?.argv[3]) {
  const [url, token, platform] = process.argv.slice(2);
  console.log(JSON.stringify(await smoke(url, token, platform)));
}
