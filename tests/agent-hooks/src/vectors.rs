//! Where the vectors are, and which of them are about what is declared.

use agent_hooks::ctk_engine::{VectorResult, should_skip};
use agent_hooks::{CompositionConfig, CompositionProfile, OnApproval};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::PathBuf;

/// The variable that names the directory of the specification.
pub const VARIABLE: &str = "HOOKHOST_AGENT_HOOKS";

/// Where the vectors are published.
pub const PUBLISHED: &str = "https://github.com/responsibleai/agent-hooks";

/// The capabilities of both directions. Not `bigint_json`, since serde_json rounds integers beyond 64 bits, and not
/// `incremental_output`: an answer that plugins look at is held back until all of it has passed.
const CAPABILITIES: &[&str] = &["model_calls", "tool_calls", "int64_json"];

/// The vectors, by name; `None` where there are none.
///
/// # Errors
/// If the directory has vectors that cannot be read.
pub fn load() -> Result<Option<Vec<Value>>> {
    let named = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/agent-hooks");
    let directory = named.unwrap_or_else(beside).join("conformance/vectors");
    if !directory.is_dir() {
        return Ok(None);
    }
    let vectors = agent_hooks::ctk::load_vectors(&directory);
    vectors.map(Some).with_context(|| format!("cannot read the vectors in {}", directory.display()))
}

/// What a vector needs that the agent loop does not declare.
pub(crate) fn not_of_the_loop(vector: &Value) -> Option<String> {
    let composition = composition(vector);
    let interceptors = scripts(vector).len();
    let consults = vector["approval_script"].as_array().is_some_and(|rules| !rules.is_empty());
    if let Some(capability) = undeclared(vector) {
        return Some(capability);
    }
    if composition.profile != CompositionProfile::SequentialFirstDeny {
        return Some(composition.profile.as_str().to_owned());
    }
    if composition.on_approval == Some(OnApproval::Stop) && consults && interceptors > 1 {
        return Some("sequential/first_deny with on_approval = stop".to_owned());
    }
    (interceptors == 0 && is_evaluated_only(vector)).then(|| "evaluate_only without an interceptor".to_owned())
}

/// What a vector needs that a chain, as an interceptor, does not declare.
pub(crate) fn not_of_the_chain(vector: &Value) -> Option<String> {
    undeclared(vector).or_else(|| {
        let expected = vector["expect"]["records"].as_array().into_iter().flatten();
        let mut reasons = expected.filter_map(|record| record["assert"]["verdict.reason"].as_str());
        let fails = reasons.any(|reason| reason == "host_error:transform_invalid");
        let by_script = fails && vector["approval_script"].as_array().is_none_or(Vec::is_empty);
        by_script.then(|| "a change of what is not there".to_owned())
    })
}

fn undeclared(vector: &Value) -> Option<String> {
    should_skip(vector, CAPABILITIES)?;
    let needed = vector["capabilities"].as_array().into_iter().flatten().filter_map(Value::as_str);
    Some(needed.filter(|name| !CAPABILITIES.contains(name)).collect::<Vec<_>>().join(", "))
}

/// A vector that is about something undeclared.
pub(crate) fn skipped(vector: &Value, why: String) -> VectorResult {
    let text = |key: &str| vector[key].as_str().unwrap_or_default().to_owned();
    let (id, title, part) = (text("id"), text("title"), text("part"));
    VectorResult { id, title, part, status: "skip", detail: why, failures: Vec::new() }
}

/// The rules of each interceptor.
pub(crate) fn scripts(vector: &Value) -> Vec<Value> {
    match vector["interceptor_scripts"].as_array() {
        Some(scripts) => scripts.clone(),
        None => vec![vector["interceptor_script"].clone()],
    }
}

/// The composition that a vector is about, with the values of its knobs.
pub(crate) fn composition(vector: &Value) -> CompositionConfig {
    let written = serde_json::from_value::<CompositionConfig>(vector["composition"].clone());
    written.unwrap_or_default().with_knob_defaults()
}

pub(crate) fn is_evaluated_only(vector: &Value) -> bool {
    vector["mode"] == "evaluate_only"
}

/// The identity provider's name, or `none`.
pub(crate) fn identity_provider(vector: &Value) -> &str {
    match vector.get("identity_provider") {
        Some(Value::Null) => "none",
        Some(name) => name.as_str().unwrap_or_default(),
        None => agent_hooks::JCS_SHA256,
    }
}
