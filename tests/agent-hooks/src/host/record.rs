//! Interception records, made of the audit log: what the loop recorded is what is compared.

use super::resolver::Resolver;
use crate::emissions::{Emission, Emissions};
use crate::plugin;
use agent_hooks::ctk_engine::IdentityPair;
use agent_hooks::{JCS_SHA256, context_identity};
use hookhost::audit::{CallRecord, EventRecord, Record};
use hookhost::config::Mode;
use hookhost::contract::{Cause, EventKind, FailureKind, OutcomeKind};
use serde_json::{Map, Value, json};

/// Longest message of a record, in bytes.
const MAX_MESSAGE: usize = 256;

/// What a run has left behind.
pub(super) struct Observed<'a> {
    pub(super) log: &'a [Record],
    pub(super) emissions: &'a Emissions,
    pub(super) resolver: Option<&'a Resolver>,
    pub(super) identity: &'a str,
    pub(super) mode: Mode,
}

/// A verdict as the record of an emission has it, and where it comes from.
#[derive(Default)]
struct Combined {
    decision: &'static str,
    reason: Option<String>,
    message: Option<String>,
    is_liftable: bool,
    decided_by: Option<usize>,
    resolved_by: Option<&'static str>,
}

impl Observed<'_> {
    /// A record for each emission, in order, and the identities in it.
    pub(super) fn records(&self, registered: usize) -> (Vec<IdentityPair>, Vec<Value>) {
        let of = |emission: &Emission| self.record(emission, registered);
        self.emissions.all().iter().filter_map(of).unzip()
    }

    fn record(&self, emission: &Emission, registered: usize) -> Option<(IdentityPair, Value)> {
        let event = self.log.iter().find_map(|record| match record {
            Record::Event(event) if event.id == emission.event => Some(event),
            _ => None,
        })?;
        let calls = self.calls(event);
        let combined = if self.mode == Mode::Observe { evaluated(&calls) } else { self.combined(event, &calls) };
        let proceeds = self.mode == Mode::Observe || combined.decision != "deny";
        let identities = self.identities(emission, &combined);
        let asked = |place: usize| calls.iter().any(|call| call.plugin == plugin::name(place));
        let verdicts: Vec<Value> = (0..registered).filter_map(|place| summary(place, &calls)).collect();
        let mut record = json!({
            "interception_point": point(event.event)?,
            "mode": if self.mode == Mode::Observe { "evaluate_only" } else { "enforce" },
            "verdict": verdict(&combined, &calls, proceeds),
            "input_identity": identities.input_identity,
            "enforced_identity": identities.enforced_identity,
            "identity_provider": Some(self.identity).filter(|name| *name != "none"),
            "session_id": event.header.session,
            "sequence": emission.first().map_or(json!(-1), |context| context["sequence"].clone()),
            "decided_by": combined.decided_by,
            "composition": { "profile": "sequential/first_deny", "on_approval": "resume" },
            "verdicts": verdicts,
            "fold_truncated": !(0..registered).all(asked),
            "interceptors_registered": registered,
        });
        if let Some(first) = emission.first() {
            record["timestamp"] = first["timestamp"].clone();
        }
        if let Some(resolved_by) = combined.resolved_by {
            record["resolved_by"] = json!(resolved_by);
        }
        Some((identities, record))
    }

    /// The calls of plugins about an event, those of observers included.
    fn calls<'a>(&'a self, event: &'a EventRecord) -> Vec<&'a CallRecord> {
        let later = self.log.iter().filter_map(|record| match record {
            Record::Observed(observed) if observed.id == event.id => Some(&observed.calls),
            _ => None,
        });
        event.calls.iter().chain(later.flatten()).collect()
    }

    /// The outcome of an event as a verdict.
    fn combined(&self, event: &EventRecord, calls: &[&CallRecord]) -> Combined {
        let by = event.by.first().and_then(|name| plugin::place(name));
        match event.outcome {
            OutcomeKind::Rejected | OutcomeKind::Withheld => rejected(event, calls, by),
            OutcomeKind::Escalated => self.escalated(event, by),
            _ if event.changed_by.is_empty() => Combined { decision: "allow", ..Combined::default() },
            _ => {
                let decided_by = event.changed_by.last().and_then(|name| plugin::place(name));
                Combined { decision: "transform", decided_by, ..Combined::default() }
            }
        }
    }

    fn escalated(&self, event: &EventRecord, by: Option<usize>) -> Combined {
        let is_no = self.log.iter().any(
            |record| matches!(record, Record::Approval(answer) if answer.id == event.id && answer.outcome.is_no()),
        );
        let asked = event.questions.first().map(|question| question.escalation.code.clone().unwrap_or_default());
        let Some(resolution) = self.resolver.and_then(|resolver| resolver.about(&event.id)) else {
            return Combined {
                decision: "deny",
                reason: asked,
                is_liftable: true,
                decided_by: by,
                ..Combined::default()
            };
        };
        let resolved_by = Some(if resolution.permitted { "approval" } else { "rejection" });
        if is_no {
            return Combined {
                decision: "deny",
                reason: resolution.reason,
                decided_by: by,
                resolved_by,
                ..Combined::default()
            };
        }
        let decision = if event.changed_by.is_empty() { "allow" } else { "transform" };
        Combined { decision, decided_by: by, resolved_by, ..Combined::default() }
    }

    fn identities(&self, emission: &Emission, combined: &Combined) -> IdentityPair {
        let identity = |context: Option<&Value>| {
            let context = context?.as_object().filter(|_| self.identity == JCS_SHA256)?;
            context_identity(context).ok()
        };
        let input_identity = identity(emission.first());
        let invalid = combined.reason.as_deref() == Some("host_error:context_invalid");
        let enforced_identity = match self.mode {
            Mode::Observe => input_identity.clone(),
            _ if invalid => None,
            _ => identity(emission.last()),
        };
        IdentityPair { input_identity, enforced_identity }
    }
}

/// The interception point that an event is.
fn point(event: EventKind) -> Option<&'static str> {
    Some(match event {
        EventKind::ProviderResolve => "agent_startup",
        EventKind::TaskStart => "input",
        EventKind::RequestSend => "pre_model_call",
        EventKind::ResponseReceive => "post_model_call",
        EventKind::BeforeToolCall => "pre_tool_call",
        EventKind::AfterToolCall => "post_tool_call",
        EventKind::FinalizeContent => "output",
        EventKind::SessionEnd => "agent_shutdown",
        _ => return None,
    })
}

fn rejected(event: &EventRecord, calls: &[&CallRecord], by: Option<usize>) -> Combined {
    let refusing = calls.iter().rev().find(|call| event.by.contains(&call.plugin));
    let answer = refusing.map(|call| Answer::of(call)).unwrap_or_default();
    let reason = match event.cause {
        Some(Cause::Failed(kind)) => host_error(kind).to_owned(),
        _ => answer.reason.unwrap_or_default(),
    };
    // Only a failure to answer is the interceptor's own.
    let is_hosts = reason.starts_with("host_error:context") || reason.starts_with("host_error:transform");
    let decided_by = by.filter(|_| !is_hosts);
    Combined { decision: "deny", reason: Some(reason), message: answer.message, decided_by, ..Combined::default() }
}

fn host_error(kind: FailureKind) -> &'static str {
    match kind {
        kind if kind.is_timeout() => "host_error:interceptor_timeout",
        FailureKind::InvalidAnswer => "host_error:verdict_invalid",
        _ => "host_error:interceptor_failed",
    }
}

/// What the answers of plugins in audit mode come to.
fn evaluated(calls: &[&CallRecord]) -> Combined {
    let answers = || calls.iter().map(|call| (Answer::of(call), plugin::place(&call.plugin)));
    let first = answers().find(|(answer, _)| answer.decision == "deny");
    let decisive = first.or_else(|| answers().rfind(|(answer, _)| answer.decision == "transform"));
    match decisive {
        Some((Answer { decision, reason, message }, decided_by)) => {
            Combined { decision, reason, message, decided_by, ..Combined::default() }
        }
        None => Combined { decision: "allow", ..Combined::default() },
    }
}

/// One plugin's answer.
#[derive(Default)]
struct Answer {
    decision: &'static str,
    reason: Option<String>,
    message: Option<String>,
}

impl Answer {
    fn of(call: &CallRecord) -> Self {
        if let Some(failure) = &call.failure {
            return Self { decision: "deny", reason: Some(host_error(failure.kind).to_owned()), message: None };
        }
        let verdict = call.verdict.as_ref().and_then(|verdict| serde_json::from_str(verdict.get()).ok());
        let verdict: Value = verdict.unwrap_or_default();
        let refusal = verdict.get("reject").or_else(|| verdict.get("escalate"));
        if let Some(refusal) = refusal {
            let text = |key: &str| refusal[key].as_str().map(str::to_owned);
            return Self { decision: "deny", reason: text("code").or_else(|| text("reason")), message: None };
        }
        let noted = noted(call, "reason").next();
        let (reason, message) = noted.map_or((None, None), |(code, text)| (Some(code), Some(text)));
        Self { decision: if verdict.is_object() { "transform" } else { "allow" }, reason, message }
    }
}

/// What a call has noted beside its verdict, by kind: code and text.
fn noted<'a>(call: &'a CallRecord, kind: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    let of_kind = call.findings.iter().filter(move |finding| finding.action == kind);
    of_kind.map(|finding| (finding.code.clone(), finding.explanation.clone()))
}

fn summary(place: usize, calls: &[&CallRecord]) -> Option<Value> {
    let name = plugin::name(place);
    let answer = Answer::of(calls.iter().rev().find(|call| call.plugin == name)?);
    let mut summary = json!({ "index": place, "decision": answer.decision, "name": name });
    if let Some(reason) = answer.reason {
        summary["reason"] = json!(reason);
    }
    Some(summary)
}

/// The verdict of a record, without what it would put in place of the target.
fn verdict(combined: &Combined, calls: &[&CallRecord], proceeds: bool) -> Value {
    let mut verdict = Map::new();
    verdict.insert("decision".into(), json!(combined.decision));
    let last_noted = |kind| calls.iter().rev().find_map(|call| noted(call, kind).next());
    let noted_reason = last_noted("reason").filter(|_| combined.decision != "deny");
    if let Some(reason) = combined.reason.clone().or(noted_reason.as_ref().map(|(code, _)| code.clone())) {
        verdict.insert("reason".into(), json!(reason));
    }
    let message = combined.message.clone().or(noted_reason.map(|(_, text)| text));
    if let Some(message) = message.filter(|message| !message.is_empty()) {
        verdict.insert("message".into(), json!(bounded(&message)));
    }
    if combined.is_liftable {
        verdict.insert("approval".into(), json!({}));
    }
    if combined.decision == "transform"
        && let Some((path, _)) = last_noted("transform")
    {
        verdict.insert("transform".into(), json!({ "path": path }));
    }
    let mut warnings: Vec<Value> = Vec::new();
    for (reason, message) in calls.iter().flat_map(|call| noted(call, "warning")) {
        let warning = json!({ "reason": reason, "message": bounded(&message) });
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    if !warnings.is_empty() {
        verdict.insert("warnings".into(), json!(warnings));
    }
    let mut labels: Vec<String> = Vec::new();
    for (label, _) in calls.iter().flat_map(|call| noted(call, "label")) {
        if proceeds && !labels.contains(&label) {
            labels.push(label);
        }
    }
    if !labels.is_empty() {
        verdict.insert("result_labels".into(), json!(labels));
    }
    Value::Object(verdict)
}

fn bounded(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    format!("{}…", &message[..message.floor_char_boundary(MAX_MESSAGE)])
}
