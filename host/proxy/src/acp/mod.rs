//! The proxy between an editor and an agent that speak the Agent Client Protocol, version 1. The rules decide on requests for
//! permission and on prompts. They also decide when the agent asks the editor to read or write a file or to run a command. MCP
//! servers are put behind the MCP proxy. Other messages are forwarded byte for byte, and some of them are recorded.
//!
//! The proxy alone does not confine an agent, because the proxy cannot stop a tool call for which the agent does not ask
//! permission. The proxy therefore counts how often the agent asked for permission ([`coverage`]).
//!
//! Source of the protocol: agentclientprotocol/agent-client-protocol, `schema/v1`.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | [`ambiguous_keys`] | checks for keys that two programs could interpret differently |
//! | [`coverage`] | counts how often the agent asked for permission |
//! | [`prompt`] | converts a prompt to a text, and back |
//! | [`permission`] | the answers to requests for permission |
//! | [`operation`] | the agent's requests to the editor to read or write files and to run commands |
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
