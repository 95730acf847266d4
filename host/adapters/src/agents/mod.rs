//! The agents, a directory each with the same files.

pub mod agentgateway;
pub mod amp;
pub mod antigravity;
pub mod claude_code;
pub mod claude_code_mods;
mod claude_shape;
pub mod cline;
pub mod codex;
pub mod copilot_cli;
pub mod crush;
pub mod cursor;
pub mod droid;
mod gateway;
pub mod gemini_cli;
pub mod goose;
pub mod grok_build;
pub mod kiro;
pub mod litellm;
pub mod opencode;
pub mod openhands;
mod own_plugin;
pub mod pi;
pub mod qwen_code;
pub mod windsurf;

use crate::adapter::Adapter;
use crate::json::object;
use crate::message::Message;

/// All agents, in the order of their names.
#[must_use]
pub fn all() -> &'static [&'static dyn Adapter] {
    // A line each, also where one line had room for all.
    #[rustfmt::skip]
    const ALL: &[&dyn Adapter] = &[
        &agentgateway::Agentgateway,
        &amp::Amp,
        &antigravity::Antigravity,
        &claude_code::ClaudeCode,
        &claude_code_mods::ClaudeCodeMods,
        &cline::Cline,
        &codex::Codex,
        &copilot_cli::CopilotCli,
        &crush::Crush,
        &cursor::Cursor,
        &droid::Droid,
        &gemini_cli::GeminiCli,
        &goose::Goose,
        &grok_build::GrokBuild,
        &kiro::Kiro,
        &litellm::LiteLlm,
        &opencode::OpenCode,
        &openhands::OpenHands,
        &pi::Pi,
        &qwen_code::QwenCode,
        &windsurf::Windsurf,
    ];
    ALL
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
