//! The proxy in front of MCP servers. The resident host decides on their messages, which it gets as events.
//!
//! Messages about which no rule is asked pass byte for byte. The others are rebuilt from the value after plugins have changed it.
//! The process is small, because it loads no plugin.
//!
//! Source of the protocol: the specification of 2025-06-18, of 2025-11-25 and of 2026-07-28.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | `revision` | the revisions of the protocol |
//! | [`operation`] | the requests about which rules are asked |
//! | [`answer`] | converts the answers to these requests for plugins |
//! | [`policy`] | the section `[mcp-proxy]` |
//! | [`lock`] | the approved definitions of tools, and those that are held back |
//! | [`listing`] | a listing of tools as the client gets it |
//! | [`question_state`] | questions to the client's user |
//! | [`subscription`] | subscriptions and their notifications |
//! | [`judge`] | decides on each message |
//! | [`proxy`] | the proxy between two sides that speak lines |
//! | [`request_headers`] | checks the origin and content type of HTTP requests |
//! | [`sse`] | server-sent events |
//! | [`parameter_headers`] | the headers that repeat parts of a request |
//! | [`service`] | an HTTP service as a server that speaks lines |
//! | [`http_server`] | HTTP clients as clients that speak lines |

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
