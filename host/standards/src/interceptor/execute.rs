//! Runs several interceptors in order. Requests are changed first and then checked; responses are checked first and then changed.

use super::exposed::{Kind, Phase};
use super::{Fault, Intercepted, Interceptors, TIMEOUT, TOO_LATE};
use serde_json::{Map, Value, json};
use std::time::Instant;

impl Interceptors {
    /// Runs all interceptors for a message, or only those that the request names.
    pub(super) async fn execute(&self, params: &Map<String, Value>) -> Result<Value, Fault> {
        let mut message = Intercepted::of(params)?;
        let named = self.named(params, &message)?;
        let began = Instant::now();
        let (event, phase) = (message.event.clone(), message.phase);
        let mut done = Done::default();
        let order = match phase {
            Phase::Request => [Kind::Mutation, Kind::Validation],
            Phase::Response => [Kind::Validation, Kind::Mutation],
        };
        for kind in order {
            for index in self.in_order(kind, &event, phase) {
                if named.as_ref().is_some_and(|named| !named.contains(&index)) {
                    continue;
                }
                self.one(index, &mut message, &mut done).await;
                if done.aborted.is_some() && (kind == Kind::Mutation || done.status() == TIMEOUT) {
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

    /// Returns the interceptors that a request names, each checked to be for this message; `None` if it names none and means all.
    fn named(&self, params: &Map<String, Value>, message: &Intercepted) -> Result<Option<Vec<usize>>, Fault> {
        let names = match params.get("interceptors") {
            None | Some(Value::Null) => return Ok(None),
            // A client that sends an empty list does not mean an empty chain.
            Some(Value::Array(names)) if names.is_empty() => return Ok(None),
            Some(Value::Array(names)) => names,
            Some(_) => return Err(Fault::new(-32602, "`interceptors` is not a list of names")),
        };
        let of = |name: &Value| {
            let found = self.exposed.iter().position(|exposed| name.as_str() == Some(&exposed.name));
            let found = found.ok_or_else(|| Fault::no_such(name))?;
            self.check_hook(found, message).map(|()| found)
        };
        names.iter().map(of).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the interceptors of a kind for this message, sorted by name, since all of ours have the same priority.
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
                // After the time limit of the whole chain nothing passes, even if this interceptor fails open.
                if fault.code == TOO_LATE {
                    done.abort(&exposed.name, TIMEOUT, &fault.message);
                } else if (fault.is_verdict || !exposed.fail_open) && !exposed.audit {
                    done.abort(&exposed.name, exposed.kind.name(), &fault.message);
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
                    done.abort(&exposed.name, Kind::Validation.name(), &why);
                }
                Kind::Mutation if result["modified"] == true => message.payload = result["payload"].clone(),
                _ => {}
            }
        }
        done.results.push(result);
    }
}

/// The results of a chain so far.
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

    /// Aborts the chain. Only the first call has an effect.
    fn abort(&mut self, name: &str, kind: &str, why: &str) {
        self.aborted.get_or_insert_with(|| json!({ "interceptor": name, "reason": why, "type": kind }));
    }

    fn status(&self) -> &'static str {
        match self.aborted.as_ref().map(|aborted| &aborted["type"]) {
            None => "success",
            Some(kind) if kind == TIMEOUT => TIMEOUT,
            Some(kind) if kind == "validation" => "validation_failed",
            Some(_) => "mutation_failed",
        }
    }
}
