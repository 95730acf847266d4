//! Runs several interceptors in order. A request is changed first and then checked. A response is checked first and
//! then changed.

use super::named::{InterceptorKind, Phase};
use super::{InterceptedMessage, Interceptors, RpcError, TIMEOUT, TIMEOUT_CODE};
use serde_json::{Map, Value, json};
use std::time::Instant;

impl Interceptors {
    /// Runs the interceptors for a message. If the request names interceptors, only the named interceptors run.
    pub(super) async fn execute(&self, params: &Map<String, Value>) -> Result<Value, RpcError> {
        let mut message = InterceptedMessage::of(params)?;
        let named = self.named(params, &message)?;
        let began = Instant::now();
        let (event, phase) = (message.event.clone(), message.phase);
        let mut chain = ChainResult::default();
        let order = match phase {
            Phase::Request => [InterceptorKind::Mutation, InterceptorKind::Validation],
            Phase::Response => [InterceptorKind::Validation, InterceptorKind::Mutation],
        };
        for kind in order {
            for index in self.in_order(kind, &event, phase) {
                if named.as_ref().is_some_and(|named| !named.contains(&index)) {
                    continue;
                }
                self.run_in_chain(index, &mut message, &mut chain).await;
                if chain.aborted.is_some() && (kind == InterceptorKind::Mutation || chain.status() == TIMEOUT) {
                    break;
                }
            }
            if chain.aborted.is_some() {
                break;
            }
        }
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut result = json!({
            "status": chain.status(),
            "event": event,
            "phase": phase.name(),
            "results": chain.results,
            "validationSummary": { "errors": chain.errors, "warnings": chain.warnings, "infos": chain.infos },
            "totalDurationMs": millis,
        });
        match chain.aborted {
            Some(aborted) => result["abortedAt"] = aborted,
            None => result["finalPayload"] = message.payload,
        }
        Ok(result)
    }

    /// Returns the interceptors that a request names, after a check that each of them handles this message. Returns
    /// `None` if the request names no interceptors, which means that all interceptors run.
    fn named(&self, params: &Map<String, Value>, message: &InterceptedMessage) -> Result<Option<Vec<usize>>, RpcError> {
        let names = match params.get("interceptors") {
            None | Some(Value::Null) => return Ok(None),
            // An empty list is treated like a missing list, because no client wants an empty chain.
            Some(Value::Array(names)) if names.is_empty() => return Ok(None),
            Some(Value::Array(names)) => names,
            Some(_) => return Err(RpcError::new(-32602, "`interceptors` is not a list of names")),
        };
        let of = |name: &Value| {
            let found = self.interceptors.iter().position(|interceptor| name.as_str() == Some(&interceptor.name));
            let found = found.ok_or_else(|| RpcError::no_such(name))?;
            self.check_hook(found, message).map(|()| found)
        };
        names.iter().map(of).collect::<Result<_, _>>().map(Some)
    }

    /// Returns the interceptors of a kind for this message, sorted by name, because all interceptors here have the same
    /// priority.
    fn in_order(&self, kind: InterceptorKind, event: &str, phase: Phase) -> Vec<usize> {
        let fits = |index: &usize| {
            let interceptor = &self.interceptors[*index];
            interceptor.kind == kind && interceptor.hooks(event) && interceptor.phases.contains(&phase)
        };
        let mut order: Vec<usize> = (0..self.interceptors.len()).filter(fits).collect();
        order.sort_by(|one, other| self.interceptors[*one].name.cmp(&self.interceptors[*other].name));
        order
    }

    async fn run_in_chain(&self, index: usize, message: &mut InterceptedMessage, chain: &mut ChainResult) {
        let interceptor = &self.interceptors[index];
        let mut result = match self.run(index, message).await {
            Ok(result) => result,
            Err(error) => {
                chain.results.push(json!({
                    "interceptor": interceptor.name, "type": interceptor.kind.name(), "phase": message.phase.name(),
                    "error": error.to_error(),
                }));
                // After the time limit of the whole chain, the message does not pass, even if this interceptor fails
                // open.
                if error.code == TIMEOUT_CODE {
                    chain.abort(&interceptor.name, TIMEOUT, &error.message);
                } else if (error.is_verdict || !interceptor.fail_open) && !interceptor.audit {
                    chain.abort(&interceptor.name, interceptor.kind.name(), &error.message);
                }
                return;
            }
        };
        if interceptor.audit {
            result["mode"] = json!("audit");
        }
        chain.count(&result);
        if !interceptor.audit {
            match interceptor.kind {
                InterceptorKind::Validation if result["valid"] != true => {
                    let why = result["messages"][0]["message"].as_str().unwrap_or_default().to_owned();
                    chain.abort(&interceptor.name, InterceptorKind::Validation.name(), &why);
                }
                InterceptorKind::Mutation if result["modified"] == true => message.payload = result["payload"].clone(),
                _ => {}
            }
        }
        chain.results.push(result);
    }
}

/// The results of those interceptors of a chain that have already run.
#[derive(Default)]
struct ChainResult {
    results: Vec<Value>,
    errors: u32,
    warnings: u32,
    infos: u32,
    aborted: Option<Value>,
}

impl ChainResult {
    fn count(&mut self, result: &Value) {
        match result["severity"].as_str() {
            Some("error") => self.errors += 1,
            Some("warn") => self.warnings += 1,
            Some("info") => self.infos += 1,
            _ => {}
        }
    }

    /// Aborts the chain. If the chain is already aborted, the call has no effect.
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
