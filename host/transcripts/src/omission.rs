//! The parts of transcripts that could not be read.

use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of characters of an example.
const MAX_EXAMPLE: usize = 300;

/// The reason why a part of a transcript is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OmissionKind {
    /// A file or directory cannot be opened or read.
    UnreadableFile,
    /// No line of a transcript has a known format.
    UnknownFormat,
    /// The last line of a transcript is incomplete, because the agent still writes it or was interrupted.
    IncompleteLine,
    /// A line is longer than the largest message that a hook can send.
    LongLine,
    /// A line is not JSON in UTF-8.
    InvalidLine,
    /// A call cannot be read: it is ambiguous, or a part is missing.
    UnreadableCall,
    /// A call ran on Windows, and this is another system.
    OtherSystem,
    /// The transcript does not name the directory in which its calls ran. The calls count as calls in the home directory.
    UnknownDirectory,
    /// A database was copied without the file that contains its newest rows.
    IncompleteDatabase,
}

/// What was left out of the transcripts of one agent, for one reason. [`Display`](fmt::Display) formats it as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Omission {
    /// Title of the agent, such as `Claude Code`.
    pub agent: &'static str,
    /// The reason.
    pub kind: OmissionKind,
    /// Number of files, lines or calls.
    pub count: u64,
    /// The first one: its place, and the details of the reason.
    pub example: String,
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, kind, count, example } = self;
        let (one, many, says) = match kind {
            OmissionKind::UnreadableFile => ("transcript", "transcripts", "cannot be read"),
            OmissionKind::UnknownFormat => {
                ("transcript", "transcripts", "of a format that this hookhost does not know")
            }
            OmissionKind::IncompleteLine => ("transcript", "transcripts", "with an incomplete last line"),
            OmissionKind::LongLine => ("line", "lines", "longer than 16 MiB, left out"),
            OmissionKind::InvalidLine => ("line", "lines", "not JSON in UTF-8, left out"),
            OmissionKind::UnreadableCall => ("call", "calls", "unreadable, left out"),
            OmissionKind::OtherSystem => ("call", "calls", "made on Windows, left out"),
            OmissionKind::UnknownDirectory => {
                ("call", "calls", "without a directory, taken as calls in your home directory")
            }
            OmissionKind::IncompleteDatabase => ("database", "databases", "copied without the newest calls"),
        };
        write!(f, "{agent}: {count} {} {says} ({example})", if *count == 1 { one } else { many })
    }
}

/// Counts omissions.
#[derive(Clone, Debug, Default)]
pub(crate) struct OmissionCounts {
    counts: BTreeMap<(&'static str, OmissionKind), (u64, String)>,
}

impl OmissionCounts {
    /// Counts an omission. Only the first example of each kind is kept.
    pub(crate) fn add(&mut self, agent: &'static str, kind: OmissionKind, example: impl FnOnce() -> String) {
        let entry = self.counts.entry((agent, kind));
        let (count, _) = entry.or_insert_with(|| (0, example().chars().take(MAX_EXAMPLE).collect()));
        *count += 1;
    }

    /// Returns the omissions, sorted by agent and reason.
    pub(crate) fn all(&self) -> Vec<Omission> {
        let omission = |(&(agent, kind), (count, example)): (&(&'static str, OmissionKind), &(u64, String))| Omission {
            agent,
            kind,
            count: *count,
            example: example.clone(),
        };
        self.counts.iter().map(omission).collect()
    }
}
