//! The code that wit-bindgen generates from the contract. It contains the contract's types on every target, and the
//! imports only on wasm.

hookhost_guest_macros::bindings!();
