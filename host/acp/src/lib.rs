//! The proxy between an editor and an agent that speak the Agent Client Protocol, version 1. Questions for permission are answered by
//! the rules, and so are prompts, files and commands that the agent leaves to the editor. MCP servers are put behind the proxy
//! for them. The rest is recorded, or passes byte for byte.
//!
//! It is no boundary by itself: an agent that asks nobody is not stopped. So it counts what was asked about ([`summary`]).
//!
//! Source of what it knows of the protocol: agentclientprotocol/agent-client-protocol, `schema/v1`.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`keys`] | objects that two readers could read differently |
//! | [`summary`] | how much of what the agent did was asked about |
//! | [`prompt`] | a prompt as a text, and back |
//! | [`permission`] | what a question for permission is answered with |
//! | [`operation`] | the files and commands that the agent leaves to the editor |
//! | [`servers`] | the MCP servers of a session, behind the proxy |
//! | [`weight`] | how much of the memory a value takes |
//! | [`tool_calls`] | the calls that the agent has reported |
//! | [`sessions`] | the sessions of the connection |
//! | [`records`] | events about which nobody waits |
//! | [`proxy`] | what happens to the messages of both sides |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod keys;
pub mod operation;
pub mod permission;
pub mod prompt;
pub mod proxy;
pub mod records;
pub mod servers;
pub mod sessions;
pub mod summary;
pub mod tool_calls;
pub mod weight;
