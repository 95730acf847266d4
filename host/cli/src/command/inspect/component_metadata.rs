//! Reads the custom sections in which a component describes itself, and the size of the stack of its main module.

use crate::output::truncate::cut;
use hookhost::config::OnFailure;
use serde::Serialize;
use std::collections::BTreeMap;
use wasmparser::{
    ConstExpr, CustomSectionReader, DataKind, Encoding, KnownCustom, Operator, Parser, Payload, TypeRef, ValType,
};

/// The data that a component contains about itself. Parts that cannot be read are absent.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::command) struct Metadata {
    /// The component's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Names and versions for the keys `language`, `processed-by` and `sdk`, from the section `producers` of WebAssembly's tool
    /// conventions.
    producers: BTreeMap<String, Vec<String>>,
    /// The text of each of the keys `authors`, `description`, `licenses`, `source`, `homepage`, `revision` and `version`.
    annotations: BTreeMap<String, String>,
    /// The priority that the component proposes for its allowlist entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    /// The error in the proposed priority, if the priority is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    priority_problem: Option<String>,
    /// The value of `on-failure` that the component proposes for its entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_failure: Option<OnFailure>,
    /// The error in the proposed value of `on-failure`, if the value is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    on_failure_problem: Option<String>,
    /// Size of the main module's stack, in bytes.
    pub(super) stack: Option<usize>,
}

/// Names of the custom sections that contain one text each, in the form that `wasm-tools metadata add` writes.
const ANNOTATIONS: [&str; 7] = ["authors", DESCRIPTION, "licenses", "source", "homepage", "revision", "version"];

/// Name of the section with one sentence about the component.
const DESCRIPTION: &str = "description";

/// Names of the custom sections that propose a value for a key of the entry. The text of such a section is the value. The section can be in
/// the component itself or in one of its modules.
const PRIORITY: &str = "hookhost:priority";
const ON_FAILURE: &str = "hookhost:on-failure";

/// Maximum number of characters that are shown of a proposal or a tool's name (`SHOWN`) and of a row (`ROW`).
const SHOWN: usize = 40;
const ROW: usize = 500;

impl Metadata {
    pub(in crate::command) fn of(bytes: &[u8]) -> Self {
        let mut metadata = Self::default();
        // The modules and components that are being read, outermost first.
        let mut open: Vec<Option<Module>> = Vec::new();
        let mut modules: Vec<Module> = Vec::new();
        for payload in Parser::new(0).parse_all(bytes) {
            let Ok(payload) = payload else { break };
            match payload {
                Payload::Version { encoding, .. } => {
                    open.push((encoding == Encoding::Module).then(Module::default));
                }
                Payload::End(_) => modules.extend(open.pop().flatten()),
                Payload::CustomSection(section) if section.name() == PRIORITY && open.len() <= 2 => {
                    let range = format!("a whole number from {} to {}", i32::MIN, i32::MAX);
                    let Self { priority, priority_problem, .. } = &mut metadata;
                    propose(&section, priority, priority_problem, |text| text.parse().ok(), &range);
                }
                Payload::CustomSection(section) if section.name() == ON_FAILURE && open.len() <= 2 => {
                    // `allow` is not a valid proposal, because a plugin must not decide that its own failures are ignored.
                    let words = [OnFailure::Ask, OnFailure::Reject];
                    let read = |text: &str| words.into_iter().find(|word| word.name() == text);
                    let Self { on_failure, on_failure_problem, .. } = &mut metadata;
                    propose(&section, on_failure, on_failure_problem, read, "`ask` or `reject`");
                }
                Payload::CustomSection(section) if open.len() <= 1 => metadata.custom(&section),
                // The SDK writes the description into the module that it compiles. The component's own description outranks it.
                Payload::CustomSection(section) if section.name() == DESCRIPTION && open.len() == 2 => {
                    metadata.annotations.entry(DESCRIPTION.to_owned()).or_insert_with(|| text_of(&section));
                }
                other => {
                    if let Some(Some(module)) = open.last_mut() {
                        module.read(other);
                    }
                }
            }
        }
        // A component can contain adapter modules. The largest module is the module that was compiled from the author's code.
        let main = modules.into_iter().filter(|module| module.has_memory).max_by_key(|module| module.code);
        metadata.stack = main.and_then(|module| module.stack());
        metadata
    }

    /// Returns the priority that the component proposes, if any.
    ///
    /// # Errors
    /// The error in the proposal.
    pub(in crate::command) fn priority(&self) -> Result<Option<i32>, &str> {
        self.priority_problem.as_deref().map_or(Ok(self.priority), Err)
    }

    /// Returns the value of `on-failure` that the component proposes, if any.
    ///
    /// # Errors
    /// The error in the proposal.
    pub(in crate::command) fn on_failure(&self) -> Result<Option<OnFailure>, &str> {
        self.on_failure_problem.as_deref().map_or(Ok(self.on_failure), Err)
    }

    /// Returns what the component says about itself.
    pub(in crate::command) fn description(&self) -> Option<&str> {
        self.annotations.get(DESCRIPTION).map(String::as_str)
    }

    fn custom(&mut self, section: &CustomSectionReader<'_>) {
        match section.as_known() {
            KnownCustom::ComponentName(names) => {
                for name in names.into_iter().flatten() {
                    if let wasmparser::ComponentName::Component { name, .. } = name {
                        self.name = Some(name.to_owned());
                    }
                }
            }
            KnownCustom::Producers(fields) => {
                for field in fields.into_iter().flatten() {
                    let values = field.values.into_iter().flatten();
                    let values = values.map(|value| format!("{} {}", value.name, value.version).trim().to_owned());
                    self.producers.entry(field.name.to_owned()).or_default().extend(values);
                }
            }
            _ if ANNOTATIONS.contains(&section.name()) => {
                self.annotations.insert(section.name().to_owned(), text_of(section));
            }
            _ => {}
        }
    }

    /// Returns the rows of a table for people. Each row is cut to a readable length.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        rows.extend(self.name.clone().map(|name| ("named", name)));
        let producers: Vec<_> = self.producers.values().flatten().map(|tool| cut(tool, SHOWN)).collect();
        rows.push(("made with", producers.join(", ")));
        for key in ANNOTATIONS {
            rows.extend(self.annotations.get(key).cloned().map(|value| (key, value)));
        }
        rows.into_iter().map(|(label, value)| (label, cut(&value, ROW))).collect()
    }
}

fn text_of(section: &CustomSectionReader<'_>) -> String {
    String::from_utf8_lossy(section.data()).into_owned()
}

/// Reads a proposal. Two different proposals for the same key are an error.
fn propose<T: Copy + PartialEq>(
    section: &CustomSectionReader<'_>,
    proposed: &mut Option<T>,
    problem: &mut Option<String>,
    read: impl Fn(&str) -> Option<T>,
    must: &str,
) {
    let (name, text) = (section.name(), text_of(section));
    match read(&text) {
        None => {
            let shown: String = text.chars().take(SHOWN).collect();
            *problem = Some(format!("its section `{name}` says {shown:?}, and must say {must}"));
        }
        Some(other) if proposed.is_some_and(|proposed| proposed != other) => {
            *problem = Some(format!("it has several sections `{name}` that say different things"));
        }
        Some(value) => *proposed = Some(value),
    }
}

/// The parts of a core module that determine the size of its stack.
#[derive(Debug, Default)]
struct Module {
    has_memory: bool,
    imported_globals: usize,
    /// The initial value of the first global that the module defines, if this global is a mutable `i32`. LLVM's linker makes
    /// `__stack_pointer` the first global.
    first_global: Option<i32>,
    /// The lowest address of the module's data.
    lowest_data: Option<i32>,
    /// Size of the code, in bytes.
    code: u32,
}

impl Module {
    fn read(&mut self, payload: Payload<'_>) {
        match payload {
            Payload::MemorySection(_) => self.has_memory = true,
            Payload::ImportSection(imports) => {
                let imports = imports.into_imports().flatten();
                self.imported_globals = imports.filter(|import| matches!(import.ty, TypeRef::Global(_))).count();
            }
            Payload::GlobalSection(globals) => {
                if let Some(Ok(global)) = globals.into_iter().next()
                    && global.ty.mutable
                    && global.ty.content_type == ValType::I32
                {
                    self.first_global = constant(&global.init_expr);
                }
            }
            Payload::DataSection(data) => {
                let active = data.into_iter().flatten().filter_map(|data| match data.kind {
                    DataKind::Active { offset_expr, .. } => constant(&offset_expr),
                    DataKind::Passive => None,
                });
                self.lowest_data = active.min();
            }
            Payload::CodeSectionStart { size, .. } => self.code = size,
            _ => {}
        }
    }

    /// Returns the size of the stack, or `None` if the module does not have the memory layout that Rust's linker creates. In this layout,
    /// the stack comes first in memory. The stack grows down from the initial stack pointer to address 0, and the data begins above the
    /// stack.
    fn stack(&self) -> Option<usize> {
        let top = self.first_global.filter(|top| *top > 0 && self.imported_globals == 0)?;
        if self.lowest_data.is_some_and(|lowest| lowest < top) {
            return None;
        }
        usize::try_from(top).ok()
    }
}

fn constant(expression: &ConstExpr<'_>) -> Option<i32> {
    match expression.get_operators_reader().read() {
        Ok(Operator::I32Const { value }) => Some(value),
        _ => None,
    }
}
