//! The capability `transcript`: the conversation, which a plugin reads page by page.

use super::{Guest, of_the_contract, wit};
use crate::callback::{self, Waiters};
use crate::contract::bytes::written_size;
use crate::contract::{Failure, FailureKind};
use crate::sandbox::TranscriptRead;
use crate::sandbox::trap::Limit;
use serde::{Deserialize, Serialize};

/// Maximum number of bytes of contents that one `read` returns.
const PAGE: usize = 1 << 20;

/// Maximum number of bytes of the conversation, as JSON, that the record of one call contains. A call that has read
/// more cannot be replayed.
const RECORDED: usize = 256 * 1024;

/// The conversation of a session, which the embedding program stores.
///
/// ```
/// use hookhost::capability::{Message, Transcript};
/// use hookhost::{Config, Host};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Default)]
/// struct Conversation(Mutex<Vec<Message>>);
///
/// impl Transcript for Conversation {
///     fn length(&self) -> u32 {
///         self.0.lock().map_or(0, |messages| messages.len() as u32)
///     }
///
///     fn message(&self, index: u32) -> Option<Message> {
///         self.0.lock().ok()?.get(index as usize).cloned()
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let host = Host::builder(Config::empty()).build().await?;
/// let conversation = Arc::new(Conversation::default());
/// let session = host.session("my-agent", "/work")?;
/// session.set_transcript(conversation.clone());
///
/// // Plugins with the grant `transcript` read its state at the time when they are asked.
/// conversation.0.lock().unwrap().push(Message::new("user", "deploy it"));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
pub trait Transcript: Send + Sync {
    /// Returns the number of messages.
    fn length(&self) -> u32;
    /// Returns the message at `index`. The oldest message has index 0.
    fn message(&self, index: u32) -> Option<Message>;
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The text of the message.
    pub content: String,
}

impl Message {
    /// Creates a message with this role and text.
    #[must_use]
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// The transcript of a session whose embedding program does not provide a conversation.
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

/// The capability `transcript`.
pub(super) struct Conversation;

of_the_contract!(Conversation = transcript, "transcript", Some("transcript = true"), |grants| grants.transcript);

impl wit::transcript::Host for Guest {
    fn length(&mut self) -> wasmtime::Result<u32> {
        self.count_call()?;
        let length = guarded(&self.given.waiters, || self.transcript().length())?;
        self.did.inputs.transcript.get_or_insert_default().length = length;
        Ok(length)
    }

    fn read(&mut self, start: u32, count: u32) -> wasmtime::Result<Vec<wit::transcript::Message>> {
        self.count_call()?;
        let (length, messages) = guarded(&self.given.waiters, || {
            let mut bytes = 0;
            // Limit the indices too, because a conversation may return an empty message at every index.
            let indices = start..start.saturating_add(count).min(self.transcript().length());
            let messages = indices.map_while(|index| Some((index, self.transcript().message(index)?)));
            let page = messages.take_while(|(_, message)| {
                let first = bytes == 0;
                bytes += message.content.len();
                first || bytes <= PAGE
            });
            (self.transcript().length(), page.collect::<Vec<_>>())
        })?;
        self.note_read(length, &messages);
        let wit =
            |(_, message): (u32, Message)| wit::transcript::Message { role: message.role, content: message.content };
        Ok(messages.into_iter().map(wit).collect())
    }
}

impl Guest {
    fn transcript(&self) -> &dyn Transcript {
        match &self.given.replayed {
            Some(replayed) => replayed,
            None => &*self.given.transcript,
        }
    }

    /// Records the messages that the call read, if the record does not become too large.
    fn note_read(&mut self, length: u32, messages: &[(u32, Message)]) {
        let read: &mut TranscriptRead = self.did.inputs.transcript.get_or_insert_default();
        read.length = length;
        for (index, message) in messages {
            if read.messages.contains_key(index) {
                continue;
            }
            self.recorded_bytes = self.recorded_bytes.saturating_add(written_size(message));
            if self.recorded_bytes > RECORDED {
                self.did.unrepeatable.insert("the plugin read more of the conversation than the log stores");
                return;
            }
            read.messages.insert(*index, message.clone());
        }
    }
}

/// Runs code of the embedding program, which may panic.
fn guarded<T>(waiters: &Waiters, read: impl FnOnce() -> T) -> wasmtime::Result<T> {
    callback::run(waiters, read).map_err(|_| {
        let detail = "asked for the transcript, and the agent failed to read it";
        Limit(Failure::new(FailureKind::Trap, detail)).into()
    })
}
