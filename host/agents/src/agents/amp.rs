//! The adapter of Amp. Source: the vendor's description of the plugin interface, which the vendor calls experimental. No message
//! was recorded.
//!
//! Amp has no hooks, but runs plugins in its own process. The plugin `plugins/amp.ts` calls the hook program and follows the
//! program's reply. An event is one object, to which the plugin adds `type`. Amp loads a file in its plugin directories only if the
//! file begins with a certain comment.

use super::prelude::*;
use crate::agents::own_plugin;
use crate::agents::own_plugin::{PluginMessage, Runtime, TELLS, file};

/// Amp asks its user about a tool only if one of Amp's own rules says so. A plugin's approval does not skip such a
/// rule.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, responds: true, ..TELLS };

const AFTER_TOOL: Abilities = Abilities { rejects: true, replaces: true, adds_context: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "amp",
    title: "Amp",
    programs: &["amp"],
    versions: ("", ""),
    points: &[
        HookPoint::new("session.start", EventKind::SessionStart, TELLS),
        HookPoint::new(
            "agent.start",
            EventKind::PromptSubmit,
            Abilities { rejects: true, adds_context: true, ..TELLS },
        ),
        HookPoint::new("tool.call", EventKind::BeforeToolCall, BEFORE_TOOL),
        HookPoint::new("tool.result", EventKind::AfterToolCall, AFTER_TOOL),
        HookPoint::new("agent.end", EventKind::QueueEmpty, Abilities { goes_on: true, ..TELLS }),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", ""),
        Coverage::gated("sub-agents", "the call that starts one, and the calls in its thread"),
        Coverage::blind("texts of the agent", "Amp reports a text only after the user sees it"),
        Coverage::blind("the end of a session and summaries", "the agent has no event for them"),
    ],
    gaps: &[
        "without `--plugin-ready-timeout`, `amp -x` may make its first calls before its plugins are loaded",
        "the extension for editors loads no plugins",
        "Amp defines no order of plugins, so another plugin may change a call after the hook has checked it",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    neutral: own_plugin::neutral,
    headless: &["amp", "--plugin-ready-timeout", "30", "-x", PROMPT_WORD],
    ..Adapter::new(&AGENT, decode, own_plugin::encode, |point, why| own_plugin::fail(&AGENT, point, why), install)
};

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut told = PluginMessage::of(message, fields)?;
    if told.session.id.is_none() {
        told.session.id = told.event.within("thread").id(&["id"])?;
    }
    let event = event(&told.point, &told.event);
    told.call(event)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match point {
        "session.start" => HookEvent::SessionStart { is_resumed: false },
        "agent.start" => HookEvent::PromptSubmit { prompt: fields.text("message")? },
        "tool.call" => HookEvent::BeforeToolCall(call(fields)?),
        "tool.result" => HookEvent::AfterToolCall { call: call(fields)?, result: result(fields) },
        "agent.end" => match fields.some_text("status").as_deref() {
            Some("error") => HookEvent::AgentError { message: "the agent stopped".to_owned() },
            // If this were a `Stop` event, a plugin could restart an agent that the user has stopped.
            Some("cancelled") => HookEvent::Custom { payload: fields.as_value() },
            _ => HookEvent::Stop { text: fields.some_text("text"), is_continued: fields.is("continued") },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    Ok(ToolUse::new(fields.id(&["toolUseID"])?, fields.text("tool")?, fields.arguments("input")?))
}

fn result(fields: &Fields) -> ToolResult {
    let output = fields.get("output").cloned().unwrap_or_default();
    let text = match (&output, fields.some_text("error")) {
        (_, Some(error)) => error,
        (Value::Null, None) => String::new(),
        (Value::String(text), None) => text.clone(),
        (other, None) => other.to_string(),
    };
    let is_error = fields.some_text("status").is_some_and(|status| status != "done");
    ToolResult { text, is_error, raw: Some(output.into()) }
}

const PLUGIN: &str = include_str!("plugins/amp.ts");

/// The comment with which a plugin file must begin. Amp does not load a file without this line.
const ACKNOWLEDGEMENT: &str = "// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now\n";

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let user = context.directory("XDG_CONFIG_HOME", ".config").join("amp");
    let managed = Err("Amp loads no plugins for a whole machine, so install the plugin for each user");
    let path = context.path(user, ".amp", managed)?.join("plugins/hookhost.ts");
    let content = file(&AGENT, context, Runtime::Node, ACKNOWLEDGEMENT, PLUGIN);
    Ok(Plan::new(vec![FilePlan::whole(path, content)])
        .step("Run \"plugins: reload\" in Amp's command palette, or restart Amp.")
        .step("Start `amp -x` with `--plugin-ready-timeout 30`. Otherwise it may begin before the plugin is loaded."))
}
