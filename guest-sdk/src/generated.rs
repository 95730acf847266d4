//! The code that wit-bindgen generates from the contract. It contains the contract's types on every target, and the
//! imports only on wasm.

hookhost_guest_macros::bindings!();

// One module for each version of the contract.
pub(crate) use hookhost::hooks0_1_0 as v0_1;
pub(crate) use hookhost::hooks0_2_0 as v0_2;
