//! The agents, a directory each with the same files.

pub mod agentgateway;
pub mod amp;
pub mod claude_code;
pub mod claude_code_mods;
pub mod cline;
pub mod copilot_cli;
pub mod cursor;
mod gateway;
pub mod goose;
pub mod litellm;
pub mod opencode;
mod own_plugin;
pub mod pi;
pub mod windsurf;

use crate::adapter::Adapter;
use crate::json::object;
use crate::message::Message;

/// All agents, in the order of their names.
#[must_use]
pub fn all() -> &'static [&'static dyn Adapter] {
    // One line for each agent.
    &[
        &agentgateway::Agentgateway,
        &amp::Amp,
        &claude_code::ClaudeCode,
        &claude_code_mods::ClaudeCodeMods,
        &cline::Cline,
        &copilot_cli::CopilotCli,
        &cursor::Cursor,
        &goose::Goose,
        &litellm::LiteLlm,
        &opencode::OpenCode,
        &pi::Pi,
        &windsurf::Windsurf,
    ]
}

/// The agent of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Adapter> {
    all().iter().copied().find(|adapter| adapter.agent().name == name)
}

/// The agent that a message is from. Some agents also run the hooks that another agent's file names, and then speak their own
/// language; so what the message says counts more than the name with which the hook was called.
#[must_use]
pub fn detect(named: &'static dyn Adapter, message: &Message<'_>) -> &'static dyn Adapter {
    let Ok(fields) = object(message.bytes) else { return named };
    let has = |key: &str| fields.contains_key(key);
    let name = if has("cursor_version") {
        "cursor"
    } else if has("hookEventName") && has("workspaceRoot") {
        "grok-build"
    } else if has("agent_action_name") {
        "windsurf"
    } else if has("clineVersion") {
        "cline"
    } else if has("event") && has("matcher_context") {
        "goose"
    } else if has("sessionId") && has("toolName") && !has("hookEventName") {
        "copilot-cli"
    } else if has("turn_id") && has("model") && has("hook_event_name") {
        "codex"
    } else {
        return named;
    };
    by_name(name).unwrap_or(named)
}
