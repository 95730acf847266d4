//! The capability `log`: plugins write lines into the host's log. The size and the number of a call's lines are
//! limited, and each line carries the plugin's name.

use super::{Guest, of_the_contract, wit};
use crate::contract::bytes::written_size;
use serde::{Deserialize, Serialize};

/// The level of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A line that a plugin wrote with the capability `log`, or to its standard output or error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LogLine {
    /// Level of the line.
    pub level: Level,
    /// Text of the line.
    pub message: String,
}

/// Maximum number of lines of one call, even if they are short.
const MAX_LOG_LINES: usize = 1_000;

/// The lines of one call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) lines: Vec<LogLine>,
    /// Remaining capacity, in bytes. The size of a line is the size of its JSON in the record, not the size of its
    /// text.
    pub(crate) capacity: usize,
    /// Number of lines that did not fit.
    pub(crate) dropped: u64,
}

impl Log {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { capacity, ..Self::default() }
    }

    pub(crate) fn write(&mut self, level: Level, message: String) {
        let line = LogLine { level, message };
        // JSON is at least as long as the text that it contains, so a text that is too long need not be encoded.
        let fits = line.message.len() <= self.capacity && self.lines.len() < MAX_LOG_LINES;
        // The additional byte is the comma after the line.
        match fits.then(|| self.capacity.checked_sub(written_size(&line) + 1)).flatten() {
            Some(left) => {
                self.capacity = left;
                self.lines.push(line);
            }
            None => self.dropped += 1,
        }
    }
}

/// The capability `log`.
pub(super) struct Lines;

of_the_contract!(Lines = log, "log", None, |_| true);

impl wit::log::Host for Guest {
    fn write(&mut self, level: wit::log::Level, message: String) -> wasmtime::Result<()> {
        self.count_call()?;
        let level = match level {
            wit::log::Level::Debug => Level::Debug,
            wit::log::Level::Info => Level::Info,
            wit::log::Level::Warn => Level::Warn,
            wit::log::Level::Error => Level::Error,
        };
        self.log.write(level, message);
        Ok(())
    }
}
