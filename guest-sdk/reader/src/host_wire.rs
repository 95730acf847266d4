//! Generates the types of the contract in the form in which wasmtime passes them: borrowed parameters and owned
//! answers.

use crate::host_types::{is_json, rust_type};
use crate::{Contract, HANDLER};
use heck::{ToSnakeCase, ToUpperCamelCase};
use std::collections::HashSet;
use std::fmt::Write as _;
use wit_parser::{Resolve, Type, TypeDefKind, TypeId};

const HEAD: &str = "\
//! Generated from `wit/` by `cargo xtask contract`: change the WIT, not this file.
";

/// The direction of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The host passes the value to the component.
    Given,
    /// The component returns the value to the host.
    Answered,
}

/// Returns the text of `host/engine/src/wire/generated.rs`.
///
/// # Errors
/// Returns an error if the WIT text does not parse, or if the contract uses a kind of type that this generator does not
/// support yet.
pub fn host_wire() -> Result<String, String> {
    let contract = Contract::read()?;
    let resolve = &contract.resolve;
    let types = resolve.interfaces.iter().find(|(_, interface)| interface.name.as_deref() == Some("types"));
    let (_, types) = types.ok_or("the contract has no interface `types`")?;
    let (mut given, mut answered) = (HashSet::new(), HashSet::new());
    for handler in resolve.interfaces.iter().filter_map(|(_, interface)| interface.functions.get(HANDLER)) {
        handler.params.iter().for_each(|parameter| reach(resolve, &parameter.ty, &mut given));
        handler.result.iter().for_each(|result| reach(resolve, result, &mut answered));
    }
    let mut text = HEAD.to_owned();
    for (way, reached) in [(Way::Given, given), (Way::Answered, answered)] {
        text.push_str(way.opening());
        for (name, id) in types.types.iter().filter(|(_, id)| reached.contains(*id)) {
            text.push('\n');
            text.push_str(&mirror(resolve, name, *id, way)?);
        }
        text.push_str("}\n");
    }
    Ok(text)
}

impl Way {
    fn opening(self) -> &'static str {
        match self {
            Self::Given => {
                "\n/// Values for a component. They borrow from the host's values.\npub(crate) mod given {\n    \
                 use crate::contract;\n    use crate::wire::{Given, In};\n    \
                 use wasmtime::component::{ComponentType, Lower};\n"
            }
            Self::Answered => {
                "\n/// Values from a component.\npub(crate) mod answered {\n    use crate::contract;\n    \
                 use crate::wire::{Answered, Out, json};\n    use wasmtime::component::{ComponentType, Lift};\n"
            }
        }
    }

    /// Returns the type in which wasmtime passes a value of the type `ty`.
    fn of(self, ty: &str) -> String {
        match self {
            Self::Given => format!("In<'a, {ty}>"),
            Self::Answered => format!("Out<{ty}>"),
        }
    }

    /// Returns the code that converts the value of a field or a case. `name` is its name in the contract.
    fn value(self, resolve: &Resolve, ty: &Type, name: &str, value: &str) -> String {
        match self {
            Self::Given => format!("{value}.given()"),
            Self::Answered if is_json(resolve, ty) => format!("json(\"{name}\", {value})?"),
            Self::Answered if is_json_or_absent(resolve, ty) => {
                format!("{value}.map(|{value}| json(\"{name}\", {value})).transpose()?")
            }
            Self::Answered => format!("Answered::answered({value})?"),
        }
    }

    /// Returns the implementation of `Given` or `Answered` for the contract's type `rust`. `body` is the body of the
    /// trait's function.
    fn implementation(self, rust: &str, has_lifetime: bool, body: &str) -> String {
        match self {
            Self::Given => {
                let mirror =
                    |lifetime: &str| if has_lifetime { format!("{rust}<{lifetime}>") } else { rust.to_owned() };
                format!(
                    "\n    impl Given for contract::{rust} {{\n        type Wire<'a> = {};\n\n        \
                     fn given(&self) -> {} {{\n{body}        }}\n    }}\n",
                    mirror("'a"),
                    mirror("'_")
                )
            }
            Self::Answered => format!(
                "\n    impl Answered for contract::{rust} {{\n        type Wire = {rust};\n\n        \
                 fn answered(wire: {rust}) -> Result<Self, String> {{\n{body}        }}\n    }}\n"
            ),
        }
    }
}

fn is_json_or_absent(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return false };
    matches!(&resolve.types[*id].kind, TypeDefKind::Option(inner) if is_json(resolve, inner))
}

/// Collects all types that a type contains.
fn reach(resolve: &Resolve, ty: &Type, reached: &mut HashSet<TypeId>) {
    let Type::Id(id) = ty else { return };
    let parts: Vec<&Type> = match &resolve.types[*id].kind {
        TypeDefKind::Type(inner) | TypeDefKind::List(inner) | TypeDefKind::Option(inner) => vec![inner],
        TypeDefKind::Record(record) => record.fields.iter().map(|field| &field.ty).collect(),
        TypeDefKind::Variant(variant) => variant.cases.iter().filter_map(|case| case.ty.as_ref()).collect(),
        _ => Vec::new(),
    };
    parts.into_iter().for_each(|part| reach(resolve, part, reached));
    if !matches!(resolve.types[*id].kind, TypeDefKind::Type(_)) {
        reached.insert(*id);
    }
}

fn mirror(resolve: &Resolve, name: &str, id: TypeId, way: Way) -> Result<String, String> {
    let rust = name.to_upper_camel_case();
    let (kind, keyword) = match &resolve.types[id].kind {
        TypeDefKind::Record(_) => ("record", "struct"),
        TypeDefKind::Variant(_) => ("variant", "enum"),
        TypeDefKind::Enum(_) => ("enum", "enum"),
        other => return Err(format!("`{name}` is {}: teach `host_wire` to write it", other.as_str())),
    };
    let has_lifetime = way == Way::Given && kind != "enum";
    let derived = match way {
        Way::Given => "ComponentType, Lower",
        Way::Answered => "ComponentType, Lift",
    };
    let copy = if kind == "enum" { "Clone, Copy, " } else { "" };
    let mut text = format!("    #[derive({copy}{derived})]\n    #[component({kind})]\n");
    if kind == "enum" {
        text.push_str("    #[repr(u8)]\n");
        if way == Way::Answered {
            text.push_str("    #[expect(dead_code, reason = \"wasmtime creates the cases from numbers\")]\n");
        }
    }
    let _ = writeln!(text, "    pub(crate) {keyword} {rust}{} {{", if has_lifetime { "<'a>" } else { "" });
    let mut body = String::new();
    match &resolve.types[id].kind {
        TypeDefKind::Record(record) => {
            let fields: Vec<String> = record.fields.iter().map(|field| field.name.to_snake_case()).collect();
            let pattern = match way {
                Way::Given => format!("contract::{rust}"),
                Way::Answered => rust.clone(),
            };
            let from = if way == Way::Given { "self" } else { "wire" };
            let _ = writeln!(body, "            let {pattern} {{ {} }} = {from};", fields.join(", "));
            let made = if way == Way::Given { rust.as_str() } else { "Ok(Self" };
            let _ = writeln!(body, "            {made} {{");
            for (field, rust_name) in record.fields.iter().zip(&fields) {
                if field.name.contains('-') {
                    let _ = writeln!(text, "        #[component(name = \"{}\")]", field.name);
                }
                let _ = writeln!(text, "        {rust_name}: {},", way.of(&qualified(resolve, &field.ty)?));
                let value = way.value(resolve, &field.ty, &field.name, rust_name);
                let _ = writeln!(body, "                {rust_name}: {value},");
            }
            body.push_str(if way == Way::Given { "            }\n" } else { "            })\n" });
        }
        kind => {
            let cases: Vec<(&str, Option<&Type>)> = match kind {
                TypeDefKind::Variant(variant) => {
                    variant.cases.iter().map(|case| (case.name.as_str(), case.ty.as_ref())).collect()
                }
                TypeDefKind::Enum(cases) => cases.cases.iter().map(|case| (case.name.as_str(), None)).collect(),
                _ => Vec::new(),
            };
            let (from, into) = match way {
                Way::Given => (format!("contract::{rust}"), rust.clone()),
                Way::Answered => (rust.clone(), "Self".to_owned()),
            };
            body.push_str(if way == Way::Given {
                "            match self {\n"
            } else {
                "            Ok(match wire {\n"
            });
            for (name, ty) in cases {
                let case = name.to_upper_camel_case();
                let _ = writeln!(text, "        #[component(name = \"{name}\")]");
                match ty {
                    None => {
                        let _ = writeln!(text, "        {case},");
                        let _ = writeln!(body, "                {from}::{case} => {into}::{case},");
                    }
                    Some(ty) => {
                        let _ = writeln!(text, "        {case}({}),", way.of(&qualified(resolve, ty)?));
                        let value = way.value(resolve, ty, name, "value");
                        let _ = writeln!(body, "                {from}::{case}(value) => {into}::{case}({value}),");
                    }
                }
            }
            body.push_str(if way == Way::Given { "            }\n" } else { "            })\n" });
        }
    }
    text.push_str("    }\n");
    Ok(text + &way.implementation(&rust, has_lifetime, &body))
}

/// Returns the Rust type for a WIT type. A type that the contract defines gets the prefix `contract::`.
fn qualified(resolve: &Resolve, ty: &Type) -> Result<String, String> {
    let Type::Id(id) = ty else { return rust_type(resolve, ty) };
    let definition = &resolve.types[*id];
    match (&definition.kind, &definition.name) {
        (TypeDefKind::List(element), None) => Ok(format!("Vec<{}>", qualified(resolve, element)?)),
        (TypeDefKind::Option(value), None) => Ok(format!("Option<{}>", qualified(resolve, value)?)),
        (_, Some(name)) => Ok(format!("contract::{}", name.to_upper_camel_case())),
        (other, None) => Err(format!("this generator does not support {} yet", other.as_str())),
    }
}
