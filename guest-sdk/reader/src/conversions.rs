//! Conversions between the two Rust forms of a contract type: the form in the SDK and the form in `hookhost-contract`.
//! JSON text is a `String` in the SDK and a checked type in the host.

use crate::Contract;
use crate::host_types::is_json;
use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;
use wit_parser::{Resolve, Type, TypeDefKind};

impl Contract {
    /// Returns an implementation of `From` in both directions for each record, variant and enum of the interface
    /// `types`. If a field must be JSON text, the conversion into the host's type implements `TryFrom` instead.
    #[must_use]
    pub fn conversions(&self) -> TokenStream {
        let types = self.resolve.interfaces.iter().find(|(_, interface)| interface.name.as_deref() == Some("types"));
        let types = types.into_iter().flat_map(|(_, interface)| &interface.types);
        types.map(|(name, id)| between(&self.resolve, name, &self.resolve.types[*id].kind)).collect()
    }
}

/// Returns the conversions of one type in both directions. An alias has no conversions.
fn between(resolve: &Resolve, name: &str, kind: &TypeDefKind) -> TokenStream {
    let name = camel(name);
    let (sdk, host) = (quote!(crate::types::#name), quote!(::hookhost_contract::#name));
    let into_sdk = body(resolve, kind, &host, Spelling::Sdk).map(|body| {
        quote! {
            impl ::core::convert::From<#host> for #sdk {
                fn from(from: #host) -> Self {
                    #body
                }
            }
        }
    });
    let into_host = body(resolve, kind, &sdk, Spelling::Host).map(|body| match has_json(resolve, kind) {
        false => quote! {
            impl ::core::convert::From<#sdk> for #host {
                fn from(from: #sdk) -> Self {
                    #body
                }
            }
        },
        true => quote! {
            impl ::core::convert::TryFrom<#sdk> for #host {
                type Error = ::std::string::String;

                fn try_from(from: #sdk) -> ::core::result::Result<Self, Self::Error> {
                    ::core::result::Result::Ok(#body)
                }
            }
        },
    });
    into_sdk.into_iter().chain(into_host).collect()
}

/// The form into which a value is converted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Sdk,
    Host,
}

/// Returns the expression that converts `from`, whose type is `type_of_from`, into a `Self`.
fn body(resolve: &Resolve, kind: &TypeDefKind, type_of_from: &TokenStream, into: Spelling) -> Option<TokenStream> {
    match kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|field| {
                let name = Ident::new(&field.name.to_snake_case(), Span::call_site());
                let value = converted(resolve, &field.ty, &field.name, quote!(from.#name), into);
                quote!(#name: #value)
            });
            Some(quote!(Self { #(#fields),* }))
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|case| {
                let name = camel(&case.name);
                match &case.ty {
                    None => quote!(#type_of_from::#name => Self::#name),
                    Some(ty) => {
                        let value = converted(resolve, ty, &case.name, quote!(value), into);
                        quote!(#type_of_from::#name(value) => Self::#name(#value))
                    }
                }
            });
            Some(quote!(match from { #(#cases),* }))
        }
        TypeDefKind::Enum(cases) => {
            let cases = cases.cases.iter().map(|case| camel(&case.name));
            Some(quote!(match from { #(#type_of_from::#cases => Self::#cases),* }))
        }
        _ => None,
    }
}

fn camel(name: &str) -> Ident {
    Ident::new(&name.to_upper_camel_case(), Span::call_site())
}

/// Returns the expression that converts `value` of type `ty` into the form `into`. Error messages contain `name`, the
/// name of the field or case.
fn converted(resolve: &Resolve, ty: &Type, name: &str, value: TokenStream, into: Spelling) -> TokenStream {
    let Type::Id(id) = ty else { return value };
    if is_json(resolve, ty) {
        let wrong = format!("answered with `{name}` that is not JSON: ");
        return match into {
            Spelling::Sdk => quote!(#value.into()),
            Spelling::Host => {
                quote!(::hookhost_contract::Json::new(#value).map_err(|error| ::std::format!("{}{error}", #wrong))?)
            }
        };
    }
    let kind = &resolve.types[*id].kind;
    let fails = into == Spelling::Host && has_json(resolve, kind);
    match kind {
        TypeDefKind::Type(aliased) => converted(resolve, aliased, name, value, into),
        TypeDefKind::List(element) if !is_same(resolve, element) => {
            let element = converted(resolve, element, name, quote!(value), into);
            match fails {
                false => quote!(#value.into_iter().map(|value| #element).collect()),
                true => quote! {{
                    let mut converted = ::std::vec::Vec::new();
                    for value in #value {
                        converted.push(#element);
                    }
                    converted
                }},
            }
        }
        TypeDefKind::Option(inner) if !is_same(resolve, inner) => {
            let inner = converted(resolve, inner, name, quote!(value), into);
            match fails {
                false => quote!(#value.map(|value| #inner)),
                true => quote! {
                    match #value {
                        ::core::option::Option::Some(value) => ::core::option::Option::Some(#inner),
                        ::core::option::Option::None => ::core::option::Option::None,
                    }
                },
            }
        }
        TypeDefKind::List(_) | TypeDefKind::Option(_) => value,
        _ if fails => quote!(#value.try_into()?),
        _ => quote!(#value.into()),
    }
}

/// Returns true if the type contains JSON text.
fn has_json(resolve: &Resolve, kind: &TypeDefKind) -> bool {
    let of = |ty: &Type| {
        let Type::Id(id) = ty else { return false };
        is_json(resolve, ty) || has_json(resolve, &resolve.types[*id].kind)
    };
    match kind {
        TypeDefKind::Type(inner) | TypeDefKind::List(inner) | TypeDefKind::Option(inner) => of(inner),
        TypeDefKind::Record(record) => record.fields.iter().any(|field| of(&field.ty)),
        TypeDefKind::Variant(variant) => variant.cases.iter().filter_map(|case| case.ty.as_ref()).any(of),
        _ => false,
    }
}

/// Returns true if both forms are the same type.
fn is_same(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return true };
    match &resolve.types[*id].kind {
        _ if is_json(resolve, ty) => false,
        TypeDefKind::Type(inner) | TypeDefKind::List(inner) | TypeDefKind::Option(inner) => is_same(resolve, inner),
        _ => false,
    }
}
