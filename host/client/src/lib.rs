//! The client of the resident host: one message, one reply, over a socket that only the user can reach.
//!
//! The crate knows nothing of plugins. The program `hookhost-hook` has no runtime and starts in less time than a shell; only
//! [`resident`], for the proxies, runs on one.
//!
//! Modules depend downwards: a module uses only modules above it in this list.
//!
//! | module | content |
//! |---|---|
//! | [`place`] | the paths of the socket, the locks and the log |
//! | [`frame`] | the protocol of the socket |
//! | `json_end` | the end of a message that arrives in chunks |
//! | [`connection`] | a connection, with a deadline for each step |
//! | [`unanswered`] | calls that no resident host answered, noted for the next one |
//! | [`start`] | starts the resident host, and ends one that is stuck |
//! | [`hook`] | the hook, from its message to its reply |
//! | [`resident`] | a connection that carries events concurrently, for programs with a runtime |
//! | [`program`] | a hook program, from its standard input to its exit code |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod connection;
pub mod frame;
pub mod hook;
mod json_end;
pub mod place;
pub mod program;
pub mod resident;
pub mod start;
pub mod unanswered;
