/** A real `bethink serve` in a process of its own, for the tests of a file. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before } from "node:test";

import { Bethink, type BethinkOptions } from "../src/index.ts";

export interface Served {
  url: string;
  token: string;
  folder: string;
  /** A client; with a namespace of its own unless one is given. */
  client(options?: Partial<BethinkOptions>): Bethink;
}

const python = process.env["BETHINK_PYTHON"] ?? "python";

/** Serve a new memory before the tests of the file, and stop afterwards. */
export function served(...more: string[]): Served {
  let process: ChildProcess;
  let number = 0;
  const found: Served = {
    url: "",
    token: "",
    folder: "",
    client: (options = {}) => {
      const { url, token } = found;
      return new Bethink({ url, token, namespace: `test${number++}`, ...options });
    },
  };
  before(async () => {
    found.folder = await mkdtemp(join(tmpdir(), "bethink-"));
    [process, found.url, found.token] = await start(found.folder, 0, more);
  });
  after(async () => {
    await stop(process);
    await rm(found.folder, { recursive: true });
  });
  return found;
}

/** Start a server of the memory in *folder*; return process, address and token. */
export async function start(
  folder: string,
  port: number,
  more: string[] = [],
): Promise<[ChildProcess, string, string]> {
  const files = ["--db", join(folder, "m.db"), "--tokens", join(folder, "tokens.json")];
  const command = ["-m", "bethink_adapters.cli", "serve", "--port", `${port}`, "--json", ...files, ...more];
  const env = { ...process.env, HOME: folder };
  const started = spawn(python, command, { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
  for await (const line of createInterface({ input: started.stdout })) {
    const { url, token } = JSON.parse(line) as { url: string; token: string };
    return [started, url, token];
  }
  throw new Error("the server said nothing");
}

export async function stop(process: ChildProcess): Promise<void> {
  const ended = once(process, "exit");
  process.kill("SIGKILL");
  await ended;
}

/** Return all that *iterable* yields. */
export async function listed<Item>(iterable: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const each of iterable) found.push(each);
  return found;
}
