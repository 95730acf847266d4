//! Installs hookhost's hook in the settings of people's agents, removes it, and checks it.
//!
//! The adapters define the content of each file as data ([`hookhost_adapters::install`]). This crate edits the files. A
//! person's file is changed in place and keeps its comments, its order and its formatting. It is written as a whole or
//! not at all, and its old content is kept.
//!
//! A module uses only those above it:
//!
//! | module | purpose |
//! |---|---|
//! | [`error`] | the error for a file that is not changed: the fault, and the next step |
//! | [`ours`] | recognises the entries that name the hook program |
//! | [`json`] | edits JSON files in place |
//! | [`mcp_servers`] | puts the proxy before the MCP servers in a file |
//! | [`mcp_servers_toml`] | the same in TOML |
//! | [`settings_file`] | a person's file, read once and replaced as a whole |
//! | [`receipt`] | old and new contents of each changed file |
//! | [`mod@install`] | carries out a plan |
//! | [`uninstall`] | reverses a plan |
//! | [`process`] | runs other programs for a limited time |
//! | [`version`] | the installed version of an agent |
//! | [`find`] | finds installed agents |
//! | [`configured`] | the hook's commands in an agent's file |
//! | [`check`] | the result of one check |
//! | [`doctor`] | checks that the hook is installed and is reached |
//! | [`prove`] | proves that the hook denies |

#![deny(missing_docs)]
#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test that cannot continue fails"))]

pub mod check;
pub mod configured;
pub mod doctor;
pub mod error;
pub mod find;
pub mod install;
pub mod json;
pub mod mcp_servers;
pub mod mcp_servers_toml;
pub mod ours;
pub mod process;
pub mod prove;
pub mod receipt;
pub mod settings_file;
pub mod uninstall;
pub mod version;

pub use error::Refused;
