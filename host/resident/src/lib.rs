//! The resident host: settles the events of people's own agents, for all of a user's sessions and projects at once.
//!
//! Each module uses those above it in this table, and no other:
//!
//! | module | contents |
//! |---|---|
//! | [`rules`] | the rules of each directory, loaded again when their files change |
//! | [`users_file`] | checks that the user's own file is still there |
//! | `call_key` | the key of a call, under which it is settled once |
//! | [`sessions`] | the agents' sessions, kept across calls |
//! | `proxies` | hookhost's own proxies, which send events like agents |
//! | `outcome_cache` | the outcomes of calls, for repeated reports |
//! | [`deadlines`] | time limits of a reply |
//! | `canary_rules` | the call by which `hookhost doctor` proves a hook, and its rules |
//! | `reply_body` | replies for transports without exit codes |
//! | `notes` | records of events that were not settled |
//! | `payloads` | the engine's payloads of a hook's event |
//! | `event` | dispatches one event to the engine, and returns the outcome for the agent |
//! | [`settler`] | settles a message: decodes it, asks about its events, encodes the reply |
//! | `status` | the status of the host |
//! | `mcp` | the tool by which agents send events without starting a process |
//! | [`http`] | hooks, gateways and the MCP endpoint over HTTP |
//! | `connection` | a connection of the socket: messages and their responses |
//! | `successor` | detects another version of the program in its place |
//! | [`resident`] | the socket, and the life of the process |

#![deny(missing_docs)]
#![cfg(unix)]

mod call_key;
mod canary_rules;
mod connection;
pub mod deadlines;
mod event;
pub mod http;
mod mcp;
mod notes;
mod outcome_cache;
mod payloads;
mod proxies;
mod reply_body;
pub mod resident;
pub mod rules;
pub mod sessions;
pub mod settler;
mod status;
mod successor;
pub mod users_file;

pub use resident::{EndReason, ResidentError, ResidentHost};
pub use rules::{ConfigurationSource, FoundConfiguration, RELOAD_FAILED};
pub use settler::Settler;
