#!/usr/bin/env node
// Starts the native program of this platform, and becomes it where Node.js can. Hooks name the native program, so no hook starts Node.js.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
const { optionalDependencies } = require("./package.json");

function fail(problem) {
  console.error(`hookhost: ${problem}`);
  process.exit(1);
}

function program() {
  const name = `hookhost-${platform}`;
  if (!(name in optionalDependencies)) {
    fail(`there is no package for ${platform}, only for ${Object.keys(optionalDependencies).map((name) => name.slice("hookhost-".length)).join(", ")}`);
  }
  try {
    return require.resolve(`${name}/bin/hookhost`);
  } catch {
    fail(`npm did not install the package with the program for ${platform}: run \`npm install -g hookhost --include=optional\` on this machine`);
  }
}

const path = program();
const words = process.argv.slice(2);
if (process.execve) {
  try {
    process.removeAllListeners("warning");
    process.execve(path, [path, ...words], process.env);
  } catch {
    // Not on this platform.
  }
}
const child = spawn(path, words, { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => fail(`${path} cannot be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
