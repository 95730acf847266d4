//! How a hook talks with the resident host: one message there, one reply back, over a socket that is the user's alone.
//!
//! The crate knows nothing of plugins and has no runtime: the program `hookhost-hook` starts in less time than a shell.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`place`] | where the socket is |
//! | [`frame`] | what is sent over it |
//! | `json_end` | the end of a message that arrives in pieces |
//! | [`connection`] | a connection, with a deadline for each step |
//! | [`unanswered`] | what the resident host is told later: calls that nobody answered |
//! | [`start`] | starting the resident host, and ending one that is stuck |
//! | [`hook`] | the hook from its message to its reply |
//! | [`program`] | a program that is a hook, from its standard input to its exit code |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod connection;
pub mod frame;
pub mod hook;
mod json_end;
pub mod place;
pub mod program;
pub mod start;
pub mod unanswered;
