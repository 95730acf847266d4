//! Asks the script about one context, and converts the script's verdict to an answer.

use crate::Script;
use crate::bindings::agent_hooks::kit::emission as host;
use agent_hooks::ctk_engine::scripted_intercept;
use agent_hooks::{
    AgentContext, AgentContextBuilder, Decision, HostError, JCS_SHA256, Verdict, apply_transform_to_ctx,
    context_identity, verdict_from_wire,
};
use hookhost_guest::effects::{self, Finding, Severity};
use hookhost_guest::prelude::{Refusal, Session};
use serde_json::{Value, json};

/// The answer of the plugin, before it becomes the event's own verdict.
pub(crate) enum Answer {
    Allow,
    Deny(Refusal),
    /// A deny that a person may lift.
    Ask(Refusal),
    /// The value of this context replaces the event's value.
    Change(AgentContext),
}

/// Asks the script about a context.
pub(crate) fn emit(session: &Session, build: impl FnOnce(&mut AgentContextBuilder) -> AgentContext) -> Answer {
    let script = Script::of_this_plugin();
    let event = hookhost_guest::event::id();
    let mut context = build(&mut AgentContextBuilder::new(&session.agent, "hookhost", &session.id));
    context.insert("sequence".into(), json!(host::sequence(&event)));
    if let Err(refusal) = identify(&context, &script.identity) {
        return Answer::Deny(refusal);
    }
    let given = Value::Object(context.clone());
    host::given(&event, &given.to_string());
    let mut wire = scripted_intercept(&script.rules, &given);
    match wire.get("__ctk_fault__").and_then(Value::as_str) {
        Some("mutate") => {
            // This changes only the plugin's own copy, which is dropped with the instance.
            context.insert("target".into(), json!("changed in place"));
            wire = json!({ "decision": "allow", "reason": "ctk:mutated" });
        }
        Some(fault) => panic!("the script has the interceptor {fault}"),
        None => {}
    }
    let Ok(verdict) = verdict_from_wire(&wire) else { return Answer::Deny(failed(HostError::VerdictInvalid, "")) };
    note(&verdict);
    match (verdict.decision, verdict.transform) {
        (Decision::Deny, _) => {
            let reason = verdict.reason.unwrap_or_default();
            let text = verdict.message.map_or_else(|| reason.clone(), |message| format!("{reason}: {message}"));
            let refusal = Refusal::new(text).code(reason);
            if verdict.approval.is_some() { Answer::Ask(refusal) } else { Answer::Deny(refusal) }
        }
        (Decision::Transform, Some(transform)) => {
            if let Err(error) = apply_transform_to_ctx(&mut context, &transform) {
                return Answer::Deny(failed(error, &transform.path));
            }
            if let Err(refusal) = identify(&context, &script.identity) {
                return Answer::Deny(refusal);
            }
            host::changed(&event, &Value::Object(context.clone()).to_string());
            Answer::Change(context)
        }
        _ => Answer::Allow,
    }
}

/// Reports the other parts of a verdict as findings, because an answer of the contract can contain only the decision.
fn note(verdict: &Verdict) {
    let report = |severity, action: &str, code: Option<&String>, text: Option<&String>| {
        let code = code.map_or(action, String::as_str);
        effects::report(&Finding::new(code, severity, text.map_or("", String::as_str)).action(action));
    };
    if verdict.decision != Decision::Deny && verdict.reason.is_some() {
        report(Severity::Info, "reason", verdict.reason.as_ref(), verdict.message.as_ref());
    }
    for warning in &verdict.warnings {
        report(Severity::Warning, "warning", warning.reason.as_ref(), warning.message.as_ref());
    }
    for label in &verdict.result_labels {
        report(Severity::Info, "label", Some(label), None);
    }
    if let Some(transform) = &verdict.transform {
        report(Severity::Info, "transform", Some(&transform.path), None);
    }
}

/// Computes the context's identity. Returns a refusal if the identity provider fails.
fn identify(context: &AgentContext, provider: &str) -> Result<(), Refusal> {
    match provider {
        "none" => Ok(()),
        JCS_SHA256 => context_identity(context).map(|_| ()).map_err(|(error, why)| failed(error, &why)),
        other => Err(failed(HostError::ContextInvalid, &format!("the identity provider {other} fails"))),
    }
}

fn failed(error: HostError, why: &str) -> Refusal {
    Refusal::new(format!("{error} {why}").trim_end()).code(error.to_string())
}
