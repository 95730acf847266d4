//! The `#[plugin]` attribute of `hookhost-guest`, which re-exports it: depend on that crate, not on this one.
//!
//! The list of events is not written down here. It is read from the contract's own WIT text, so an event that the
//! contract gains needs one method in the SDK's `Plugin` trait and nothing in this crate.

#![deny(missing_docs)]

mod expand;
mod sdk;

/// Turns an `impl Plugin for X` into a hookhost plugin.
///
/// Each method that is written becomes an export of the component, and each that is not stays out of it: the methods
/// are the subscriptions. Natively the attribute emits no exports, so that the same type can be tested by `cargo test`.
///
/// `#[plugin(priority = 50)]` proposes when the plugin is asked: lower is earlier, and any 32-bit
/// number will do. `hookhost allow` writes it into the plugin's entry unless the user who allows it
/// says otherwise; only the entry counts. `#[plugin(on_failure = "ask")]` proposes in the same way that a person decides where
/// the plugin gives no answer, such as about a value that is too large for it.
///
/// # Errors
/// Does not compile, and says what to write instead, where the item is no `impl Plugin for …`, is generic, or holds a
/// method that is no event, is `async`, or carries an attribute `cfg`.
#[proc_macro_attribute]
pub fn plugin(attribute: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    expand::plugin(&attribute.into(), &item.into()).into()
}

/// For `hookhost-guest` alone: the bindings of everything a plugin may import.
#[doc(hidden)]
#[proc_macro]
pub fn bindings(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::bindings().into()
}

/// For `hookhost-guest` alone: what all verdict types have in common.
#[doc(hidden)]
#[proc_macro]
pub fn verdicts(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::verdicts().into()
}

/// For `hookhost-guest` alone: between its types and those of `hookhost-contract`.
#[doc(hidden)]
#[proc_macro]
pub fn conversions(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::conversions().into()
}
