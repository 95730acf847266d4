// A client of revision 2026-07-28 for the conformance suite of MCP, which names the scenario in a variable and the server as the
// last argument.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { scenario, server } from "./behind.mjs";

const { address, proxy } = await server();
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const client = new Client(
  { name: "conformance-test", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
);
const call = (name, args = {}) => client.callTool({ name, arguments: args });

client.setRequestHandler("elicitation/create", async () => {
  // A call between both rounds of another one.
  if (scenario === "sep-2322-client-request-state") await call("test_mrtr_unrelated");
  return { action: "accept", content: { confirmed: true } };
});

const SCENARIOS = {
  tools_call: () => call("add_numbers", { a: 5, b: 3 }),
  "http-standard-headers": async (tools) => {
    await call(tools[0].name);
    const { resources } = await client.listResources();
    await client.readResource({ uri: resources[0].uri });
    const { prompts } = await client.listPrompts();
    await client.getPrompt({ name: prompts[0].name });
  },
  "http-custom-headers": async () => {
    for (const { name, arguments: args } of context.toolCalls) await call(name, args);
  },
  "http-invalid-tool-headers": async (tools) => {
    for (const { name } of tools) await call(name, { region: "eu" });
  },
  "sep-2322-client-request-state": async () => {
    for (const name of ["test_mrtr_echo_state", "test_mrtr_no_state"]) await call(name);
    // The package refuses a result without a type, and does not send the call again: that is what the suite looks at.
    await call("test_mrtr_no_result_type").catch(() => {});
  },
};

await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const { tools } = await client.listTools();
await SCENARIOS[scenario]?.(tools);
await client.close();
proxy?.kill();
