//! The adapter of pi. Sources: the types of the package `@earendil-works/pi-coding-agent` 0.87.1, pi's page on extensions, and
//! messages recorded with 0.87.1.
//!
//! pi has no hooks. It loads the files of its extension directories into its own process. `plugins/pi.ts` is such a file, which
//! calls the hook program and follows the reply. An event is one object with `type`.

use super::prelude::*;
use crate::agents::own_plugin;
use crate::agents::own_plugin::{PROMPT, PluginMessage, Runtime, TELLS, file};

/// pi has no permissions, and does not ask a question if no user is present. So a reply never tells pi to ask the user.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, stops: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "pi",
    title: "pi",
    programs: &["pi"],
    versions: ("0.87.1", "0.87.1"),
    points: &[
        HookPoint::new("session_start", EventKind::SessionStart, Abilities { adds_context: true, ..TELLS }),
        HookPoint::new("session_shutdown", EventKind::SessionEnd, Abilities::NONE),
        HookPoint::new("input", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("tool_call", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("tool_result", EventKind::AfterToolCall, Abilities { stops: true, ..PROMPT }),
        HookPoint::new("session_before_compact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("session_compact", EventKind::AfterCompaction, TELLS),
        HookPoint::new("message_end", EventKind::FinalizeContent, Abilities { rejects: true, replaces: true, ..TELLS }),
        HookPoint::new("agent_before_settle", EventKind::QueueEmpty, Abilities { goes_on: true, ..TELLS }),
        // The user runs a command with `!`.
        HookPoint::new("user_bash", EventKind::CustomEvent, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::blind("shell commands that you run with !", "they are your own"),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("tools of other extensions", "an extension itself may do anything without a tool"),
        Coverage::gated("texts of the agent", "the user sees each text before the hook checks it"),
        Coverage::blind("sub-agents", "pi has none; if an extension starts another pi, nothing reports it"),
    ],
    gaps: &[
        "with `pi --no-extensions`, or without the extension in its directory, the agent runs without any hook",
        "an extension that is loaded later may change a call after the hook has checked it",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    neutral: own_plugin::neutral,
    headless: &["pi", "-p", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, own_plugin::encode, |point, why| own_plugin::fail(&AGENT, point, why), install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let told = PluginMessage::of(message, fields)?;
    let event = event(&told.point, &told.event);
    told.call(event)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "session_start" => HookEvent::SessionStart {
            is_resumed: matches!(fields.some_text("reason").as_deref(), Some("resume" | "reload" | "fork")),
        },
        "session_shutdown" => HookEvent::SessionEnd,
        "input" => HookEvent::PromptSubmit { prompt: fields.text("text")? },
        "tool_call" => HookEvent::BeforeToolCall(call(fields)?),
        "tool_result" => {
            let content = fields.get("content").cloned().unwrap_or_default();
            let result = ToolResult { text: text(&content), is_error: fields.is("isError"), raw: Some(content.into()) };
            HookEvent::AfterToolCall { call: call(fields)?, result }
        }
        "session_before_compact" => HookEvent::BeforeCompaction,
        "session_compact" => HookEvent::AfterCompaction { summary: fields.some_text("summary").unwrap_or_default() },
        "message_end" => {
            let content = fields.within("message").get("content").cloned().unwrap_or_default();
            HookEvent::FinalText { text: text(&content) }
        }
        "agent_before_settle" => match fields.some_text("outcome").as_deref() {
            Some("error") => HookEvent::AgentError { message: "the agent stopped".to_owned() },
            Some("aborted") => HookEvent::Custom { payload: fields.as_value() },
            _ => HookEvent::Stop { text: fields.some_text("text"), is_continued: fields.is("continued") },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    Ok(ToolUse::new(fields.id(&["toolCallId"])?, fields.text("toolName")?, fields.arguments("input")?))
}

/// Joins the texts of a `content` member, which can also contain images.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

const PLUGIN: &str = include_str!("plugins/pi.ts");

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = Err("pi loads no extensions for a whole machine, so install the extension for each user");
    let directory = context.path(context.directory("PI_CODING_AGENT_DIR", ".pi/agent"), ".pi", managed)?;
    let path = directory.join("extensions/hookhost.ts");
    let content = file(&AGENT, context, Runtime::Node, "", PLUGIN);
    Ok(Plan::new(vec![FilePlan::whole(path, content)])
        .step("Type /reload in pi, or restart it, to load the extension."))
}
