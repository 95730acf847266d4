//! Runs hookhost's own plugins with Node. The tests check what each agent gets from its plugin, for each reply of a hook program and
//! without a reply.

use hookhost_agents::plan::{Context, FilePlan, OnFailure, PROGRAM, Scope};
use hookhost_agents::{Message, by_name};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A hook program whose reply depends on a word in the message. The program also stores the messages.
const FAKE: &str = r#"#!/bin/sh
message=$(cat)
printf '%s\t%s\t%s\n' "$1" "$2" "$message" >> "$LOG"
case $message in
  *W-deny*) echo '{"decision":"deny","reason":"not here"}' ;;
  *W-change*) echo '{"decision":"allow","input":{"command":"changed"}}' ;;
  *W-respond*) echo '{"decision":"respond","output":"given"}' ;;
  *W-replace*) echo '{"output":"[masked]"}' ;;
  *W-context*) echo '{"context":"use pnpm"}' ;;
  *W-goon*) echo '{"goOn":["run the tests","then push"]}' ;;
  *W-garbage*) echo 'oops' ;;
  *W-half*) echo '{"decision":' ;;
  *W-list*) echo '[]' ;;
  *W-exit*) echo '{}'; exit 3 ;;
  *W-input*) echo '{"decision":"allow","input":"x"}' ;;
  *W-unknown*) echo '{"decision":"maybe"}' ;;
  *W-empty*) ;;
  *W-killed*) kill -9 $$ ;;
  *W-leaves*) sleep 20 & echo '{}' ;;
  *W-slow*) sleep 20 ;;
  *W-busy*) sleep 0.5; echo '{}' ;;
  *) echo '{}' ;;
esac
"#;

/// The words for which the hook program prints no valid reply.
const BROKEN: &[&str] = &["W-garbage", "W-half", "W-list", "W-exit", "W-input", "W-unknown", "W-empty", "W-killed"];

struct Bench {
    root: tempfile::TempDir,
    agent: &'static str,
}

impl Bench {
    /// Returns `None` and prints a message if Node is not installed.
    fn new(agent: &'static str) -> Option<Self> {
        if Command::new("node").arg("--version").output().is_err() {
            eprintln!("SKIPPED: node is not installed, so the plugin of {agent} is not run");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        let program = Self::program(root.path());
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, FAKE).unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { root, agent })
    }

    fn program(root: &Path) -> PathBuf {
        root.join("it's \"odd\" `x` ${y} \\ \u{2028}").join(PROGRAM)
    }

    /// Runs `driver` with the agent's plugin, and returns what it printed.
    fn run(&self, program: &Path, on_failure: OnFailure, driver: &str) -> Value {
        let context = Context {
            scope: Scope::User,
            home: self.root.path(),
            project: self.root.path(),
            program,
            on_failure,
            directories: None,
            variable: &|_| None,
        };
        let plan = by_name(self.agent).unwrap().install(&context).unwrap();
        let plugin = plan.files.iter().find_map(|file| match file {
            FilePlan::Whole { path, content, .. } => {
                let is_code = path.extension().is_some_and(|ending| ending == "js" || ending == "ts");
                is_code.then(|| content.clone())
            }
            FilePlan::Json { .. } => None,
        });
        // The timeout is shortened, so that no test waits for the time that a person has to answer.
        let plugin = plugin.unwrap().replace("TIMEOUT_MS = 330000", "TIMEOUT_MS = 1500");
        fs::write(self.root.path().join("plugin.mjs"), plugin).unwrap();
        fs::write(self.root.path().join("driver.mjs"), driver).unwrap();
        let log = self.root.path().join("log");
        let node =
            Command::new("node").arg("driver.mjs").current_dir(self.root.path()).env("LOG", log).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&node.stdout), String::from_utf8_lossy(&node.stderr));
        let last = out.lines().last().unwrap_or_else(|| panic!("{}: {err}", self.agent));
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{}: {error}: {out}{err}", self.agent))
    }

    fn ask(&self, driver: &str) -> Value {
        self.run(&Self::program(self.root.path()), OnFailure::Deny, driver)
    }

    /// Checks that the adapter decodes every message that the plugin wrote, as an event at the hook point that the command line names.
    /// Returns the kinds of these events.
    fn messages_are_read(&self) -> Vec<String> {
        let log = fs::read_to_string(self.root.path().join("log")).unwrap();
        let adapter = by_name(self.agent).unwrap();
        let lines = log.lines().map(|line| line.splitn(3, '\t').collect::<Vec<_>>());
        let read = lines.map(|words| {
            let [agent, point, text] = words[..] else { panic!("{words:?}") };
            assert_eq!(agent, self.agent);
            let call = adapter.decode(&Message::new(text.as_bytes(), Path::new("/")));
            let call = call.unwrap_or_else(|error| panic!("{agent}: {error}: {text}"));
            assert_eq!(call.point, point);
            assert!(adapter.agent().point(point).is_some(), "{agent} has no hook point {point}");
            assert_eq!(call.session.id.as_deref(), Some("s"), "{text}");
            call.event.kind().to_string()
        });
        let mut read: Vec<String> = read.collect();
        read.sort();
        read.dedup();
        read
    }
}

fn is_blocked(value: &Value, with: &str) {
    assert!(value["blocked"].as_str().is_some_and(|why| why.contains(with)), "{value}");
}

/// Checks the calls that are tested with every agent. They get a neutral reply, a denial, a change, and each of the invalid replies.
fn calls_are_settled(found: &Value) {
    assert_eq!(found["W-none"], json!({ "ran": { "command": "W-none", "keep": 1 } }));
    is_blocked(&found["W-deny"], "not here");
    assert_eq!(found["W-change"], json!({ "ran": { "command": "changed" } }));
    for word in BROKEN {
        is_blocked(&found[word], "hookhost could not decide on this");
    }
    is_blocked(&found["W-slow"], "took too long");
}

/// Returns JavaScript that reports a call for each word, with `before(command)`.
fn words_of_calls() -> String {
    let words = json!(["W-none", "W-deny", "W-change", "W-slow"].iter().chain(BROKEN).collect::<Vec<_>>());
    format!("const found = {{}}\nawait Promise.all({words}.map(async (word) => (found[word] = await before(word))))\n")
}

const OPENCODE: &str = r#"
import { Hookhost } from "./plugin.mjs"
const hooks = await Hookhost({ directory: process.cwd(), worktree: "/" })
const id = { tool: "bash", sessionID: "s", callID: "c" }
const attempt = async (what) => { try { return await what() } catch (error) { return { blocked: error.message } } }
const before = (command) => attempt(async () => {
  const output = { args: { command, keep: 1 } }
  const { args } = output
  await hooks["tool.execute.before"](id, output)
  return args === output.args ? { ran: args } : { replaced: output.args }
})
const prompt = (text) => attempt(async () => {
  const parts = [{ type: "text", text: "hidden", synthetic: true }, { type: "text", text }]
  await hooks["chat.message"]({ sessionID: "s" }, { message: {}, parts })
  return { ran: parts.map((part) => part.text) }
})
const after = async (text) => {
  const output = { title: text, output: text, metadata: { text } }
  await hooks["tool.execute.after"]({ ...id, args: { command: "ls" } }, output)
  return output
}
const final = async (text) => { const output = { text }; await hooks["experimental.text.complete"]({ sessionID: "s" }, output); return output.text }
const compacting = async (sessionID, extra) => { const output = { context: [] }; await hooks["experimental.session.compacting"]({ sessionID, extra }, output); return output.context }
"#;

#[test]
fn opencode_is_blocked_changed_and_replaced_as_the_hook_program_says() {
    let Some(bench) = Bench::new("opencode") else { return };
    let rest = r#"
found.leaves = await before("W-leaves")
let ticks = 0
const timer = setInterval(() => ticks++, 20)
found.busy = await before("W-busy")
clearInterval(timer)
found.ticks = ticks
for (const word of ["W-none", "W-deny", "W-replace", "W-context", "W-half"]) {
  found["prompt " + word] = await prompt(word)
  found["after " + word] = await after(word)
  found["final " + word] = await final(word)
}
found.compacting = await compacting("s", "W-context")
for (const type of ["session.created", "session.deleted", "session.idle", "session.error", "session.compacted", "file.edited"])
  await hooks.event({ event: { type, properties: { sessionID: "s", info: { id: "s" } } } })
console.log(JSON.stringify(found))
process.exit(0)
"#;
    let found = bench.ask(&(OPENCODE.to_owned() + &words_of_calls() + rest));
    calls_are_settled(&found);
    assert_eq!(found["leaves"], json!({ "ran": { "command": "W-leaves", "keep": 1 } }));
    assert!(found["ticks"].as_u64().unwrap() > 5, "the event loop was held up: {}", found["ticks"]);
    assert_eq!(found["prompt W-none"], json!({ "ran": ["hidden", "W-none"] }));
    is_blocked(&found["prompt W-deny"], "not here");
    is_blocked(&found["prompt W-half"], "could not decide");
    assert_eq!(found["prompt W-replace"], json!({ "ran": ["hidden", "[masked]"] }));
    assert_eq!(found["prompt W-context"], json!({ "ran": ["hidden", "W-context\n\nuse pnpm"] }));
    assert_eq!(
        found["after W-none"],
        json!({ "title": "W-none", "output": "W-none", "metadata": { "text": "W-none" } })
    );
    for (word, text) in [("W-deny", "not here"), ("W-replace", "[masked]")] {
        assert_eq!(found[format!("after {word}")], json!({ "title": "", "output": text, "metadata": {} }));
        assert_eq!(found[format!("final {word}")], text);
    }
    assert!(!found["after W-half"].to_string().contains("W-half"), "{}", found["after W-half"]);
    assert!(!found["final W-half"].to_string().contains("W-half"));
    assert_eq!(found["after W-context"]["output"], "W-context\n\nuse pnpm");
    assert_eq!(found["compacting"], json!(["use pnpm"]));
    let events = bench.messages_are_read();
    let expected = [
        "after-compaction",
        "after-tool-call",
        "agent-error",
        "before-compaction",
        "before-tool-call",
        "finalize-content",
        "prompt-submit",
        "queue-empty",
        "session-end",
        "session-start",
    ];
    assert_eq!(events, expected);
}

const PI: &str = r#"
import hookhost from "./plugin.mjs"
const handlers = {}
hookhost({ on: (name, handler) => (handlers[name] = handler) })
const said = []
let aborted = 0
const ctx = { cwd: process.cwd(), hasUI: true, ui: { notify: (text) => said.push(text) }, sessionManager: { getSessionId: () => "s" }, abort: () => aborted++ }
const fire = (name, event) => handlers[name]({ type: name, ...event }, ctx)
const before = async (command) => {
  const input = { command, keep: 1 }
  const result = await fire("tool_call", { toolName: "bash", toolCallId: "c", input })
  return result?.block ? { blocked: result.reason } : { ran: input }
}
const after = (text) => fire("tool_result", { toolName: "bash", toolCallId: "c", input: {}, content: [{ type: "text", text }], isError: false })
"#;

#[test]
fn pi_is_blocked_changed_and_replaced_as_the_hook_program_says() {
    let Some(bench) = Bench::new("pi") else { return };
    let rest = r#"
for (const word of ["W-none", "W-deny", "W-replace", "W-context", "W-half"]) {
  found["input " + word] = (await fire("input", { text: word, source: "interactive" })) ?? null
  found["after " + word] = (await after(word)) ?? null
  const message = { role: "assistant", content: [{ type: "text", text: word }, { type: "toolCall", id: "c" }] }
  found["final " + word] = (await fire("message_end", { message })) ?? null
}
found.context = await fire("before_agent_start", {})
found.noContext = (await fire("before_agent_start", {})) ?? null
found.user = (await fire("message_end", { message: { role: "user", content: "W-deny" } })) ?? null
found.compact = (await fire("session_before_compact", { reason: "W-deny" })) ?? null
await fire("session_compact", { compactionEntry: { summary: "short" } })
await fire("session_start", { reason: "startup" })
await fire("message_end", { message: { role: "assistant", content: [{ type: "text", text: "W-goon" }] } })
found.settles = []
for (let i = 0; i < 10; i++) found.settles.push((await fire("agent_before_settle", { outcome: "completed" })) ?? null)
found.aborted = (await fire("agent_before_settle", { outcome: "aborted" })) ?? null
await fire("session_shutdown", { reason: "reload" })
await fire("session_shutdown", { reason: "quit" })
found.said = said
console.log(JSON.stringify(found))
process.exit(0)
"#;
    let found = bench.ask(&(PI.to_owned() + &words_of_calls() + rest));
    calls_are_settled(&found);
    assert_eq!(found["input W-none"], Value::Null);
    assert_eq!(found["input W-deny"], json!({ "action": "handled" }));
    assert_eq!(found["input W-half"], json!({ "action": "handled" }));
    assert_eq!(found["input W-replace"], json!({ "action": "transform", "text": "[masked]" }));
    assert!(found["said"].as_array().unwrap().contains(&json!("not here")));
    assert_eq!(found["after W-none"], Value::Null);
    let text = |text: &str| json!({ "type": "text", "text": text });
    assert_eq!(found["after W-deny"], json!({ "content": [text("not here")], "isError": true }));
    assert_eq!(found["after W-replace"], json!({ "content": [text("[masked]")], "isError": false }));
    assert_eq!(found["after W-context"], json!({ "content": [text("W-context"), text("use pnpm")] }));
    assert!(!found["after W-half"].is_null() && !found["after W-half"].to_string().contains("W-half"));
    let call = json!({ "type": "toolCall", "id": "c" });
    assert_eq!(
        found["final W-replace"],
        json!({ "message": { "role": "assistant", "content": [text("[masked]"), call] } })
    );
    assert!(!found["final W-half"].is_null() && !found["final W-half"].to_string().contains("W-half"));
    assert_eq!(found["context"]["message"]["content"], "use pnpm");
    assert_eq!(found["noContext"], Value::Null);
    assert_eq!(found["user"], Value::Null);
    assert_eq!(found["compact"], json!({ "cancel": true }));
    let settles = found["settles"].as_array().unwrap();
    assert_eq!(settles.iter().filter(|settle| settle["continue"] == true).count(), 8, "{settles:?}");
    assert_eq!(settles[0]["entries"][0]["content"], "run the tests\n\nthen push");
    assert_eq!((&settles[8], &found["aborted"]), (&Value::Null, &Value::Null));
    let events = bench.messages_are_read();
    let expected = [
        "after-compaction",
        "after-tool-call",
        "before-compaction",
        "before-tool-call",
        "custom-event",
        "finalize-content",
        "prompt-submit",
        "queue-empty",
        "session-end",
        "session-start",
    ];
    assert_eq!(events, expected);
}

const AMP: &str = r#"
import hookhost from "./plugin.mjs"
const handlers = {}
hookhost({ on: (name, handler) => (handlers[name] = handler), system: { workspaceRoot: null }, helpers: {}, logger: { log() {} } })
let cancelled = 0
const said = []
const ctx = { ui: { notify: async (text) => said.push(text) }, thread: { cancel: async () => cancelled++ } }
const fire = (name, event) => handlers[name]({ thread: { id: "s" }, ...event }, ctx)
const call = { toolUseID: "c", tool: "Bash" }
const before = async (command) => {
  const result = await fire("tool.call", { ...call, input: { command, keep: 1 } })
  if (result.action === "reject-and-continue") return { blocked: result.message }
  if (result.action === "synthesize") return { given: result.result }
  return { ran: result.action === "modify" ? result.input : { command, keep: 1 }, action: undefined }
}
"#;

#[test]
fn amp_is_blocked_changed_and_replaced_as_the_hook_program_says() {
    let Some(bench) = Bench::new("amp") else { return };
    let rest = r#"
found.given = await before("W-respond")
for (const word of ["W-none", "W-deny", "W-replace", "W-context", "W-half"]) {
  found["start " + word] = await fire("agent.start", { message: word })
  found["after " + word] = (await fire("tool.result", { ...call, input: {}, status: "done", output: word })) ?? null
}
found.cancelled = cancelled
await fire("session.start", {})
const messages = [{ role: "assistant", content: [{ type: "text", text: "W-goon" }] }]
found.ends = []
for (let i = 0; i < 10; i++) found.ends.push((await fire("agent.end", { status: "done", messages })) ?? null)
found.stopped = (await fire("agent.end", { status: "cancelled", messages })) ?? null
console.log(JSON.stringify(found))
process.exit(0)
"#;
    let found = bench.ask(&(AMP.to_owned() + &words_of_calls() + rest));
    calls_are_settled(&found);
    assert_eq!(found["given"], json!({ "given": { "output": "given", "exitCode": 0 } }));
    assert_eq!(found["start W-none"], json!({}));
    assert_eq!(found["start W-context"], json!({ "message": { "content": "use pnpm", "display": true } }));
    assert_eq!(found["cancelled"], 2, "a refused prompt, and one about which nothing could be settled");
    assert_eq!(found["after W-none"], Value::Null);
    assert_eq!(found["after W-deny"], json!({ "status": "error", "error": "not here", "output": "not here" }));
    assert_eq!(found["after W-replace"], json!({ "status": "done", "output": "[masked]" }));
    assert_eq!(found["after W-context"], json!({ "status": "done", "output": "W-context\n\nuse pnpm" }));
    assert!(!found["after W-half"].is_null() && !found["after W-half"].to_string().contains("W-half"));
    let ends = found["ends"].as_array().unwrap();
    // After the agent has continued eight times in a row, it stops. In the next turn, the count begins again.
    assert_eq!(ends[8], Value::Null);
    assert_eq!(ends[0], json!({ "action": "continue", "userMessage": "run the tests\n\nthen push" }));
    assert_eq!(found["stopped"], Value::Null);
    let events = bench.messages_are_read();
    let expected =
        ["after-tool-call", "before-tool-call", "custom-event", "prompt-submit", "queue-empty", "session-start"];
    assert_eq!(events, expected);
}

const MODS: &str = r#"
import { spawn } from "node:child_process"
import { register } from "./plugin.mjs"
const hooks = {}
const caught = {}
register((name, hook) => { hooks[name] = hook; return { catch: (handler) => (caught[name] = handler) } })
const said = []
const prompts = []
const $ = {
  session: { id: async () => "s", cwd: async () => process.cwd(), root: async () => process.cwd() },
  ui: { toast: (text) => said.push(text) },
  prompt: { submit: async (input) => prompts.push(input.text) },
  process: { run: ([program, ...words], { cwd, stdin, timeoutMs }) => new Promise((resolve, reject) => {
    const child = spawn(program, words, { cwd })
    let stdout = ""
    const timer = setTimeout(() => { child.kill("SIGKILL"); child.stdout.destroy(); reject(new Error("it took too long")) }, timeoutMs)
    child.on("error", reject)
    child.stdin.on("error", () => {})
    child.stdout.on("data", (part) => (stdout += part))
    child.on("close", (exitCode) => { clearTimeout(timer); resolve({ exitCode, stdout, stderr: "" }) })
    child.stdin.end(stdin)
  }) },
}
const fire = (name, e, next) => hooks[name]($, e, next)
const call = { tool: "Bash", tool_use_id: "c" }
const before = async (command) => {
  let ran
  const result = await fire("tool.call", { ...call, command, keep: 1 }, async (e) => { ran = e; return { ref: 1, result: { stdout: "ok" }, text: "ok" } })
  if (ran === undefined) return { blocked: result.deny }
  const { tool, tool_use_id, ...input } = ran
  return { ran: input }
}
const after = (text) => fire("tool.call", { ...call, command: "ls" }, async () => ({ ref: 1, result: { stdout: text, stderr: "", interrupted: false }, text }))
"#;

#[test]
fn a_mod_of_claude_code_blocks_changes_and_replaces_as_the_hook_program_says() {
    let Some(bench) = Bench::new("claude-code-mods") else { return };
    let rest = r#"
for (const word of ["W-none", "W-deny", "W-replace", "W-context", "W-half"]) {
  found["prompt " + word] = await fire("prompt.submit", { text: word, origin: { kind: "composer" } }, async (e) => ({ entered: e.text, context: e.context }))
  found["after " + word] = await after(word)
}
found.read = await fire("tool.call", { tool: "Read", tool_use_id: "c", file_path: "a" }, async () => ({ ref: 1, result: { file: {} }, text: "W-replace" }))
found.spawn = await fire("agent.spawn", { tool_use_id: "c", prompt: "W-deny" }, async () => ({ model: "m" }))
found.spawned = await fire("agent.spawn", { tool_use_id: "c", prompt: "look" }, async () => ({ model: "m" }))
found.compact = await fire("session.compact", { trigger: "W-deny" }, async () => ({ messages: [] }))
found.compacted = await fire("session.compact", { trigger: "auto" }, async () => ({ messages: [{ text: "short" }] }))
await fire("session.start", {}, async () => ({}))
await fire("session.end", { reason: "other" }, async () => ({}))
for (let i = 0; i < 10; i++) await fire("turn.complete", { answer: "W-goon", reason: "answer" }, async () => ({ text: "x" }))
await fire("turn.complete", { answer: "W-goon", reason: "answer", agentId: "a" }, async () => ({ text: "x" }))
await fire("turn.complete", { answer: "W-goon", reason: "aborted" }, async () => ({ text: "x" }))
found.prompts = prompts
found.caught = Object.fromEntries(Object.entries(caught).map(([name, handler]) => [name, handler()]))
console.log(JSON.stringify(found))
process.exit(0)
"#;
    let found = bench.ask(&(MODS.to_owned() + &words_of_calls() + rest));
    calls_are_settled(&found);
    assert_eq!(found["prompt W-none"], json!({ "entered": "W-none" }));
    assert_eq!(found["prompt W-deny"], json!({ "drop": "not here" }));
    assert_eq!(found["prompt W-replace"], json!({ "entered": "[masked]" }));
    assert_eq!(found["prompt W-context"], json!({ "entered": "W-context", "context": ["use pnpm"] }));
    assert!(found["prompt W-half"]["drop"].as_str().unwrap().contains("could not decide"));
    assert_eq!(found["after W-none"]["ref"], 1, "an unchanged result is the agent's own");
    assert_eq!(found["after W-deny"], json!({ "deny": "not here" }));
    assert_eq!(
        found["after W-replace"],
        json!({ "result": { "stdout": "[masked]", "stderr": "", "interrupted": false } })
    );
    assert_eq!(found["after W-context"]["context"], json!(["use pnpm"]));
    assert!(found["after W-half"]["deny"].is_string());
    assert_eq!(found["read"], json!({ "deny": "[masked]" }), "a result of unknown shape is not made up");
    assert_eq!(found["spawn"], json!({ "deny": "not here" }));
    assert_eq!(found["spawned"], json!({ "model": "m" }));
    assert_eq!(found["compact"], json!({ "skip": "not here" }));
    assert_eq!(found["prompts"].as_array().unwrap().len(), 8);
    let gates: Vec<&String> = found["caught"].as_object().unwrap().keys().collect();
    assert_eq!(gates, ["prompt.submit", "tool.call", "agent.spawn"]);
    let events = bench.messages_are_read();
    let expected = [
        "after-compaction",
        "after-tool-call",
        "before-compaction",
        "before-tool-call",
        "custom-event",
        "prompt-submit",
        "queue-empty",
        "session-end",
        "session-start",
        "subagent-end",
        "subagent-start",
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_plugin_blocks_where_the_hook_program_is_missing_unless_the_operator_chose_otherwise() {
    for (agent, driver) in [("opencode", OPENCODE), ("pi", PI), ("amp", AMP), ("claude-code-mods", MODS)] {
        let Some(bench) = Bench::new(agent) else { return };
        let driver = format!("{driver}\nconsole.log(JSON.stringify(await before('ls')))\nprocess.exit(0)\n");
        let missing = bench.root.path().join("no such program").join(PROGRAM);
        let closed = bench.run(&missing, OnFailure::Deny, &driver);
        is_blocked(&closed, "hookhost could not decide on this");
        let open = bench.run(&missing, OnFailure::Allow, &driver);
        assert_eq!(open, json!({ "ran": { "command": "ls", "keep": 1 } }), "{agent}");
    }
}

#[test]
fn the_mod_uses_nothing_that_its_environment_lacks() {
    let context = Context {
        scope: Scope::User,
        home: Path::new("/home/me"),
        project: Path::new("/project"),
        program: Path::new("/opt/hookhost-hook"),
        on_failure: OnFailure::Deny,
        directories: None,
        variable: &|_| None,
    };
    let plan = by_name("claude-code-mods").unwrap().install(&context).unwrap();
    let module = plan.files.iter().find(|file| file.path().ends_with("register.js")).unwrap();
    let FilePlan::Whole { content, .. } = module else { panic!() };
    for absent in ["import ", "require(", "process.env", "Buffer", "setTimeout", "WebAssembly"] {
        assert!(!content.contains(absent), "{absent}");
    }
}
