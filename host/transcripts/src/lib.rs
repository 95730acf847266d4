//! Reads the transcripts that agents of other vendors keep on this disk. Each tool call in a transcript becomes the event that the
//! agent's hook would have sent to hookhost: the same tool, the same arguments, in the same session and directory.
//!
//! [`PastEvents`] finds the transcripts of the agents of an [`EventQuery`] and returns their calls, the newest transcript first. It
//! reads one line at a time, so a transcript of any size needs little memory. Whatever cannot be read is counted and described by an
//! [`Omission`]. Nothing is written, and a transcript is never a reason to panic.
//!
//! A reader turns a line into a message of the agent's hook, and the adapter of `hookhost-agents` decodes that message. So this crate
//! knows where an agent writes a call, and `hookhost-agents` knows what the call means.
//!
//! A module uses only modules above it in this list:
//!
//! | module | purpose |
//! |---|---|
//! | `places` | the directories in which agents keep their transcripts |
//! | `omission` | the parts of transcripts that could not be read |
//! | `lines` | reads a file by lines of a limited length |
//! | `message` | a message of an agent's hook, made from a transcript |
//! | `source` | a transcript that is being read |
//! | `agents` | the formats of the agents, one file each |
//! | `past_events` | reads all transcripts |
//! | `unseen_sessions` | the sessions about which hookhost was not asked |
//!
//! ```
//! use hookhost_transcripts::{EventQuery, PastEvents, TranscriptPlaces};
//!
//! let places = TranscriptPlaces::of_environment("/home/ada", |name| std::env::var_os(name));
//! let mut events = PastEvents::new(places, &EventQuery::default());
//! for event in &mut events {
//!     println!("{} {:?}", event.adapter.agent().name, event.call.event);
//! }
//! for omission in events.omissions() {
//!     eprintln!("{omission}");
//! }
//! ```

#![deny(missing_docs)]

mod agents;
mod lines;
mod message;
mod omission;
mod past_events;
mod places;
mod source;
mod unseen_sessions;

pub use agents::adapters;
pub use omission::{Omission, OmissionKind};
pub use past_events::{EventQuery, PastEvent, PastEvents};
pub use places::TranscriptPlaces;
pub use unseen_sessions::{SessionCount, UnseenSessions};
