//! Checks that a file is a component that fits the contract. The checks examine the first bytes of the file, the
//! imports, and the types of the exports.

use super::tools::{ToolDeclaration, ToolFunctions};
use crate::contract::{EventKind, Session, ToolResult, VERSION};
use crate::event::{self, HandleType};
use crate::sandbox::capability::{Interface, Own, OwnCapabilities, VERSIONS};
use crate::sandbox::{Handle, capability, http, is_base_wasi};
use crate::wire::{In, Out};
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentFunc, ComponentInstance, ComponentItem};

/// The package of the contract.
pub(super) const PACKAGE: &str = "hookhost:hooks/";

/// The reason why a file is not a plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// The file is not WebAssembly.
    #[error("is not WebAssembly: a plugin is a component, built with `cargo build --target wasm32-wasip2`")]
    NotWasm,
    /// The file is a core module.
    #[error("is a core WebAssembly module, not a component: build it with `cargo build --target wasm32-wasip2`")]
    CoreModule,
    /// The file begins like a component, but is not valid.
    #[error("is not a valid component (truncated, or damaged): {0}; build it again, or copy it again")]
    Invalid(String),
    /// The file has another version of the component format.
    #[error(
        "is a component in version {found} of the binary format, and this host reads version 13: {advice}",
        advice = if *found < 13 { "build it again with current tools" } else { "build it with tools of this host's time" }
    )]
    OtherFormat {
        /// The version.
        found: u16,
    },
    /// The component is valid, but uses a part of WebAssembly that plugins cannot use.
    #[error(
        "uses a part of WebAssembly that this host does not give plugins: {0}; build it without that, such as with \
         `cargo build --target wasm32-wasip2` and functions that are not async"
    )]
    Unsupported(String),
    /// The component is valid, but cannot be compiled.
    #[error("is a valid component, but cannot be compiled: {0}")]
    NotCompiled(String),
    /// The component exceeds the bounds for all plugins, or the limits of this plugin.
    #[error("is not loaded, since it {0}")]
    TooLarge(String),
    /// Compiling takes too much processor time.
    #[error(
        "is not loaded, since it takes more than {0:?} of processor time to compile (settings.compile-time){why}",
        why = unoptimised()
    )]
    TooSlow(std::time::Duration),
    /// The compilation did not end within this wall time, because the machine was busy.
    #[error(
        "is not loaded, since it is not compiled after {0:?}: the machine is busy with other things, or \
         settings.compile-time is too short{why}",
        why = unoptimised()
    )]
    StillCompiling(std::time::Duration),
    /// The component exports no interface of the contract.
    #[error("exports no event of {PACKAGE}*@{VERSION}: the plugin would never be called (it exports {found})")]
    NoEvent {
        /// The exports.
        found: String,
    },
    /// The component exports an interface of the contract that this host does not know.
    #[error("exports `{export}`, which this host does not know: {hint}")]
    UnknownExport {
        /// The export.
        export: String,
        /// The most similar known name, or the existing versions.
        hint: String,
    },
    /// The component exports an interface of the contract, but its type differs from the contract.
    #[error("exports `{export}` with another type than the contract {VERSION}: {difference}")]
    OtherType {
        /// The export and its function.
        export: String,
        /// The expected and the found type.
        difference: String,
    },
    /// The component imports interfaces that plugins do not get. The list contains each of these imports with a remedy.
    #[error("imports {}", in_words(.0))]
    UnknownImports(Vec<(String, String)>),
    /// The component imports an interface of the contract or of WASI, but its type differs from this host's.
    #[error("imports an interface with another type than this host's: {0}")]
    ImportType(String),
}

/// Returns the unavailable imports as text, grouped by their remedies.
fn in_words(imports: &[(String, String)]) -> String {
    const SHOWN: usize = 12;
    let mut groups: Vec<(Vec<String>, &str)> = Vec::new();
    for (import, hint) in imports.iter().take(SHOWN) {
        let import = format!("`{import}`");
        match groups.iter_mut().find(|(_, known)| known == hint) {
            Some((group, _)) => group.push(import),
            None => groups.push((vec![import], hint)),
        }
    }
    let groups =
        groups.into_iter().map(|(group, hint)| format!("{}, which no plugin is given: {hint}", group.join(", ")));
    let mut text = groups.collect::<Vec<_>>().join("; and ");
    if let Some(more) = imports.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// Returns the likely cause of a long compilation, which is a host that was built without optimisation.
fn unoptimised() -> &'static str {
    if cfg!(debug_assertions) {
        "; this host was built without optimisation: one built with `cargo build --release` may be quicker"
    } else {
        ""
    }
}

/// The exported and imported interfaces of the contract.
#[derive(Default)]
pub(super) struct Surface {
    pub(super) subscriptions: BTreeMap<EventKind, Handle>,
    pub(super) configure: Option<Handle>,
    pub(super) tools: Option<ToolFunctions>,
    /// The imported capabilities of the contract, except `types`. Each has its bare name and the full name of the
    /// import.
    pub(super) capabilities: Vec<(String, String)>,
    /// True if the component imports the agent's original message.
    pub(super) wants_raw: bool,
    /// The imported capabilities of the embedding program.
    pub(super) own: Vec<Own>,
    /// An import of `wasi:http`, if there is one. Without the grant `http`, all requests are denied.
    pub(super) http: Option<String>,
}

impl Surface {
    /// Returns true if the component needs the grant of this capability to be loaded.
    pub(super) fn needs(&self, capability: &dyn Interface) -> bool {
        let knows_grants = self.capabilities.iter().any(|(name, _)| name == capability::GRANTS);
        !(knows_grants && capability.can_be_optional())
    }
}

/// Checks that a file begins like a component.
///
/// # Errors
/// Returns a description of the file if it does not begin like a component.
pub(super) fn kind_of_file(bytes: &[u8]) -> Result<(), ContractError> {
    const MAGIC: &[u8] = b"\0asm";
    // A core module has version 1. A component has version 0xd and layer 1.
    match bytes.get(4..8) {
        _ if !bytes.starts_with(MAGIC) => Err(ContractError::NotWasm),
        Some([1, 0, 0, 0]) => Err(ContractError::CoreModule),
        Some([0x0d, 0, 1, 0]) => Ok(()),
        Some(&[low, high, 1, 0]) => Err(ContractError::OtherFormat { found: u16::from_le_bytes([low, high]) }),
        Some(_) => Err(ContractError::Invalid("an unknown version of the binary format".into())),
        None => Err(ContractError::Invalid("it ends within its header".into())),
    }
}

/// Compiles a component.
///
/// # Errors
/// Fails if the component is not valid.
#[cfg(feature = "compile")]
pub(super) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, ContractError> {
    Component::from_binary(engine, bytes).map_err(|error| {
        let text = one_line(&error);
        // The errors for a component that is too large for the pool of instances. wasmtime has no error types for them,
        // so they are recognised by their texts, and a test checks each text.
        let rooms = [
            ("core module instances, which exceeds", "core instances", "instances"),
            ("tables, which exceeds", "tables", "tables"),
            ("tables count of", "tables", "tables"),
            ("table index", "elements of tables", "table-elements"),
            ("memory has a minimum byte size", "memory", "memory"),
        ];
        match rooms.iter().find(|(known_by, ..)| text.contains(known_by)) {
            Some((_, of, key)) => ContractError::TooLarge(format!(
                "has more {of} than limits.{key} allows; if it is meant to, raise `{key}` under [plugin.limits] of its entry \
                 (with `hookhost allow`: --entry 'limits.{key} = …'): {text}"
            )),
            None if text.contains("memories") && text.contains("exceeds") => {
                ContractError::TooLarge(format!("has more memories than a plugin may have: {text}"))
            }
            // The validator has already accepted the component. So a parse error means that the component uses a
            // feature that this engine does not support.
            None => match text.strip_prefix("failed to parse WebAssembly module: ") {
                Some(why) => ContractError::Unsupported(why.to_owned()),
                None => ContractError::NotCompiled(text),
            },
        }
    })
}

/// Returns the component's exports and imports that belong to the contract, and checks the types of the exports.
///
/// # Errors
/// Fails if the component exports or imports an interface that the contract does not have, or if the type of an export
/// differs from the contract.
pub(super) fn surface(engine: &Engine, component: &Component, own: &OwnCapabilities) -> Result<Surface, ContractError> {
    let mut surface = Surface::default();
    let ty = component.component_type();
    let mut unknown = Vec::new();
    for (import, item) in ty.imports(engine) {
        if let Some(imported) = interface(import, &VERSIONS) {
            match imported {
                Err(version) => unknown.push((import.to_owned(), other_version(version))),
                Ok(("types", VERSION)) => {}
                Ok((capability, version)) if version_of(capability) != Some(version) => {
                    unknown.push((import.to_owned(), elsewhere(version_of(capability))));
                }
                Ok((capability, _)) => {
                    if let ("event", ComponentItem::ComponentInstance(instance)) = (capability, &item.ty) {
                        surface.wants_raw = instance.get_export(engine, "raw").is_some();
                    }
                    surface.capabilities.push((capability.to_owned(), import.to_owned()));
                }
            }
        } else if let (Some(capability), ComponentItem::ComponentInstance(instance)) =
            (own.of_interface(import), &item.ty)
        {
            let functions = instance.exports(engine).filter_map(|(name, item)| match item.ty {
                ComponentItem::ComponentFunc(_) => Some(name.to_owned()),
                _ => None,
            });
            let (name, functions) = (Arc::clone(&capability.name), functions.collect());
            surface.own.push(Own { name, interface: import.to_owned(), functions });
        } else if let Some(hint) = not_given(import) {
            unknown.push((import.to_owned(), hint));
        } else if http::is_http(import) {
            surface.http.get_or_insert_with(|| import.to_owned());
        }
    }
    if !unknown.is_empty() {
        return Err(ContractError::UnknownImports(unknown));
    }
    let types = ty.instance_type();
    let mut others = Vec::new();
    for (export, item) in ty.exports(engine) {
        let exported = interface(export, &[VERSION]);
        let (Some(interface), ComponentItem::ComponentInstance(instance)) = (exported, item.ty) else {
            others.push(export.to_owned());
            continue;
        };
        let (interface, _) = interface.map_err(|version| ContractError::UnknownExport {
            export: export.to_owned(),
            hint: other_version(version),
        })?;
        let check = Check { engine, component, export, instance: &instance };
        if let Some(kind) = EventKind::from_name(interface) {
            let handle =
                check.function("handle", |function| event::typecheck(kind, &HandleType { function, types: &types }))?;
            surface.subscriptions.insert(kind, handle);
        } else if interface == "setup" {
            let typed = |function: &ComponentFunc| function.typecheck::<(String,), (Result<(), String>,)>(&types);
            surface.configure = Some(check.function("configure", typed)?);
        } else if interface == "tools" {
            let list = check.function("list", |function| function.typecheck::<(), (Vec<ToolDeclaration>,)>(&types))?;
            let call = check.function("call", |function| {
                function.typecheck::<(In<'_, Session>, &str, &str), (Out<ToolResult>,)>(&types)
            })?;
            surface.tools = Some(ToolFunctions { list, call });
        } else {
            return Err(ContractError::UnknownExport { export: export.to_owned(), hint: nearest(interface) });
        }
    }
    if surface.subscriptions.is_empty() && surface.tools.is_none() {
        let found = if others.is_empty() { "nothing".into() } else { others.join(", ") };
        return Err(ContractError::NoEvent { found });
    }
    Ok(surface)
}

/// Returns the version of the contract that has the capability of this name.
fn version_of(capability: &str) -> Option<&'static str> {
    capability::of_contract(capability).map(Interface::version)
}

/// Returns the remedy for a capability that the version of the import does not have. `version` is the version that has
/// the capability.
fn elsewhere(version: Option<&str>) -> String {
    match version {
        Some(version) => format!("version {version} of the contract has this capability: import it from there"),
        None => "this host has no such capability; it may be of a newer contract, and needs a newer host".to_owned(),
    }
}

/// Returns the remedy for an interface of another version of the contract.
fn other_version(version: &str) -> String {
    let spoken = VERSIONS.join(" and ");
    match version {
        "" => format!("it names no version of the contract, and this host speaks {spoken}: add `@{VERSION}`"),
        _ => format!(
            "it is of version `{version}` of the contract, and this host speaks {spoken}: build it for that version, or use a \
             host that speaks its own"
        ),
    }
}

/// Returns the remedy for an import from outside of the contract, or `None` if the import is available.
fn not_given(import: &str) -> Option<String> {
    let is_http = import.starts_with("wasi:http/");
    if !is_base_wasi(import) && !is_http {
        return Some(
            "plugins get base WASI, hookhost:hooks/*, and the interfaces that the program around the host brings"
                .to_owned(),
        );
    }
    let version = import.split_once('@').map_or("", |(_, version)| version);
    if version != "0.2" && !version.starts_with("0.2.") {
        let named = if version.is_empty() { "no version".to_owned() } else { format!("version {version}") };
        return Some(format!("it names {named} of WASI, and plugins get WASI 0.2: build it for `wasm32-wasip2`"));
    }
    let hint = match is_http {
        true if cfg!(not(feature = "http")) => {
            "this program was built without the feature `http` of hookhost: build it with the feature, or the plugin without \
             requests"
        }
        true if !http::is_http(import) => "of wasi:http, plugins get outgoing-handler and types",
        _ => return None,
    };
    Some(hint.to_owned())
}

struct Check<'a> {
    engine: &'a Engine,
    component: &'a Component,
    export: &'a str,
    instance: &'a ComponentInstance,
}

impl Check<'_> {
    /// Finds a function of the exported interface and compares its type.
    fn function(
        &self,
        name: &str,
        typed: impl FnOnce(&ComponentFunc) -> wasmtime::Result<()>,
    ) -> Result<Handle, ContractError> {
        let other = |difference: String| ContractError::OtherType {
            export: format!("{}.{name}", self.export.split('@').next().unwrap_or(self.export)),
            difference,
        };
        let item = self.instance.get_export(self.engine, name);
        let Some(ComponentItem::ComponentFunc(function)) = item.map(|item| item.ty) else {
            return Err(other("the function is missing".into()));
        };
        typed(&function).map_err(|error| other(one_line(&error)))?;
        let interface = self.component.get_export_index(None, self.export);
        interface
            .and_then(|interface| self.component.get_export_index(Some(&interface), name))
            .ok_or_else(|| other("the function is missing".into()))
    }
}

/// Returns the bare name of an interface of the contract, and the spoken version with which it is compatible:
/// `before-tool-call` and `0.1.0` for `hookhost:hooks/before-tool-call@0.1.0`. Returns `Err` with the version if it is
/// compatible with none of the spoken versions, and `None` for an interface of another package.
pub(super) fn interface<'a>(
    name: &'a str,
    spoken: &[&'static str],
) -> Option<Result<(&'a str, &'static str), &'a str>> {
    let name = name.strip_prefix(PACKAGE)?;
    let (bare, version) = name.split_once('@').unwrap_or((name, ""));
    // In 0.x, a new minor version may be incompatible.
    let line = |version: &'static str| version.rsplit_once('.').map_or(version, |(line, _)| line);
    let is_compatible =
        |spoken: &&&'static str| version.strip_prefix(line(spoken)).is_some_and(|patch| patch.starts_with('.'));
    Some(spoken.iter().find(is_compatible).map(|spoken| (bare, *spoken)).ok_or(version))
}

fn nearest(interface: &str) -> String {
    let known = EventKind::ALL.iter().map(|event| event.name()).chain(["setup", "tools"]);
    match known.map(|name| (strsim::damerau_levenshtein(interface, name), name)).min() {
        Some((distance, name)) if distance <= 3 => format!("did you mean `{name}`?"),
        _ => format!("it may be of a newer contract than {VERSION}"),
    }
}

fn one_line(error: &wasmtime::Error) -> String {
    error.chain().map(|cause| cause.to_string().replace('\n', " ")).collect::<Vec<_>>().join(": ")
}
