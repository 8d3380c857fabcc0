/** The built package on Node, Deno and Bun, and in a browser. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { listed, served, start, stop } from "./serving.ts";

const root = join(import.meta.dirname, "..");
const server = served();
const packages = join(root, "node_modules");
const BINARIES = {
  node: process.execPath,
  deno: join(packages, "@deno", "linux-x64-glibc", "deno"),
  bun: join(packages, "@oven", "bun-linux-x64", "bin", "bun"),
};
const COMMANDS = { node: [], deno: ["run", "--allow-all", "--quiet"], bun: ["run"] };
const EXPECTED = {
  hit: true,
  importance: 0.9,
  occurredAt: 0,
  metadata: { user_id: 1 },
  failures: ["PreconditionError", true, true, "AbortError"],
  actions: ["store", "update"],
  first: 1,
  ended: "AbortError",
  imported: true,
};

for (const platform of ["node", "deno", "bun"] as const) {
  test(`works on ${platform}`, { skip: !existsSync(BINARIES[platform]) }, async () => {
    const script = join(root, "test", "platforms", "smoke.js");
    const command = [...COMMANDS[platform], script, server.url, server.token, platform];
    const env = { ...process.env, DENO_DIR: join(server.folder, "deno"), DENO_NO_UPDATE_CHECK: "1" };
    const { stdout } = await promisify(execFile)(BINARIES[platform], command, { cwd: root, env });
    assert.deepEqual(JSON.parse(stdout), EXPECTED);
  });
}

/** A page that runs the same, as a browser finds it on the server of some program. */
const PAGE = `<!doctype html><script type="importmap">{"imports":
  {"openapi-fetch": "/node_modules/openapi-fetch/dist/index.mjs"}}</script>
<script type="module">
  const [url, token] = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const { smoke } = await import("/test/platforms/smoke.js");
  const found = await smoke(url, token, "browser").catch((error) => String(error.stack));
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
</script>`;

const chromium = ["chromium-headless-shell", "chromium"]
  .flatMap((name) => (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)))
  .find(existsSync);

test("works in a browser, from a page of an allowed origin", { skip: !chromium }, async () => {
  let tell: (found: string) => void;
  const found = new Promise<string>((resolve) => (tell = resolve));
  const site = createServer(async (request, response) => {
    const path = new URL(request.url ?? "/", "http://site").pathname;
    if (path === "/found") {
      tell((await listed<Buffer>(request)).join(""));
      response.end();
    } else if (path === "/") {
      response.setHeader("Content-Type", "text/html").end(PAGE);
    } else {
      const file = await readFile(join(root, path)).catch(() => null);
      response.setHeader("Content-Type", "text/javascript").writeHead(file ? 200 : 404).end(file);
    }
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const folder = await mkdtemp(join(tmpdir(), "bethink-"));
  const [memory, url, token] = await start(folder, 0, ["--allow-origin", origin]);
  const page = `${origin}/#${encodeURIComponent(JSON.stringify([url, token]))}`;
  const profile = `--user-data-dir=${join(folder, "profile")}`;
  const options = ["--headless", "--no-sandbox", "--disable-gpu", profile, page];
  const browser = spawn(chromium!, options, { stdio: "ignore", detached: true });
  try {
    assert.deepEqual(JSON.parse(await found), EXPECTED);
  } finally {
    const ended = once(browser, "exit");
    process.kill(-browser.pid!, "SIGKILL"); // the command can be a script: its browser is in the same group
    await Promise.all([ended, stop(memory)]);
    site.closeAllConnections();
    site.close();
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
});
