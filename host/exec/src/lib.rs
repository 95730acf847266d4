//! Runs a program so that the kernel enforces what rules promise: hookhost's own files, the settings of agents, keys and the paths of rules
//! cannot be changed or read, whatever the program starts.
//!
//! A module uses only modules above it in this list:
//!
//! | module | purpose |
//! |---|---|
//! | [`plan`] | a path that the kernel guards |
//! | [`policy`] | the paths, from the configuration, the rules, the table of guarded files and the machine |
//! | [`export`] | the same policy as settings of the agents' own sandboxes |
//! | [`seatbelt`] | the same policy as a profile of macOS |

#![deny(missing_docs)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test that cannot continue fails"))]

pub mod export;
pub mod plan;
pub mod policy;
pub mod seatbelt;
