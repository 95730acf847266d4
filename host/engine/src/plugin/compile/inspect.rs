//! Describes a file without running any of its code.

use super::{compile_bounds, compiling::compile_here, outline::outline};
use crate::config::{Digest, Settings};
use crate::plugin::ContractError;
use crate::plugin::contract_check::{PACKAGE, kind_of_file, surface};
use crate::sandbox::capability::{self, OwnCapabilities};
use crate::sandbox::http;
use serde::Serialize;
use std::collections::BTreeSet;

/// The description of a file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Inspection {
    /// SHA-256 of the file.
    #[serde(serialize_with = "as_text")]
    pub digest: Digest,
    /// Size of the file, in bytes.
    pub size: usize,
    /// Full names of the exports.
    pub exports: Vec<String>,
    /// Full names of the imports.
    pub imports: Vec<String>,
    /// The versions of the contract whose interfaces the plugin exports or imports.
    pub contract: Vec<String>,
    /// The events to which the plugin would subscribe.
    pub events: Vec<crate::contract::EventKind>,
    /// True if the plugin accepts a configuration.
    pub configurable: bool,
    /// True if the plugin has tools.
    pub tools: bool,
    /// The grants that the plugin needs, as lines of `[plugin.grants]`.
    pub grants: Vec<String>,
    /// The grants that the plugin does not need in order to load. One of them is `http`, because the runtimes of some
    /// languages import `wasi:http` even if the plugin never uses it; without it, requests are denied. The others are
    /// grants of a plugin that can find out its grants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub optional_grants: Vec<String>,
    /// The reason why the file cannot be loaded, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Describes the bytes of a file. Code of the file is neither compiled nor run. Components for other versions of the
/// contract are described, too.
///
/// # Errors
/// Fails if the file is not a component.
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
        contract: Vec::new(),
        events: Vec::new(),
        configurable: false,
        tools: false,
        grants: Vec::new(),
        optional_grants: Vec::new(),
        problem: None,
    };
    let names = inspection.exports.iter().chain(&inspection.imports);
    let versions = names.filter_map(|name| name.strip_prefix(PACKAGE)?.split_once('@'));
    let versions: BTreeSet<String> = versions.map(|(_, version)| version.to_owned()).collect();
    inspection.contract = versions.into_iter().collect();
    match surface(&engine, &component, &OwnCapabilities::default()) {
        Ok(surface) => {
            inspection.events = surface.subscriptions.keys().copied().collect();
            inspection.configurable = surface.configure.is_some();
            inspection.tools = surface.tools.is_some();
            for capability in surface.capabilities.iter().filter_map(|(name, _)| capability::of_contract(name)) {
                let needed = surface.needs(capability);
                let lines = if needed { &mut inspection.grants } else { &mut inspection.optional_grants };
                lines.extend(capability.line());
            }
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
