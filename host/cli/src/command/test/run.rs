//! Runs cases: each in a session of its own, with an empty store in memory.

use super::case_file::{Case, States, Step};
use super::outcome::{Actual, Mismatch};
use hookhost::audit::{CallRecord, EventRecord, Scope};
use hookhost::config::Config;
use hookhost::contract::EventKind;
use hookhost::session::DispatchOptions;
use hookhost::{Engine, Host, RuleSet, Session};
use serde_json::Value;
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
        match self.session(case, &mut result.calls).await {
            Ok((_host, session)) => {
                for step in &case.steps {
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
    async fn session(&self, case: &Case, calls: &mut Vec<(EventKind, CallRecord)>) -> Result<(Host, Session), String> {
        let host = Host::builder(Config::empty()).without_cache().engine(&self.engine).build().await;
        let host = host.map_err(|error| error.to_string())?;
        let session = host.open_session(case.spec().rules(&self.rules)).map_err(|error| error.to_string())?;
        if case.steps.first().is_none_or(|step| step.event != EventKind::SessionStart) {
            let started = session.session_start().await;
            calls.extend(started.record.calls.into_iter().map(|call| (EventKind::SessionStart, call)));
        }
        Ok((host, session))
    }
}

/// Dispatches an event, and compares its outcome. The host has no approver, so a question stays without an answer.
async fn dispatch(session: &Session, step: &Step, calls: &mut Vec<(EventKind, CallRecord)>) -> StepResult {
    if let Err(why) = prepare(session, &step.before).await {
        return StepResult::Invalid(why);
    }
    let mut options = DispatchOptions::awaiting_observers();
    options.refuse_unknown_fields = true;
    let payload = Value::Object(step.payload.clone());
    let record: EventRecord = match session.dispatch_event(step.event, payload, options).await {
        Ok(settled) => *settled.record,
        Err(error) => return StepResult::Invalid(format!("this is no payload of {}: {error}", step.event)),
    };
    calls.extend(record.calls.iter().map(|call| (step.event, call.clone())));
    let actual = Actual::of(&record);
    let state = |plugin: &str, scope: Scope, key: &str| session.plugin_state(plugin, scope, key).ok().flatten();
    let mismatches = actual.mismatches(&step.expected, state);
    StepResult::Compared { actual: Box::new(actual), mismatches }
}

async fn prepare(session: &Session, states: &States) -> Result<(), String> {
    for (plugin, scopes) in states {
        for (scope, values) in scopes {
            for (key, value) in values {
                session.set_plugin_state(plugin, *scope, key, value.stored()).await?;
            }
        }
    }
    Ok(())
}
