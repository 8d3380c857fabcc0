// One conversation of an official TypeScript client with the server: `node clients.mjs PLAN`.
// The plan: generation 1 or 2, mode, the calls, and an address or a command. Prints what came back.
import { readFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const root = plan.generation === 1 ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const main = await import(plan.generation === 1 ? `${root}/index.js` : root);
const stdio = await import(plan.generation === 1 ? `${root}/stdio.js` : `${root}/stdio`);
const http = plan.generation === 1 ? await import(`${root}/streamableHttp.js`) : main;

const transport = plan.address
  ? new http.StreamableHTTPClientTransport(new URL(plan.address))
  : new stdio.StdioClientTransport({ command: plan.command[0], args: plan.command.slice(1), env: plan.env, cwd: plan.cwd });
const options = plan.mode === "legacy" ? {} : { versionNegotiation: { mode: plan.mode } };
const client = new main.Client({ name: "test", version: "1" }, options);
await client.connect(transport);

const refused = async (promise) => promise.then(() => null, (error) => error.message);
const found = {
  version: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null,
  server: client.getServerVersion()?.name,
  instructions: client.getInstructions(),
  tools: (await client.listTools()).tools.map((each) => each.name),
  resources: (await client.listResources()).resources.map((each) => each.uri),
  templates: (await client.listResourceTemplates()).resourceTemplates.map((each) => each.uriTemplate),
  prompts: (await client.listPrompts()).prompts.map((each) => each.name),
  calls: [],
};
const ids = {};
for (const call of plan.calls) {
  let given = JSON.stringify(call.arguments);
  for (const [name, id] of Object.entries(ids)) given = given.replaceAll(name, id);
  const result = await client.callTool({ name: `memory_${call.tool}`, arguments: JSON.parse(given) });
  if (call.id) ids[call.id] = result.structuredContent.memory.id;
  found.calls.push({ isError: result.isError === true, text: result.content[0].text });
}
found.unknownTool = await refused(client.callTool({ name: "memory_erase", arguments: {} }));
found.stats = JSON.parse((await client.readResource({ uri: "bethink://stats" })).contents[0].text);
found.recent = (await client.readResource({ uri: "bethink://recent" })).contents[0].text;
found.memory = JSON.parse((await client.readResource({ uri: `bethink://memory/${ids["$new"]}` })).contents[0].text);
found.absent = await refused(client.readResource({ uri: "bethink://memory/absent" }));
found.prompt = (await client.getPrompt({ name: "recall-first", arguments: { topic: "the ferry" } })).messages[0].content.text;
found.wrongPrompt = await refused(client.getPrompt({ name: "recall-first", arguments: {} }));
await client.close();
console.log(JSON.stringify(found));
