//! The hook of hookhost in the settings of people's agents: put in, taken out again, and looked at.
//!
//! What has to be in which file is data of the adapters ([`hookhost_adapters::install`]). This crate edits the files. A file
//! of a person's is changed in place and keeps its comments, its order and its formatting. It is written whole or not at
//! all, and what was in it before is kept.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`error`] | why a file is not changed: one sentence, and what to do |
//! | [`ours`] | which entries of a file name the hook program |
//! | [`json`] | JSON files edited in place |
//! | [`mcp_servers`] | the proxy in the place of the MCP servers that a file names |
//! | [`mcp_servers_toml`] | the same in TOML |
//! | [`settings_file`] | a file of a person's, read once and replaced whole |
//! | [`receipt`] | what was in each file before, and what was written |
//! | [`mod@install`] | a plan, carried out |
//! | [`uninstall`] | the same, undone |
//! | [`process`] | other programs, run for a limited time |
//! | [`version`] | which version of an agent is here |
//! | [`find`] | which agents are here |
//! | [`configured`] | the commands of the hook, as an agent's file has them |
//! | [`check`] | one thing that was looked at |
//! | [`doctor`] | whether the hook is there, and is reached |
//! | [`prove`] | whether it says no |

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
