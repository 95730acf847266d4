//! `hookhost mcp`: the proxy in front of an MCP server, the approval of tool definitions, and the interceptor.

mod approve;
mod arguments;
mod check;
mod install;
mod interceptor;
mod proxy;
mod rules;
mod starting_rules;

pub(crate) use approve::{approve, list};
pub(crate) use check::check;
pub(crate) use install::{To, change_servers, take_out_proxies};
pub(crate) use interceptor::interceptor;
pub(crate) use proxy::proxy;
pub(crate) use starting_rules::init;
