//! Reads a session's file, even if a person has changed the file, or another process is writing it.

use super::record::{Record, SessionStart, StoredReminder};
use super::{Ending, Generation, Header, SessionStoreError, StoredMessage, millis};
use hookhost::capability::Reminder;
use hookhost::files::{self, Guard, Links};
use hookhost_models::message::{Message, TokenUsage};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

/// Maximum length of a line: 64 MiB. Other limits keep messages of tools and models shorter than this.
pub(super) const MAX_LINE: u64 = 64 << 20;

/// Start of a line with a message, as the writer writes it.
const MESSAGE: &[u8] = br#"{"message":"#;

/// A session as its file describes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredSession {
    /// Facts about the session.
    pub header: Header,
    /// Start of the session in milliseconds since the Unix epoch, if recorded.
    pub created: Option<u64>,
    /// Readable messages, oldest first.
    pub messages: Vec<StoredMessage>,
    /// Conversation, oldest message first.
    pub conversation: Vec<Message>,
    /// Reminders that plugins set for the model, each with the number of model calls before it.
    pub reminders: Vec<(u32, Reminder)>,
    /// Lines that cannot be read.
    pub damaged: Vec<DamagedLine>,
    /// Missing numbers in the sequence of messages, at most 100.
    pub missing: Vec<u64>,
    /// End of the session. `None` if its process was killed or is still running.
    pub ending: Option<Ending>,
    /// Number of model calls so far, without the calls of sub-agents.
    pub turns: u32,
    /// Number of model calls by sub-agents up to the last recorded end. The number of later calls is unknown.
    pub subagent_turns: u32,
    /// Tokens used, as far as the file records them.
    pub usage: TokenUsage,
    /// Length of all complete lines, in bytes. After them, the file may contain an incomplete line that a killed
    /// process left.
    pub(super) length: u64,
    /// True if the last line is a complete record, but has no line break.
    pub(super) is_unterminated: bool,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedLine {
    /// Number of the line, from 1.
    pub line: usize,
    /// Description of the fault.
    pub reason: String,
}

/// An entry in a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionSummary {
    /// Facts about the session.
    pub header: Header,
    /// Start of the session in milliseconds since the Unix epoch, if recorded.
    pub created: Option<u64>,
    /// Time of the session's last record, in milliseconds since the Unix epoch.
    pub updated: u64,
    /// Number of messages in the session.
    pub messages: usize,
    /// The session's first prompt, if it is readable.
    pub prompt: Option<String>,
    /// End of the session. `None` if its process was killed or is still running.
    pub ending: Option<Ending>,
}

impl StoredSession {
    /// Reads a session from its file.
    ///
    /// # Errors
    /// Returns an error if the system refuses access, or if no line describes the session. If other lines are damaged,
    /// the result lists them.
    pub fn read(path: &Path) -> Result<Self, SessionStoreError> {
        let mut facts = SessionFacts::default();
        let (mut messages, mut reminders, mut damaged) = (Vec::<StoredMessage>::new(), Vec::new(), Vec::new());
        let (mut length, mut is_unterminated) = (0, false);
        // The first message has the number 1.
        let (mut last, mut missing) = (0_u64, Vec::new());
        for_each_line(path, |line| {
            match line.record() {
                Ok(None) => {}
                Ok(Some(Record::Session(start))) => facts.start(start),
                Ok(Some(Record::End(ending))) => facts.ending = Some(ending),
                Ok(Some(Record::Reminders(stored))) => {
                    reminders = stored.into_iter().map(|StoredReminder { turn, reminder }| (turn, reminder)).collect();
                }
                Ok(Some(Record::Message(message))) => {
                    facts.continue_after_end();
                    missing.extend((last.saturating_add(1)..message.number).take(100 - missing.len()));
                    last = last.max(message.number);
                    messages.push(message);
                }
                // The process was killed while it wrote this line.
                Err(LineError { is_cut: true, .. }) => return,
                Err(LineError { reason, .. }) => damaged.push(DamagedLine { line: line.number, reason }),
            }
            length += line.length;
            is_unterminated = !line.is_terminated;
        })
        .map_err(SessionStoreError::file(path))?;
        let Some(header) = facts.header else {
            let reason = "the file has no readable line `session`, which describes the session".to_owned();
            let line = damaged.first().map_or(1, |damaged| damaged.line);
            return Err(SessionStoreError::Damaged { path: path.to_owned(), line, reason });
        };
        // The counts in the last recorded end include failed model calls. They do not include the messages after that
        // end.
        let (mut turns, subagent_turns, mut usage) = facts
            .ending
            .as_ref()
            .or(facts.earlier_ending.as_ref())
            .map_or((0, 0, TokenUsage::default()), |end| (end.turns, end.subagent_turns, end.usage));
        let generations: Vec<&Generation> = messages.iter().filter_map(|message| message.generation.as_ref()).collect();
        let mut counted = TokenUsage::default();
        generations.iter().for_each(|generation| counted.add(generation.usage));
        if counted.input_tokens > usage.input_tokens || counted.output_tokens > usage.output_tokens {
            usage = counted;
        }
        turns = turns.max(u32::try_from(generations.len()).unwrap_or(u32::MAX));
        Ok(Self {
            header: Header { id: id(path), ..header },
            created: facts.created,
            conversation: messages.iter().map(|stored| stored.message.clone()).collect(),
            messages,
            reminders,
            damaged,
            missing,
            ending: facts.ending,
            turns,
            subagent_turns,
            usage,
            length,
            is_unterminated,
        })
    }
}

impl SessionSummary {
    /// Reads the entry of a session; `None` if the file is not a readable session.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let mut facts = SessionFacts::default();
        let (mut messages, mut prompt) = (0, None);
        for_each_line(path, |line| {
            // After the first prompt, messages are counted without being parsed.
            if prompt.is_some() && line.is_terminated && line.bytes.starts_with(MESSAGE) {
                messages += 1;
                facts.continue_after_end();
                return;
            }
            match line.record() {
                Ok(Some(Record::Session(start))) => facts.start(start),
                Ok(Some(Record::End(ending))) => facts.ending = Some(ending),
                Ok(Some(Record::Message(message))) => {
                    messages += 1;
                    facts.continue_after_end();
                    if let Message::User { text, .. } = message.message {
                        prompt.get_or_insert(text);
                    }
                }
                Ok(Some(Record::Reminders(_)) | None) | Err(_) => {}
            }
        })
        .ok()?;
        let written = std::fs::metadata(path).and_then(|file| file.modified());
        Some(Self {
            header: Header { id: id(path), ..facts.header? },
            created: facts.created,
            updated: written.map(millis).ok().or(facts.created).unwrap_or(0),
            messages,
            prompt,
            ending: facts.ending,
        })
    }
}

fn id(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Facts about a session from the part of its file that was read.
#[derive(Default)]
struct SessionFacts {
    header: Option<Header>,
    created: Option<u64>,
    /// The end, if nothing follows it.
    ending: Option<Ending>,
    /// An earlier end, whose counts are still valid.
    earlier_ending: Option<Ending>,
}

impl SessionFacts {
    fn start(&mut self, SessionStart { time, header }: SessionStart) {
        self.continue_after_end();
        if self.header.is_none() {
            self.created = time;
        }
        self.header = Some(header);
    }

    /// Records that the session has continued after its recorded end.
    fn continue_after_end(&mut self) {
        if let Some(ending) = self.ending.take() {
            self.earlier_ending = Some(ending);
        }
    }
}

/// A line of the file.
struct Line<'a> {
    /// Number of the line, from 1.
    number: usize,
    /// Content without the line break. Empty if the line is too long.
    bytes: &'a [u8],
    /// Length with the line break, in bytes.
    length: u64,
    /// True if a line break ends the line.
    is_terminated: bool,
}

impl Line<'_> {
    /// Parses the record; `None` for a blank line.
    fn record(&self) -> Result<Option<Record>, LineError> {
        if self.length > MAX_LINE {
            return Err(LineError { reason: format!("it is longer than {} MiB", MAX_LINE >> 20), is_cut: false });
        }
        if self.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(self.bytes).map(Some).map_err(|error| {
            let text = error.to_string();
            // serde counts its line numbers from this line, and not from the beginning of the file. So the number is
            // left out.
            let reason =
                text.split_once(" at line 1 ").map_or(text.clone(), |(fault, place)| format!("{fault} at {place}"));
            LineError { reason, is_cut: error.is_eof() && !self.is_terminated }
        })
    }
}

/// The error for a line that is not a record.
struct LineError {
    /// Description of the fault.
    reason: String,
    /// True if the line is the beginning of a record, without a line break.
    is_cut: bool,
}

/// Calls `each` for each line of the file.
fn for_each_line(path: &Path, mut each: impl FnMut(Line<'_>)) -> Result<(), files::FileError> {
    let mut reader = BufReader::new(files::open(path, Guard::OnlyMineToWrite, Links::Followed)?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let mut length = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)? as u64;
        if length == 0 {
            break;
        }
        let mut is_terminated = bytes.ends_with(b"\n");
        if !is_terminated && length == MAX_LINE {
            bytes.clear();
            (length, is_terminated) = skip_line(&mut reader, length)?;
        }
        let content = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        each(Line { number, bytes: content, length, is_terminated });
    }
    Ok(())
}

/// Skips the rest of a line. Returns the length of the whole line, and true if a line break ends it.
fn skip_line(reader: &mut impl BufRead, mut length: u64) -> io::Result<(u64, bool)> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok((length + 1, false));
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |end| end + 1);
        reader.consume(used);
        length += used as u64;
        if end.is_some() {
            return Ok((length, true));
        }
    }
}
