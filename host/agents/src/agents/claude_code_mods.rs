//! The adapter of Claude Code's mods, which are JavaScript in the agent's process. Sources: the vendor's declarations for mods,
//! 2.1.277, and the vendor's reference of mods. No message was recorded.
//!
//! The hooks in the settings ([`claude_code`](super::claude_code)) work without a mod. A mod has two further abilities: it can
//! rewrite prompts, and it sees calls that another mod has changed or has made itself. `plugins/claude_code_mods.js` calls the hook
//! program and follows the program's reply. In the data of Claude Code, a call's arguments are in the same object as the tool's
//! name. The mod of hookhost moves the arguments into `input`.
//!
//! In Claude Code, a mod is part of a plugin, and a plugin comes from a marketplace. Hookhost writes a directory that
//! is a marketplace with one plugin, and names the marketplace and the plugin in the settings.

use super::prelude::*;
use crate::agents::own_plugin;
use crate::agents::own_plugin::{PROMPT, PluginMessage, Runtime, TELLS, file};
use crate::json::Arguments;

/// Claude Code checks its own permissions after the mods. A mod cannot give a result in place of the tool, because the
/// result would need the shape of the tool's results.
const BEFORE_TOOL: Abilities = Abilities { rejects: true, changes: true, ..TELLS };

static AGENT: Agent = Agent {
    name: "claude-code-mods",
    title: "Claude Code (as a mod)",
    programs: &["claude"],
    versions: ("2.1.287", ""),
    points: &[
        HookPoint::new("session.start", EventKind::SessionStart, TELLS),
        HookPoint::new("session.end", EventKind::SessionEnd, Abilities::NONE).timeout(1),
        HookPoint::new("prompt.submit", EventKind::PromptSubmit, PROMPT),
        HookPoint::new("tool.call", EventKind::BeforeToolCall, BEFORE_TOOL),
        // The data of this hook point is the value that `next` returns for the same event.
        HookPoint::new("tool.result", EventKind::AfterToolCall, PROMPT),
        HookPoint::new("agent.spawn", EventKind::SubagentStart, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("session.compact", EventKind::BeforeCompaction, Abilities { rejects: true, ..TELLS }),
        HookPoint::new("session.compacted", EventKind::AfterCompaction, TELLS),
        HookPoint::new("turn.complete", EventKind::QueueEmpty, Abilities { goes_on: true, ..TELLS }),
        // At this hook point, a mod makes the final decision about a permission. The hook point is not installed,
        // because hookhost's mod does not ask the user and so makes no such decision.
        HookPoint::new("tool.check", EventKind::BeforeToolCall, Abilities::NONE).not_installed(),
    ],
    coverage: &[
        Coverage::gated("shell commands", ""),
        Coverage::gated("file reads and edits", ""),
        Coverage::blind("files that you name with @", "the agent reads them without a tool"),
        Coverage::gated("web pages", ""),
        Coverage::gated("MCP tools", "but not calls of another mod with `$.mcp.call`"),
        Coverage::gated("sub-agents", "including their calls, which contain `agentId`"),
        Coverage::observed("texts of the agent", "reported at the end of the turn"),
    ],
    gaps: &[
        "a mod with a higher priority, or one loaded outside, may answer before this mod is asked",
        "the agent does not notice if the mod fails to load, so also use the settings hooks",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    neutral: own_plugin::neutral,
    headless: &["claude", "-p", PROMPT_WORD, "--allowedTools", "Bash"],
    ..Adapter::new(&AGENT, decode, own_plugin::encode, |point, why| own_plugin::fail(&AGENT, point, why), install)
};

/// Keys that are not arguments of a call. They are needed for a message in which the arguments are not in `input`.
const RESERVED: &[&str] = &["tool", "tool_use_id", "agentId", "consent"];

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let mut told = PluginMessage::of(message, fields)?;
    if told.session.subagent.is_none() && told.point.starts_with("tool.") {
        told.session.subagent = told.event.some_text("agentId");
    }
    let event = event(&told.point, &told.event);
    told.call(event)
}

fn event(point: &str, fields: &Fields) -> Result<HookEvent, Unreadable> {
    Ok(match (point, fields.some_text("agentId")) {
        ("session.start", _) => HookEvent::SessionStart { is_resumed: false },
        ("session.end", _) => HookEvent::SessionEnd,
        ("prompt.submit", _) => HookEvent::PromptSubmit { prompt: fields.text("text")? },
        ("tool.call", _) => HookEvent::BeforeToolCall(call(fields)?),
        ("tool.check", _) => HookEvent::PermissionRequest(call(fields)?),
        ("tool.result", _) => {
            let text = fields.some_text("text").unwrap_or_default();
            let result = ToolResult { text, is_error: fields.is("isError"), raw: None };
            HookEvent::AfterToolCall { call: call(fields)?, result }
        }
        ("agent.spawn", _) => {
            HookEvent::SubagentStart { id: fields.text("tool_use_id")?, prompt: fields.text("prompt")? }
        }
        ("session.compact", _) => HookEvent::BeforeCompaction,
        ("session.compacted", _) => {
            HookEvent::AfterCompaction { summary: fields.some_text("summary").unwrap_or_default() }
        }
        ("turn.complete", Some(id)) => {
            HookEvent::SubagentEnd { id, text: fields.some_text("answer").unwrap_or_default(), is_continued: false }
        }
        ("turn.complete", None) => match fields.some_text("reason").as_deref() {
            Some("error") => HookEvent::AgentError { message: "the agent stopped".to_owned() },
            // If this were a `Stop` event, a plugin could restart an agent that the user has stopped.
            Some("aborted") => HookEvent::Custom { payload: fields.as_value() },
            _ => HookEvent::Stop { text: fields.some_text("answer"), is_continued: fields.is("continued") },
        },
        _ => HookEvent::Custom { payload: fields.as_value() },
    })
}

fn call(fields: &Fields) -> Result<ToolUse, Unreadable> {
    let arguments: Arguments = if fields.get("input").is_some_and(Value::is_object) {
        fields.arguments("input")?
    } else {
        let Value::Object(mut all) = fields.as_value() else {
            return Err(Unreadable::new("the call is not an object"));
        };
        all.retain(|key, _| !RESERVED.contains(&key.as_str()));
        Value::Object(all).into()
    };
    Ok(ToolUse::new(fields.id(&["tool_use_id"])?, fields.text("tool")?, arguments))
}

const MODULE: &str = include_str!("plugins/claude_code_mods.js");

fn install(context: &Context<'_>) -> Result<Plan, NotInstallable> {
    let managed = machine_path("/etc/claude-code", Some("/Library/Application Support/ClaudeCode"), None);
    let directory = context.path(context.directory("CLAUDE_CONFIG_DIR", ".claude"), ".claude", Ok(managed))?;
    let settings = if context.scope == Scope::Managed { "managed-settings.json" } else { "settings.json" };
    let market = directory.join("hookhost");
    let description = "Asks hookhost's plugins about what the agent does";
    let marketplace = json!({
        "name": "hookhost",
        "owner": { "name": "hookhost" },
        "plugins": [{ "name": "hookhost", "source": "./mod", "description": description }],
    });
    let plugin = json!({ "name": "hookhost", "version": env!("CARGO_PKG_VERSION"), "description": description });
    let source = json!({ "source": { "source": "directory", "path": market.to_string_lossy() } });
    let entries = vec![
        JsonEntry::default(&["extraKnownMarketplaces", "hookhost"], source),
        JsonEntry::default(&["enabledPlugins", "hookhost@hookhost"], json!(true)),
    ];
    let files = vec![
        FilePlan::whole_json(market.join(".claude-plugin/marketplace.json"), &marketplace),
        FilePlan::whole_json(market.join("mod/.claude-plugin/plugin.json"), &plugin),
        FilePlan::whole_json(market.join("mod/hooks/hooks.json"), &json!({ "modules": ["./register.js"] })),
        FilePlan::whole(market.join("mod/hooks/register.js"), file(&AGENT, context, Runtime::Bare, "", MODULE)),
        FilePlan::Json { path: directory.join(settings), entries },
    ];
    Ok(Plan::new(files)
        .step("Restart Claude Code, and check with /plugin that hookhost@hookhost is enabled and its mod is loaded."))
}
