//! Encodes replies in the format of Claude Code, which other agents use as well. A denial is JSON with exit code 0,
//! because with exit code 2 the model would also read the path of the hook. The reply is written only when it is
//! complete, because an agent that gets an incomplete reply runs the call.

use super::decode::point_of;
use super::shaped::{has_shape_of, shaped};
use crate::agent::{Agent, HookPoint};
use crate::hook_call::{HookCall, HookEvent};
use crate::outcome::{Answer, Outcome};
use crate::reason;
use crate::reply::Reply;
use hookhost_contract::{Rejection, Task, ToolResult};
use serde_json::{Map, Value, json};

/// The form that a denial has at a hook point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// `hookSpecificOutput.permissionDecision` with `deny`, `ask` or `allow`.
    Permission,
    /// `hookSpecificOutput.decision`, an object with `behavior`.
    Behavior,
    /// The value at this key of `hookSpecificOutput`. The agent uses the reason in this value in place of the rejected
    /// text.
    Instead(&'static str),
    /// `hookSpecificOutput.updatedToolOutput`. The reason replaces the tool's result, and has the same JSON structure
    /// as the result.
    Result,
    /// `decision: "block"` with a reason. After a tool has run, the reason replaces the tool's result.
    Block,
    /// `continue: false`, which stops the agent before its next action.
    Veto,
}

/// The properties in which the reply formats of the agents that use Claude Code's format differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplyDialect {
    /// Returns the form of a denial at the hook point of this name.
    pub(crate) denial: fn(&str) -> Denial,
    /// True if the agent accepts changed arguments only together with `permissionDecision: "allow"`. Otherwise the
    /// reply has no decision, so that the agent's own permissions apply to the changed call.
    pub(crate) change_needs_allow: bool,
    /// True if the agent understands `decision.interrupt`.
    pub(crate) interrupts: bool,
    /// True if the agent treats a denial without a reason as a failed hook.
    pub(crate) needs_reason: bool,
}

/// Encodes the reply to a call.
pub(crate) fn encode(agent: &Agent, dialect: &ReplyDialect, call: &HookCall, outcome: &Outcome) -> Reply {
    let mut draft = ReplyDraft::new(&call.point);
    let mut context = outcome.context.clone();
    let denial = (dialect.denial)(&call.point);
    match &outcome.answer {
        Answer::Rejected(rejection) => {
            let why = reason::rejected(rejection);
            let has_place = draft.refuse(denial, &why, Some(call), dialect.interrupts && rejection.ends.is_some());
            if !has_place {
                context.insert(0, why);
            }
            if agent.abilities(&call.point).stops && denial != Denial::Behavior {
                draft.end(rejection);
            }
        }
        Answer::Approved { by } => draft.approve(denial, by),
        Answer::Changed { arguments, .. } if denial == Denial::Behavior => {
            draft.specific("decision", json!({ "behavior": "allow", "updatedInput": arguments }));
        }
        Answer::Changed { arguments, .. } => {
            if dialect.change_needs_allow {
                draft.specific("permissionDecision", json!("allow"));
            }
            draft.specific("updatedInput", arguments.clone());
        }
        Answer::Ask { questions, arguments } => {
            draft.decide("ask", &reason::asked(questions));
            if let Some(arguments) = arguments {
                draft.specific("updatedInput", arguments.clone());
            }
        }
        Answer::ReplacedResult(result) => draft.replace_result(denial, result, call),
        Answer::Replaced(text) => draft.replace(denial, text),
        Answer::GoOn(tasks) if !tasks.is_empty() => draft.block(&prompts(tasks)),
        Answer::GoOn(_) | Answer::Responded { .. } | Answer::Neutral => {}
    }
    if !context.is_empty() {
        draft.specific("additionalContext", json!(context.join("\n\n")));
    }
    if !outcome.notices.is_empty() {
        draft.top("systemMessage", json!(outcome.notices.join("\n")));
    }
    draft.finish()
}

/// Encodes the reply to a call on which no decision was made.
pub(crate) fn unsettled(agent: &'static Agent, dialect: &ReplyDialect, call: &HookCall, why: &str) -> Reply {
    refuse(agent, dialect, Some(&call.point), Some(call), why)
}

/// Encodes the reply to a message that could not be read.
pub(crate) fn fail(agent: &'static Agent, dialect: &ReplyDialect, point: Option<&str>, why: &str) -> Reply {
    refuse(agent, dialect, point, None, why)
}

/// Encodes a denial if the agent accepts a denial at the hook point. Otherwise, encodes a notice if the agent shows
/// notices to its user.
fn refuse(
    agent: &'static Agent,
    dialect: &ReplyDialect,
    point: Option<&str>,
    call: Option<&HookCall>,
    why: &str,
) -> Reply {
    let why = nonempty_reason(why);
    match strictest(agent, point) {
        StrictestReply::Deny(point) => {
            let mut draft = ReplyDraft::new(point.name);
            if !draft.refuse((dialect.denial)(point.name), why, call, false) {
                draft.specific("additionalContext", json!(why));
            }
            draft.finish()
        }
        StrictestReply::Notify(point) => {
            let mut draft = ReplyDraft::new(point.name);
            draft.top("systemMessage", json!(why));
            draft.finish()
        }
        StrictestReply::Nothing => Reply::empty(),
        StrictestReply::Unknown => Reply::exit_2(why),
    }
}

/// Returns `denial` if the agent accepts a denial at this hook point, or if the hook point is unknown. Otherwise
/// returns the empty reply. This function is for agents that cannot show a notice to the user.
pub(crate) fn deny_if_possible(agent: &'static Agent, point: Option<&str>, denial: Reply) -> Reply {
    match strictest(agent, point) {
        StrictestReply::Deny(_) | StrictestReply::Unknown => denial,
        StrictestReply::Notify(_) | StrictestReply::Nothing => Reply::empty(),
    }
}

/// Returns true if an agent treats the reply as a denial. With exit code 2, the agent reads only the standard error.
/// The agent uses `hookSpecificOutput` only if that object names the hook point.
pub(crate) fn denies(agent: &Agent, dialect: &ReplyDialect, point: &str, reply: &Reply) -> bool {
    let has_reason = |reason: &str| !dialect.needs_reason || !reason.trim().is_empty();
    if reply.exit == 2 {
        return agent.abilities(point).rejects && has_reason(&reply.stderr);
    }
    let said = reply.json_output();
    let specific = &said["hookSpecificOutput"];
    let is_own = specific["hookEventName"] == point;
    let reason = |value: &Value| has_reason(value.as_str().unwrap_or_default());
    match (dialect.denial)(point) {
        Denial::Permission => {
            is_own && specific["permissionDecision"] == "deny" && reason(&specific["permissionDecisionReason"])
        }
        Denial::Behavior => is_own && specific["decision"]["behavior"] == "deny",
        Denial::Veto => said["continue"] == false,
        _ => said["decision"] == "block" && reason(&said["reason"]) && agent.abilities(point).rejects,
    }
}

/// Joins the tasks into one prompt.
pub(crate) fn prompts(tasks: &[Task]) -> String {
    tasks.iter().map(|task| task.prompt.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Returns a reason that is not empty. Several agents treat an empty reason as a failed hook, and let the call run.
pub(crate) fn nonempty_reason(why: &str) -> &str {
    if why.trim().is_empty() { "hookhost could not decide on this call" } else { why }
}

/// Returns a replacement text that is not empty. The agent would treat an empty text as a missing reason.
pub(crate) fn nonempty_text(text: &str) -> &str {
    if text.trim().is_empty() { "(empty)" } else { text }
}

/// Returns a denial that has both a `decision` and exit code 2, because some agents read only the `decision` and others
/// read only the exit code.
pub(crate) fn deny_twice(reason: &str) -> Reply {
    let reason = nonempty_reason(reason);
    Reply { exit: 2, stderr: reason.to_owned(), ..Reply::json(&json!({ "decision": "deny", "reason": reason })) }
}

/// Returns true if the reply is a denial for an agent that reads `decision` or exit code 2. `word` is the value of `decision` that
/// means a denial.
pub(crate) fn denies_by_decision(agent: &Agent, point: &str, reply: &Reply, word: &str) -> bool {
    agent.abilities(point).rejects && (reply.exit == 2 || reply.json_output()["decision"] == word)
}

/// A reply under construction.
pub(crate) struct ReplyDraft<'a> {
    point: &'a str,
    top: Map<String, Value>,
    specific: Map<String, Value>,
}

impl<'a> ReplyDraft<'a> {
    pub(crate) fn new(point: &'a str) -> Self {
        Self { point, top: Map::new(), specific: Map::new() }
    }

    pub(crate) fn top(&mut self, key: &str, value: Value) {
        self.top.insert(key.to_owned(), value);
    }

    pub(crate) fn specific(&mut self, key: &str, value: Value) {
        self.specific.insert(key.to_owned(), value);
    }

    pub(crate) fn decide(&mut self, decision: &str, reason: &str) {
        self.specific("permissionDecision", json!(decision));
        self.specific("permissionDecisionReason", json!(nonempty_reason(reason)));
    }

    pub(crate) fn block(&mut self, reason: &str) {
        self.top("decision", json!("block"));
        self.top("reason", json!(nonempty_reason(reason)));
    }

    /// Adds a denial with this reason. Returns false if no field of the reply can contain the reason.
    pub(crate) fn refuse(
        &mut self,
        denial: Denial,
        reason: &str,
        call: Option<&HookCall>,
        is_interrupted: bool,
    ) -> bool {
        match denial {
            Denial::Permission => self.decide("deny", reason),
            Denial::Behavior => {
                let mut decision = json!({ "behavior": "deny", "message": nonempty_reason(reason) });
                if is_interrupted {
                    decision["interrupt"] = json!(true);
                }
                self.specific("decision", decision);
            }
            Denial::Instead(key) => self.specific(key, json!(nonempty_reason(reason))),
            Denial::Result => match call.and_then(response) {
                Some(original) => {
                    let (value, has_place) = shaped(&original, nonempty_reason(reason));
                    self.specific("updatedToolOutput", value);
                    return has_place;
                }
                None => {
                    // If the structure of the result is unknown, the agent may ignore the replacement. So the context also tells
                    // the model why it should not use the result. The run continues. Otherwise, anyone who writes a text that a
                    // tool reads could end the run.
                    self.specific("updatedToolOutput", json!(nonempty_reason(reason)));
                    self.specific("additionalContext", json!(nonempty_reason(reason)));
                }
            },
            Denial::Block => self.block(reason),
            Denial::Veto => {
                self.top("continue", json!(false));
                self.top("stopReason", json!(nonempty_reason(reason)));
            }
        }
        true
    }

    pub(crate) fn approve(&mut self, denial: Denial, by: &str) {
        match denial {
            Denial::Permission => self.decide("allow", &format!("approved by {by}")),
            Denial::Behavior => self.specific("decision", json!({ "behavior": "allow" })),
            _ => {}
        }
    }

    /// Adds a replacement for a text.
    pub(crate) fn replace(&mut self, denial: Denial, text: &str) {
        match denial {
            Denial::Instead(key) => self.specific(key, json!(text)),
            Denial::Block => self.block(nonempty_text(text)),
            _ => {}
        }
    }

    /// Adds a replacement for the tool's result. If the new result has the same JSON structure as the original result,
    /// the reply contains the complete new result. Otherwise, the reply contains only the text of the new result.
    pub(crate) fn replace_result(&mut self, denial: Denial, result: &ToolResult, call: &HookCall) {
        if denial != Denial::Result {
            return self.replace(denial, &result.text);
        }
        let original = response(call).unwrap_or(Value::Null);
        let whole: Option<Value> = result.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
        let whole = whole.filter(|whole| has_shape_of(&original, whole));
        let value = whole.unwrap_or_else(|| shaped(&original, nonempty_text(&result.text)).0);
        self.specific("updatedToolOutput", value);
    }

    /// Ends the run, if the rejection requires this. The reply must also have a denial, because with `continue: false`
    /// alone the agent would run the tool first.
    pub(crate) fn end(&mut self, rejection: &Rejection) {
        if rejection.ends.is_some() {
            self.top("continue", json!(false));
            self.top("stopReason", json!(rejection.to_string()));
        }
    }

    pub(crate) fn finish(self) -> Reply {
        let object = self.object();
        if object.is_empty() { Reply::empty() } else { Reply::json(&Value::Object(object)) }
    }

    /// Returns the reply as an object, which is empty if nothing was added.
    pub(crate) fn object(mut self) -> Map<String, Value> {
        if !self.specific.is_empty() {
            self.specific.shift_insert(0, "hookEventName".to_owned(), json!(self.point));
            self.top.insert("hookSpecificOutput".to_owned(), Value::Object(self.specific));
        }
        self.top
    }
}

/// Returns the tool's own result, as the agent sent it.
fn response(call: &HookCall) -> Option<Value> {
    let HookEvent::AfterToolCall { result, .. } = &call.event else { return None };
    serde_json::from_str(result.raw.as_deref()?).ok()
}

/// The strictest reply that an agent understands at a hook point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StrictestReply {
    /// The agent accepts a denial.
    Deny(&'static HookPoint),
    /// The agent does not accept a denial, but it shows a message to its user.
    Notify(&'static HookPoint),
    /// The agent accepts neither a denial nor a message. This variant is also used for an unknown hook point whose name suggests
    /// that the agent stops there. A denial at such a hook point could make the agent run forever.
    Nothing,
    /// The hook point is unknown.
    Unknown,
}

/// Returns the strictest reply at the hook point of this name.
pub(crate) fn strictest(agent: &'static Agent, point: Option<&str>) -> StrictestReply {
    match point.and_then(|name| point_of(agent, name)) {
        Some(known) if known.abilities.rejects => StrictestReply::Deny(known),
        Some(known) if known.abilities.tells_user => StrictestReply::Notify(known),
        Some(_) => StrictestReply::Nothing,
        None if point.is_some_and(is_stop) => StrictestReply::Nothing,
        None => StrictestReply::Unknown,
    }
}

/// Returns true if the name of the hook point suggests that the agent stops there.
fn is_stop(point: &str) -> bool {
    let point = point.to_ascii_lowercase();
    ["stop", "idle", "finish"].iter().any(|word| point.contains(word))
}
