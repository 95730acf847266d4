//! The proxy between an editor and an agent that speak the Agent Client Protocol, version 1. The rules decide on requests for
//! permission and on prompts. They also decide on files and commands if the agent asks the editor to read, write or run them. MCP
//! servers are put behind the MCP proxy. Other messages are forwarded byte for byte, and some of them are recorded.
//!
//! The proxy alone does not confine an agent, because the proxy cannot stop a tool call about which the agent does not ask. It
//! therefore counts how often the agent asked ([`coverage`]).
//!
//! Source of the protocol: agentclientprotocol/agent-client-protocol, `schema/v1`.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | [`ambiguous_keys`] | checks for keys that two programs could interpret differently |
//! | [`coverage`] | counts how often the agent asked |
//! | [`prompt`] | converts a prompt to a text, and back |
//! | [`permission`] | the answers to requests for permission |
//! | [`operation`] | the files and commands that the agent leaves to the editor |
//! | [`proxied_servers`] | the MCP servers of a session, behind the proxy |
//! | [`memory_size`] | the memory that a value takes |
//! | [`tool_calls`] | the calls that the agent has reported |
//! | [`sessions`] | the sessions of the connection |
//! | [`event_recorder`] | events that are recorded in the background |
//! | [`proxy`] | handles the messages of both sides |

pub mod ambiguous_keys;
pub mod coverage;
pub mod event_recorder;
pub mod memory_size;
pub mod operation;
pub mod permission;
pub mod prompt;
pub mod proxied_servers;
pub mod proxy;
pub mod sessions;
pub mod tool_calls;
