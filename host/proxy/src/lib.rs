//! Proxies between two programs that speak JSON-RPC. One proxy is for the Model Context Protocol, one for the Agent Client
//! Protocol. The resident host decides on their messages, which it gets as events.
//!
//! `mcp` and `acp` do not use each other. Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | `resident_host` | the question to the resident host, and texts for people |
//! | [`server_name`] | the name of an MCP server |
//! | [`jsonrpc`] | strict messages, their order, and the relay between two sides that speak lines |
//! | [`mcp`] | the proxy in front of MCP servers |
//! | [`acp`] | the proxy between an editor and an agent |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod acp;
pub mod jsonrpc;
pub mod mcp;
mod resident_host;
pub mod server_name;
