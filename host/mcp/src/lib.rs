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
//! | [`name`] | the name of a server |
//! | [`message`] | a JSON-RPC message, read strictly and kept as it came |
//! | [`operation`] | the requests that are asked about |
//! | [`answer`] | what they are answered with |
//! | [`policy`] | the section `[mcp-proxy]` |
//! | [`lock`] | the definitions of tools that were approved, and those that are held back |
//! | [`listing`] | a listing of tools as the client gets it |
//! | [`question`] | questions that the client's user is asked |
//! | [`resident`] | asking the resident host |
//! | [`judge`] | what happens to a message |
//! | [`under_way`] | the requests that are under way |
//! | [`subscription`] | what is told on a subscription |
//! | [`lane`] | the messages on their way to one side, in order |
//! | [`busy`] | how many messages are asked about now |
//! | [`lines`] | messages as lines |
//! | [`streams`] | the standard input and output |
//! | [`stdio`] | the proxy between two sides that speak lines |
//! | [`events`] | server-sent events |
//! | [`mirrored`] | the headers that say again what a request says |
//! | [`service`] | a service over HTTP, as a server that speaks lines |
//! | [`listen`] | a client over HTTP, as clients that speak lines |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod answer;
pub mod busy;
pub mod events;
pub mod judge;
pub mod lane;
pub mod lines;
pub mod listen;
pub mod listing;
pub mod lock;
pub mod message;
pub mod mirrored;
pub mod name;
pub mod operation;
pub mod policy;
pub mod question;
pub mod resident;
pub mod service;
pub mod stdio;
pub mod streams;
pub mod subscription;
pub mod under_way;
