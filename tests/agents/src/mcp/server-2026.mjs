// A server of revision 2026-07-28, with what the conformance suite of MCP asks for. It prints its port.

import { createServer } from "node:http";
import { randomBytes, randomUUID } from "node:crypto";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ResourceNotFoundError,
  Server,
} from "@modelcontextprotocol/server";
import * as offered from "./offered.mjs";

const { said, text } = offered;
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const states = createRequestStateCodec({ key: randomBytes(32) });

const form = (message, properties) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } },
});
const NAME = form("What is your name?", { name: { type: "string" } });
const CONFIRM = form("Please confirm", { ok: { type: "boolean" } });
const ROOTS = { method: "roots/list", params: {} };
const sample = (prompt) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 },
});

// Returns the user's content of a form; nothing if the user did not accept it.
const given = (answers, key) => (answers?.[key]?.action === "accept" ? answers[key].content : undefined);

async function asked(inputRequests, state) {
  const requestState = state && (await states.mint({ ...state, nonce: randomUUID() }));
  return inputRequired({ inputRequests, ...(requestState && { requestState }) });
}

// Asks with one form, and with a state that the answer has to carry.
function confirmed(words) {
  return async (_, { answers, state }) => {
    if (state && given(answers, "confirm")?.ok) return said(text(words));
    return asked({ confirm: CONFIRM }, { of: words });
  };
}

const TOOLS = {
  ...offered.TOOLS,
  test_missing_capability: [
    {},
    (_, { client }) => {
      if (!client.sampling) throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
      return said(text("It has it."));
    },
  ],
  test_input_required_result_elicitation: [
    {},
    (_, { answers }) => {
      const user = given(answers, "user_name");
      return typeof user?.name === "string" ? said(text(`Hello, ${user.name}!`)) : asked({ user_name: NAME });
    },
  ],
  test_input_required_result_sampling: [
    {},
    (_, { answers }) => {
      const said_by_model = answers?.capital?.content?.text;
      return said_by_model ? said(text(`The model says ${said_by_model}`)) : asked({ capital: sample("Capital of France?") });
    },
  ],
  test_input_required_result_list_roots: [
    {},
    (_, { answers }) => {
      const roots = answers?.roots?.roots;
      return roots ? said(text(`There are ${roots.length} roots`)) : asked({ roots: ROOTS });
    },
  ],
  test_input_required_result_request_state: [{}, confirmed("state-ok")],
  test_input_required_result_tampered_state: [{}, confirmed("integrity-ok")],
  test_input_required_result_multiple_inputs: [
    {},
    (_, { answers, state }) => {
      const all = state && answers?.user && answers.greeting && answers.roots;
      return all ? said(text("All is there.")) : asked({ user: NAME, greeting: sample("Greet"), roots: ROOTS }, { of: "all" });
    },
  ],
  test_input_required_result_multi_round: [
    {},
    (_, { answers, state }) => {
      const name = given(answers, "step1")?.name;
      const color = given(answers, "step2")?.color;
      if (state?.round === 2 && color) return said(text(`${state.name} likes ${color}`));
      const second = form("Step 2: which color?", { color: { type: "string" } });
      if (state?.round === 1 && name) return asked({ step2: second }, { round: 2, name });
      return asked({ step1: form("Step 1: what is your name?", { name: { type: "string" } }) }, { round: 1 });
    },
  ],
  test_input_required_result_capabilities: [
    {},
    (_, { answers, client }) => {
      if (answers) return said(text(`capabilities-ok: ${Object.keys(answers)}`));
      const questions = { ...(client.elicitation && { name: NAME }), ...(client.sampling && { said: sample("Say it") }) };
      return Object.keys(questions).length ? asked(questions, { of: "capabilities" }) : said(text("Nothing can be asked."));
    },
  ],
  test_streaming_elicitation: [
    {},
    async (_, { progressToken, tell, answers }) => {
      if (progressToken !== undefined) await tell({ method: "notifications/progress", params: { progressToken, progress: 1 } });
      return answers ? said(text("done")) : asked({ user_name: NAME });
    },
  ],
  test_logging_tool: [
    {},
    async (_, { log }) => {
      await log("info", "It runs.");
      return said(text("logged"));
    },
  ],
  test_trigger_tool_change: [
    {},
    () => {
      handler.notify.toolsChanged();
      return said(text("changed"));
    },
  ],
  test_trigger_prompt_change: [
    {},
    () => {
      handler.notify.promptsChanged();
      return said(text("changed"));
    },
  ],
};

const PROMPTS = {
  ...offered.PROMPTS,
  test_input_required_result_prompt: [[], undefined],
};

function prompt({ name, arguments: given_arguments }, answers) {
  const known = PROMPTS[name];
  if (!known) throw new ProtocolError(-32602, `There is no prompt ${name}`);
  if (known[1]) return { messages: known[1](given_arguments ?? {}) };
  const user = given(answers, "user_name");
  if (!user) return asked({ user_name: NAME });
  return { messages: [{ role: "user", content: text(`Greet ${user.name}`) }] };
}

function server() {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  };
  const options = { capabilities, requestState: { verify: states.verify } };
  const server = new Server({ name: "mcp-conformance-test-server", version: "1.0.0" }, options);
  server.setRequestHandler("tools/list", () => ({ tools: offered.listed(TOOLS) }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = TOOLS[params.name];
    if (!tool) throw new ProtocolError(-32602, `Unknown tool: ${params.name}`);
    return tool[1](params.arguments ?? {}, {
      answers: mcpReq.inputResponses,
      client: mcpReq.envelope?.[CAPABILITIES] ?? {},
      log: mcpReq.log,
      progressToken: mcpReq._meta?.progressToken,
      state: mcpReq.requestState(),
      tell: mcpReq.notify,
    });
  });
  server.setRequestHandler("resources/list", () => ({ resources: offered.RESOURCES }));
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: offered.TEMPLATES }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const found = offered.read(uri);
    if (!found) throw new ResourceNotFoundError(uri);
    return { contents: [found] };
  });
  server.setRequestHandler("prompts/list", () => ({ prompts: offered.listedPrompts(PROMPTS) }));
  server.setRequestHandler("prompts/get", ({ params }, { mcpReq }) => prompt(params, mcpReq.inputResponses));
  server.setRequestHandler("completion/complete", () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return server;
}

const handler = createMcpHandler(server, { legacy: "reject" });
const answer = toNodeHandler(handler);
const listening = createServer((request, response) => {
  if (!offered.isLocal(request.headers)) return response.writeHead(403).end();
  if (new URL(request.url, "http://localhost").pathname !== "/mcp") return response.writeHead(404).end();
  answer(request, response);
}).listen(0, "127.0.0.1", () => console.log(listening.address().port));
