//! The adapters of all agents. Each agent has one file. Two more files contain code that several adapters share:
//! `gateway` and `own_plugin`.

mod acs;
mod agentgateway;
mod amp;
mod antigravity;
mod claude_code;
mod claude_code_mods;
mod cline;
mod codex;
mod copilot_cli;
mod crush;
mod cursor;
mod droid;
mod gateway;
mod gemini_cli;
mod goose;
mod grok_build;
mod kiro;
mod litellm;
mod opencode;
mod openhands;
mod own_plugin;
mod pi;
mod qwen_code;
mod windsurf;

/// The names that most of these files use.
mod prelude {
    pub(super) use crate::adapter::{Adapter, PROMPT_WORD};
    pub(super) use crate::agent::{Abilities, Agent, Coverage, HookPoint};
    pub(super) use crate::canary::SESSION;
    pub(super) use crate::hook_call::{AgentSession, FurtherEvent, HookCall, HookEvent, ToolUse};
    pub(super) use crate::json::Fields;
    pub(super) use crate::mcp_servers::ServersFile;
    pub(super) use crate::message::{Message, Unreadable};
    pub(super) use crate::outcome::{Answer, Outcome};
    pub(super) use crate::plan::{
        Context, FilePlan, JsonEntry, NotInstallable, OnFailure, Plan, Scope, elements, groups, hook_lists,
        machine_path,
    };
    pub(super) use crate::reason;
    pub(super) use crate::reply::Reply;
    pub(super) use hookhost_contract::{EventKind, ToolResult};
    pub(super) use serde_json::{Map, Value, json};
    pub(super) use std::path::{Path, PathBuf};
}

use crate::adapter::Adapter;
use crate::json::keys;
use crate::message::Message;

/// Returns all agents, sorted by name.
pub fn all() -> &'static [&'static Adapter] {
    // One line per agent, even if all would fit on one line.
    #[rustfmt::skip]
    static ALL: &[&Adapter] = &[
        &acs::ADAPTER,
        &agentgateway::ADAPTER,
        &amp::ADAPTER,
        &antigravity::ADAPTER,
        &claude_code::ADAPTER,
        &claude_code_mods::ADAPTER,
        &cline::ADAPTER,
        &codex::ADAPTER,
        &copilot_cli::ADAPTER,
        &crush::ADAPTER,
        &cursor::ADAPTER,
        &droid::ADAPTER,
        &gemini_cli::ADAPTER,
        &goose::ADAPTER,
        &grok_build::ADAPTER,
        &kiro::ADAPTER,
        &litellm::ADAPTER,
        &opencode::ADAPTER,
        &openhands::ADAPTER,
        &pi::ADAPTER,
        &qwen_code::ADAPTER,
        &windsurf::ADAPTER,
    ];
    ALL
}

/// Returns the agent of this name.
pub fn by_name(name: &str) -> Option<&'static Adapter> {
    all().iter().copied().find(|adapter| adapter.agent().name == name)
}

/// Returns the agent that sent the message. Some agents also run the hooks in another agent's file, and then send
/// messages in their own format. So the format of the message determines the agent, and not the name in the hook's
/// command line.
pub fn detect(named: &'static Adapter, message: &Message<'_>) -> &'static Adapter {
    // Clients of the Agent Control Standard are recognised by the address to which they send their messages, and sign
    // the whole message.
    if named.agent().name == "acs" {
        return named;
    }
    let Some(keys) = keys(message.bytes) else { return named };
    let has = |key: &str| keys.iter().any(|known| known == key);
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
