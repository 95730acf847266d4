//! Reads a session from disk, even if another program wrote it or its files have changed.

use super::metadata::{self, Metadata, Used};
use super::{Ending, Header, SessionStoreError, StoredMessage, message_file, messages_directory, millis};
use hookhost::files::{self, FileError, Guard, Links};
use hookhost_models::message::{Message, TokenUsage};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Number of bytes that are read for the beginning of a prompt.
const FIRST_WORDS: u64 = 4096;

/// Maximum size of a message's file: 64 MiB. Messages of tools and models are limited to less.
const MAX_MESSAGE: u64 = 64 << 20;

/// Maximum size of `session.conf`: 1 MiB.
const MAX_METADATA: u64 = 1 << 20;

/// A session as described by its files.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredSession {
    /// Facts of the session.
    pub header: Header,
    /// Start of the session in milliseconds since the Unix epoch, if recorded.
    pub created: Option<u64>,
    /// Readable messages, oldest first.
    pub messages: Vec<StoredMessage>,
    /// Conversation, oldest message first.
    pub conversation: Vec<Message>,
    /// Files of messages that cannot be read.
    pub damaged: Vec<Damage>,
    /// Missing numbers in the sequence of messages, at most 100.
    pub missing: Vec<u64>,
    /// End of the session; `None` if it was killed or still runs.
    pub ending: Option<Ending>,
    /// Number of model calls so far, without those of sub-agents.
    pub turns: u32,
    /// Number of model calls by sub-agents up to the last recorded end; later ones are unknown.
    pub subagent_turns: u32,
    /// Tokens used, as far as the files record them.
    pub usage: TokenUsage,
}

/// A message file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Path of the file.
    pub path: PathBuf,
    /// Description of the fault.
    pub reason: String,
}

/// An entry in a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Facts of the session.
    pub header: Header,
    /// Start of the session in milliseconds since the Unix epoch, if recorded.
    pub created: Option<u64>,
    /// Time of its last message, in milliseconds since the Unix epoch.
    pub updated: u64,
    /// Number of its messages.
    pub messages: usize,
    /// Beginning of its first prompt, if readable.
    pub prompt: Option<String>,
    /// End of the session; `None` if it was killed or still runs.
    pub ending: Option<Ending>,
}

impl StoredSession {
    /// Reads the session in `directory`.
    ///
    /// # Errors
    /// Returns an error if the system refuses access. Faults of single messages are part of the result.
    pub fn read(directory: &Path) -> Result<Self, SessionStoreError> {
        let metadata = metadata(directory)?;
        let (mut messages, mut damaged) = (Vec::new(), Vec::new());
        let files = message_files(directory)?;
        for (number, path) in &files {
            let read = match files::read(path, Guard::OnlyMineToWrite, Links::Followed, MAX_MESSAGE) {
                Ok(bytes) => StoredMessage::read(*number, &bytes),
                Err(FileError::Refused(refused)) => Err(refused.fault),
                Err(FileError::Io(error)) => return Err(SessionStoreError::io(path, "read")(error)),
            };
            match read {
                Ok(message) => messages.push(message),
                Err(reason) => damaged.push(Damage { path: path.clone(), reason }),
            }
        }
        // The first message has the number 1.
        let numbers: Vec<u64> = std::iter::once(0).chain(files.iter().map(|(number, _)| *number)).collect();
        let missing = numbers.windows(2).flat_map(|pair| pair[0] + 1..pair[1]).take(100);
        // The counts of the last end include failed calls, but not the messages since then.
        let Used { mut turns, subagent_turns, mut usage } = metadata.used();
        let generations: Vec<_> = messages.iter().filter_map(|message| message.generation.as_ref()).collect();
        let mut counted = TokenUsage::default();
        generations.iter().for_each(|generation| counted.add(generation.usage));
        if counted.input_tokens > usage.input_tokens || counted.output_tokens > usage.output_tokens {
            usage = counted;
        }
        turns = turns.max(u32::try_from(generations.len()).unwrap_or(u32::MAX));
        Ok(Self {
            header: metadata.header(&id(directory)),
            created: metadata.created(),
            missing: missing.collect(),
            conversation: messages.iter().map(|stored| stored.message.clone()).collect(),
            messages,
            damaged,
            ending: metadata.ending(),
            turns,
            subagent_turns,
            usage,
        })
    }
}

impl Summary {
    /// Reads the entry of the session in `directory`; `None` if it cannot be read.
    pub(super) fn read(directory: &Path) -> Option<Self> {
        let metadata = metadata(directory).ok()?;
        let files = message_files(directory).ok()?;
        let written = std::fs::metadata(messages_directory(directory)).and_then(|messages| messages.modified());
        let prompt = files.iter().find_map(|(number, path)| first_words(*number, path));
        Some(Self {
            header: metadata.header(&id(directory)),
            created: metadata.created(),
            updated: written.map(millis).ok().or(metadata.created()).unwrap_or(0),
            messages: files.len(),
            prompt,
            ending: metadata.ending(),
        })
    }
}

fn id(directory: &Path) -> String {
    directory.file_name().and_then(metadata::id_of).unwrap_or_default().to_owned()
}

pub(super) fn metadata(directory: &Path) -> Result<Metadata, SessionStoreError> {
    let file = directory.join(metadata::FILE);
    let bytes = files::read(&file, Guard::OnlyMineToWrite, Links::Followed, MAX_METADATA);
    let bytes = bytes.map_err(|error| SessionStoreError::io(&file, "read")(error.into()))?;
    Ok(Metadata::parse(&String::from_utf8_lossy(&bytes)))
}

/// Returns the message files by number. Two files with one number, which a program without a lock can leave, are both
/// included.
pub(super) fn message_files(directory: &Path) -> Result<Vec<(u64, PathBuf)>, SessionStoreError> {
    let directory = messages_directory(directory);
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&directory).map_err(SessionStoreError::io(&directory, "read"))? {
        let entry = entry.map_err(SessionStoreError::io(&directory, "read"))?;
        let name = entry.file_name();
        if let Some(number) = name.to_str().and_then(message_file::number) {
            files.insert((number, name), entry.path());
        }
    }
    Ok(files.into_iter().map(|((number, _), path)| (number, path)).collect())
}

/// Returns the beginning of a prompt; `None` if the file is not a prompt.
fn first_words(number: u64, path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = files::open(path, Guard::OnlyMineToWrite, Links::Followed).ok()?;
    file.take(FIRST_WORDS).read_to_end(&mut bytes).ok()?;
    // The limit may cut a character.
    let end = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    match StoredMessage::read(number, &bytes[..end]).ok()?.message {
        Message::User { text, .. } => Some(text),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    }
}
