//! The relay of a proxy between two programs that exchange JSON-RPC messages. The relay parses each message strictly and
//! keeps the order of the messages in both directions. Each proxy implements a [`handler::Handler`], which decides on the messages.
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | [`message`] | a JSON-RPC message, which is parsed strictly and keeps its bytes |
//! | [`pending_requests`] | the pending requests |
//! | [`lines`] | reads messages as lines |
//! | [`message_streams`] | the streams on which a relay receives and sends messages |
//! | [`queue`] | the ordered queue of messages to one side |
//! | [`work_counter`] | a counter of running work |
//! | [`standard_streams`] | the standard input and output |
//! | [`queue_place`] | the place in the queue of a message on which rules are deciding |
//! | [`client_requests`] | the proxy's own requests to the client |
//! | [`unreadable_lines`] | lines that are not valid messages, and when to report them to the user |
//! | [`handler`] | the trait that a proxy implements to decide on messages |
//! | [`relay`] | the relay between a client and a server |

pub mod client_requests;
pub mod handler;
pub mod lines;
pub mod message;
pub mod message_streams;
pub mod pending_requests;
pub mod queue;
pub mod queue_place;
pub mod relay;
pub mod standard_streams;
pub mod unreadable_lines;
pub mod work_counter;
