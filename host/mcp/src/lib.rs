//! The proxy in front of MCP servers: what goes over the wire is settled as events, by the resident host.
//!
//! A message that nobody is asked about passes byte for byte. One that is asked about is derived once more from the value as
//! plugins left it. The process is small: it loads no plugin.
//!
//! Source of what it knows of the protocol: the specification of 2025-06-18, of 2025-11-25 and of 2026-07-28.
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`operation`] | the requests that are asked about |
//! | [`answer`] | what they are answered with |
//! | [`policy`] | the section `[mcp-proxy]` |
//! | [`lock`] | the definitions of tools that were approved, and those that are held back |
//! | [`listing`] | a listing of tools as the client gets it |
//! | [`question`] | questions that the client's user is asked |
//! | [`subscription`] | what is told on a subscription |
//! | [`judge`] | what happens to a message |
//! | [`stdio`] | the proxy between two sides that speak lines |
//! | [`events`] | server-sent events |
//! | [`mirrored`] | the headers that say again what a request says |
//! | [`service`] | a service over HTTP, as a server that speaks lines |
//! | [`headers`] | where a request over HTTP comes from, and what it is |
//! | [`listen`] | a client over HTTP, as clients that speak lines |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod answer;
pub mod events;
pub mod headers;
pub mod judge;
pub mod listen;
pub mod listing;
pub mod lock;
pub mod mirrored;
pub mod operation;
pub mod policy;
pub mod question;
pub mod service;
pub mod stdio;
pub mod subscription;
