//! Between the two Rust spellings of a type of the contract: the SDK's, and that of `hookhost-contract`.

use crate::Contract;
use heck::{ToSnakeCase, ToUpperCamelCase};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::Ident;
use wit_parser::{Resolve, Type, TypeDefKind};

impl Contract {
    /// `From` in both directions, for each record, variant and enum of the interface `types`.
    #[must_use]
    pub fn conversions(&self) -> TokenStream {
        let types = self.resolve.interfaces.iter().find(|(_, interface)| interface.name.as_deref() == Some("types"));
        let types = types.into_iter().flat_map(|(_, interface)| &interface.types);
        types.map(|(name, id)| between(&self.resolve, name, &self.resolve.types[*id].kind)).collect()
    }
}

/// Both conversions of one type; none of an alias, which is the same type in both.
fn between(resolve: &Resolve, name: &str, kind: &TypeDefKind) -> TokenStream {
    let name = camel(name);
    let (sdk, host) = (quote!(crate::types::#name), quote!(::hookhost_contract::#name));
    let conversion = |from: &TokenStream, into: &TokenStream| {
        let body = body(resolve, kind, from)?;
        Some(quote! {
            impl ::core::convert::From<#from> for #into {
                fn from(from: #from) -> Self {
                    #body
                }
            }
        })
    };
    conversion(&sdk, &host).into_iter().chain(conversion(&host, &sdk)).collect()
}

/// What makes a `Self` of `from`, which is a `type_of_from`.
fn body(resolve: &Resolve, kind: &TypeDefKind, type_of_from: &TokenStream) -> Option<TokenStream> {
    match kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|field| {
                let name = Ident::new(&field.name.to_snake_case(), Span::call_site());
                let value = converted(resolve, &field.ty, quote!(from.#name));
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
                        let value = converted(resolve, ty, quote!(value));
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

/// `value`, of that type, as the other spelling of the type.
fn converted(resolve: &Resolve, ty: &Type, value: TokenStream) -> TokenStream {
    let Type::Id(id) = ty else { return value };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(aliased) => converted(resolve, aliased, value),
        TypeDefKind::List(element) if !is_same(resolve, element) => {
            let element = converted(resolve, element, quote!(value));
            quote!(#value.into_iter().map(|value| #element).collect())
        }
        TypeDefKind::Option(inner) if !is_same(resolve, inner) => {
            let inner = converted(resolve, inner, quote!(value));
            quote!(#value.map(|value| #inner))
        }
        TypeDefKind::List(_) | TypeDefKind::Option(_) => value,
        _ => quote!(#value.into()),
    }
}

/// Whether both spellings are the same type.
fn is_same(resolve: &Resolve, ty: &Type) -> bool {
    let Type::Id(id) = ty else { return true };
    match &resolve.types[*id].kind {
        TypeDefKind::Type(inner) | TypeDefKind::List(inner) | TypeDefKind::Option(inner) => is_same(resolve, inner),
        _ => false,
    }
}
