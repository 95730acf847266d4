//! The relay of a proxy between two programs that speak JSON-RPC in lines. It reads each message strictly and keeps the order of both
//! directions. The proxy itself decides about messages ([`handler::Handler`]).
//!
//! Modules depend downwards: a module uses only modules above it in this list.
//!
//! | module | content |
//! |---|---|
//! | [`message`] | a JSON-RPC message, read strictly and kept byte for byte |
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

pub mod busy;
pub mod handler;
pub mod lane;
pub mod lines;
pub mod message;
pub mod questions;
pub mod relay;
pub mod streams;
pub mod turn;
pub mod under_way;
pub mod unreadable;
