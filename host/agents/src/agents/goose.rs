//! The adapter of goose. Sources: aaif-goose/goose, `crates/goose/src/hooks/mod.rs`, and goose's hooks guide.
//!
//! A message is one object with `event` and keys in snake case. A denial is exit code 2, with the reason on the standard error. If
//! a hook prints anything other than a decision, goose treats the hook as failed. So the neutral reply is empty. goose reads its
//! hooks from Open Plugins. Each of these plugins is a directory.

use super::prelude::*;
use crate::claude_shape::{denies_by_decision, prompts};

static AGENT: Agent = Agent {
    name: "goose",
    title: "goose",
    programs: &["goose"],
    versions: ("1.47.0", ""),
    points: &[
        // The user sees the text of the key `banner` in the hook's reply.
        HookPoint::new("SessionStart", EventKind::SessionStart, Abilities { tells_user: true, ..Abilities::NONE }),
        HookPoint::new("SessionEnd", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("UserPromptSubmit", EventKind::PromptSubmit, Abilities::NONE),
        HookPoint::new("PreToolUse", EventKind::BeforeToolCall, Abilities::REJECTS),
        HookPoint::new("PostToolUse", EventKind::AfterToolCall, Abilities::NONE),
        HookPoint::new("PostToolUseFailure", EventKind::AfterToolCall, Abilities::NONE),
        // A reply with `block` makes the agent continue. After several such replies, the agent stops anyway.
        HookPoint::new("Stop", EventKind::QueueEmpty, Abilities { goes_on: true, ..Abilities::NONE }),
        // At these hook points, goose reports the same calls as at `PreToolUse` and `PostToolUse`, and ignores the
        // reply.
        HookPoint::new("PreToolUseResult", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeReadFile", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("AfterFileEdit", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("BeforeShellExecution", EventKind::CustomEvent, Abilities::NONE).not_installed(),
        HookPoint::new("AfterShellExecution", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "all tools of an extension are reported as `extension__tool`"),
        Coverage::gated("sub-agents", "the call that starts one"),
        Coverage::observed("prompts", ""),
    ],
    gaps: &[
        "`on_failure: \"block\"` stops the call if the hook crashes or is missing; versions up to 1.47.0 ignore this setting",
        "other programs that read the directory of Open Plugins also run these hooks, but send them messages in other formats",
        "goose runs hooks with `sh`, which Windows does not have",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    canary: Some(("PreToolUse", canary, denies)),
    headless: &["goose", "run", "--no-session", "-t", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

/// The extensions that are part of goose. All other extensions are MCP servers.
const OWN: &[&str] = &["developer", "summon", "todo", "platform", "skills", "extensionmanager"];

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    // Every message of goose has both fields.
    HookCall::decoded(fields.text("event")?, |point| {
        if !fields.has("matcher_context") {
            return Err(Unreadable::new("`matcher_context` is missing"));
        }
        let cwd = fields.some_text("working_dir").map_or_else(|| message.directory.to_owned(), PathBuf::from);
        Ok((AgentSession::new(fields.id(&["session_id"])?, cwd), event(point, fields)?))
    })
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "SessionStart" => HookEvent::SessionStart { is_resumed: false },
        "SessionEnd" => HookEvent::SessionEnd,
        "UserPromptSubmit" => HookEvent::PromptSubmit { prompt: fields.text("message")? },
        "PreToolUse" => HookEvent::BeforeToolCall(call(fields)?),
        "PostToolUse" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields, false) },
        "PostToolUseFailure" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields, true) },
        "Stop" => HookEvent::Stop { text: fields.some_text("last_assistant_message"), is_continued: false },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let name = fields.text("tool_name")?;
    let server = name.split_once("__").map(|(extension, _)| extension.to_owned());
    let call = ToolUse::new(fields.id(&["tool_call_id"])?, name, fields.arguments("tool_input")?);
    Ok(match server {
        Some(server) if !OWN.contains(&server.as_str()) => call.of_server(server),
        _ => call,
    })
}

fn result(fields: &Fields, is_error: bool) -> ToolResult {
    let output = fields.get("tool_output").cloned().unwrap_or_default();
    let text = match &output {
        Value::Null => fields.some_text("message").unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    ToolResult { text, is_error, raw: Some(output.into()) }
}

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    match (&outcome.answer, call.point.as_str()) {
        (Answer::Rejected(rejection), "PreToolUse") => Reply::exit_2(&reason::rejected(rejection)),
        (Answer::Ask { questions, .. }, "PreToolUse") => Reply::exit_2(&reason::asked(questions)),
        (Answer::GoOn(tasks), "Stop") if !tasks.is_empty() => {
            Reply::json(&json!({ "decision": "block", "reason": prompts(tasks) }))
        }
        (_, "SessionStart") if !outcome.notices.is_empty() => {
            Reply::json(&json!({ "banner": outcome.notices.join("\n") }))
        }
        _ => Reply::empty(),
    }
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    match point {
        None | Some("PreToolUse") => Reply::exit_2(why),
        Some("SessionStart") => Reply::json(&json!({ "banner": why })),
        // At the remaining hook points, nothing can be denied, or a denial would make the agent continue forever.
        Some(_) => Reply::empty(),
    }
}

fn denies(point: &str, reply: &Reply) -> bool {
    denies_by_decision(&AGENT, point, reply, "block")
}

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("goose has no hooks for a whole machine, so install them for each user");
    let root = context.path(".agents/plugins/hookhost", ".agents/plugins/hookhost", managed)?;
    let hooks = hook_lists(&AGENT, |point| {
        let mut hook = context.command_hook(&AGENT, point);
        // goose reads this key only at the hook point before a tool.
        if point.abilities.rejects && context.on_failure == OnFailure::Deny {
            hook["on_failure"] = json!("block");
        }
        json!({ "hooks": [hook] })
    });
    let about = json!({
        "name": "hookhost",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Asks hookhost's plugins about what the agent does",
    });
    let files = vec![
        FilePlan::whole_json(root.join("plugin.json"), &about),
        FilePlan::whole_json(root.join("hooks/hooks.json"), &json!({ "hooks": hooks })),
    ];
    Ok(Plan::new(files).step("Restart goose to load the plugin."))
}

fn canary(command: &str, directory: &Path) -> Value {
    json!({
        "event": "PreToolUse",
        "session_id": SESSION,
        "matcher_context": "developer__shell",
        "tool_name": "developer__shell",
        "tool_input": { "command": command },
        "working_dir": directory,
    })
}
