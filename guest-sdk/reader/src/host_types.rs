//! Generates the types of `hookhost-contract` and the table of events. Each WIT type becomes one Rust type, whose JSON
//! form uses the WIT's names.

use crate::{Contract, HANDLER};
use heck::{ToSnakeCase, ToUpperCamelCase};
use std::fmt::Write as _;
use wit_parser::{Docs, Function, Interface, Resolve, Type, TypeDefKind, TypeId};

/// Fields that JSON may omit. They were added to the contract later, so older payloads do not have them.
const OPTIONAL_IN_JSON: [(&str, &str); 8] = [
    ("inference", "used"),
    ("totals", "session-input-tokens"),
    ("totals", "session-output-tokens"),
    ("totals", "run-input-tokens"),
    ("totals", "run-output-tokens"),
    ("totals", "run-requests"),
    ("usage", "run-input-tokens"),
    ("usage", "run-output-tokens"),
];

/// The WIT type of JSON text.
const JSON: &str = "json";

const HEAD: &str = "\
//! Generated from `wit/` by `cargo xtask contract`: change the WIT, not this file.

use crate::Json;
use serde::{Deserialize, Serialize};
";

/// Returns the text of `host/contract/src/generated.rs`: the types of the WIT interface `types`, and the events.
///
/// # Errors
/// Returns an error if the WIT text does not parse, if a type or case has no documentation, or if the contract uses a
/// kind of type that this generator does not support yet.
pub fn host_types() -> Result<String, String> {
    let contract = Contract::read()?;
    let resolve = &contract.resolve;
    let mut text = HEAD.to_owned();
    let package = contract.of_events();
    let _ = write!(text, "\n/// The version of `{}` from which these types are generated.\n", package.name);
    let _ = writeln!(text, "pub const VERSION: &str = \"{}\";", package.version);
    let types = resolve.interfaces.iter().find(|(_, interface)| interface.name.as_deref() == Some("types"));
    let (_, types) = types.ok_or("the contract has no interface `types`")?;
    for (name, id) in &types.types {
        // This type is written by hand, in host/contract/src/json.rs, because its values are checked when they are
        // created.
        if name != JSON {
            text.push('\n');
            text.push_str(&definition(resolve, name, *id)?);
        }
    }
    text.push_str(&events(resolve)?);
    Ok(text)
}

fn definition(resolve: &Resolve, name: &str, id: TypeId) -> Result<String, String> {
    let ty = &resolve.types[id];
    let mut text = documentation(&ty.docs, "", name)?;
    let rust = name.to_upper_camel_case();
    match &ty.kind {
        TypeDefKind::Record(record) => {
            let default = record.fields.iter().all(|field| has_default(resolve, &field.ty));
            text.push_str(&derives(if default { "Clone, Debug, Default" } else { "Clone, Debug" }));
            // Unknown fields are ignored, because a later version may add fields: docs/decisions/0033-surface.md
            text.push_str("#[serde(rename_all = \"kebab-case\")]\n");
            let _ = writeln!(text, "pub struct {rust} {{");
            for field in &record.fields {
                text.push_str(&documentation(&field.docs, "    ", &format!("{name}.{}", field.name))?);
                text.push_str(absent(resolve, name, &field.name, &field.ty));
                let _ = writeln!(text, "    pub {}: {},", field.name.to_snake_case(), rust_type(resolve, &field.ty)?);
            }
            text.push_str("}\n");
        }
        TypeDefKind::Variant(variant) => {
            text.push_str(&derives("Clone, Debug"));
            text.push_str("#[serde(rename_all = \"kebab-case\")]\n");
            let _ = writeln!(text, "pub enum {rust} {{");
            for case in &variant.cases {
                text.push_str(&documentation(&case.docs, "    ", &format!("{name}.{}", case.name))?);
                let case_name = case.name.to_upper_camel_case();
                match &case.ty {
                    None => drop(writeln!(text, "    {case_name},")),
                    Some(ty) => {
                        let _ = writeln!(text, "    {case_name}({}),", rust_type(resolve, ty)?);
                    }
                }
            }
            text.push_str("}\n");
        }
        TypeDefKind::Enum(cases) => {
            text.push_str(&derives("Clone, Copy, Debug"));
            text.push_str("#[serde(rename_all = \"kebab-case\")]\n");
            let _ = writeln!(text, "pub enum {rust} {{");
            for case in &cases.cases {
                text.push_str(&documentation(&case.docs, "    ", &format!("{name}.{}", case.name))?);
                let _ = writeln!(text, "    {},", case.name.to_upper_camel_case());
            }
            text.push_str("}\n");
        }
        other => return Err(format!("`{name}` is {}: teach `host_types` to write it", other.as_str())),
    }
    Ok(text)
}

fn derives(derives: &str) -> String {
    format!("#[derive({derives}, PartialEq, Eq, Serialize, Deserialize)]\n")
}

/// Returns the serde attribute of a field that may be absent.
fn absent(resolve: &Resolve, record: &str, field: &str, ty: &Type) -> &'static str {
    if let Type::Id(id) = ty
        && let TypeDefKind::Option(inner) = &resolve.types[*id].kind
        && is_json(resolve, inner)
    {
        return "    #[serde(default, skip_serializing_if = \"Option::is_none\")]\n";
    }
    if OPTIONAL_IN_JSON.contains(&(record, field)) { "    #[serde(default)]\n" } else { "" }
}

/// Returns true if a type is the type `json` of the contract.
pub(crate) fn is_json(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return false };
    let ty = &resolve.types[*id];
    ty.name.as_deref() == Some(JSON) || matches!(&ty.kind, TypeDefKind::Type(inner) if is_json(resolve, inner))
}

fn has_default(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return true };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(inner) => has_default(resolve, inner),
        TypeDefKind::List(_) | TypeDefKind::Option(_) => true,
        _ => false,
    }
}

pub(crate) fn rust_type(resolve: &Resolve, ty: &Type) -> Result<String, String> {
    let Type::Id(id) = ty else {
        return match ty {
            Type::String => Ok("String".into()),
            Type::Bool => Ok("bool".into()),
            Type::U32 => Ok("u32".into()),
            Type::U64 => Ok("u64".into()),
            other => Err(format!("this generator does not support {other:?} yet: extend `host_types`")),
        };
    };
    let definition = &resolve.types[*id];
    match (&definition.kind, &definition.name) {
        (TypeDefKind::List(element), None) => Ok(format!("Vec<{}>", rust_type(resolve, element)?)),
        (TypeDefKind::Option(value), None) => Ok(format!("Option<{}>", rust_type(resolve, value)?)),
        (_, Some(name)) => Ok(name.to_upper_camel_case()),
        (other, None) => Err(format!("this generator does not support {} yet", other.as_str())),
    }
}

/// Converts WIT documentation to Rust documentation.
fn documentation(docs: &Docs, indent: &str, of: &str) -> Result<String, String> {
    let docs = docs.contents.as_deref().ok_or_else(|| format!("`{of}` has no documentation in wit/"))?;
    // The parser treats a comment with the title of a section as documentation of the next item.
    let lines = docs.trim_end().lines().filter(|line| !line.starts_with("---"));
    Ok(lines.map(|line| format!("{indent}/// {}\n", line.trim_end())).collect())
}

/// Returns the code of `EventKind`, with the data of the contract about each event.
fn events(resolve: &Resolve) -> Result<String, String> {
    let mut events = Vec::new();
    for (_, interface) in &resolve.interfaces {
        if let (Some(name), Some(handler)) = (&interface.name, interface.functions.get(HANDLER)) {
            events.push((name.as_str(), interface, handler));
        }
    }
    let mut text = String::from("\n/// The events of the contract.\n");
    text.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]\n#[non_exhaustive]\n");
    text.push_str("pub enum EventKind {\n");
    for (name, interface, _) in &events {
        let summary = summary(interface).ok_or_else(|| format!("`{name}` has no documentation in wit/"))?;
        let _ = writeln!(text, "    /// {summary}\n    {},", name.to_upper_camel_case());
    }
    text.push_str("}\n\nimpl EventKind {\n    /// All events, in the order of the contract.\n");
    text.push_str("    pub const ALL: &[Self] = &[\n");
    for (name, ..) in &events {
        let _ = writeln!(text, "        Self::{},", name.to_upper_camel_case());
    }
    text.push_str(
        "    ];\n\n    /// Returns the name of the event's interface, such as `before-tool-call`.\n    #[must_use]\n",
    );
    text.push_str("    pub fn name(self) -> &'static str {\n        match self {\n");
    for (name, ..) in &events {
        let _ = writeln!(text, "            Self::{} => \"{name}\",", name.to_upper_camel_case());
    }
    text.push_str("        }\n    }\n\n    /// Returns the way in which the answers of several plugins compose.\n    #[must_use]\n");
    text.push_str("    pub fn shape(self) -> crate::Shape {\n        match self {\n");
    for (name, _, handler) in &events {
        let _ = writeln!(
            text,
            "            Self::{} => crate::Shape::{},",
            name.to_upper_camel_case(),
            shape(resolve, handler)
        );
    }
    text.push_str("        }\n    }\n\n");
    text.push_str(
        "    /// Returns the names of the parameters of the event's `handle`, without the session.\n    #[must_use]\n",
    );
    text.push_str("    pub fn parameters(self) -> &'static [&'static str] {\n        match self {\n");
    for (name, _, handler) in &events {
        let names: Vec<String> =
            handler.params.iter().skip(1).map(|parameter| format!("\"{}\"", parameter.name)).collect();
        let _ = writeln!(text, "            Self::{} => &[{}],", name.to_upper_camel_case(), names.join(", "));
    }
    text.push_str("        }\n    }\n}\n");
    Ok(text)
}

/// Returns the first sentence about an event. The word before it, which names the shape of the event, is left out.
fn summary(interface: &Interface) -> Option<String> {
    let docs = interface.docs.contents.as_deref()?;
    let prose: Vec<&str> = docs.lines().take_while(|line| !line.starts_with("  ")).map(str::trim).collect();
    let prose = prose.join(" ");
    let (_, rest) = prose.split_once(". ")?;
    Some(rest.split_once(". ").map_or_else(|| rest.trim().to_owned(), |(first, _)| format!("{first}.")))
}

/// Derives the shape of an event from its verdict:
/// - no verdict: observe
/// - a case `keep`: transform
/// - a list, or a case `finish`: collect
/// - any other verdict: gate
fn shape(resolve: &Resolve, handler: &Function) -> &'static str {
    let Some(Type::Id(mut id)) = handler.result else { return "Observe" };
    while let TypeDefKind::Type(Type::Id(aliased)) = &resolve.types[id].kind {
        id = *aliased;
    }
    let TypeDefKind::Variant(verdict) = &resolve.types[id].kind else { return "Collect" };
    let has = |name: &str| verdict.cases.iter().any(|case| case.name == name);
    match () {
        () if has("keep") => "Transform",
        () if has("finish") => "Collect",
        () => "Gate",
    }
}
