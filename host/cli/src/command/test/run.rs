//! Runs cases: each in a session of its own, with an empty store in memory.

use super::case_file::{Case, Step};
use super::facts::{CaseClock, CaseFacts};
use super::outcome::{Actual, CaseOutcome, Mismatch};
use hookhost::audit::{CallRecord, Scope};
use hookhost::config::Config;
use hookhost::contract::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::{Engine, Host, RuleSet, Session};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs cases under one set of rules.
pub(super) struct Runner {
    rules: RuleSet,
    engine: Engine,
}

/// The result of a case.
#[derive(Debug)]
pub(super) struct CaseResult {
    /// The results of the case's events. If an event could not be dispatched, it is the last one.
    pub(super) steps: Vec<StepResult>,
    /// The calls of plugins, each with its event, for the coverage.
    pub(super) calls: Vec<(EventKind, CallRecord)>,
    pub(super) time: Duration,
}

/// The result of one event.
#[derive(Debug)]
pub(super) enum StepResult {
    Compared {
        actual: Box<Actual>,
        mismatches: Vec<Mismatch>,
    },
    /// The event could not be dispatched, for this reason.
    Invalid(String),
}

impl CaseResult {
    pub(super) fn is_passed(&self) -> bool {
        self.steps.iter().all(StepResult::is_passed)
    }

    /// Returns true if all events were dispatched, so that their outcomes are known.
    pub(super) fn is_complete(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step, StepResult::Invalid(_)))
    }
}

impl StepResult {
    pub(super) fn is_passed(&self) -> bool {
        matches!(self, Self::Compared { mismatches, .. } if mismatches.is_empty())
    }
}

impl Runner {
    /// Creates a runner for the rules of `host`.
    pub(super) fn new(host: &Host) -> Self {
        Self { rules: host.rules(), engine: Engine::new() }
    }

    pub(super) async fn run(&self, case: &Case) -> CaseResult {
        let began = Instant::now();
        let mut result = CaseResult { steps: Vec::new(), calls: Vec::new(), time: Duration::ZERO };
        let clock = Arc::new(CaseClock::new());
        match self.session(case, &clock, &mut result.calls).await {
            Ok((_host, session)) => {
                for step in &case.steps {
                    clock.advance(&step.facts);
                    let step = dispatch(&session, step, &mut result.calls).await;
                    let is_over = matches!(step, StepResult::Invalid(_));
                    result.steps.push(step);
                    if is_over {
                        break;
                    }
                }
            }
            Err(why) => result.steps.push(StepResult::Invalid(why)),
        }
        result.time = began.elapsed();
        result
    }

    /// Opens the session of a case. Its host has no other session, so that the state which all sessions share is empty, too.
    async fn session(
        &self,
        case: &Case,
        clock: &Arc<CaseClock>,
        calls: &mut Vec<(EventKind, CallRecord)>,
    ) -> Result<(Host, Session), String> {
        let builder = Host::builder(Config::empty()).without_cache().engine(&self.engine).clock(Arc::clone(clock) as _);
        let host = builder.build().await.map_err(|error| error.to_string())?;
        let session = host.open_session(case.spec().rules(&self.rules)).map_err(|error| error.to_string())?;
        let first = case.steps.first();
        if first.is_none_or(|step| step.event != EventKind::SessionStart) {
            let options = options(first.map_or(&CaseFacts::default(), |step| &step.facts));
            let start = session.dispatch_event(EventKind::SessionStart, json!({}), options).await;
            let started = start.map_err(|error| error.to_string())?;
            calls.extend(started.record.calls.into_iter().map(|call| (EventKind::SessionStart, call)));
        }
        Ok((host, session))
    }
}

/// Returns the options of an event with these facts.
fn options(facts: &CaseFacts) -> DispatchOptions {
    let mut options = DispatchOptions::awaiting_observers();
    options.refuse_unknown_fields = true;
    options.agent.given = Some(facts.given());
    options
}

/// Dispatches an event, and compares its outcome. The host has no approver, so a question stays without an answer.
async fn dispatch(session: &Session, step: &Step, calls: &mut Vec<(EventKind, CallRecord)>) -> StepResult {
    if let Err(why) = prepare(session, step).await {
        return StepResult::Invalid(why);
    }
    let payload = Value::Object(step.payload.clone());
    let settled = match session.dispatch_event(step.event, payload, options(&step.facts)).await {
        Ok(settled) => settled,
        Err(error) => return StepResult::Invalid(format!("this is no payload of {}: {error}", step.event)),
    };
    calls.extend(settled.record.calls.iter().map(|call| (step.event, call.clone())));
    let mut actual = Actual::of(&settled);
    if step.expected.result_contains.is_some() {
        actual.result = Some(run_tool(session, step, &actual).await);
    }
    let state = |plugin: &str, scope: Scope, key: &str| session.plugin_state(plugin, scope, key).ok().flatten();
    let labels = match session.labels() {
        Ok(labels) => labels,
        Err(why) => return StepResult::Invalid(why),
    };
    let mismatches = actual.mismatches(&step.expected, state, &labels);
    StepResult::Compared { actual: Box::new(actual), mismatches }
}

/// Runs the tool of a plugin that a call names. Returns its result, or the reason why it has none.
async fn run_tool(session: &Session, step: &Step, actual: &Actual) -> String {
    if !matches!(actual.outcome, CaseOutcome::Allowed | CaseOutcome::Changed) {
        return format!("the tool did not run, because the call is {}", actual.outcome.name());
    }
    let name = step.payload.get("call").and_then(|call| call["name"].as_str()).unwrap_or_default();
    let (plugin, tool) = name.split_once("__").unwrap_or(("", name));
    match session.plugin_tools().call(plugin, tool, &actual.becomes).await {
        Ok(result) => result.text,
        Err(error) => error.to_string(),
    }
}

/// Gives the session the state and the labels before an event.
async fn prepare(session: &Session, step: &Step) -> Result<(), String> {
    session.add_labels(&step.labels).await?;
    for (plugin, scopes) in &step.before {
        for (scope, values) in scopes {
            for (key, value) in values {
                session.set_plugin_state(plugin, *scope, key, value.stored()).await?;
            }
        }
    }
    Ok(())
}
