//! Endpoints for draft standards. Agents can use these endpoints instead of a hook that calls the resident host.
//!
//! | module | contents |
//! |---|---|
//! | [`acs`] | a Guardian of the Agent Control Standard, which the resident host serves over HTTP |
//! | [`interceptor`] | a chain of plugins, served as interceptors of MCP |
//!
//! Neither module uses the other. This crate depends on the resident host, but the resident host does not depend on
//! this crate.

#![deny(missing_docs)]
#![cfg(unix)]

pub mod acs;
pub mod interceptor;

pub use acs::Acs;
