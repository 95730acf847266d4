// A server with the tools, resources and prompts that the conformance suite of MCP asks for. It prints its port.

import { randomUUID } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import * as schema from "@modelcontextprotocol/sdk/types.js";
import express from "express";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const text = (text) => ({ type: "text", text });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
const later = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const said = (...content) => ({ content });
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

// Each tool: its own arguments, and what it does with them and with what else the request has.
const TOOLS = {
  test_simple_text: [{}, () => said(text("This is a simple text response for testing."))],
  test_image_content: [{}, () => said(image)],
  test_audio_content: [{}, () => said({ type: "audio", data: WAV, mimeType: "audio/wav" })],
  test_embedded_resource: [
    {},
    () => said(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  ],
  test_multiple_content_types: [
    {},
    () =>
      said(
        text("Multiple content types test:"),
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ),
  ],
  test_tool_with_logging: [
    {},
    async (_, extra) => {
      for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
        await later(50);
      }
      return said(text("logged"));
    },
  ],
  test_tool_with_progress: [
    {},
    async (_, extra) => {
      const progressToken = extra._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 };
        if (progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params });
        await later(50);
      }
      return said(text("done"));
    },
  ],
  test_error_handling: [
    {},
    () => ({ ...said(text("This tool intentionally returns an error for testing")), isError: true }),
  ],
  test_sampling: [
    { prompt: { type: "string" } },
    async ({ prompt }, extra) => {
      const messages = [{ role: "user", content: text(prompt) }];
      const request = { method: "sampling/createMessage", params: { messages, maxTokens: 100 } };
      const answer = await extra.sendRequest(request, schema.CreateMessageResultSchema);
      return said(text(`LLM response: ${answer.content.text}`));
    },
  ],
  test_elicitation: [
    { message: { type: "string" } },
    ({ message }, extra) => elicited(extra, message, { response: { type: "string", description: "Response" } }),
  ],
  test_elicitation_sep1034_defaults: [{}, (_, extra) => elicited(extra, "Defaults?", DEFAULTS)],
  test_elicitation_sep1330_enums: [{}, (_, extra) => elicited(extra, "Which?", ENUMS)],
  test_reconnection: [
    {},
    async (_, extra) => {
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

const JSON_SCHEMA = {
  name: "json_schema_2020_12_tool",
  description: "Has a schema of the draft of 2020-12",
  inputSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  },
};

const resource = (uri, name, mimeType) => ({ uri, name, description: `${name} for testing`, mimeType });
const RESOURCES = [
  resource("test://static-text", "Static Text Resource", "text/plain"),
  resource("test://static-binary", "Static Binary Resource", "image/png"),
  resource("test://watched-resource", "Watched Resource", "text/plain"),
];

function read(uri) {
  if (uri === "test://static-text") {
    return { uri, mimeType: "text/plain", text: "This is the content of the static text resource." };
  }
  if (uri === "test://static-binary") return { uri, mimeType: "image/png", blob: PNG };
  if (uri === "test://watched-resource") return { uri, mimeType: "text/plain", text: "Watched resource content" };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) throw new schema.McpError(-32002, `There is no resource ${uri}`);
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: "application/json", text: data };
}

const user = (content) => ({ role: "user", content });
const PROMPTS = {
  test_simple_prompt: [[], () => [user(text("This is a simple prompt for testing."))]],
  test_prompt_with_arguments: [
    ["arg1", "arg2"],
    ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  ],
  test_prompt_with_embedded_resource: [
    ["resourceUri"],
    ({ resourceUri }) => [
      user(embedded(resourceUri, "text/plain", "Embedded resource content for testing.")),
      user(text("Please process the embedded resource above.")),
    ],
  ],
  test_prompt_with_image: [[], () => [user(image), user(text("Please analyze the image above."))]],
};

function server() {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  };
  const server = new Server({ name: "mcp-conformance-test-server", version: "1.0.0" }, { capabilities });
  const tools = Object.entries(TOOLS).map(([name, [properties]]) => ({
    name,
    description: `Is the tool ${name} of the suite`,
    inputSchema: { type: "object", properties, required: Object.keys(properties) },
  }));
  server.setRequestHandler(schema.ListToolsRequestSchema, () => ({ tools: [...tools, JSON_SCHEMA] }));
  server.setRequestHandler(schema.CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS[params.name];
    if (!tool) throw new schema.McpError(-32602, `Unknown tool: ${params.name}`);
    return tool[1](params.arguments ?? {}, extra);
  });
  server.setRequestHandler(schema.ListResourcesRequestSchema, () => ({ resources: RESOURCES }));
  const template = { ...resource("", "Resource Template", "application/json"), uriTemplate: "test://template/{id}/data" };
  server.setRequestHandler(schema.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [template] }));
  server.setRequestHandler(schema.ReadResourceRequestSchema, ({ params }) => ({ contents: [read(params.uri)] }));
  server.setRequestHandler(schema.SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(schema.UnsubscribeRequestSchema, () => ({}));
  const prompts = Object.entries(PROMPTS).map(([name, [names]]) => ({
    name,
    description: `Is the prompt ${name} of the suite`,
    arguments: names.map((name) => ({ name, description: name, required: true })),
  }));
  server.setRequestHandler(schema.ListPromptsRequestSchema, () => ({ prompts }));
  server.setRequestHandler(schema.GetPromptRequestSchema, ({ params }) => ({
    messages: PROMPTS[params.name][1](params.arguments ?? {}),
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
app.use((request, response, next) => {
  const local = (value) => /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(value);
  if (local(request.headers.host ?? "") && local(request.headers.origin ?? "localhost")) return next();
  response.status(403).end();
});
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
