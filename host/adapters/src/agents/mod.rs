//! The agents, a directory each with the same files.

pub mod antigravity;
pub mod claude_code;
mod claude_shape;
pub mod codex;
pub mod crush;
pub mod droid;
pub mod gemini_cli;
pub mod grok_build;
pub mod kiro;
pub mod openhands;
pub mod qwen_code;

use crate::adapter::Adapter;
use crate::json::object;
use crate::message::Message;

/// All agents, in the order of their names.
#[must_use]
pub fn all() -> &'static [&'static dyn Adapter] {
    // A line each, also where one line had room for all.
    #[rustfmt::skip]
    const ALL: &[&dyn Adapter] = &[
        &antigravity::Antigravity,
        &claude_code::ClaudeCode,
        &codex::Codex,
        &crush::Crush,
        &droid::Droid,
        &gemini_cli::GeminiCli,
        &grok_build::GrokBuild,
        &kiro::Kiro,
        &openhands::OpenHands,
        &qwen_code::QwenCode,
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
    } else if has("turn_id") && has("model") && has("hook_event_name") {
        "codex"
    } else {
        return named;
    };
    by_name(name).unwrap_or(named)
}
