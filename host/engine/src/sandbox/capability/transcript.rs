//! `transcript`: the conversation, read as needed.

use super::{Guest, wit};
use crate::sandbox::failure::{Failure, FailureKind, Limit};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most bytes of contents that one `read` returns.
const PAGE: usize = 1 << 20;

/// The conversation of a session, as its embedder keeps it.
pub trait Transcript: Send + Sync {
    /// How many messages there are.
    fn length(&self) -> u32;
    /// The message at `index`, 0 being the oldest.
    fn message(&self, index: u32) -> Option<Message>;
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub content: String,
}

/// The transcript of a session whose embedder keeps none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoTranscript;

impl Transcript for NoTranscript {
    fn length(&self) -> u32 {
        0
    }
    fn message(&self, _: u32) -> Option<Message> {
        None
    }
}

impl wit::transcript::Host for Guest {
    fn length(&mut self) -> wasmtime::Result<u32> {
        self.count_call()?;
        guarded(|| self.transcript.length())
    }

    fn read(&mut self, start: u32, count: u32) -> wasmtime::Result<Vec<wit::transcript::Message>> {
        self.count_call()?;
        guarded(|| {
            let mut bytes = 0;
            let messages = (start..start.saturating_add(count)).map_while(|index| self.transcript.message(index));
            messages
                .take_while(|message| {
                    let first = bytes == 0;
                    bytes += message.content.len();
                    first || bytes <= PAGE
                })
                .map(|message| wit::transcript::Message { role: message.role, content: message.content })
                .collect()
        })
    }
}

/// Runs the embedder's code: its panic must not become the host's.
fn guarded<T>(read: impl FnOnce() -> T) -> wasmtime::Result<T> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| {
        let detail = "asked for the transcript, and the agent failed to read it";
        Limit(Failure::new(FailureKind::Trap, detail)).into()
    })
}
