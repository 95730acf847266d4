//! What wit-bindgen makes of the contract: its types on every target, and its imports where the target is wasm.

hookhost_guest_macros::bindings!();
