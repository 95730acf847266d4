//! The client of the resident host. The client sends a message and gets a reply, over a socket that only the user can reach.
//!
//! The crate does not depend on the engine that runs plugins. The program `hookhost-hook` has no async runtime, and starts in less
//! time than a shell. Only [`async_client`], which serves the proxies, needs an async runtime.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | [`paths`] | the paths of the socket, the locks and the log |
//! | [`frame`] | the protocol of the socket |
//! | `json_end` | the end of a message that arrives in chunks |
//! | [`connection`] | a connection, with a deadline for each step |
//! | [`unanswered_calls`] | calls that no resident host answered, which are stored for the next resident host |
//! | [`start`] | starts the resident host and connects to it, and ends a resident host that is stuck |
//! | [`kept_host`] | a resident host that is kept alive for programs that cannot start one |
//! | [`control`] | asks the resident host for its status, and stops it |
//! | [`hook`] | the hook, from its message to its reply |
//! | [`async_client`] | a connection that carries events concurrently, for programs with an async runtime |
//! | [`program`] | a hook program, from its standard input to its exit code |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod async_client;
pub mod connection;
pub mod control;
pub mod frame;
pub mod hook;
mod json_end;
pub mod kept_host;
pub mod paths;
pub mod program;
pub mod start;
pub mod unanswered_calls;
