//! The relay of a proxy between two programs that speak JSON-RPC in lines. The relay reads each message strictly and keeps the
//! order in both directions. Each proxy decides on messages by a [`handler::Handler`].
//!
//! Data flows down this list and never back up:
//!
//! | module | content |
//! |---|---|
//! | [`message`] | a JSON-RPC message, read strictly and kept byte for byte |
//! | [`pending_requests`] | the pending requests |
//! | [`lines`] | messages as lines |
//! | [`message_streams`] | the streams on which a relay receives and sends messages |
//! | [`queue`] | the ordered queue of messages to one side |
//! | [`work_counter`] | a counter of running work |
//! | [`standard_streams`] | the standard input and output |
//! | [`queue_place`] | the place of a message about which rules are asked |
//! | [`client_requests`] | the proxy's own requests to the client |
//! | [`unreadable_lines`] | lines that are no messages, and reports of them to the user |
//! | [`handler`] | the trait of a proxy that handles the messages of both sides |
//! | [`relay`] | the relay between the two sides |

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
