//! `hookhost mcp`: the proxy in front of an MCP server, and the definitions of tools that it lets through.

mod approve;
mod install;
mod proxy;
mod rules;
mod starting_rules;

pub(crate) use approve::{approve, list};
pub(crate) use install::{To, change_servers};
pub(crate) use proxy::proxy;
pub(crate) use starting_rules::{check, init};
