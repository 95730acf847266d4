//! The relay of a proxy between two programs that speak JSON-RPC in lines. It reads each message strictly, keeps the order of both
//! directions, and has the resident host settle events. The proxy itself decides about messages ([`handler::Handler`]).
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`name`] | the name of an MCP server |
//! | [`message`] | a JSON-RPC message, read strictly and kept byte for byte |
//! | [`resident`] | a connection to the resident host |
//! | [`under_way`] | the requests under way |
//! | [`lane`] | the ordered queue of messages to one side |
//! | [`busy`] | a counter of work under way |
//! | [`lines`] | messages as lines |
//! | [`streams`] | the standard input and output |
//! | [`turn`] | the place of a message about which rules are asked |
//! | [`questions`] | the proxy's own requests to the client |
//! | [`unreadable`] | lines that are no messages, and reports of them to the user |
//! | [`handler`] | the trait of a proxy that handles the messages of both sides |
//! | [`relay`] | the relay between two sides that speak lines |

#![deny(missing_docs)]
#![cfg(unix)]

pub mod busy;
pub mod handler;
pub mod lane;
pub mod lines;
pub mod message;
pub mod name;
pub mod questions;
pub mod relay;
pub mod resident;
pub mod streams;
pub mod turn;
pub mod under_way;
pub mod unreadable;
