//! Stores each session as it happens, in one file of JSON Lines. Each line is a record, and each record is on disk before the run
//! continues. People can read and edit the file with any editor, and `hookhost session show` shows the session as text
//! (docs/decisions/0015-sessions.md).
//!
//! ```text
//! {"session":{"time":…,"provider":"…","model":"…","workspace":"/…"}}    once, and again when the session is resumed
//! {"message":{"number":1,"time":…,"role":"user","text":"…"}}            a line for each message
//! {"reminders":[{"turn":1,"body":"…",…}]}                               the reminders of plugins, when they change
//! {"end":{"status":"success","turns":1,…}}                              the end, unless the process was killed
//! ```
//!
//! A process may be killed at any time, and its session can still be read and continued. While a process writes a
//! session, it holds a lock, so no other process can write the session. The lock ends with the process.

mod error;
mod reader;
mod record;
mod repair;
mod resume;
mod store;
mod writer;

pub use error::SessionStoreError;
pub use reader::{DamagedLine, SessionSummary, StoredSession};
pub use record::{Ending, Generation, Header, StoredMessage};
pub use repair::INTERRUPTED;
pub use resume::ResumedSession;
pub use store::SessionStore;
pub use writer::SessionWriter;

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in milliseconds since the Unix epoch.
fn now() -> u64 {
    millis(SystemTime::now())
}

fn millis(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
