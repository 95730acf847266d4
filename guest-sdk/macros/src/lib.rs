//! The `#[plugin]` attribute of `hookhost-guest`, which re-exports it: depend on that crate, not on this one.
//!
//! The list of events is not written down here. The macro reads it from the contract's WIT text, so a new event of the contract needs one
//! method in the SDK's `Plugin` trait and nothing in this crate.

#![deny(missing_docs)]

mod expand;
mod sdk;

/// Turns an `impl Plugin for X` into a hookhost plugin.
///
/// Each method in the block becomes an export of the component, and no other: the methods are the subscriptions. Natively the attribute
/// emits no exports, so that `cargo test` can test the same type.
///
/// `#[plugin(priority = 50)]` proposes the order in which the plugin is called: a lower number is earlier, and any 32-bit number is valid.
/// `hookhost allow` writes it into the plugin's entry unless the user who allows it says otherwise; only the entry counts. In the same way,
/// `#[plugin(on_failure = "ask")]` proposes that a person decides if the plugin gives no answer, for example because a value is too large
/// for it.
///
/// # Errors
/// Reports a compile error that says what to write instead, if the item is not an `impl Plugin for …`, is generic, or has a method that is
/// not an event, is `async`, or carries an attribute `cfg`.
#[proc_macro_attribute]
pub fn plugin(attribute: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::plugin(&attribute.into(), &item.into()).into()
}

/// For `hookhost-guest` alone: generates the bindings of everything that a plugin may import.
#[doc(hidden)]
#[proc_macro]
pub fn bindings(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::bindings().into()
}

/// For `hookhost-guest` alone: generates the common part of all verdict types.
#[doc(hidden)]
#[proc_macro]
pub fn verdicts(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::verdicts().into()
}

/// For `hookhost-guest` alone: generates the conversions between its types and those of `hookhost-contract`.
#[doc(hidden)]
#[proc_macro]
pub fn conversions(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::conversions().into()
}
