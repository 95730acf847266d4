// A client of the revisions with sessions for the conformance suite of MCP, which names the scenario in a variable and the server
// as the last argument.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { scenario, server } from "./behind.mjs";

const CALLS = {
  tools_call: ["add_numbers", { a: 5, b: 3 }],
  "elicitation-sep1034-client-defaults": ["test_client_elicitation_defaults", {}],
  "sse-retry": ["test_reconnection", {}],
};

const { address, proxy } = await server();
const transport = new StreamableHTTPClientTransport(new URL(address));
const send = transport.send.bind(transport);
transport.send = (message, options) => {
  // The package itself would ask for the newest revision that it has.
  const protocolVersion = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
  const params = { ...message.params, ...(protocolVersion && { protocolVersion }) };
  return send(message.method === "initialize" ? { ...message, params } : message, options);
};
const capabilities = { elicitation: { form: { applyDefaults: true } } };
const client = new Client({ name: "conformance-test", version: "1.0.0" }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
await client.connect(transport);
await client.listTools();
if (CALLS[scenario]) {
  const [name, args] = CALLS[scenario];
  console.log(JSON.stringify(await client.callTool({ name, arguments: args })));
}
await client.close();
proxy?.kill();
