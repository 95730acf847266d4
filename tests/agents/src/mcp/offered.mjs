// The features that the conformance suite's servers offer in every revision of the protocol.

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const image = { type: "image", data: PNG, mimeType: "image/png" };
const embedded = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });

export const text = (text) => ({ type: "text", text });
export const said = (...content) => ({ content });
export const later = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// The tools, each with the properties of its arguments and its function. The function gets the arguments and the request's context.
export const TOOLS = {
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
  test_tool_with_progress: [
    {},
    async (_, { progressToken, tell }) => {
      for (const progress of [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 };
        if (progressToken !== undefined) await tell({ method: "notifications/progress", params });
        await later(50);
      }
      return said(text("done"));
    },
  ],
  test_error_handling: [
    {},
    () => ({ ...said(text("This tool intentionally returns an error for testing")), isError: true }),
  ],
};

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

export function listed(tools) {
  const own = Object.entries(tools).map(([name, [properties]]) => ({
    name,
    description: `Is the tool ${name} of the suite`,
    inputSchema: { type: "object", properties, required: Object.keys(properties) },
  }));
  return [...own, JSON_SCHEMA];
}

const resource = (uri, name, mimeType) => ({ uri, name, description: `${name} for testing`, mimeType });

export const RESOURCES = [
  resource("test://static-text", "Static Text Resource", "text/plain"),
  resource("test://static-binary", "Static Binary Resource", "image/png"),
  resource("test://watched-resource", "Watched Resource", "text/plain"),
];

export const TEMPLATES = [
  { ...resource("", "Resource Template", "application/json"), uri: undefined, uriTemplate: "test://template/{id}/data" },
];

// Returns nothing if there is no such resource.
export function read(uri) {
  if (uri === "test://static-text") {
    return { uri, mimeType: "text/plain", text: "This is the content of the static text resource." };
  }
  if (uri === "test://static-binary") return { uri, mimeType: "image/png", blob: PNG };
  if (uri === "test://watched-resource") return { uri, mimeType: "text/plain", text: "Watched resource content" };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: "application/json", text: data };
}

const user = (content) => ({ role: "user", content });

// The prompts, each with the names of its arguments and its messages.
export const PROMPTS = {
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

export function listedPrompts(prompts) {
  return Object.entries(prompts).map(([name, [names]]) => ({
    name,
    description: `Is the prompt ${name} of the suite`,
    arguments: names.map((name) => ({ name, description: name, required: true })),
  }));
}

// Returns true if a request was meant for this machine and, if a browser's page sent it, came from a page of this machine.
export function isLocal(headers) {
  const local = (value) => /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(value);
  return local(headers.host ?? "") && local(headers.origin ?? "localhost");
}
