//! What a proxy needs that is between two programs which speak JSON-RPC in lines: it reads each message strictly, keeps the
//! order of both directions, and has events settled by the resident host. What happens to a message is the proxy's own
//! ([`handler::Handler`]).
//!
//! Data flows down this list and never back up:
//!
//! | module | what it is |
//! |---|---|
//! | [`name`] | the name of an MCP server |
//! | [`message`] | a JSON-RPC message, read strictly and kept as it came |
//! | [`resident`] | asking the resident host |
//! | [`under_way`] | the requests that are under way |
//! | [`lane`] | the messages on their way to one side, in order |
//! | [`busy`] | how many messages are asked about now |
//! | [`lines`] | messages as lines |
//! | [`streams`] | the standard input and output |
//! | [`turn`] | the place of a message that is asked about |
//! | [`questions`] | the proxy's own requests to the client |
//! | [`unreadable`] | lines that are no messages, of which the user is told some |
//! | [`handler`] | what a proxy does with the messages of both sides |
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
