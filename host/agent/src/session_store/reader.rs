//! Reads a session from disk, also one that another program wrote or whose files have changed since.

use super::metadata::{self, Metadata, Used};
use super::{Ending, Header, SessionStoreError, StoredMessage, message_file, messages_directory, millis};
use crate::message::{Message, TokenUsage};
use hookhost::files::{self, FileError, Guard, Links};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Bytes of a prompt that are read for its first words.
const FIRST_WORDS: u64 = 4096;

/// The largest file of a message that is read: 64 MiB. What tools and models say is bounded to less.
const MAX_MESSAGE: u64 = 64 << 20;

/// The largest file of what a session is: 1 MiB.
const MAX_METADATA: u64 = 1 << 20;

/// A session as its files describe it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredSession {
    /// What the session is.
    pub header: Header,
    /// When it began, in milliseconds since the Unix epoch, where its file says so.
    pub created: Option<u64>,
    /// The messages that can be read, oldest first.
    pub messages: Vec<StoredMessage>,
    /// The conversation, oldest first.
    pub conversation: Vec<Message>,
    /// Files that are no messages, or no longer.
    pub damaged: Vec<Damage>,
    /// Numbers between others of which there is no file.
    pub missing: Vec<u64>,
    /// How it ended; `None` where it was killed, or still runs.
    pub ending: Option<Ending>,
    /// Model calls so far, without those of its sub-agents.
    pub turns: u32,
    /// Model calls of its sub-agents, as far as it is known: since its last end they are not.
    pub subagent_turns: u32,
    /// What both used.
    pub usage: TokenUsage,
}

/// A message's file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// The summary of a session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// What the session is.
    pub header: Header,
    /// When it began, in milliseconds since the Unix epoch, where its file says so.
    pub created: Option<u64>,
    /// When its last message was written.
    pub updated: u64,
    /// How many messages it has.
    pub messages: usize,
    /// The beginning of its first prompt, where that can be read.
    pub prompt: Option<String>,
    /// How it ended; `None` where it was killed, or still runs.
    pub ending: Option<Ending>,
}

impl StoredSession {
    /// Reads the session in a directory of its own.
    ///
    /// # Errors
    /// If the system does not let it be read. Problems of single messages are reported beside the others.
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
        // The last end counts what failed calls used; the messages since then are not in it.
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
    /// Of the session in a directory of its own; none where that cannot be read.
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

/// The files of the messages by number. Two of one number, which a program without a lock can leave, both count.
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

/// The beginning of a prompt; none where the file is no prompt.
fn first_words(number: u64, path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    let file = files::open(path, Guard::OnlyMineToWrite, Links::Followed).ok()?;
    file.take(FIRST_WORDS).read_to_end(&mut bytes).ok()?;
    // What is read may end within a character.
    let end = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    };
    match StoredMessage::read(number, &bytes[..end]).ok()?.message {
        Message::User { text, .. } => Some(text),
        Message::Assistant { .. } | Message::Tool { .. } => None,
    }
}
