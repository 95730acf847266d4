//! The proxy in front of MCP servers. The proxy sends events about the messages to the resident host, which decides on the events.
//!
//! Messages on which no rule decides are forwarded byte for byte. Other messages are rebuilt if plugins have changed them. The
//! process of the proxy is small, because it loads no plugins.
//!
//! Source of the protocol: the specification of 2025-06-18, of 2025-11-25 and of 2026-07-28.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | `revision` | the revisions of the protocol |
//! | [`operation`] | the requests on which rules decide |
//! | [`answer`] | converts the answers to these requests into results for plugins |
//! | [`policy`] | the section `[mcp-proxy]` |
//! | [`lock`] | the definitions of tools that are approved, and the definitions that are held back |
//! | [`listing`] | filters a listing of tools for the client |
//! | [`question_state`] | questions to the client's user |
//! | [`subscription`] | subscriptions and their notifications |
//! | [`judge`] | decides on each message |
//! | [`proxy`] | the proxy between a client and a server |
//! | [`request_headers`] | checks the origin and content type of HTTP requests |
//! | [`sse`] | server-sent events |
//! | [`parameter_headers`] | the headers that repeat parts of a request |
//! | [`service`] | an MCP server that is reached over HTTP |
//! | [`http_server`] | serves clients over HTTP |

pub mod answer;
pub mod http_server;
pub mod judge;
pub mod listing;
pub mod lock;
pub mod operation;
pub mod parameter_headers;
pub mod policy;
pub mod proxy;
pub mod question_state;
pub mod request_headers;
mod revision;
pub mod service;
pub mod sse;
pub mod subscription;
