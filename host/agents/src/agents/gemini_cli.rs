//! The adapter of Gemini CLI. Sources: google-gemini/gemini-cli with the reference of hooks and `packages/core/src/hooks/`, and
//! messages recorded with 0.61.0.
//!
//! Most messages have the format of Claude Code, with other names of the hook points. Some messages contain a request to the model.
//! Replies are JSON with exit code 0, because exit code 2 without a text would let the call run. Exit code 2 is used only for the
//! denial at an unknown hook point. Gemini CLI reads its hooks from `settings.json` of the user, the project or the machine.

use super::prelude::*;
use crate::claude_shape::{
    self, CONTEXT, MessageKeys, PROMPT, ReplyDraft, STOP, StrictestReply, TELLS, nonempty_reason, nonempty_text,
    point_of, prompts, strictest,
};
use crate::plan::JsonDialect;
use hookhost_contract::{Inference, Totals};

/// Gemini CLI merges changed arguments into the arguments of the call. A reply with `allow` does not skip a question to
/// the user, and a text for the model is ignored. If no user is present, a question ends the run.
const BEFORE_TOOL: Abilities =
    Abilities { changes: true, merges: true, asks: true, rejects: true, stops: true, ..TELLS };

/// If the reply is a denial, its reason replaces the tool's result.
const AFTER_TOOL: Abilities = Abilities { replaces: true, rejects: true, adds_context: true, stops: true, ..TELLS };

/// A reply can contain a synthetic answer, which replaces the model's answer.
const BEFORE_MODEL: Abilities = Abilities { responds: true, replaces: true, rejects: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "gemini-cli",
    title: "Gemini CLI",
    programs: &["gemini"],
    versions: ("0.61.0", "0.61.0"),
    points: &[
        HookPoint::new("SessionStart", EventKind::SessionStart, CONTEXT),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("BeforeAgent", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("AfterAgent", EventKind::QueueEmpty, STOP),
        HookPoint::new("BeforeModel", EventKind::BeforeInference, BEFORE_MODEL),
        // The agent calls the hook for each chunk of an answer.
        HookPoint::new("AfterModel", EventKind::AfterInference, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeToolSelection", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeTool", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("AfterTool", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("PreCompress", EventKind::BeforeCompaction, TELLS),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::blind("files that you name with @", "the agent reads them without a tool"),
        Coverage::gated("web pages", "a call of `web_fetch` contains the address within a text"),
        Coverage::gated("MCP tools", "with the name of the server"),
        Coverage::gated("requests to the model", "a rule can refuse one, or answer it"),
        Coverage::gated(
            "sub-agents",
            "the call that starts one is reported; it is unknown if its own calls are reported",
        ),
    ],
    gaps: &[
        "if a hook exits with 1, prints no JSON or takes too long, the call runs; no setting prevents this",
        "if a plugin removes an argument, hookhost rejects the call, and the reason contains the changed call",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    mcp_servers: |context| ServersFile::in_both(context, ".gemini/settings.json"),
    neutral,
    canary: Some(("BeforeTool", canary, denies)),
    headless: &["gemini", "--yolo", "-p", PROMPT_WORD],
    // Version 0.61.0 removes comments before it parses the file.
    json_dialect: JsonDialect::Comments,
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

const KEYS: MessageKeys =
    MessageKeys { project: "GEMINI_PROJECT_DIR", call: &[], text: &["prompt_response"], ..MessageKeys::CLAUDE };

/// Approximate number of bytes per token.
const BYTES_PER_TOKEN: u64 = 4;

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut call = claude_shape::decode(message, fields, &AGENT, &KEYS)?;
    match point_of(&AGENT, &call.point).map(|point| point.event) {
        Some(EventKind::BeforeInference) => {
            let request = fields.arguments("llm_request").map_err(|error| error.at(&call.point))?;
            call.event = HookEvent::BeforeInference(inference(&request.value));
        }
        Some(EventKind::AfterInference) => {
            let response = fields.arguments("llm_response").map_err(|error| error.at(&call.point))?;
            call.event = HookEvent::AfterInference { text: answer(&response.value) };
        }
        _ => {}
    }
    let server = fields.get("mcp_context").and_then(|context| context.get("server_name")).and_then(Value::as_str);
    if let (Some(server), Some(tool)) = (server, tool(&mut call.event)) {
        *tool = tool.clone().of_server(server);
    }
    Ok(call)
}

fn tool(event: &mut HookEvent) -> Option<&mut ToolUse> {
    match event {
        HookEvent::BeforeToolCall(tool) | HookEvent::AfterToolCall { call: tool, .. } => Some(tool),
        _ => None,
    }
}

fn inference(request: &Value) -> Inference {
    let messages = request.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
    let content = |message: &Value| parts(message.get("content").unwrap_or(&Value::Null));
    let allowed = request.pointer("/toolConfig/allowedFunctionNames").and_then(Value::as_array);
    let bytes = u64::try_from(request.to_string().len()).unwrap_or(u64::MAX);
    Inference {
        provider: "gemini".to_owned(),
        model: request.get("model").and_then(Value::as_str).unwrap_or_default().to_owned(),
        system_prompt: of("system").map(content).collect::<Vec<_>>().join("\n"),
        prompt: of("user").next_back().map(content).unwrap_or_default(),
        tools: allowed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        input_tokens: bytes / BYTES_PER_TOKEN,
        used: Totals::default(),
    }
}

/// Returns the text of the model's answer, or of a chunk of the answer.
fn answer(response: &Value) -> String {
    let text = response.get("text").and_then(Value::as_str).filter(|text| !text.is_empty());
    let content = || parts(response.pointer("/candidates/0/content/parts").unwrap_or(&Value::Null));
    text.map_or_else(content, str::to_owned)
}

/// Returns the text of a `content` member. The member is either a string or a list whose elements are strings or
/// objects with `text`.
fn parts(content: &Value) -> String {
    let part = |part: &Value| part.as_str().or_else(|| part.get("text")?.as_str()).unwrap_or_default().to_owned();
    match content {
        Value::Array(list) => list.iter().map(part).collect(),
        other => part(other),
    }
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    let mut draft = ReplyDraft::new(&call.point);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            deny(&mut draft, &call.point, &reason::rejected(rejection));
            if AGENT.abilities(&call.point).stops {
                draft.end(rejection);
            }
        }
        Answer::Changed { arguments, .. } => {
            draft.top("decision", json!("allow"));
            draft.specific("tool_input", arguments.clone());
        }
        Answer::Ask { questions, arguments } => {
            draft.top("decision", json!("ask"));
            draft.top("reason", json!(reason::asked(questions)));
            if let Some(arguments) = arguments {
                draft.specific("tool_input", arguments.clone());
            }
        }
        Answer::Responded { result, .. } => deny(&mut draft, &call.point, nonempty_text(&result.text)),
        // If the result is replaced, the agent ignores `additionalContext`, so the reason contains the context too.
        Answer::ReplacedResult(result) => {
            let texts: Vec<&str> = std::iter::once(nonempty_text(&result.text))
                .chain(outcome.context.iter().map(String::as_str))
                .collect();
            deny(&mut draft, &call.point, &texts.join("\n\n"));
        }
        Answer::Replaced(text) => deny(&mut draft, &call.point, nonempty_text(text)),
        Answer::GoOn(tasks) if !tasks.is_empty() => deny(&mut draft, &call.point, &prompts(tasks)),
        Answer::GoOn(_) | Answer::Approved { .. } | Answer::Neutral => {}
    }
    if !outcome.context.is_empty() {
        draft.specific("additionalContext", json!(outcome.context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        draft.top("systemMessage", json!(outcome.notices.join("\n")));
    }
    finish(draft)
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    let why = nonempty_reason(why);
    match strictest(&AGENT, point) {
        StrictestReply::Deny(point) => {
            let mut draft = ReplyDraft::new(point.name);
            deny(&mut draft, point.name, why);
            finish(draft)
        }
        StrictestReply::Notify(_) => Reply::json(&json!({ "systemMessage": why })),
        StrictestReply::Nothing => neutral(point),
        StrictestReply::Unknown => Reply::exit_2(why),
    }
}

fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({}))
}

/// Returns true if the agent treats the reply as a denial. Exit code 2 with an empty standard error is not a denial.
fn denies(point: &str, reply: &Reply) -> bool {
    let said = reply.json_output();
    let is_exit_2 = reply.exit == 2 && !reply.stderr.trim().is_empty();
    let is_no = is_exit_2 || said["decision"] == "deny" || said["decision"] == "block";
    is_no && AGENT.abilities(point).rejects
}

/// Adds a denial with this reason. The reason replaces the denied result, prompt or text. If a request to the model is
/// denied, the reason becomes the model's answer.
fn deny(draft: &mut ReplyDraft<'_>, point: &str, reason: &str) {
    let reason = nonempty_reason(reason);
    draft.top("decision", json!("deny"));
    draft.top("reason", json!(reason));
    if point == "BeforeModel" {
        let content = json!({ "role": "model", "parts": [reason] });
        draft.specific("llm_response", json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] }));
    }
}

fn finish(draft: ReplyDraft<'_>) -> Reply {
    Reply::json(&Value::Object(draft.object()))
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = machine_path(
        "/etc/gemini-cli/settings.json",
        Some("/Library/Application Support/GeminiCli/settings.json"),
        None,
    );
    let path = context.path(".gemini/settings.json", ".gemini/settings.json", Ok(managed))?;
    let mut entries = groups(&AGENT, &["hooks"], None, |point| hook(context, &AGENT, point));
    entries.push(JsonEntry::default(&["hooksConfig", "enabled"], json!(true)));
    let trust = "Start Gemini CLI in the project and trust its hooks when it asks; until then it runs none of them";
    Ok(Plan::new(vec![FilePlan::Json { path, entries }]).step_in(context, Scope::Project, trust))
}

/// Returns a hook in the settings of Gemini CLI and Qwen Code. The timeout of such a hook is in milliseconds.
pub(super) fn hook(context: &Context<'_>, agent: &Agent, point: &HookPoint) -> Value {
    json!({
        "name": "hookhost",
        "type": "command",
        "command": context.command(agent, point.name),
        "timeout": u32::from(point.timeout) * 1000,
    })
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": directory,
        "hook_event_name": "BeforeTool",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "tool_name": "run_shell_command",
        "tool_input": { "command": command },
    })
}
