// A client for the conformance suite of MCP, which names the scenario in a variable and its server as the last argument. With
// HOOKHOST it stands behind the proxy.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const CALLS = {
  tools_call: ["add_numbers", { a: 5, b: 3 }],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults", {}],
  "sse-retry": ["test_reconnection", {}],
};

const service = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const { address, proxy } = process.env.HOOKHOST ? await behindProxy(service) : { address: service };
const capabilities = { elicitation: { form: { applyDefaults: true } } };
const client = new Client({ name: "conformance-test", version: "1.0.0" }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
await client.listTools();
if (CALLS[scenario]) {
  const [name, args] = CALLS[scenario];
  console.log(JSON.stringify(await client.callTool({ name, arguments: args })));
}
await client.close();
proxy?.kill();

async function behindProxy(service) {
  // A server of its own: each scenario has other tools.
  const words = ["mcp", "--name", scenario.slice(0, 32), "--http", service, "--listen", "127.0.0.1:0"];
  const proxy = spawn(process.env.HOOKHOST, words, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: proxy.stdout })) {
    return { address: line.replace("listening at ", ""), proxy };
  }
  throw new Error("the proxy does not listen");
}
