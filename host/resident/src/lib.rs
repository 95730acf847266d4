//! The resident host: settles the events of people's own agents, for all of a user's sessions and projects at once.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`rules`] | the rules of each directory, loaded again when their files change |
//! | [`users_file`] | checks that the user's own file is still there |
//! | `call_key` | the key of a call, under which it is settled once |
//! | [`sessions`] | the agents' sessions, kept across calls |
//! | `proxies` | hookhost's own proxies, which send events like agents |
//! | `once` | settles a call once, even if it is reported twice |
//! | `events` | converts a hook's event for the engine, and the engine's outcome back |
//! | [`settle`] | from an agent's message to its reply |
//! | [`acs`] | the endpoint of the Agent Control Standard |
//! | [`interceptor`] | a chain as an interceptor of MCP |
//! | `mcp` | the tool by which agents send events without starting a process |
//! | [`http`] | hooks, gateways and the MCP endpoint over HTTP |
//! | `connection` | a connection of the socket: messages and their responses |
//! | `successor` | detects another version of the program in its place |
//! | [`resident`] | the socket, and the life of the process |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod acs;
mod call_key;
mod connection;
mod events;
pub mod http;
pub mod interceptor;
mod mcp;
mod once;
mod proxies;
pub mod resident;
pub mod rules;
pub mod sessions;
pub mod settle;
mod successor;
pub mod users_file;

pub use acs::Acs;
pub use resident::{Ended, Resident, ResidentError};
pub use rules::{Configurations, Found, NOT_TAKEN_UP};
pub use settle::Settler;
