//! Several interceptors in order: what is sent is changed and then checked, what is received is checked and then changed.

use super::exposed::{Kind, Phase};
use super::{Fault, Intercepted, Interceptors};
use serde_json::{Map, Value, json};
use std::time::Instant;

impl Interceptors {
    /// Runs all interceptors that are for a message.
    pub(super) async fn execute(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let mut message = Intercepted::of(params)?;
        let began = Instant::now();
        let (event, phase) = (message.event.clone(), message.phase);
        let mut done = Done::default();
        let order = match phase {
            Phase::Request => [Kind::Mutation, Kind::Validation],
            Phase::Response => [Kind::Validation, Kind::Mutation],
        };
        for kind in order {
            for index in self.in_order(kind, &event, phase) {
                self.one(index, &mut message, &mut done).await;
                if kind == Kind::Mutation && done.aborted.is_some() {
                    break;
                }
            }
            if done.aborted.is_some() {
                break;
            }
        }
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut result = json!({
            "status": done.status(),
            "event": event,
            "phase": phase.name(),
            "results": done.results,
            "validationSummary": { "errors": done.errors, "warnings": done.warnings, "infos": done.infos },
            "totalDurationMs": millis,
        });
        match done.aborted {
            Some(aborted) => result["abortedAt"] = aborted,
            None => result["finalPayload"] = message.payload,
        }
        Ok(result)
    }

    /// Mutators by name, as all of ours have the same priority.
    fn in_order(&self, kind: Kind, event: &str, phase: Phase) -> Vec<usize> {
        let fits = |index: &usize| {
            let exposed = &self.exposed[*index];
            exposed.kind == kind && exposed.hooks(event) && exposed.phases.contains(&phase)
        };
        let mut order: Vec<usize> = (0..self.exposed.len()).filter(fits).collect();
        order.sort_by(|one, other| self.exposed[*one].name.cmp(&self.exposed[*other].name));
        order
    }

    async fn one(&self, index: usize, message: &mut Intercepted, done: &mut Done) {
        let exposed = &self.exposed[index];
        let mut result = match self.run(index, message).await {
            Ok(result) => result,
            Err(fault) => {
                done.results.push(json!({
                    "interceptor": exposed.name, "type": exposed.kind.name(), "phase": message.phase.name(),
                    "error": fault.to_error(),
                }));
                if (fault.is_verdict || !exposed.fail_open) && !exposed.audit {
                    done.abort(&exposed.name, exposed.kind, &fault.message);
                }
                return;
            }
        };
        if exposed.audit {
            result["mode"] = json!("audit");
        }
        done.count(&result);
        if !exposed.audit {
            match exposed.kind {
                Kind::Validation if result["valid"] != true => {
                    let why = result["messages"][0]["message"].as_str().unwrap_or_default().to_owned();
                    done.abort(&exposed.name, Kind::Validation, &why);
                }
                Kind::Mutation if result["modified"] == true => message.payload = result["payload"].clone(),
                _ => {}
            }
        }
        done.results.push(result);
    }
}

/// What a chain has come to so far.
#[derive(Default)]
struct Done {
    results: Vec<Value>,
    errors: u32,
    warnings: u32,
    infos: u32,
    aborted: Option<Value>,
}

impl Done {
    fn count(&mut self, result: &Value) {
        match result["severity"].as_str() {
            Some("error") => self.errors += 1,
            Some("warn") => self.warnings += 1,
            Some("info") => self.infos += 1,
            _ => {}
        }
    }

    /// The first to abort counts.
    fn abort(&mut self, name: &str, kind: Kind, why: &str) {
        self.aborted.get_or_insert_with(|| json!({ "interceptor": name, "reason": why, "type": kind.name() }));
    }

    fn status(&self) -> &'static str {
        match self.aborted.as_ref().map(|aborted| &aborted["type"]) {
            None => "success",
            Some(kind) if kind == "validation" => "validation_failed",
            Some(_) => "mutation_failed",
        }
    }
}
