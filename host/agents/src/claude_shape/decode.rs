//! Decodes messages in the format of Claude Code. A message is one JSON object. Each agent can spell the keys of this
//! object differently.

use crate::agent::{Agent, HookPoint};
use crate::checks::{has_call, misplaced_call};
use crate::hook_call::{AgentSession, HookCall, HookEvent, ToolUse, is_of_windows};
use crate::json::Fields;
use crate::message::{Message, Unreadable};
use hookhost_contract::{EventKind, SessionMode, ToolResult};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The keys of an agent's messages. If a key has several spellings, the usual spelling comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageKeys {
    /// The name of the hook point.
    pub(crate) point: &'static [&'static str],
    /// The identifier of the session. A message without an identifier belongs to the agent's session in the message's
    /// directory.
    pub(crate) session: &'static [&'static str],
    /// The working directory.
    pub(crate) cwd: &'static [&'static str],
    /// The project's root.
    pub(crate) workspace: &'static [&'static str],
    /// The environment variable with the project's root. Empty if the agent sets no such variable.
    pub(crate) project: &'static str,
    /// The identifier of the sub-agent.
    pub(crate) subagent: &'static [&'static str],
    /// The kind of the sub-agent.
    pub(crate) subagent_kind: &'static [&'static str],
    /// The name of the tool.
    pub(crate) tool: &'static [&'static str],
    /// The arguments of the tool call.
    pub(crate) arguments: &'static [&'static str],
    /// The identifier of the tool call.
    pub(crate) call: &'static [&'static str],
    /// The result of the tool call.
    pub(crate) response: &'static [&'static str],
    /// The user's prompt.
    pub(crate) prompt: &'static [&'static str],
    /// The agent's last text.
    pub(crate) text: &'static [&'static str],
    /// The reason of a failure. The key with the most detailed reason comes first.
    pub(crate) error: &'static [&'static str],
    /// The flag that is set if a hook has already made the agent continue.
    pub(crate) is_continued: &'static str,
}

impl MessageKeys {
    /// The keys of Claude Code.
    pub(crate) const CLAUDE: Self = Self {
        point: &["hook_event_name"],
        session: &["session_id"],
        cwd: &["cwd"],
        workspace: &[],
        project: "CLAUDE_PROJECT_DIR",
        subagent: &["agent_id"],
        subagent_kind: &["agent_type"],
        tool: &["tool_name"],
        arguments: &["tool_input"],
        call: &["tool_use_id"],
        response: &["tool_response"],
        prompt: &["prompt"],
        text: &["last_assistant_message"],
        error: &["error_details", "error"],
        is_continued: "stop_hook_active",
    };
}

/// Decodes a message of `agent`.
pub(crate) fn decode(
    message: &Message<'_>,
    fields: &Fields,
    agent: &Agent,
    keys: &MessageKeys,
) -> Result<HookCall, Unreadable> {
    let named = text(fields, keys.point)?;
    let name = named.as_deref().or(message.point).ok_or_else(|| missing(keys.point))?;
    let reader = Reader { message, fields, keys };
    let Some(point) = point_of(agent, name) else {
        return reader.unknown(agent, name).map_err(|error| error.at(message.point.unwrap_or(name)));
    };
    let at = |error: Unreadable| error.at(point.name);
    if named.is_none() && point.event != EventKind::BeforeToolCall && has_call(fields) {
        // A message with a tool call contradicts the hook point of the command line.
        return Err(misplaced_call(agent, point.name));
    }
    let event = reader.event(point).map_err(at)?;
    let is_about_a_subagent = matches!(event, HookEvent::SubagentStart { .. } | HookEvent::SubagentEnd { .. });
    let mut session = reader.session().map_err(at)?;
    if is_about_a_subagent {
        // The start and the end of a sub-agent belong to the session that started it.
        session.subagent = None;
    }
    Ok(HookCall::new(point.name, session, event))
}

/// Returns the hook point of this name, in camel case, Pascal case or snake case.
pub(crate) fn point_of<'a>(agent: &'a Agent, name: &str) -> Option<&'a HookPoint> {
    let folded = |name: &str| name.replace('_', "").to_ascii_lowercase();
    agent.point(name).or_else(|| agent.points.iter().find(|point| folded(point.name) == folded(name)))
}

/// Returns the first of several fields that is present and not `null`.
pub(crate) fn first<'a>(fields: &'a Fields, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| fields.get(key).filter(|value| !value.is_null()))
}

/// Returns the first nonempty string in these fields, or `None` if all of these fields are missing, empty or `null`. A
/// field of another type is an error.
pub(crate) fn text(fields: &Fields, keys: &[&str]) -> Result<Option<String>, Unreadable> {
    for key in keys {
        match fields.get(key) {
            Some(Value::String(text)) if !text.is_empty() => return Ok(Some(text.clone())),
            Some(Value::String(_) | Value::Null) | None => {}
            Some(_) => return Err(Unreadable::new(format!("`{key}` is not a text"))),
        }
    }
    Ok(None)
}

/// Returns a directory as an absolute path. A Windows path stays unchanged on another system.
pub(crate) fn absolute(directory: String, from: &Path) -> PathBuf {
    if is_of_windows(&directory) { PathBuf::from(directory) } else { from.join(directory) }
}

/// Returns the mode of a session. The words are those of Claude Code, Codex, Droid and Qwen Code; another word names no
/// mode that hookhost knows.
fn session_mode(word: &str) -> Option<SessionMode> {
    Some(match word {
        "plan" | "spec" => SessionMode::Plan,
        // In the mode `dontAsk`, the agent refuses all calls about which it would ask in the mode `default`.
        "default" | "dontAsk" => SessionMode::Default,
        "acceptEdits" | "auto-edit" | "auto_edit" | "autoEdit" => SessionMode::AcceptEdits,
        "bypassPermissions" | "yolo" => SessionMode::Bypass,
        "auto" => SessionMode::Auto,
        _ => return None,
    })
}

fn missing(keys: &[&str]) -> Unreadable {
    Unreadable::new(format!("`{}` is missing", keys.first().unwrap_or(&"")))
}

/// A message and the keys of its agent.
struct Reader<'a> {
    message: &'a Message<'a>,
    fields: &'a Fields,
    keys: &'a MessageKeys,
}

impl Reader<'_> {
    /// Turns an unknown event into a custom event. Refuses the event if it may be a call that is about to run, because
    /// a call must not pass unchecked only because its hook point has a new name.
    fn unknown(&self, agent: &Agent, name: &str) -> Result<HookCall, Unreadable> {
        let is_gate = |point: &str| point_of(agent, point).is_some_and(|point| point.abilities.rejects);
        let is_done = first(self.fields, self.keys.response).is_some();
        if self.message.point.is_some_and(is_gate) || (has_call(self.fields) && !is_done) {
            let why = format!("`{}` has no hook point {name:?}: is this a message of another agent?", agent.title);
            return Err(Unreadable::new(why));
        }
        let event = HookEvent::Custom { payload: self.fields.as_value() };
        Ok(HookCall::new(name, self.session()?, event))
    }

    fn session(&self) -> Result<AgentSession, Unreadable> {
        let keys = self.keys;
        let id = self.fields.id(keys.session)?;
        let here = self.message.directory;
        let cwd = text(self.fields, keys.cwd)?.map_or_else(|| here.to_owned(), |cwd| absolute(cwd, here));
        let mut session = AgentSession::new(id, cwd);
        let project = self.message.variable(keys.project).map(str::to_owned);
        if let Some(workspace) = text(self.fields, keys.workspace)?.or(project) {
            session.workspace = absolute(workspace, here);
        }
        session.subagent = self.fields.id(keys.subagent)?;
        session.mode = self.fields.some_text("permission_mode").and_then(|mode| session_mode(&mode));
        Ok(session)
    }

    fn event(&self, point: &HookPoint) -> Result<HookEvent, Unreadable> {
        let keys = self.keys;
        let is_continued = self.fields.is(keys.is_continued);
        Ok(match point.event {
            EventKind::SessionStart => {
                let source = self.lossy(&["source"]);
                HookEvent::SessionStart {
                    is_resumed: !matches!(source.as_deref(), None | Some("startup" | "clear" | "new")),
                }
            }
            EventKind::SessionEnd => HookEvent::SessionEnd,
            EventKind::PromptSubmit => HookEvent::PromptSubmit { prompt: self.required(keys.prompt)? },
            EventKind::BeforeToolCall if point.name == "PermissionRequest" => {
                HookEvent::PermissionRequest(self.call()?)
            }
            EventKind::BeforeToolCall => HookEvent::BeforeToolCall(self.call()?),
            EventKind::AfterToolCall => HookEvent::AfterToolCall { call: self.call()?, result: self.outcome(point) },
            EventKind::SubagentStart => HookEvent::SubagentStart {
                id: self.fields.id(keys.subagent)?.unwrap_or_default(),
                prompt: self.lossy(keys.prompt).or_else(|| self.lossy(keys.subagent_kind)).unwrap_or_default(),
            },
            EventKind::SubagentEnd => HookEvent::SubagentEnd {
                id: self.fields.id(keys.subagent)?.unwrap_or_default(),
                text: self.lossy(keys.text).unwrap_or_default(),
                is_continued,
            },
            EventKind::BeforeCompaction => HookEvent::BeforeCompaction,
            EventKind::AfterCompaction => {
                HookEvent::AfterCompaction { summary: self.lossy(&["compact_summary"]).unwrap_or_default() }
            }
            EventKind::FinalizeContent => HookEvent::FinalText { text: self.required(&["delta"])? },
            EventKind::QueueEmpty => HookEvent::Stop { text: self.lossy(keys.text), is_continued },
            EventKind::AgentError => HookEvent::AgentError {
                message: self.lossy(keys.error).unwrap_or_else(|| "the agent stopped".to_owned()),
            },
            _ => HookEvent::Custom { payload: self.fields.as_value() },
        })
    }

    fn call(&self) -> Result<ToolUse, Unreadable> {
        let name = text(self.fields, self.keys.tool)?.ok_or_else(|| missing(self.keys.tool))?;
        let here = self.keys.arguments.iter().find(|key| self.fields.get(key).is_some());
        let arguments = self.fields.arguments(here.or(self.keys.arguments.first()).unwrap_or(&""))?;
        Ok(ToolUse::new(self.fields.id(self.keys.call)?, name, arguments))
    }

    fn outcome(&self, point: &HookPoint) -> ToolResult {
        let has_failed = point.name.ends_with("Failure");
        let mut found = match first(self.fields, self.keys.response) {
            Some(response) => result(response),
            None => match self.lossy(&["error"]) {
                Some(error) => ToolResult::error(error),
                None => result(&Value::Null),
            },
        };
        found.is_error |= has_failed;
        found
    }

    /// Returns a required string, which may be empty.
    fn required(&self, keys: &[&str]) -> Result<String, Unreadable> {
        let is_there = keys.iter().any(|key| self.fields.get(key).is_some_and(Value::is_string));
        let found = text(self.fields, keys)?;
        found.or_else(|| is_there.then(String::new)).ok_or_else(|| missing(keys))
    }

    /// Returns a string, or the JSON of another value.
    fn lossy(&self, keys: &[&str]) -> Option<String> {
        let found = first(self.fields, keys)?;
        let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
        Some(text).filter(|text| !text.is_empty())
    }
}

/// Returns the result with the text that the model reads, and the whole response.
pub(crate) fn result(response: &Value) -> ToolResult {
    let text = match response {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(blocks) => blocks_text(blocks).unwrap_or_else(|| response.to_string()),
        Value::Object(object) => object_text(object).unwrap_or_else(|| response.to_string()),
        other => other.to_string(),
    };
    ToolResult { text, is_error: is_error(response), raw: Some(response.into()) }
}

fn object_text(object: &Map<String, Value>) -> Option<String> {
    if object.contains_key("stdout") || object.contains_key("stderr") {
        let part = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (stdout, stderr) = (part("stdout"), part("stderr"));
        return Some(if stderr.is_empty() { stdout.to_owned() } else { format!("{stdout}\n{stderr}") });
    }
    match object.get("llmContent").or_else(|| object.get("content")) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(blocks)) => blocks_text(blocks),
        _ => None,
    }
}

/// Returns the texts of content blocks if all blocks are texts. Otherwise returns `None`, because the model also reads
/// the blocks that are not texts.
fn blocks_text(blocks: &[Value]) -> Option<String> {
    let texts: Option<Vec<&str>> =
        blocks.iter().map(|block| block.as_str().or_else(|| block.get("text")?.as_str())).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

fn is_error(response: &Value) -> bool {
    let is = |key: &str, value: bool| response.get(key) == Some(&Value::Bool(value));
    let has_error = response.get("error").is_some_and(|error| !error.is_null() && error != &Value::Bool(false));
    is("is_error", true) || is("isError", true) || is("success", false) || has_error
}

#[cfg(test)]
mod tests {
    use super::result;
    use serde_json::json;

    #[test]
    fn each_kind_of_result_has_its_text_and_says_whether_the_tool_failed() {
        for (response, text, is_error) in [
            (json!("ok"), "ok", false),
            (json!(null), "", false),
            (json!({ "stdout": "a", "stderr": "" }), "a", false),
            (json!({ "stdout": "a", "stderr": "b" }), "a\nb", false),
            (json!({ "llmContent": "a", "returnDisplay": "b" }), "a", false),
            (json!({ "llmContent": "a", "error": { "message": "b" } }), "a", true),
            (json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]), "a\nb", false),
            (json!({ "content": [{ "type": "text", "text": "a" }], "isError": true }), "a", true),
            (json!({ "success": false }), "{\"success\":false}", true),
            (json!([{ "type": "image", "data": "A" }]), "[{\"type\":\"image\",\"data\":\"A\"}]", false),
            (json!(3), "3", false),
        ] {
            let found = result(&response);
            assert_eq!((found.text.as_str(), found.is_error), (text, is_error), "{response}");
            assert_eq!(found.raw, Some((&response).into()));
        }
    }
}
