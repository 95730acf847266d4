//! Grok Build's messages: Claude Code's shape with keys in camel case, and hook points in snake case.

use super::AGENT;
use crate::claude_shape::{self, Keys};
use crate::event::HookCall;
use crate::json::Fields;
use crate::message::{Message, Unreadable};

const KEYS: Keys = Keys {
    point: &["hookEventName"],
    session: &["sessionId"],
    cwd: &["cwd"],
    workspace: &["workspaceRoot"],
    project: "GROK_WORKSPACE_ROOT",
    subagent: &["agentId", "subagentId"],
    subagent_kind: &["agentType", "subagentType"],
    tool: &["toolName"],
    arguments: &["toolInput"],
    call: &["toolUseId", "toolCallId"],
    response: &["toolResponse", "toolResult", "toolOutput"],
    prompt: &["prompt"],
    text: &["lastAssistantMessage"],
    error: &["errorDetails", "error"],
    is_continued: "stopHookActive",
};

pub(super) fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    claude_shape::decode(message, fields, &AGENT, &KEYS)
}
