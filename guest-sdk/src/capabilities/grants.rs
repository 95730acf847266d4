//! The grants of the plugin's entry. With this capability, a plugin has optional grants: it is also loaded without the grants
//! `facts`, `labels` and `secrets`, because it can find out what it has. Using a capability without its grant ends the call with an
//! error.
//!
//! The interface belongs to version 0.2 of the contract, which is a draft.

#[cfg(target_arch = "wasm32")]
use crate::generated::v0_2::grants as host;
#[cfg(not(target_arch = "wasm32"))]
use crate::native::grants as host;

/// Returns true if the entry grants `name`: `labels`, `secrets`, or a fact such as `git.branch`. An unknown name is not granted.
#[must_use]
pub fn has(name: &str) -> bool {
    host::has(name)
}
