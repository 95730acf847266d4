//! The relay of a proxy between two programs that exchange JSON-RPC messages as lines. The relay parses each message strictly and
//! keeps the order of the messages in both directions. Each proxy implements a [`handler::Handler`], which decides on the messages.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | [`message`] | a JSON-RPC message, read strictly and kept byte for byte |
//! | [`pending_requests`] | the pending requests |
//! | [`queue`] | the ordered queue of messages to one side |
//! | [`work_counter`] | a counter of running work |
//! | [`lines`] | messages as lines |
//! | [`standard_streams`] | the standard input and output |
//! | [`queue_place`] | the place of a message about which rules are asked |
//! | [`client_requests`] | the proxy's own requests to the client |
//! | [`unreadable_lines`] | lines that are no messages, and reports of them to the user |
//! | [`handler`] | the trait of a proxy that handles the messages of both sides |
//! | [`relay`] | the relay between two sides that speak lines |

pub mod client_requests;
pub mod handler;
pub mod lines;
pub mod message;
pub mod pending_requests;
pub mod queue;
pub mod queue_place;
pub mod relay;
pub mod standard_streams;
pub mod unreadable_lines;
pub mod work_counter;
