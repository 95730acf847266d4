// Finds the server for a client of the conformance suite: behind the proxy, if HOOKHOST names its program.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export const scenario = process.env.MCP_CONFORMANCE_SCENARIO;

export async function server() {
  const service = process.argv.at(-1);
  if (!process.env.HOOKHOST) return { address: service };
  // A server of its own: each scenario has other tools.
  const words = ["mcp", "--name", scenario.slice(0, 32), "--http", service, "--listen", "127.0.0.1:0"];
  const proxy = spawn(process.env.HOOKHOST, words, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: proxy.stdout })) {
    return { address: line.replace("listening at ", ""), proxy };
  }
  throw new Error("the proxy does not listen");
}
