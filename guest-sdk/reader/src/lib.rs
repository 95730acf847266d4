//! Reads the contract from the WIT text in this crate, so that a plugin can be built without its own `wit/` directory.
//!
//! The macros of the guest SDK use this crate. It also contains two generators: [`host_types`] writes the types of
//! `hookhost-contract`, and [`host_wire`] writes the code that passes these types to a component.
//! [`Contract::conversions`] generates the conversions between the types of the SDK and the types of
//! `hookhost-contract`.

#![deny(missing_docs)]

mod conversions;
mod host_types;
mod host_wire;

pub use host_types::host_types;
pub use host_wire::host_wire;

use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;
use wit_parser::{Function, Interface, PackageId, Resolve, Type, TypeDefKind};

/// The packages of the contract, one for each version. The events and their types are in the first package.
const PACKAGES: [&[&str]; 2] = [
    &[
        include_str!("../wit/0.1/types.wit"),
        include_str!("../wit/0.1/events.wit"),
        include_str!("../wit/0.1/capabilities.wit"),
    ],
    &[include_str!("../wit/0.2/capabilities.wit")],
];

/// The name of the world of each package that contains everything that a plugin may import.
const CAPABILITIES: &str = "capabilities";
/// The name of the function that an interface must have to be an event.
const HANDLER: &str = "handle";

/// The part of the contract that a plugin uses.
#[derive(Debug)]
pub struct Contract {
    packages: Vec<Package>,
    resolve: Resolve,
    /// Every event, in the contract's order.
    pub events: Vec<Event>,
    /// The full names of the interfaces that a plugin may import, including `types`.
    pub imports: Vec<String>,
    /// The records, variants and enums that these interfaces define.
    pub types: Vec<Definition>,
}

/// One version of the contract.
#[derive(Debug)]
struct Package {
    /// The name: `hookhost:hooks`.
    name: String,
    /// The version: `0.1.0`.
    version: String,
}

/// A named type of the contract.
#[derive(Debug)]
pub struct Definition {
    /// The full name of the interface that defines the type: `hookhost:hooks/effects@0.1.0`.
    pub interface: String,
    /// The name of the type: `finding`.
    pub name: String,
    /// True if a field of the type itself is a floating-point number. Named types that the type contains are not
    /// examined.
    pub floating: bool,
    /// The cases of a variant. Each element is the name of the case and the name of the type that the case contains, if
    /// that type has a name.
    pub cases: Vec<(String, Option<String>)>,
}

/// An event: an interface whose function is `handle`.
#[derive(Debug)]
pub struct Event {
    /// The name of the event's interface: `before-tool-call`.
    pub interface: String,
    /// The parameters of the event's `handle`.
    pub parameters: Vec<Parameter>,
    /// The Rust type of the answer; `None` for an event that is only observed.
    pub answer: Option<TokenStream>,
}

/// One parameter of a handler.
#[derive(Debug)]
pub struct Parameter {
    /// The name: `tool_result`.
    pub name: Ident,
    /// The owned type that the component's export receives.
    pub owned: TokenStream,
    /// True if the plugin's method gets the parameter by reference.
    pub borrowed: bool,
}

impl Event {
    /// Returns the name of the method of `Plugin` that handles the event.
    #[must_use]
    pub fn method(&self) -> String {
        self.interface.to_snake_case()
    }
}

impl Contract {
    /// Reads the contract.
    ///
    /// # Errors
    /// Returns an error if the WIT text does not parse, or if an event uses a kind of type that this crate does not
    /// support yet.
    pub fn read() -> Result<Self, String> {
        let packages = PACKAGES.iter().map(|files| Package::of(files)).collect::<Result<Vec<_>, String>>()?;
        let mut resolve = Resolve::default();
        let text = world(&packages, "contract", &[]);
        let main = resolve.push_str("contract.wit", &text).map_err(|error| format!("{error:#}"))?;
        let imports = imported_by_the_world(&resolve, main)?;
        let (mut events, mut types) = (Vec::new(), Vec::new());
        for (id, interface) in &resolve.interfaces {
            if let Some(handler) = interface.functions.get(HANDLER) {
                events.push(event(&resolve, interface, handler)?);
            }
            if let Some(name) = resolve.id_of(id).filter(|name| imports.contains(name)) {
                types.extend(definitions(&resolve, interface, &name));
            }
        }
        Ok(Self { packages, resolve, events, imports, types })
    }

    /// Returns the WIT text of a world, including the contract. The world imports every capability and exports
    /// `exports`. If several worlds are used in one component, they must have different names.
    #[must_use]
    pub fn world(&self, name: &str, exports: &[&str]) -> String {
        world(&self.packages, name, exports)
    }

    /// Returns the version to which the events belong.
    fn of_events(&self) -> &Package {
        &self.packages[0]
    }

    /// Returns the name of the module in which the bindings of a world have the events.
    #[must_use]
    pub fn module_of_events(&self) -> Ident {
        self.of_events().module()
    }

    /// Returns the path of the module in which the bindings of a world have an import with this full name.
    #[must_use]
    pub fn module_of_import(&self, import: &str) -> TokenStream {
        let is_of = |package: &&Package| import == package.qualified(bare(import));
        let package = self.packages.iter().find(is_of).unwrap_or(self.of_events()).module();
        let interface = Ident::new(&bare(import).to_snake_case(), Span::call_site());
        quote!(#package::#interface)
    }
}

impl Package {
    /// Reads the first line of the first file.
    fn of(files: &[&str]) -> Result<Self, String> {
        let line = files.iter().flat_map(|file| file.lines()).find_map(|line| line.strip_prefix("package "));
        let (name, version) = line
            .and_then(|line| line.trim_end().trim_end_matches(';').split_once('@'))
            .ok_or("a package of the contract does not open with `package name@version;`")?;
        Ok(Self { name: name.to_owned(), version: version.to_owned() })
    }

    /// Returns the full name of an interface, which WIT uses outside of its package: `hookhost:hooks/types@0.1.0`.
    fn qualified(&self, interface: &str) -> String {
        format!("{}/{interface}@{}", self.name, self.version)
    }

    /// Returns the name that wit-bindgen gives the module of a package of which the world has several versions.
    fn module(&self) -> Ident {
        let name = self.name.split_once(':').map_or(self.name.as_str(), |(_, name)| name).to_snake_case();
        Ident::new(&format!("{name}{}", self.version.replace(['.', '-', '+'], "_")), Span::call_site())
    }
}

/// Returns the bare name of an interface: `types` for `hookhost:hooks/types@0.1.0`.
fn bare(interface: &str) -> &str {
    let name = interface.split_once('/').map_or(interface, |(_, name)| name);
    name.split_once('@').map_or(name, |(name, _)| name)
}

fn world(packages: &[Package], name: &str, exports: &[&str]) -> String {
    let of_events = &packages[0];
    let mut text = format!("package {}-{name};\nworld {name} {{\n", of_events.name);
    for package in packages {
        text.push_str(&format!("  include {};\n", package.qualified(CAPABILITIES)));
    }
    for export in exports {
        text.push_str(&format!("  export {};\n", of_events.qualified(export)));
    }
    text.push_str("}\n");
    for (package, files) in packages.iter().zip(PACKAGES) {
        text.push_str(&format!("package {}@{} {{\n", package.name, package.version));
        for line in files.iter().flat_map(|file| file.lines()).filter(|line| !line.starts_with("package ")) {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str("}\n");
    }
    text
}

fn imported_by_the_world(resolve: &Resolve, main: PackageId) -> Result<Vec<String>, String> {
    let world = resolve.select_world(&[main], None).map_err(|error| format!("{error:#}"))?;
    let imports = resolve.worlds[world].imports.values();
    Ok(imports
        .filter_map(|item| match item {
            wit_parser::WorldItem::Interface { id, .. } => resolve.id_of(*id),
            wit_parser::WorldItem::Function(_) | wit_parser::WorldItem::Type { .. } => None,
        })
        .collect())
}

fn event(resolve: &Resolve, interface: &Interface, handler: &Function) -> Result<Event, String> {
    let name = interface.name.clone().ok_or("an event of the contract has no name")?;
    let parameters = handler
        .params
        .iter()
        .map(|parameter| {
            Ok(Parameter {
                name: Ident::new_raw(&parameter.name.to_snake_case(), Span::call_site()),
                owned: rust_type(resolve, &parameter.ty)?,
                borrowed: !is_plain(resolve, &parameter.ty),
            })
        })
        .collect::<Result<_, String>>()?;
    let answer = handler.result.as_ref().map(|ty| rust_type(resolve, ty)).transpose()?;
    Ok(Event { interface: name, parameters, answer })
}

fn definitions(resolve: &Resolve, interface: &Interface, of: &str) -> Vec<Definition> {
    let named = interface.types.iter().filter_map(|(name, id)| {
        let (cases, fields) = match &resolve.types[*id].kind {
            TypeDefKind::Variant(variant) => {
                let cases = variant.cases.iter();
                (cases.map(|case| (case.name.clone(), payload(resolve, case.ty.as_ref()))).collect(), Vec::new())
            }
            TypeDefKind::Record(record) => (Vec::new(), record.fields.iter().map(|field| field.ty).collect()),
            TypeDefKind::Enum(_) => (Vec::new(), Vec::new()),
            _ => return None,
        };
        let floating = fields.iter().any(|field| is_floating(resolve, field));
        Some(Definition { interface: of.to_owned(), name: name.clone(), floating, cases })
    });
    named.collect()
}

fn payload(resolve: &Resolve, ty: Option<&Type>) -> Option<String> {
    let Some(Type::Id(id)) = ty else { return None };
    resolve.types[*id].name.clone()
}

fn is_floating(resolve: &Resolve, ty: &Type) -> bool {
    match ty {
        Type::F32 | Type::F64 => true,
        Type::Id(id) => match &resolve.types[*id].kind {
            TypeDefKind::Type(inner) | TypeDefKind::Option(inner) | TypeDefKind::List(inner) => {
                is_floating(resolve, inner)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Returns the Rust type that the SDK's bindings use for a WIT type.
fn rust_type(resolve: &Resolve, ty: &Type) -> Result<TokenStream, String> {
    let Type::Id(id) = ty else {
        return match ty {
            Type::String => Ok(quote!(::std::string::String)),
            Type::Bool => Ok(quote!(bool)),
            Type::U32 => Ok(quote!(u32)),
            Type::U64 => Ok(quote!(u64)),
            other => Err(format!("no event has used the type {other:?} so far: teach `rust_type` to write it")),
        };
    };
    let definition = &resolve.types[*id];
    match &definition.kind {
        TypeDefKind::Type(aliased) => rust_type(resolve, aliased),
        TypeDefKind::List(element) => {
            let element = rust_type(resolve, element)?;
            Ok(quote!(::std::vec::Vec<#element>))
        }
        TypeDefKind::Option(value) => {
            let value = rust_type(resolve, value)?;
            Ok(quote!(::std::option::Option<#value>))
        }
        TypeDefKind::Record(_) | TypeDefKind::Variant(_) | TypeDefKind::Enum(_) => {
            let name = definition.name.as_deref().ok_or("a type of the contract has no name")?;
            let name = Ident::new(&name.to_upper_camel_case(), Span::call_site());
            Ok(quote!(::hookhost_guest::types::#name))
        }
        other => Err(format!("no event has used the type {other:?} so far: teach `rust_type` to write it")),
    }
}

/// Returns true if values of a type are small and `Copy`. Methods take such values by value.
fn is_plain(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return !matches!(ty, Type::String) };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(aliased) => is_plain(resolve, aliased),
        kind => matches!(kind, TypeDefKind::Enum(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::Contract;

    #[test]
    fn the_contract_parses_and_every_handler_is_an_event() {
        let contract = Contract::read().unwrap();
        let names: Vec<_> = contract.events.iter().map(super::Event::method).collect();
        assert!(names.iter().any(|name| name == "before_tool_call"), "{names:?}");
        assert!(!names.iter().any(|name| name == "setup" || name == "tools"), "{names:?}");
        for import in ["hookhost:hooks/state@0.1.0", "hookhost:hooks/facts@0.2.0"] {
            assert!(contract.imports.iter().any(|name| name == import), "{:?}", contract.imports);
        }
        assert_eq!(contract.module_of_import("hookhost:hooks/facts@0.2.0").to_string(), "hooks0_2_0 :: facts");
    }

    #[test]
    fn an_enum_is_passed_by_value_and_everything_else_by_reference() {
        let contract = Contract::read().unwrap();
        let event = contract.events.iter().find(|event| event.interface == "after-tool-call").unwrap();
        let borrowed: Vec<_> = event.parameters.iter().map(|parameter| parameter.borrowed).collect();
        assert_eq!(borrowed, [true, true, true, false]);
    }

    #[test]
    fn an_observed_event_has_no_answer() {
        let contract = Contract::read().unwrap();
        let answer =
            |name: &str| contract.events.iter().find(|event| event.interface == name).unwrap().answer.is_some();
        assert!(!answer("session-end"));
        assert!(answer("session-start"));
    }
}
