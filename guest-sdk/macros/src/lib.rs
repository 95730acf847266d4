//! The `#[plugin]` attribute. The crate `hookhost-guest` re-exports the attribute, so depend on `hookhost-guest` and
//! not on this crate.
//!
//! This crate contains no list of events. The macro reads the events from the contract's WIT text, so a new event of
//! the contract needs one method in the SDK's `Plugin` trait and no change in this crate.

#![deny(missing_docs)]

mod expand;
mod sdk;

/// Turns an `impl Plugin for X` into a hookhost plugin.
///
/// The plugin subscribes to the events whose methods are in the block. Each method becomes an export of the component.
/// On targets other than wasm, the attribute adds no exports, so that `cargo test` can test the same type.
///
/// `#[plugin(priority = 50)]` proposes the order in which the plugin is called. Plugins with lower numbers are called
/// earlier, and any 32-bit number is valid. `hookhost allow` writes the number into the plugin's entry, unless the user
/// chooses a different number. Only the number in the entry has an effect. In the same way,
/// `#[plugin(on_failure = "ask")]` proposes that a person decides if the plugin gives no answer, for example because a
/// value is too large for the plugin.
///
/// # Errors
/// Reports a compile error that contains the correction. The item must be an `impl Plugin for …` and must not be
/// generic. Each method must be an event, must not be `async`, and must not have an attribute `cfg`.
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

/// For `hookhost-guest` alone: generates the conversions between the types of `hookhost-guest` and of
/// `hookhost-contract`.
#[doc(hidden)]
#[proc_macro]
pub fn conversions(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    sdk::conversions().into()
}
