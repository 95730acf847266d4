//! Generates the part of the SDK that follows from the contract: the bindings, and the implementations of the traits
//! that all verdicts share. So when the contract gets a new event, type or verdict, the SDK needs no change except the
//! event's method.

use heck::ToUpperCamelCase;
use hookhost_wit::{Contract, Definition};
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Error, Ident};

/// The names of the answers that change nothing. Every verdict type has one of these answers.
const NEUTRAL: [&str; 3] = ["allow", "keep", "finish"];

/// Returns the types of the contract and its imports. Like the host's types, the generated types are serialised with
/// the names in the WIT (kebab-case).
pub(crate) fn bindings() -> TokenStream {
    from_contract(|contract| {
        let world = contract.world("sdk", &[]);
        let selector = |ty: &Definition| format!("{}/{}", ty.interface, ty.name);
        let attributes = contract.types.iter().map(|ty| {
            let selector = selector(ty);
            // A floating-point number is not `Eq`, so a type that contains such a number derives fewer traits.
            let derives = ty.floating.then(|| quote!(#[derive(PartialEq, ::serde::Serialize, ::serde::Deserialize)]));
            quote!(#selector: [#derives #[serde(rename_all = "kebab-case")]])
        });
        let floating = contract.types.iter().filter(|ty| ty.floating).map(|ty| &ty.name);
        quote! {
            ::wit_bindgen::generate!({
                inline: #world,
                path: [],
                world: "sdk",
                generate_all,
                generate_unused_types: true,
                additional_derives: [PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize],
                additional_derives_ignore: [#(#floating),*],
                additional_type_attributes: { #(#attributes),* },
            });
        }
    })
}

/// Returns, for each verdict, the answer that changes nothing and the conversions from `Refusal` and `Escalation`.
pub(crate) fn verdicts() -> TokenStream {
    from_contract(|contract| {
        let verdicts = contract.types.iter().filter(|ty| ty.name.ends_with("-verdict"));
        verdicts.flat_map(|verdict| verdict.cases.iter().map(|case| implementation(&verdict.name, case))).collect()
    })
}

/// Returns the conversions between the types of the SDK and the types of `hookhost-contract`.
pub(crate) fn conversions() -> TokenStream {
    from_contract(Contract::conversions)
}

fn implementation(verdict: &str, (case, payload): &(String, Option<String>)) -> TokenStream {
    let name = |kebab: &str| Ident::new(&kebab.to_upper_camel_case(), Span::call_site());
    let (verdict, variant) = (name(verdict), name(case));
    match payload.as_deref() {
        None if NEUTRAL.contains(&case.as_str()) => quote! {
            impl crate::Verdict for crate::types::#verdict {
                fn allow() -> Self {
                    Self::#variant
                }
            }
        },
        Some(from @ ("refusal" | "escalation")) => {
            let from = name(from);
            quote! {
                impl ::core::convert::From<crate::types::#from> for crate::types::#verdict {
                    fn from(answer: crate::types::#from) -> Self {
                        Self::#variant(answer)
                    }
                }
            }
        }
        _ => TokenStream::new(),
    }
}

fn from_contract(tokens: impl FnOnce(&Contract) -> TokenStream) -> TokenStream {
    match Contract::read() {
        Ok(contract) => tokens(&contract),
        Err(error) => {
            let message = format!("the hookhost contract does not parse: {error}");
            Error::new(Span::call_site(), message).into_compile_error()
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_refusal_becomes_every_verdict_that_can_reject() {
        let tokens = super::verdicts().to_string();
        for verdict in
            ["ToolCallVerdict", "BatchVerdict", "ToolResultVerdict", "TextVerdict", "UsageVerdict", "PlanVerdict"]
        {
            let conversion = format!("From < crate :: types :: Refusal > for crate :: types :: {verdict} ");
            assert!(tokens.contains(&conversion), "{verdict}");
        }
        assert!(!tokens.contains("Refusal > for crate :: types :: CompletionVerdict"));
    }

    #[test]
    fn every_verdict_has_an_answer_that_changes_nothing() {
        let contract = hookhost_wit::Contract::read().unwrap();
        for verdict in contract.types.iter().filter(|ty| ty.name.ends_with("-verdict")) {
            let neutral = verdict.cases.iter().filter(|(case, _)| super::NEUTRAL.contains(&case.as_str())).count();
            assert_eq!(neutral, 1, "{}", verdict.name);
        }
    }
}
