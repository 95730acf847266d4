// A server of the Model Context Protocol that writes each call into the file that it is given.

import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const file = process.argv[2];
const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const tools = [
  { name: "write_note", description: "Writes a note", inputSchema },
  { name: "erase_notes", description: "Erases all notes", inputSchema },
];

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "notes", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": ({ name, arguments: { text } }) => {
    appendFileSync(file, `${name} ${text}\n`);
    return { content: [{ type: "text", text: `noted ${text}` }] };
  },
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const said = METHODS[method]
    ? { result: METHODS[method](params) }
    : { error: { code: -32601, message: `There is no method ${method}` } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}
