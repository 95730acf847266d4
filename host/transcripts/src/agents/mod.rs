//! The formats of the agents' transcripts, one file each.
//!
//! To support another agent, add a file here and a line in [`FORMATS`], and record a transcript of the agent together with the
//! messages of its hook in `tests/recorded`.

mod claude_code;
mod codex;
mod copilot_cli;
mod gemini_cli;
mod opencode;
mod pi;

use crate::places::TranscriptPlaces;
use crate::source::{Found, TranscriptFile, TranscriptSource};
use hookhost_agents::{Adapter, by_name};

/// An open transcript, or the reason why it cannot be read.
pub(crate) type OpenResult = Result<Box<dyn TranscriptSource>, String>;

/// The transcripts of one agent.
#[derive(Clone, Copy)]
pub(crate) struct TranscriptFormat {
    /// Name of the agent's adapter.
    pub(crate) agent: &'static str,
    /// Finds the agent's transcripts.
    pub(crate) find: fn(&TranscriptPlaces, &mut Vec<TranscriptFile>, &mut Found),
    /// Opens a transcript. A source may leave out calls that were made before the time `since`.
    pub(crate) open: fn(&TranscriptFile, &TranscriptPlaces, since: u64) -> OpenResult,
}

/// All agents whose transcripts can be read, sorted by name.
pub(crate) const FORMATS: [TranscriptFormat; 6] =
    [claude_code::FORMAT, codex::FORMAT, copilot_cli::FORMAT, gemini_cli::FORMAT, opencode::FORMAT, pi::FORMAT];

/// Returns the adapters of the agents whose transcripts can be read.
pub fn adapters() -> Vec<&'static Adapter> {
    FORMATS.iter().filter_map(|format| by_name(format.agent)).collect()
}
