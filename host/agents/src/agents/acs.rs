//! The adapter of agents that use the Agent Control Standard v0.1.0 (OWASP). An Observed Agent sends messages to a Guardian, which
//! decides on them. Source: GenAI-Security-Project/agent-control-standard, `docs/spec/instrument/`.
//!
//! A message is the `params` of a JSON-RPC request, and the method is the hook point. A reply is the `result` of the
//! response. The HTTP server of the resident host handles the rest: JSON-RPC, handshake, signatures, replayed messages
//! and the hash chain. The Guardian's address is part of the agent's deployment, so hookhost edits no file of the
//! agent.

use super::prelude::*;
use crate::claude_shape::is_media;
use hookhost_contract::{Cause, Json, Rejection};

/// Time that an Observed Agent waits for a decision, in seconds. The handshake announces this timeout.
const TIMEOUT: u16 = 30;

/// The agent only reports the event. The user reads the `reasoning` of the decision.
const TOLD: Abilities = Abilities { tells_user: true, ..Abilities::NONE };
const REJECTS: Abilities = Abilities { rejects: true, ..TOLD };
const TEXT: Abilities = Abilities { replaces: true, ..REJECTS };

/// `parameter_overrides` can replace arguments, but cannot remove them.
const CALL: Abilities = Abilities { changes: true, merges: true, ..REJECTS };

/// Compaction has already happened. A decision can rewrite the summary, but cannot refuse it.
const SUMMARY: Abilities = Abilities { replaces: true, ..TOLD };

const fn point(name: &'static str, event: EventKind, abilities: Abilities) -> HookPoint {
    HookPoint::new(name, event, abilities).timeout(TIMEOUT)
}

static AGENT: Agent = Agent {
    name: "acs",
    title: "Agent Control Standard",
    programs: &[],
    versions: ("0.1.0", "0.1.0"),
    points: &[
        point("steps/sessionStart", EventKind::SessionStart, TOLD),
        point("steps/agentTrigger", EventKind::CustomEvent, REJECTS),
        point("steps/turnStart", EventKind::CustomEvent, REJECTS),
        point("steps/userMessage", EventKind::PromptSubmit, TEXT),
        point("steps/agentResponse", EventKind::FinalizeContent, TEXT),
        point("steps/knowledgeRetrieval", EventKind::CustomEvent, REJECTS),
        point("steps/memoryContextRetrieval", EventKind::CustomEvent, REJECTS),
        point("steps/memoryStore", EventKind::CustomEvent, REJECTS),
        point("steps/toolCallRequest", EventKind::BeforeToolCall, CALL),
        point("steps/toolCallResult", EventKind::AfterToolCall, TEXT),
        point("steps/preCompact", EventKind::BeforeCompaction, REJECTS),
        point("steps/postCompact", EventKind::AfterCompaction, SUMMARY),
        point("steps/subagentStart", EventKind::SubagentStart, REJECTS),
        point("steps/subagentStop", EventKind::SubagentEnd, TOLD),
        point("steps/skillRegister", EventKind::CustomEvent, REJECTS),
        point("steps/skillLoad", EventKind::CustomEvent, REJECTS),
        point("steps/skillUnload", EventKind::CustomEvent, TOLD),
        point("steps/turnEnd", EventKind::CustomEvent, TOLD),
        point("steps/sessionEnd", EventKind::SessionEnd, TOLD),
    ],
    coverage: &[
        Coverage::gated("tool calls", "with `raw_command`"),
        Coverage::gated("results of tools", ""),
        Coverage::gated("prompts and texts of the agent", ""),
        Coverage::gated("sub-agents, compaction and skills", ""),
        Coverage::gated("knowledge and memory", ""),
        Coverage::blind("wrapped MCP messages and the inventory", "`protocols/*` and `agbom/*`"),
    ],
    gaps: &[
        "knowledge and memory are custom events (`acs/steps/…`): rules for prompts and results do not get them",
        "by default an agent continues if its Guardian does not answer; hookhost asks for `deny` in the handshake, and the agent must obey",
        "if no Guardian answers when an agent starts, the agent follows its own startup posture, by default `proceed`",
    ],
};

pub(super) static ADAPTER: Adapter = Adapter {
    neutral,
    unsettled: Some(unsettled),
    encode_all: Some(encode_all),
    ..Adapter::new(&AGENT, decode, encode, fail, install)
};

/// A text of a payload, and the JSON pointer to it.
#[derive(Debug, PartialEq, Eq)]
struct Text {
    pointer: String,
    text: String,
}

/// Returns the texts of `payload.KEY`, which is a string, an object with one text, or a list of parts. In two cases, the text is
/// the JSON of the whole object: if the object has several texts, and if a tool output has no text. In a message, parts without a
/// text, such as images, are skipped.
fn texts(payload: &Value, key: &str) -> Vec<Text> {
    let Some(content) = payload.get(key) else { return Vec::new() };
    let within = |value: &Value, pointer: String| within(value, pointer, key == "outputs");
    let pointer = format!("/{key}");
    match content {
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            parts.filter_map(|(at, part)| within(part, format!("{pointer}/{at}"))).collect()
        }
        other => within(other, pointer).into_iter().collect(),
    }
}

/// Joins the texts, one per line.
fn joined(texts: &[Text]) -> String {
    texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
}

fn within(value: &Value, pointer: String, is_output: bool) -> Option<Text> {
    let found = |pointer: String, value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(Text { pointer, text: text.clone() }),
        other => Some(Text { pointer, text: other.to_string() }),
    };
    let Value::Object(part) = value else { return found(pointer, value) };
    // A media object is replaced completely. If a text replaced only the object's bytes, the agent would read the text as bytes.
    if is_output && is_media(part) {
        return found(pointer, value);
    }
    let mut members = ["value", "content", "text"].into_iter().filter(|member| part.contains_key(*member));
    match (members.next(), members.next()) {
        (Some(member), None) => found(format!("{pointer}/{member}"), &part[member]),
        (None, _) if !is_output => None,
        _ => found(pointer, value),
    }
}

/// Tool name for the call in `raw_command`.
const SHELL: &str = "bash";

fn decode(message: &Message<'_>, fields: &Fields) -> Result<HookCall, Unreadable> {
    let point = message.point.ok_or_else(|| Unreadable::new("its method is not known"))?;
    read(message, fields, point).map_err(|unreadable| unreadable.at(point))
}

fn read(message: &Message<'_>, fields: &Fields, point: &str) -> Result<HookCall, Unreadable> {
    let metadata = fields.within("metadata");
    let mut session = AgentSession::new(Some(metadata.text("session_id")?), message.directory.to_owned());
    // The message does not say if a person is present, so hookhost asks questions through its own queue.
    session.interactive = false;
    let payload = fields.get("payload").cloned().unwrap_or_default();
    let event = event(point, fields, &payload)?;
    let mut call = HookCall::new(point, session, event);
    call.further.extend(shell_command(point, &payload)?);
    Ok(call)
}

fn event(point: &str, fields: &Fields, payload: &Value) -> Result<HookEvent, Unreadable> {
    let inside = fields.within("payload");
    let text = |key: &str| joined(&texts(payload, key));
    Ok(match point {
        "steps/sessionStart" => HookEvent::SessionStart { is_resumed: false },
        "steps/sessionEnd" => HookEvent::SessionEnd,
        "steps/userMessage" => HookEvent::PromptSubmit { prompt: text("content") },
        "steps/agentResponse" => HookEvent::FinalText { text: text("content") },
        "steps/toolCallRequest" => {
            let id = fields.text("request_id")?;
            HookEvent::BeforeToolCall(ToolUse::new(Some(id), tool_name(&inside)?, arguments(payload)?))
        }
        "steps/toolCallResult" => {
            // The message has no arguments, and does not reliably identify its call.
            let call = ToolUse::new(None, tool_name(&inside)?, json!({}));
            let mut result = ToolResult::text(text("outputs"));
            result.is_error = inside.some_text("exit_status").is_some_and(|status| status != "success");
            result.raw = payload.get("outputs").map(Json::from);
            HookEvent::AfterToolCall { call, result }
        }
        "steps/preCompact" => HookEvent::BeforeCompaction,
        "steps/postCompact" => HookEvent::AfterCompaction { summary: text("summary") },
        "steps/subagentStart" => {
            let intent = inside.within("subagent_intent").some_text("raw").unwrap_or_default();
            HookEvent::SubagentStart { id: inside.text("subagent_session_id")?, prompt: intent }
        }
        "steps/subagentStop" => HookEvent::SubagentEnd {
            id: inside.text("subagent_session_id")?,
            text: text("summary"),
            is_continued: false,
        },
        _ => HookEvent::Custom { payload: payload.clone() },
    })
}

fn tool_name(payload: &Fields) -> Result<String, Unreadable> {
    payload.within("tool").text("name").map_err(|_| Unreadable::new("`payload.tool.name` is missing"))
}

/// Returns the arguments without their provenance.
fn arguments(payload: &Value) -> Result<Value, Unreadable> {
    let given = payload.get("arguments").and_then(Value::as_object);
    let given = given.ok_or_else(|| Unreadable::new("`payload.arguments` is not an object"))?;
    let mut arguments = Map::new();
    for (name, argument) in given {
        let value = argument.get("value");
        let value = value.ok_or_else(|| Unreadable::new(format!("`payload.arguments.{name}.value` is missing")))?;
        arguments.insert(name.clone(), value.clone());
    }
    Ok(Value::Object(arguments))
}

/// Turns `raw_command` into a shell event, because shell rules must check the command even if the tool has another name.
fn shell_command(point: &str, payload: &Value) -> Result<Option<FurtherEvent>, Unreadable> {
    let Some(command) = payload.get("raw_command").filter(|_| point == "steps/toolCallRequest") else {
        return Ok(None);
    };
    let command = command.as_str().ok_or_else(|| Unreadable::new("`payload.raw_command` is not a text"))?;
    let is_shell = payload["tool"]["name"].as_str().is_some_and(|name| name.eq_ignore_ascii_case(SHELL));
    let is_said = is_shell && payload["arguments"]["command"]["value"] == command;
    let call = ToolUse::new(None, SHELL, json!({ "command": command }));
    Ok((!is_said).then(|| FurtherEvent::new(point, HookEvent::BeforeToolCall(call))))
}

/// The reason code for an event on which no decision was made.
const NOT_SETTLED: &str = "evaluation_failed";

/// Hook points at which the agent only reports an event and nothing can be refused.
const TOLD_ONLY: &[&str] =
    &["steps/postCompact", "steps/subagentStop", "steps/skillUnload", "steps/turnEnd", "steps/sessionEnd"];

fn encode(call: &HookCall, outcome: &Outcome) -> Reply {
    Reply::json(&decision(call, outcome))
}

/// Encodes the outcomes of a call and of the shell command in it. The message is allowed only if both are allowed. Plugins can
/// change the arguments of the call, but not the shell command.
fn encode_all(call: &HookCall, outcomes: &[Outcome]) -> Reply {
    if outcomes.len() < call.parts().len() {
        return fail(Some(&call.point), "hookhost decided only on a part of this message");
    }
    let decisions = call.parts().into_iter().zip(outcomes).map(|(part, outcome)| decision(&part, outcome));
    let decisions: Vec<Value> = decisions.collect();
    if let Some(denied) = decisions.iter().find(|decision| decision["decision"] == "deny") {
        return Reply::json(denied);
    }
    let mut decisions = decisions.into_iter();
    let first = decisions.next().unwrap_or_default();
    if decisions.any(|decision| decision["decision"] == "modify") {
        let why = "A plugin changed the command of `raw_command`, and no modification reaches it.";
        return Reply::json(&deny(why, "modify_unsupported", &[]));
    }
    Reply::json(&first)
}

fn fail(point: Option<&str>, why: &str) -> Reply {
    Reply::json(&match point {
        Some(point) if TOLD_ONLY.contains(&point) => {
            json!({ "decision": "allow", "reasoning": why, "reason_codes": [NOT_SETTLED] })
        }
        _ => deny(why, NOT_SETTLED, &[]),
    })
}

/// If no plugin has checked a summary, replaces the summary, because a summary can no longer be refused.
fn unsettled(call: &HookCall, why: &str) -> Reply {
    match call.event {
        HookEvent::AfterCompaction { .. } => Reply::json(&replaced(call, why)),
        _ => fail(Some(&call.point), why),
    }
}

fn neutral(_point: Option<&str>) -> Reply {
    Reply::json(&json!({ "decision": "allow" }))
}

fn decision(call: &HookCall, outcome: &Outcome) -> Value {
    match &outcome.answer {
        Answer::Rejected(rejection) => rejected(rejection),
        Answer::Changed { arguments, by } if has_raw_command(call) => {
            // The agent may run `raw_command`, and a changed argument does not change that command.
            deny(&reason::make_this_call(by, arguments), "modify_unsupported", by)
        }
        Answer::Changed { arguments, by } => match overrides(call, arguments) {
            Some(overrides) => modify(by, &json!({ "parameter_overrides": overrides })),
            None => deny("A plugin changed more than the arguments.", "modify_unsupported", by),
        },
        Answer::Replaced(text) => replaced(call, text),
        Answer::ReplacedResult(result) if is_text_kept(call, result) => {
            deny("A plugin changed more than the texts of the outputs.", "modify_unsupported", &[])
        }
        Answer::ReplacedResult(result) => replaced(call, &result.text),
        // No hook point of this agent has the abilities for these answers.
        Answer::Ask { questions, .. } => deny(&reason::asked(questions), "approver_unavailable", &[]),
        Answer::Responded { result, by } => {
            deny(&reason::use_this_result(result), "rejected", std::slice::from_ref(by))
        }
        Answer::Neutral | Answer::Approved { .. } | Answer::GoOn(_) if outcome.notices.is_empty() => {
            json!({ "decision": "allow" })
        }
        Answer::Neutral | Answer::Approved { .. } | Answer::GoOn(_) => {
            json!({ "decision": "allow", "reasoning": outcome.notices.join("\n") })
        }
    }
}

fn rejected(rejection: &Rejection) -> Value {
    let code = match (&rejection.refusal.code, rejection.cause) {
        (Some(code), _) => code.as_str(),
        (None, Cause::Verdict | Cause::Disagreement) => "rejected",
        (None, Cause::NotApproved | Cause::Overridable | Cause::TooManyQuestions) => "not_approved",
        _ => NOT_SETTLED,
    };
    deny(&reason::rejected(rejection), code, &rejection.by)
}

fn deny(why: &str, code: &str, by: &[String]) -> Value {
    let why = if why.trim().is_empty() { "rejected by policy" } else { why };
    let policies: Vec<Value> = by.iter().map(|plugin| json!({ "policy_id": plugin, "rule_id": code })).collect();
    json!({ "decision": "deny", "reasoning": why, "reason_codes": [code], "policy_references": policies })
}

fn modify(by: &[String], modifications: &Value) -> Value {
    let policies: Vec<Value> = by.iter().map(|plugin| json!({ "policy_id": plugin })).collect();
    let by = if by.is_empty() { "A plugin".to_owned() } else { by.join(", ") };
    json!({
        "decision": "modify",
        "reasoning": format!("{by} changed this."),
        "policy_references": policies,
        "modifications": modifications,
    })
}

fn has_raw_command(call: &HookCall) -> bool {
    let raw: Value = serde_json::from_str(&call.raw).unwrap_or_default();
    raw["payload"].get("raw_command").is_some()
}

fn is_text_kept(call: &HookCall, result: &ToolResult) -> bool {
    matches!(&call.event, HookEvent::AfterToolCall { result: before, .. } if before.text == result.text)
}

/// Returns the arguments whose values a plugin changed.
fn overrides(call: &HookCall, arguments: &Value) -> Option<Map<String, Value>> {
    let (HookEvent::BeforeToolCall(tool), Value::Object(after)) = (&call.event, arguments) else { return None };
    let differs = |(name, value): &(&String, &Value)| tool.arguments.get(name) != Some(value);
    Some(after.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Replaces all texts of the payload. `text` replaces the first text, and the other texts become empty.
fn replaced(call: &HookCall, text: &str) -> Value {
    let raw: Value = serde_json::from_str(&call.raw).unwrap_or_default();
    let key = match call.event {
        HookEvent::AfterToolCall { .. } => "outputs",
        HookEvent::AfterCompaction { .. } => "summary",
        _ => "content",
    };
    let texts = texts(&raw["payload"], key);
    if texts.is_empty() {
        return deny("A plugin gave a text where the payload has none.", "modify_unsupported", &[]);
    }
    let texts = texts.iter().enumerate();
    let redactions: Vec<Value> = texts
        .map(|(at, Text { pointer, .. })| json!({ "path": pointer, "replacement": if at == 0 { text } else { "" } }))
        .collect();
    modify(&[], &json!({ "redactions": redactions }))
}

#[expect(clippy::unnecessary_wraps, reason = "the other agents' plans can fail")]
fn install(_context: &Context<'_>) -> Result<Plan, NotInstallable> {
    Ok(Plan::default()
        .step("Put a secret of at least 32 characters into a file that only you can read. Give the agent the same secret.")
        .step("Run `hookhost serve --http ADDRESS --acs-key FILE` at an address that the agent can reach.")
        .step("Give the agent the Guardian's address: `http://ADDRESS/acs`.")
        .step("Configure the agent to refuse an action for which it gets no decision, and not to start without a Guardian. By \
             default it does neither."))
}
