// A server of the revisions with sessions, with what the conformance suite of MCP asks for. It prints its port.

import { randomUUID } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as schema from "@modelcontextprotocol/sdk/types.js";
import express from "express";
import * as offered from "./offered.mjs";

const { later, said, text } = offered;
const one = (values) => values.map((value) => ({ const: value[0], title: value[1] }));

const DEFAULTS = {
  name: { type: "string", description: "Name", default: "John Doe" },
  age: { type: "integer", description: "Age", default: 30 },
  score: { type: "number", description: "Score", default: 95.5 },
  status: { type: "string", description: "Status", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", description: "Verified", default: true },
};
const TITLES = [["value1", "First Option"], ["value2", "Second Option"], ["value3", "Third Option"]];
const ENUMS = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: { type: "string", oneOf: one(TITLES) },
  legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: { type: "array", items: { anyOf: one(TITLES) } },
};

// The common tools, and those that send requests or notifications during a call.
const TOOLS = {
  ...offered.TOOLS,
  test_tool_with_logging: [
    {},
    async (_, { tell }) => {
      for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await tell({ method: "notifications/message", params: { level: "info", data } });
        await later(50);
      }
      return said(text("logged"));
    },
  ],
  test_sampling: [
    { prompt: { type: "string" } },
    async ({ prompt }, { extra }) => {
      const messages = [{ role: "user", content: text(prompt) }];
      const request = { method: "sampling/createMessage", params: { messages, maxTokens: 100 } };
      const answer = await extra.sendRequest(request, schema.CreateMessageResultSchema);
      return said(text(`LLM response: ${answer.content.text}`));
    },
  ],
  test_elicitation: [
    { message: { type: "string" } },
    ({ message }, { extra }) => elicited(extra, message, { response: { type: "string", description: "Response" } }),
  ],
  test_elicitation_sep1034_defaults: [{}, (_, { extra }) => elicited(extra, "Defaults?", DEFAULTS)],
  test_elicitation_sep1330_enums: [{}, (_, { extra }) => elicited(extra, "Which?", ENUMS)],
  test_reconnection: [
    {},
    async (_, { extra }) => {
      extra.closeSSEStream?.();
      await later(100);
      return said(text("Reconnected."));
    },
  ],
};

async function elicited(extra, message, properties) {
  const params = { message, requestedSchema: { type: "object", properties, required: [] } };
  const answer = await extra.sendRequest({ method: "elicitation/create", params }, schema.ElicitResultSchema);
  return said(text(`User response: ${JSON.stringify(answer)}`));
}

function server() {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  };
  const server = new Server({ name: "mcp-conformance-test-server", version: "1.0.0" }, { capabilities });
  server.setRequestHandler(schema.ListToolsRequestSchema, () => ({ tools: offered.listed(TOOLS) }));
  server.setRequestHandler(schema.CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS[params.name];
    if (!tool) throw new schema.McpError(-32602, `Unknown tool: ${params.name}`);
    const { progressToken } = extra._meta ?? {};
    return tool[1](params.arguments ?? {}, { extra, progressToken, tell: (told) => extra.sendNotification(told) });
  });
  server.setRequestHandler(schema.ListResourcesRequestSchema, () => ({ resources: offered.RESOURCES }));
  server.setRequestHandler(schema.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: offered.TEMPLATES }));
  server.setRequestHandler(schema.ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = offered.read(uri);
    if (!found) throw new schema.McpError(-32002, `There is no resource ${uri}`);
    return { contents: [found] };
  });
  server.setRequestHandler(schema.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schema.UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schema.ListPromptsRequestSchema, () => ({ prompts: offered.listedPrompts(offered.PROMPTS) }));
  server.setRequestHandler(schema.GetPromptRequestSchema, ({ params }) => ({
    messages: offered.PROMPTS[params.name][1](params.arguments ?? {}),
  }));
  server.setRequestHandler(schema.SetLevelRequestSchema, () => ({}));
  server.setRequestHandler(schema.CompleteRequestSchema, () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return server;
}

// Events are kept, so that a stream that was closed can be continued.
class Events {
  constructor() {
    this.all = [];
  }
  async storeEvent(stream, message) {
    this.all.push({ stream, message });
    return String(this.all.length - 1);
  }
  async replayEventsAfter(last, { send }) {
    const from = Number(last);
    const stream = this.all[from]?.stream ?? "";
    for (const [id, event] of this.all.entries()) {
      if (id > from && event.stream === stream && event.message.jsonrpc) await send(String(id), event.message);
    }
    return stream;
  }
}

const transports = new Map();
const app = express();
app.use(express.json());
app.use((request, response, next) => (offered.isLocal(request.headers) ? next() : response.status(403).end()));
app.all("/mcp", async (request, response) => {
  const known = transports.get(request.headers["mcp-session-id"]);
  if (known) return known.handleRequest(request, response, request.body);
  if (request.headers["mcp-session-id"]) return response.status(404).end();
  if (request.body?.method !== "initialize") return response.status(400).end();
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 200,
    onsessioninitialized: (id) => transports.set(id, transport),
  });
  await server().connect(transport);
  await transport.handleRequest(request, response, request.body);
});
const listening = app.listen(0, "127.0.0.1", () => console.log(listening.address().port));
