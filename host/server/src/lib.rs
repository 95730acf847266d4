//! The resident host: settles the events of people's own agents, for all of a user's sessions and projects at once.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`rules`] | which rules count in which directory, loaded again as their files change |
//! | [`users_file`] | whether the user's own file still counts |
//! | `call_key` | the key of a call, under which it is settled once |
//! | [`sessions`] | the agents' sessions, kept across calls |
//! | [`claims`] | what is settled once although two processes could settle it |
//! | `proxies` | hookhost's own proxies, which ask like agents |
//! | `once` | calls that are reported twice, and settled once |
//! | `events` | a hook's event as the engine has it, and the engine's outcome as the hook's |
//! | [`settle`] | from an agent's message to its reply |
//! | [`acs`] | the endpoint of the Agent Control Standard |
//! | [`interceptor`] | a chain as an interceptor of MCP |
//! | `mcp` | the tool by which agents ask without starting a process |
//! | [`http`] | hooks, gateways and the MCP endpoint over HTTP |
//! | `connection` | a connection of the socket: messages and their responses |
//! | `successor` | another version of the program at its place |
//! | [`resident`] | the socket, and the life of the process behind it |
//!
//! It is an embedder like any other: it uses nothing of the engine that an outsider cannot.

#![deny(missing_docs)]
#![cfg(unix)]
#![cfg_attr(
    not(feature = "resident"),
    allow(dead_code, reason = "what the feature leaves out leaves others without a caller")
)]

#[cfg(feature = "resident")]
pub mod acs;
mod call_key;
pub mod claims;
#[cfg(feature = "resident")]
mod connection;
mod events;
#[cfg(feature = "resident")]
pub mod http;
#[cfg(feature = "resident")]
pub mod interceptor;
#[cfg(feature = "resident")]
mod mcp;
mod once;
mod proxies;
#[cfg(feature = "resident")]
pub mod resident;
pub mod rules;
pub mod sessions;
pub mod settle;
#[cfg(feature = "resident")]
mod successor;

pub mod users_file;

#[cfg(feature = "resident")]
pub use acs::Acs;
pub use claims::Claims;
#[cfg(feature = "resident")]
pub use resident::{Ended, Resident, ResidentError};
pub use rules::{Configurations, Found, NOT_TAKEN_UP};
pub use settle::Settler;
