//! The adapter of Cline, which is a command-line agent and an extension for editors. Sources: cline/cline,
//! `sdk/packages/core/src/hooks/` and `proto/cline/hooks.proto`, and messages recorded with the command-line agent 3.0.65.
//!
//! The agent and the extension both run the programs in Cline's hook directories. Each program has the name of its hook
//! point. The messages of the agent and of the extension differ. A message has `hookName`, and an object under the name
//! of the hook point. In the command-line agent's messages, the hook point of the file `PreToolUse` is called
//! `tool_call`, and the arguments have their original form. A reply is always an object with `cancel` and exit code 0,
//! because Cline ignores exit codes.

use super::prelude::*;
use crate::json::{Arguments, value};

/// `cancel` ends the whole run. Cline supports no other form of rejection, so every rejection ends the run.
const CANCELS: Abilities = Abilities { rejects: true, stops: true, adds_context: true, ..Abilities::NONE };

/// Hook timeout of the extension, in seconds.
const EXTENSION: u16 = 30;

/// Hook timeout of the command-line agent, in seconds.
const COMMAND_LINE: u16 = 120;

static AGENT: Agent = Agent {
    name: "cline",
    title: "Cline",
    programs: &["cline"],
    versions: ("3.0.65", "4.1.10"),
    points: &[
        // The names of the hook files. The extension also uses these names in its messages.
        HookPoint::new("TaskStart", EventKind::SessionStart, Abilities { adds_context: true, ..Abilities::NONE }),
        HookPoint::new("TaskResume", EventKind::SessionStart, Abilities { adds_context: true, ..Abilities::NONE }),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, CANCELS).timeout(EXTENSION),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, CANCELS).timeout(EXTENSION),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, CANCELS).timeout(EXTENSION),
        HookPoint::new("TaskComplete", EventKind::QueueEmpty, Abilities::NONE),
        HookPoint::new("TaskError", EventKind::AgentError, Abilities::NONE),
        HookPoint::new("TaskCancel", EventKind::CustomEvent, Abilities::NONE),
        HookPoint::new("PreCompact", EventKind::BeforeCompaction, Abilities::NONE),
        HookPoint::new("SessionShutdown", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("Notification", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        // The names in the command-line agent's messages. The command-line agent waits for a hook only before and after
        // a tool call.
        HookPoint::new("agent_start", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("agent_resume", EventKind::SessionStart, Abilities::NONE).not_installed(),
        HookPoint::new("prompt_submit", EventKind::PromptSubmit, Abilities::NONE).not_installed(),
        HookPoint::new("tool_call", EventKind::BeforeToolCall, Abilities { changes: true, ..CANCELS })
            .timeout(COMMAND_LINE)
            .not_installed(),
        HookPoint::new("tool_result", EventKind::AfterToolCall, CANCELS).timeout(COMMAND_LINE).not_installed(),
        HookPoint::new("agent_end", EventKind::QueueEmpty, Abilities::NONE).not_installed(),
        HookPoint::new("agent_error", EventKind::AgentError, Abilities::NONE).not_installed(),
        HookPoint::new("agent_abort", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("session_shutdown", EventKind::SessionEnd, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", "one call may have several"),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", ""),
        Coverage::blind("tools that the model's provider runs", ""),
        Coverage::gated("sub-agents", "including their calls, which contain `parent_agent_id`"),
        Coverage::observed(
            "prompts in the command-line agent",
            "the agent does not wait for the hook, and does not run it for a prompt on the command line",
        ),
    ],
    gaps: &[
        "if a hook crashes, takes too long or prints no valid reply, the call runs; no setting prevents this",
        "a rejection ends the run, and only the user gets the reason",
        "if several user hooks run at the same time, the extension may lose a rejection",
        "the extension asks its user to approve a call before it runs the hook",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    neutral,
    unsettled: Some(unsettled),
    canary: Some(("PreToolUse", canary, denies)),
    headless: &["cline", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    // Every message of Cline has this field.
    HookCall::decoded(fields.text("hookName")?, |point| {
        let event = event(point, fields)?;
        Ok((session(message, fields, &event)?, event))
    })
}

fn session(message: &Message<'_>, fields: &Fields, event: &HookEvent) -> Result<AgentSession, Unreadable> {
    let root = fields.within("sessionContext").id(&["rootSessionId"])?;
    let id = if root.is_some() { root } else { fields.id(&["taskId"])? };
    let roots = fields.get("workspaceRoots").and_then(Value::as_array);
    let root = roots.and_then(|roots| roots.first()?.as_str()).filter(|root| !root.is_empty());
    let cwd = root.map_or_else(|| message.directory.to_owned(), PathBuf::from);
    let mut session = AgentSession::new(id, cwd);
    // The start and the end of a sub-agent belong to the agent that started the sub-agent.
    let is_its_own = matches!(event, HookEvent::SubagentStart { .. } | HookEvent::SubagentEnd { .. });
    if fields.some_text("parent_agent_id").is_some() && !is_its_own {
        session.subagent = fields.id(&["agent_id"])?;
    }
    session.version = fields.some_text("clineVersion");
    Ok(session)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    let subagent = fields.some_text("parent_agent_id").and_then(|_| fields.some_text("agent_id"));
    Ok(match (point, subagent) {
        ("agent_start" | "agent_resume", Some(id)) => HookEvent::SubagentStart { id, prompt: String::new() },
        ("agent_start" | "TaskStart", _) => HookEvent::SessionStart { is_resumed: false },
        ("agent_resume" | "TaskResume", _) => HookEvent::SessionStart { is_resumed: true },
        ("prompt_submit" | "UserPromptSubmit", _) => {
            HookEvent::PromptSubmit { prompt: fields.within("userPromptSubmit").text("prompt")? }
        }
        ("tool_call" | "PreToolUse", _) => HookEvent::BeforeToolCall(call(fields, "tool_call", "preToolUse")?),
        ("tool_result" | "PostToolUse", _) => {
            HookEvent::AfterToolCall { call: call(fields, "tool_result", "postToolUse")?, result: result(fields) }
        }
        ("agent_end", Some(id)) => {
            HookEvent::SubagentEnd { id, text: last_text(fields).unwrap_or_default(), is_continued: false }
        }
        ("agent_end" | "TaskComplete", _) => HookEvent::Stop { text: last_text(fields), is_continued: false },
        ("agent_error" | "TaskError", _) => HookEvent::AgentError {
            message: fields.within("error").some_text("message").unwrap_or_else(|| "the agent stopped".to_owned()),
        },
        ("PreCompact", _) => HookEvent::BeforeCompaction,
        ("session_shutdown" | "SessionShutdown", _) => HookEvent::SessionEnd,
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn last_text(fields: &Fields) -> Option<String> {
    let told = fields.within("turn").some_text("outputText");
    told.or_else(|| fields.within("taskComplete").within("taskMetadata").some_text("result"))
}

/// Decodes the call of the command-line agent if the message has the key `exact`. Otherwise, decodes the call of the
/// extension at the key `of_texts`, whose arguments are strings.
fn call(fields: &Fields, exact: &str, of_texts: &str) -> Result<ToolUse, Unreadable> {
    if fields.has(exact) {
        let told = fields.within(exact);
        return Ok(ToolUse::new(told.id(&["id"])?, told.text("name")?, told.arguments("input")?));
    }
    let told = fields.within(of_texts);
    Ok(ToolUse::new(None, told.text("toolName")?, with_lists(told.arguments("parameters")?)))
}

/// Parses the string at `commands` into a list. The extension's arguments are all strings, so its messages contain the
/// list as a JSON string.
fn with_lists(mut arguments: Arguments) -> Arguments {
    let Value::Object(object) = arguments.value else { return arguments };
    let read = |(key, argument): (String, Value)| match argument {
        Value::String(text) if key == "commands" => match value(&text) {
            Ok(list @ Value::Array(_)) => (key, list),
            _ => (key, Value::String(text)),
        },
        other => (key, other),
    };
    arguments.value = Value::Object(object.into_iter().map(read).collect::<Map<_, _>>());
    arguments
}

fn result(fields: &Fields) -> ToolResult {
    let exact = fields.within("tool_result");
    let told = fields.within("postToolUse");
    let output = exact.get("output").or_else(|| told.get("result")).cloned().unwrap_or_default();
    let text = match &output {
        Value::Null => exact.some_text("error").unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let is_error = exact.some_text("error").is_some() || told.get("success") == Some(&Value::Bool(false));
    ToolResult { text, is_error, raw: Some(output.into()) }
}

fn encode(_call: &HookCall, outcome: &Outcome) -> Reply {
    let mut reply = Map::new();
    match &outcome.answer {
        Answer::Rejected(rejection) => return cancelled(&reason::rejected(rejection)),
        Answer::Ask { questions, .. } => return cancelled(&reason::asked(questions)),
        Answer::Changed { arguments, .. } => {
            reply.insert("overrideInput".to_owned(), arguments.clone());
        }
        _ => {}
    }
    if !outcome.context.is_empty() {
        reply.insert("contextModification".to_owned(), json!(outcome.context.join("\n\n")));
    }
    reply.shift_insert(0, "cancel".to_owned(), json!(false));
    Reply::json(&Value::Object(reply))
}

fn cancelled(why: &str) -> Reply {
    Reply::json(&json!({ "cancel": true, "errorMessage": why }))
}

fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "cancel": false }))
}

/// Refuses a call or a result on which no decision was made, although the refusal ends the run.
fn unsettled(call: &HookCall, why: &str) -> Reply {
    match call.point.as_str() {
        "PostToolUse" | "tool_result" => cancelled(why),
        point => fail(Some(point), why),
    }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        None | Some("PreToolUse" | "tool_call" | "UserPromptSubmit") => cancelled(why),
        // An unreadable message about a result must not end the run. Otherwise, the author of a file or page that a
        // tool reads could end the run.
        Some("PostToolUse" | "tool_result") => Reply::json(&json!({ "cancel": false, "contextModification": why })),
        // The reply is neutral and has no `errorMessage`, because the model would read an `errorMessage` that comes
        // without `cancel`.
        Some(_) => neutral(point),
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    AGENT.abilities(point).rejects && reply.json_output()["cancel"] == true
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("Cline has no hooks for a whole machine, so install them for each user");
    let directory = context.path(".cline/hooks", ".clinerules/hooks", managed)?;
    let files = AGENT.installed().map(|point| FilePlan::Whole {
        path: directory.join(point.name),
        content: format!("#!/bin/sh\n# Written by hookhost.\nexec {}\n", context.command(&AGENT, point.name)),
        is_program: true,
    });
    let plan = Plan::new(files.collect());
    Ok(match context.scope {
        Scope::User => plan.step(
            "For Cline in an editor, copy the files of ~/.cline/hooks to ~/Documents/Cline/Hooks, and turn on \"Enable Hooks\" in its \
             settings.",
        ),
        _ => plan.step("For Cline in an editor, turn on \"Enable Hooks\" in its settings."),
    })
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "clineVersion": "",
        "timestamp": "1970-01-01T00:00:00.000Z",
        "taskId": SESSION,
        "sessionContext": { "rootSessionId": SESSION },
        "workspaceRoots": [directory],
        "workspaceInfo": { "rootPath": directory },
        "userId": "unknown",
        "agent_id": SESSION,
        "parent_agent_id": null,
        "hookName": "tool_call",
        "iteration": 1,
        "tool_call": { "name": "run_commands", "input": { "commands": [command] } },
        "preToolUse": { "toolName": "run_commands", "parameters": { "commands": json!([command]).to_string() } },
    })
}
