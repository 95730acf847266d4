//! Models how each agent reacts to a reply, to check the adapters. The models follow the agents' documents and reports, and do not use the
//! code of the adapters.

use hookhost_agents::Reply;
use serde_json::Value;

/// Returns true if this reply prevents the agent from carrying out the action, or from using the value, that the agent reported at this
/// hook point. `told` is the text of the event, if the event has a text. Returns `None` if the agent is not modelled here.
pub(crate) fn denies(agent: &str, point: &str, reply: &Reply, told: &str) -> Option<bool> {
    let json = serde_json::from_str::<Value>(&reply.stdout).unwrap_or_default();
    let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let is = |pointer: &str, word: &str| text(pointer) == word;
    let replaces = |pointer: &str| json.pointer(pointer).is_some() && !text(pointer).contains(told);
    Some(match (agent, point) {
        // Exit code 2 blocks a call. A result is replaced only if it comes from an MCP tool.
        ("cursor", "postToolUse") => replaces("/updated_mcp_tool_output/content/0/text"),
        ("cursor", "beforeSubmitPrompt") => reply.exit == 2 || json.pointer("/continue") == Some(&Value::Bool(false)),
        ("cursor", "PreToolUse") => {
            reply.exit == 2
                || is("/hookSpecificOutput/hookEventName", "PreToolUse")
                    && is("/hookSpecificOutput/permissionDecision", "deny")
        }
        ("cursor", _) => reply.exit == 2 || reply.exit == 0 && is("/permission", "deny"),
        // Every exit code except 0 is a denial. The reason must be in the JSON.
        ("copilot-cli", "preToolUse") => {
            reply.exit != 0 && is("/permissionDecision", "deny") && !text("/permissionDecisionReason").is_empty()
        }
        ("copilot-cli", "PreToolUse") => {
            reply.exit != 0
                && is("/hookSpecificOutput/permissionDecision", "deny")
                && !text("/hookSpecificOutput/permissionDecisionReason").is_empty()
        }
        ("copilot-cli", "permissionRequest" | "PermissionRequest") => is("/behavior", "deny"),
        ("copilot-cli", "postToolUse" | "PostToolUse") => {
            reply.exit == 0
                && is("/modifiedResult/resultType", "success")
                && replaces("/modifiedResult/textResultForLlm")
        }
        ("copilot-cli", "userPromptTransformed") => reply.exit == 0 && replaces("/modifiedTransformedPrompt"),
        ("copilot-cli", _) => false,
        // Cline ignores exit codes.
        ("cline", _) => json.pointer("/cancel") == Some(&Value::Bool(true)),
        ("windsurf", _) => reply.exit == 2,
        ("goose", _) => reply.exit == 2 || is("/decision", "block"),
        // This matches the way in which `reply.js` reads the reply.
        ("opencode" | "pi" | "amp" | "claude-code-mods", _) => {
            reply.exit == 0 && is("/decision", "deny") && !text("/reason").is_empty()
        }
        ("acs", "steps/postCompact") => is("/decision", "modify"),
        ("acs", _) => is("/decision", "deny") && !text("/reasoning").is_empty(),
        ("litellm", _) => is("/action", "BLOCKED") && !text("/blocked_reason").is_empty(),
        ("agentgateway", _) => {
            json.pointer("/action/status_code").and_then(Value::as_u64).is_some_and(|code| code >= 400)
                && json.pointer("/action/body").is_some_and(Value::is_string)
        }
        _ => return None,
    })
}

/// Returns true if the agent continues after it wanted to stop.
pub(crate) fn continues(agent: &str, reply: &Reply) -> bool {
    let json = serde_json::from_str::<Value>(&reply.stdout).unwrap_or_default();
    let has = |key: &str| json.get(key).is_some();
    match agent {
        "cursor" => reply.exit == 2 || has("followup_message"),
        "copilot-cli" | "goose" => reply.exit == 2 || json.get("decision") == Some(&Value::String("block".to_owned())),
        _ => has("goOn"),
    }
}
