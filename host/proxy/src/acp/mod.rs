//! The proxy between an editor and an agent that speak the Agent Client Protocol, version 1. The rules decide about questions for
//! permission, and about prompts, files and commands that the agent leaves to the editor. MCP servers are put behind the MCP proxy.
//! Other messages are recorded, or pass byte for byte.
//!
//! The proxy is no boundary by itself: it cannot stop an agent that does not ask. So it counts how much the agent asked ([`summary`]).
//!
//! Source of the protocol: agentclientprotocol/agent-client-protocol, `schema/v1`.
//!
//! Modules depend downwards: a module uses only modules above it in this list.
//!
//! | module | content |
//! |---|---|
//! | [`keys`] | checks for keys that two readers could read differently |
//! | [`summary`] | counts how much of its work the agent asked about |
//! | [`prompt`] | converts a prompt to a text, and back |
//! | [`permission`] | the answers to questions for permission |
//! | [`operation`] | the files and commands that the agent leaves to the editor |
//! | [`servers`] | the MCP servers of a session, behind the proxy |
//! | [`weight`] | the memory that a value takes |
//! | [`tool_calls`] | the calls that the agent has reported |
//! | [`sessions`] | the sessions of the connection |
//! | [`records`] | events that are recorded in the background |
//! | [`proxy`] | handles the messages of both sides |

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
