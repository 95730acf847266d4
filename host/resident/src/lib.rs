//! The resident host. It is a process that decides on the events of a user's agents, in all sessions and projects of the user.
//!
//! Each module uses only modules above it in this table:
//!
//! | module | contents |
//! |---|---|
//! | [`pause`] | a time in which no rule is asked |
//! | [`rule_pauses`] | rules that are switched off for some time |
//! | [`rules`] | the rules of each directory, which are loaded again when their files change |
//! | [`users_file`] | checks that the user's configuration file still exists |
//! | `call_key` | the key of a call; reports with the same key get the same decision |
//! | [`sessions`] | the agents' sessions, which last longer than a single call |
//! | `outcome_cache` | the outcomes of calls, which repeated reports of a call get again |
//! | [`deadlines`] | time limits of a reply |
//! | `canary_rules` | the call by which `hookhost doctor` proves a hook, and its rules |
//! | `event` | dispatches one event to the engine, and returns the outcome for the agent |
//! | [`settler`] | decodes a message, decides on its events and encodes the reply |
//! | `unanswered_calls` | records the calls that no resident host answered |
//! | `mcp` | the tool by which agents send events without starting a process |
//! | [`http`] | hooks, gateways and the MCP endpoint over HTTP |
//! | `page_links` | makes links to the page of another crate |
//! | `peer` | the process at the other end of a connection |
//! | `connection` | a connection to the socket, with its messages and responses |
//! | `successor` | detects that another version has replaced the program's file |
//! | [`resident`] | the socket, and the beginning and end of the process |

#![deny(missing_docs)]
#![cfg(unix)]

mod call_key;
mod canary_rules;
mod connection;
pub mod deadlines;
mod event;
pub mod http;
mod mcp;
mod outcome_cache;
mod page_links;
pub mod pause;
mod peer;
pub mod resident;
pub mod rule_pauses;
pub mod rules;
pub mod sessions;
pub mod settler;
mod successor;
mod unanswered_calls;
pub mod users_file;

pub use page_links::PageLinks;
pub use pause::Pause;
pub use resident::{EndReason, ResidentError, ResidentHost};
pub use rule_pauses::RulePauses;
pub use rules::{ConfigurationSource, FoundConfiguration, RELOAD_FAILED};
pub use settler::Settler;
