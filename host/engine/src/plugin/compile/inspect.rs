//! Looking into a file without running anything of it.

use super::{compile_bounds, compiling::compile_here, outline::outline};
use crate::config::{Digest, Settings};
use crate::plugin::ContractError;
use crate::plugin::contract_check::{kind_of_file, surface};
use crate::sandbox::capability::{self, OwnCapabilities};
use crate::sandbox::http;
use serde::Serialize;

/// The description of a file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Inspection {
    /// SHA-256 of the file.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
    /// Its size in bytes.
    pub size: usize,
    /// Its exports, by their whole names.
    pub exports: Vec<String>,
    /// Its imports, by their whole names.
    pub imports: Vec<String>,
    /// The events that it would subscribe to.
    pub events: Vec<crate::contract::EventKind>,
    /// True if it takes a configuration.
    pub configurable: bool,
    /// True if it brings tools.
    pub tools: bool,
    /// The grants that it needs, as lines of `[plugin.grants]`.
    pub grants: Vec<String>,
    /// The grants without which it loads, and what it asks for by them is denied: `http`, which the
    /// engines of some languages import even if the plugin never uses it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub optional_grants: Vec<String>,
    /// Reason why the file cannot be loaded in its present form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Looks into a file's bytes. Nothing of it runs, and none of its code is compiled; a component of another contract is
/// described, too.
///
/// # Errors
/// If it is not a component.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, ContractError> {
    let engine = wasmtime::Engine::default();
    kind_of_file(bytes)?;
    compile_bounds::check(bytes)?;
    let component = compile_here(&engine, "the outline", &outline(bytes)?, Settings::default().compile_time)?;
    let ty = component.component_type();
    let mut inspection = Inspection {
        digest: Digest::of_bytes(bytes),
        size: bytes.len(),
        exports: ty.exports(&engine).map(|(name, _)| name.to_owned()).collect(),
        imports: ty.imports(&engine).map(|(name, _)| name.to_owned()).collect(),
        events: Vec::new(),
        configurable: false,
        tools: false,
        grants: Vec::new(),
        optional_grants: Vec::new(),
        problem: None,
    };
    match surface(&engine, &component, &OwnCapabilities::default()) {
        Ok(surface) => {
            inspection.events = surface.subscriptions.keys().copied().collect();
            inspection.configurable = surface.configure.is_some();
            inspection.tools = surface.tools.is_some();
            let lines = surface.capabilities.iter().filter_map(|(name, _)| capability::of_contract(name)?.line());
            inspection.grants = lines.collect();
            if surface.http.is_some() {
                inspection.optional_grants.push(http::GRANT.to_owned());
            }
            if inspection.events.contains(&crate::contract::EventKind::AuditRecord) {
                inspection.grants.push("audit = true".into());
            }
        }
        Err(problem) => inspection.problem = Some(problem.to_string()),
    }
    Ok(inspection)
}

fn as_text<S: serde::Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(digest)
}
