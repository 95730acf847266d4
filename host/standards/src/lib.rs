//! Endpoints of draft standards, beside the common path from an agent's hook to the resident host.
//!
//! | module | contents |
//! |---|---|
//! | [`acs`] | a Guardian of the Agent Control Standard, which the resident host serves over HTTP |
//! | [`interceptor`] | a chain of plugins as interceptors of MCP |
//!
//! Neither module uses the other. This crate depends on the resident host; the resident host does not depend on it.

#![deny(missing_docs)]
#![cfg(unix)]

pub mod acs;
pub mod interceptor;

pub use acs::Acs;
