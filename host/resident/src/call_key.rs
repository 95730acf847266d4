//! The key of an agent's call. Two reports with the same key are about the same call, so they get the same decision and outcome.
//!
//! A key is valid until the call has run ([`CallKey::of_call_that_ran`]), and only under the rules that are part of the key. An
//! outcome is not used after its key has become invalid.

use hookhost_agents::{HookCall, HookEvent, ToolUse};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::time::Duration;

/// Time for which an outcome is valid for further reports of its call.
pub(crate) const OUTCOME_LIFETIME: Duration = Duration::from_secs(60);

/// Time for which an outcome is kept after a person's approval, which is valid for one call only. This time is long enough for an agent
/// with two hook configurations, which both report the same call at the same time.
pub(crate) const APPROVED_OUTCOME_LIFETIME: Duration = Duration::from_secs(10);

/// Digest of a session and of the number that the agent gave to a call. The content of the call is not part of the digest.
pub(crate) type CallId = [u8; 32];

/// The key of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallKey {
    pub(crate) call: CallId,
    /// Digest of the content, the directory and the rules. If an agent gives the same number to two calls with different content, this
    /// digest differs, so each call gets its own decision.
    pub(crate) terms: [u8; 32],
}

impl CallKey {
    /// Creates the key of a call. `session` is the session's identifier in the engine, and `rules` the digest of the rules. Returns
    /// `None` for a call without a number, because it is unknown whether two such calls are the same call.
    pub(crate) fn new(session: &str, call: &HookCall, rules: &str) -> Option<Self> {
        let id = Self::id(session, call)?;
        let directory = call.session.cwd.to_string_lossy();
        Some(Self { call: id, terms: digest(&[rules, &directory, &content(call)]) })
    }

    /// Returns the part of the key that does not depend on the rules.
    pub(crate) fn id(session: &str, call: &HookCall) -> Option<CallId> {
        call.key().map(|(kind, id)| digest(&[session, kind, id]))
    }

    /// Returns the identifiers that become invalid when this call has run. A later report with the same number is about a new call
    /// to which the agent has given the number again.
    pub(crate) fn of_call_that_ran(session: &str, tool: &ToolUse) -> Vec<CallId> {
        let id = tool.id.as_deref();
        id.iter().flat_map(|id| ["before", "permission"].map(|kind| digest(&[session, kind, id]))).collect()
    }
}

/// Returns a collision-resistant digest of several strings.
pub(crate) fn digest(parts: &[&str]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

fn content(call: &HookCall) -> String {
    match &call.event {
        HookEvent::BeforeToolCall(tool) | HookEvent::PermissionRequest(tool) => {
            json!([tool.name, tool.arguments]).to_string()
        }
        HookEvent::AfterToolCall { call: tool, result } => {
            json!([tool.name, tool.arguments, result.text, result.is_error, result.raw]).to_string()
        }
        HookEvent::PromptSubmit { prompt: text } | HookEvent::FinalText { text } => text.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::CallKey;
    use hookhost::contract::ToolResult;
    use hookhost_agents::{AgentSession, HookCall, HookEvent, ToolUse};
    use serde_json::json;

    fn key(event: HookEvent, rules: &str, cwd: &str) -> CallKey {
        let session = AgentSession::new(Some("s".to_owned()), cwd.into());
        CallKey::new("agent:s", &HookCall::new("point", session, event), rules).unwrap()
    }

    fn tool(arguments: serde_json::Value) -> ToolUse {
        ToolUse::new(Some("1".to_owned()), "say", arguments)
    }

    #[test]
    fn results_that_differ_in_anything_are_not_one() {
        let of = |result| key(HookEvent::AfterToolCall { call: tool(json!({})), result }, "r", "/");
        let text = of(ToolResult::text("x"));
        let raw = ToolResult { raw: Some(json!({ "k": "sk-1" }).into()), ..ToolResult::text("x") };
        assert!(text != of(ToolResult::error("x")) && text != of(raw) && text == of(ToolResult::text("x")));
    }

    #[test]
    fn a_key_ends_with_its_rules_its_directory_and_its_content_and_with_the_run_of_its_call() {
        let of = |arguments, rules: &str, cwd: &str| key(HookEvent::BeforeToolCall(tool(arguments)), rules, cwd);
        let call = of(json!({ "a": 1 }), "r", "/a");
        assert_eq!(call, of(json!({ "a": 1 }), "r", "/a"));
        for other in
            [of(json!({ "a": 2 }), "r", "/a"), of(json!({ "a": 1 }), "s", "/a"), of(json!({ "a": 1 }), "r", "/b")]
        {
            assert!(other.call == call.call && other.terms != call.terms);
        }
        // The identifiers do not depend on the arguments with which the call ran.
        assert!(CallKey::of_call_that_ran("agent:s", &tool(json!({}))).contains(&call.call));
        assert!(!CallKey::of_call_that_ran("agent:t", &tool(json!({}))).contains(&call.call));
    }
}
