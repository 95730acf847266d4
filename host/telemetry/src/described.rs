//! The description of a record for other programs: names, words and numbers. It contains no text of a user, an agent or a tool
//! unless the content is wanted.

use crate::names::*;
use crate::sink::Entry;
use crate::tally::{RuleName, TRIAL_AGENT, deciding_rules, is_proof};
use hookhost::audit::{CallRecord, DeliveryKind, EventRecord, OperatorActionKind, Record};
use hookhost::config::{CodeId, Digest};
use hookhost::contract::{AnswerKind, Cause, OutcomeKind, Shape};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// How serious a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Debug,
    Info,
    Warn,
    Error,
}

/// What is sent about a record.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    /// The name of the log record.
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    /// Time, in milliseconds since the Unix epoch.
    pub(crate) time: u64,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    /// The sentence of the decision, if the content is wanted.
    pub(crate) body: Option<String>,
}

/// The parts of a payload that are sent.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Payload<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    call: Option<Call<'a>>,
    tool_result: Option<ToolResult>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct ToolResult {
    text: Option<String>,
    is_error: bool,
}

/// The tool call that an event is about.
#[derive(Default)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    arguments: Option<String>,
    result: Option<String>,
    pub(crate) is_error: bool,
}

impl ToolCall {
    /// Returns the tool call of an event, if it is about one.
    pub(crate) fn of(event: &EventRecord) -> Option<Self> {
        let payload: Payload<'_> = serde_json::from_str(event.original.get()).ok()?;
        let last = event.last.as_deref().unwrap_or(&event.original);
        let last: Payload<'_> = serde_json::from_str(last.get()).unwrap_or_default();
        let result = last.tool_result.or(payload.tool_result);
        let is_error = result.as_ref().is_some_and(|result| result.is_error);
        let result = result.and_then(|result| result.text);
        let arguments = last.arguments.or(payload.arguments).map(|arguments| arguments.get().to_owned());
        let call = match (payload.call, payload.id, payload.name) {
            (Some(call), _, _) => {
                let arguments = call.arguments.map(|arguments| arguments.get().to_owned());
                Self { id: call.id, name: call.name, arguments, result, is_error }
            }
            (None, Some(id), Some(name)) => Self { id, name, arguments, result, is_error },
            _ => return None,
        };
        (!call.name.is_empty()).then_some(call)
    }
}

/// Identifies this machine and its log for other programs. A new log is another machine to them, because its numbers begin again.
pub(crate) fn machine_id(log: &Digest) -> String {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [b"hookhost".as_slice(), machine.trim().as_bytes(), log.as_bytes()] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.update(rustix::process::getuid().as_raw().to_be_bytes());
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the identifier of a session as the agent itself writes it: without the name of the agent, and of a sub-agent only its own.
pub(crate) fn conversation<'a>(session: &'a str, agent: &str) -> &'a str {
    let Some(own) = session.strip_prefix(agent).and_then(|rest| rest.strip_prefix(':')) else { return session };
    own.rsplit(':').next().unwrap_or(own)
}

/// Returns the identifier that Claude Code gives to everything that follows from one prompt.
pub(crate) fn prompt_id(event: &EventRecord) -> Option<String> {
    #[derive(Deserialize)]
    struct Raw {
        prompt_id: String,
    }
    Some(serde_json::from_str::<Raw>(event.raw.as_deref()?).ok()?.prompt_id)
}

/// Returns the kind of a rejection in one word.
pub(crate) fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Verdict => "verdict",
        Cause::Failed(_) => "failed",
        Cause::Disagreement => "disagreement",
        Cause::NotApproved => "not-approved",
        Cause::Overridable => "overridable",
        Cause::TooManyQuestions => "too-many-questions",
        Cause::NotRecorded => "not-recorded",
        Cause::Ended => "ended",
        Cause::NoRuntime => "no-runtime",
        Cause::Invalid => "invalid",
        Cause::NoPlugin => "no-plugin",
        _ => "_OTHER",
    }
}

/// Returns the word for a value that is a word in JSON.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => "_OTHER".to_owned(),
    }
}

/// Returns the identity of code as text.
pub(crate) fn code(code: &CodeId) -> String {
    match code {
        CodeId::Component(digest) => digest.to_string(),
        CodeId::Native { version, .. } => version.to_string(),
        _ => "_OTHER".to_owned(),
    }
}

/// Returns true if a record belongs to a trial of a person, not to the work of an agent.
pub(crate) fn is_trial(record: &Record, agent: &str) -> bool {
    agent == TRIAL_AGENT || record.session().is_some_and(is_proof)
}

impl Described {
    /// Describes a record. `machine` is the [`machine_id`]. Arguments, results and reasons are in it only if `has_content`.
    pub(crate) fn of(entry: &Entry, machine: &str, has_content: bool) -> Self {
        let record = &entry.record;
        let mut attributes: Vec<(&'static str, Value)> =
            vec![(MACHINE_ID, machine.into()), (SEQ, entry.line.seq().into()), (RECORD, record.kind().into())];
        if let Some(session) = record.session() {
            attributes.push((SESSION, session.into()));
            attributes.push((CONVERSATION_ID, conversation(session, &entry.agent).into()));
            attributes.push((AGENT_NAME, entry.agent.as_str().into()));
        }
        if is_trial(record, &entry.agent) {
            attributes.push((TRIAL, true.into()));
        }
        let mut described =
            Self { name: LOG_LOG, severity: Severity::Info, time: record.time(), attributes, body: None };
        described.add(entry, has_content);
        described
    }

    fn push(&mut self, name: &'static str, value: impl Into<Value>) {
        self.attributes.push((name, value.into()));
    }

    fn add(&mut self, entry: &Entry, has_content: bool) {
        (self.name, self.severity) = match &entry.record {
            Record::Event(event) => {
                self.add_event(event, &entry.agent, has_content);
                let is_judged = matches!(event.event.shape(), Shape::Gate | Shape::Transform);
                let severity = match event.outcome {
                    OutcomeKind::Rejected | OutcomeKind::Withheld
                        if !matches!(event.cause, Some(Cause::Verdict | Cause::NotApproved | Cause::Overridable)) =>
                    {
                        Severity::Error
                    }
                    OutcomeKind::Rejected | OutcomeKind::Withheld | OutcomeKind::Escalated => Severity::Warn,
                    _ => Severity::Info,
                };
                (if is_judged { GUARDRAIL_RESULT } else { LOG_EVENT }, severity)
            }
            Record::Approval(answer) => {
                self.push(EVENT, answer.event.name());
                self.push(EVENT_ID, answer.id.as_str());
                self.push(APPROVAL_ID, answer.id.as_str());
                if let Some(call) = &answer.call {
                    self.push(TOOL_CALL_ID, call.as_str());
                }
                self.push(ANSWER, word(&answer.answer.kind));
                if let Some(via) = &answer.answer.via {
                    self.push(ANSWER_VIA, via.as_str());
                }
                if has_content {
                    if let Some(by) = &answer.answer.by {
                        self.push(ANSWER_BY, by.as_str());
                    }
                    self.body.clone_from(&answer.answer.reason);
                }
                let is_yes = matches!(answer.answer.kind, AnswerKind::Approved | AnswerKind::HandedOver);
                (LOG_APPROVAL, if is_yes { Severity::Info } else { Severity::Warn })
            }
            Record::Delivery(delivery) => {
                self.push(COVERAGE, delivery.what.name());
                if let Some(id) = &delivery.id {
                    self.push(EVENT_ID, id.as_str());
                }
                self.body = Some(delivery.note.clone());
                let is_repeated = delivery.what == DeliveryKind::Repeated;
                (LOG_DELIVERY, if is_repeated { Severity::Info } else { Severity::Warn })
            }
            Record::Operator(action) => {
                self.push(OPERATION, action.action.name());
                let loosens = matches!(
                    action.action,
                    OperatorActionKind::Off
                        | OperatorActionKind::Pause
                        | OperatorActionKind::RuleOff
                        | OperatorActionKind::RuleRemove
                        | OperatorActionKind::LabelRemove
                );
                (LOG_OPERATOR, if loosens { Severity::Warn } else { Severity::Info })
            }
            Record::RulesChanged(_) => {
                self.push(OPERATION, "rules-changed");
                (LOG_OPERATOR, Severity::Info)
            }
            Record::Dropped(_) => (LOG_DROPPED, Severity::Warn),
            Record::Session(_) | Record::SessionEnded(_) => (LOG_SESSION, Severity::Info),
            Record::Observed(observed) => {
                self.push(EVENT, observed.event.name());
                self.push(EVENT_ID, observed.id.as_str());
                (LOG_OBSERVED, Severity::Debug)
            }
            Record::ToolRun(run) => {
                self.push(TOOL_NAME, run.tool.as_str());
                self.push(EVENT_ID, run.id.as_str());
                (LOG_TOOL_RUN, Severity::Debug)
            }
            _ => (LOG_LOG, Severity::Debug),
        };
    }

    fn add_event(&mut self, event: &EventRecord, agent: &str, has_content: bool) {
        self.push(EVENT, event.event.name());
        self.push(EVENT_ID, event.id.as_str());
        self.push(APPLIED, word(&event.enforcement));
        if let Some(id) = prompt_id(event) {
            self.push(PROMPT_ID, id);
        }
        let call = ToolCall::of(event);
        if let Some(call) = &call {
            self.push(TOOL_NAME, call.name.as_str());
            if !call.id.is_empty() {
                self.push(TOOL_CALL_ID, call.id.as_str());
            }
        }
        if let Some(cause) = event.cause {
            self.push(CAUSE, cause_word(cause));
        }
        if matches!(event.event.shape(), Shape::Gate | Shape::Transform) {
            self.push(GUARDRAIL_COMPONENT, "hookhost");
            self.push(GUARDRAIL_SOURCE, agent);
            self.push(GUARDRAIL_TYPE, "verdict");
            self.push(GUARDRAIL_VALUE, event.outcome.name());
            let rules = deciding_rules(event);
            let reason = rules.first().and_then(|rule| rule.code.clone());
            let reason = reason.or_else(|| event.cause.map(|cause| cause_word(cause).to_owned()));
            if let Some(reason) = reason {
                self.push(GUARDRAIL_REASON, reason);
            }
            if let Some(RuleName { by, code: rule }) = rules.first() {
                self.push(GUARDRAIL_POLICY, by.as_str());
                let is_by = |call: &&CallRecord| call.plugin == *by;
                if let Some(call) = event.calls.iter().find(is_by) {
                    self.push(GUARDRAIL_VERSION, code(&call.code));
                }
                if let Some(rule) = rule {
                    self.push(GUARDRAIL_RULE, rule.as_str());
                }
            }
        }
        if has_content {
            self.body.clone_from(&event.reason);
            if let Some(arguments) = call.as_ref().and_then(|call| call.arguments.as_deref()) {
                self.push(TOOL_CALL_ARGUMENTS, arguments);
            }
            if let Some(result) = call.as_ref().and_then(|call| call.result.as_deref()) {
                self.push(TOOL_CALL_RESULT, result);
            }
        }
    }
}
