//! The canary, which is a call by which `hookhost doctor` proves that an agent obeys its hook, and the rules that reject this call.

use crate::rules::DirectoryRules;
use hookhost::config::{Entry, Settings};
use hookhost::contract::{Refusal, ToolCall};
use hookhost::native::Rule;
use hookhost::{Config, Host};
use hookhost_agents::{AgentSession, HookCall, HookEvent, canary};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// The plugin name that is recorded for the rejection of the canary.
const CANARY: &str = "hookhost-canary";

/// Loads rules that reject every call. The rules are used only for the canary. A rule of the user's own rule set could recognise
/// the canary only by its words, and any call can contain these words.
pub(crate) async fn load(host: &Host) -> Result<DirectoryRules, String> {
    let rule = Rule::new().before_tool_call(|_, _: &ToolCall| {
        Some(Refusal::new("this is the call by which `hookhost doctor` proves the hook").code("canary"))
    });
    let entry = Entry::from_rule(CANARY, rule);
    let config = Config::from_entries(vec![entry], Settings::default()).map_err(|error| error.to_string())?;
    let rules = host.load_rules(&config).await.map_err(|error| error.to_string())?;
    let (notes, project_files) = (Arc::from([]), Arc::from([]));
    let (digest, plugin_time) = (Arc::from(""), Duration::ZERO);
    Ok(DirectoryRules { rules, notes, number: 0, revision: 0, digest, project_files, plugin_time })
}

/// Returns true if a call is the canary.
pub(crate) fn is_canary(call: &HookCall) -> bool {
    let HookEvent::BeforeToolCall(tool) = &call.event else { return false };
    let is_command = |value: &Value| value.as_str() == Some(canary::DENIED);
    tool.arguments.as_object().is_some_and(|arguments| {
        let mut values = arguments.values();
        values.any(|value| is_command(value) || value.as_array().is_some_and(|list| list.iter().any(is_command)))
    })
}

/// Returns the call. If the call is the canary, it is moved to a separate session, because a session has only one set of rules and
/// an agent's session must not get the rules for the canary.
pub(crate) fn in_own_session(call: &HookCall) -> Cow<'_, HookCall> {
    if !is_canary(call) {
        return Cow::Borrowed(call);
    }
    let mut call = call.clone();
    call.session.id = Some(format!("{}-denied", canary::SESSION));
    call.session.subagent = None;
    Cow::Owned(call)
}

/// Returns true if a session contains only the calls of `hookhost doctor`.
pub(crate) fn is_proof(session: &AgentSession) -> bool {
    session.id.as_deref().is_some_and(canary::is_proof)
}
