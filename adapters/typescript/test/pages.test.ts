/** Every block of the pages: the types hold, and the code prints what the comments "// →" say. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";

import { served } from "./serving.ts";

const root = join(import.meta.dirname, "..");
const folder = join(root, "build", "pages");
const run = promisify(execFile);
const server = served();

/** What a reader has: models, here those of the frameworks' own tests. */
const MODELS = `
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { MockLanguageModelV4 } from "ai/test";

export const chatModel = new FakeListChatModel({ responses: ["Hello Ann"] });
export const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => ({
    content: [{ type: "text", text: /prefers dark mode/.test(JSON.stringify(prompt)) ? "dark mode" : "I do not know" }],
    finishReason: { unified: "stop", raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  }),
});
`;

/** A program that the types must refuse, so that a package without types is found out. */
const MISTAKES = `
import { Bethink } from "@bethink/client";
const client = new Bethink({ url: "", token: "" });
// @ts-expect-error a text is no number
const content: number = (await client.store("x")).content;
// @ts-expect-error there is no such option
await client.recall("x", { minscore: 1 });
// @ts-expect-error there is no such field
await client.count({ where: { kategory: "x" } });
export { content };
`;

const CONFIG = { extends: "../../tsconfig.json", compilerOptions: { types: ["node"] }, include: ["*.ts"] };

/** Return the blocks of a page; those without a client get the client of the page's first block. */
async function blocks(page: string): Promise<string[]> {
  const text = await readFile(page, "utf8");
  const found = Array.from(text.matchAll(/^```ts\n(.*?)^```/gms), ([, code]) => code ?? "");
  const setup = found[0]?.match(/^import[^;]*;\n\nconst client = .*?\n?\}?\);\n/s)?.[0] ?? "";
  return found.map((code) => (code.includes("new Bethink(") ? code : `${setup}${code}`));
}

const pages = { readme: join(root, "README.md"), guide: join(root, "docs", "typescript.md") };
const files: string[] = [];

async function write(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const more = { "model.ts": MODELS, "mistakes.ts": MISTAKES, "tsconfig.json": JSON.stringify(CONFIG) };
  for (const [name, text] of Object.entries(more)) await writeFile(join(folder, name), text);
  for (const [name, page] of Object.entries(pages)) {
    for (const [number, code] of (await blocks(page)).entries()) {
      const own = code.replaceAll("http://127.0.0.1:8420", server.url).replaceAll("users/ann", `${name}/ann`);
      files.push(`${name}-${number}.ts`);
      await writeFile(join(folder, `${name}-${number}.ts`), own);
    }
  }
}
after(() => rm(folder, { recursive: true }));

test("the types of the blocks hold, with the built package", async () => {
  await write();
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  await run(process.execPath, [compiler, "-p", folder]).catch((error: { stdout: string }) => assert.fail(error.stdout));
});

test("each block prints what the page says", async () => {
  assert.ok(files.length >= 9);
  const env = { ...process.env, BETHINK_TOKEN: server.token };
  for (const file of files) {
    const code = await readFile(join(folder, file), "utf8");
    const told = Array.from(code.matchAll(/\/\/ → (.*)$/gm), ([, text]) => text!.trim());
    const { stdout } = await run(process.execPath, [join(folder, file)], { env });
    const quoted = told.map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("…", "[^]*"));
    assert.match(stdout, new RegExp(`^${quoted.map((each) => `${each}\n`).join("")}$`), file);
  }
});
