//! Proxies between two programs that exchange JSON-RPC messages. One proxy is for the Model Context Protocol, and the other is for
//! the Agent Client Protocol. A proxy sends events about the messages to the resident host, which decides on the events.
//!
//! `mcp` and `acp` do not use each other. Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | `resident_host` | asks the resident host for decisions, and creates texts for people |
//! | [`server_name`] | the name of an MCP server |
//! | [`jsonrpc`] | the strict parser of messages, and the relay between two programs, which keeps the order of the messages |
//! | [`mcp`] | the proxy in front of MCP servers |
//! | [`acp`] | the proxy between an editor and an agent |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod acp;
pub mod jsonrpc;
pub mod mcp;
mod resident_host;
pub mod server_name;
