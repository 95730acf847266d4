//! Reads the transcripts of all agents, and returns the events in them.

use crate::agents::{FORMATS, TranscriptFormat};
use crate::message::HookMessage;
use crate::omission::{Omission, OmissionCounts, OmissionKind};
use crate::places::TranscriptPlaces;
use crate::source::{Found, TranscriptFile, TranscriptSource};
use hookhost_agents::{Adapter, HookCall, HookEvent, Message, by_name};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum number of calls that are remembered in order to recognise a copy of a call.
const MAX_KNOWN_CALLS: usize = 1 << 20;

/// Identifiers of calls that are shorter than this may be counters, which different sessions have in common.
const UNIQUE_ID: usize = 20;

/// The events to read.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// Names of the agents. If there are none, all agents whose transcripts can be read.
    pub agents: Vec<String>,
    /// Earlier events are left out.
    pub since: Option<SystemTime>,
}

/// A tool call in a transcript, as the event that the agent's hook would have sent.
#[derive(Clone, Debug)]
pub struct PastEvent {
    /// The agent's adapter.
    pub adapter: &'static Adapter,
    /// The decoded message of the agent's hook. Its event is a [`HookEvent::BeforeToolCall`].
    pub call: HookCall,
    /// Time of the call. If the transcript does not contain it, the time of the transcript's last change.
    pub time: SystemTime,
    /// Path of the transcript.
    pub transcript: Arc<Path>,
}

/// The events of all transcripts, as an iterator. The newest transcript comes first. Within a transcript, the events are in their
/// original order. A call that several transcripts contain, such as the transcript of a resumed session, is returned once.
pub struct PastEvents {
    places: TranscriptPlaces,
    since: u64,
    /// The transcripts that are not read yet, the newest one last.
    waiting: Vec<(&'static TranscriptFormat, TranscriptFile)>,
    open: Option<OpenTranscript>,
    /// The events that were read but not returned yet, the next one last.
    ready: Vec<PastEvent>,
    known: HashSet<u64>,
    omissions: OmissionCounts,
    read: u64,
    total: u64,
}

struct OpenTranscript {
    adapter: &'static Adapter,
    file: TranscriptFile,
    source: Box<dyn TranscriptSource>,
}

impl PastEvents {
    /// Finds the transcripts. They are opened one after the other, when the iterator reaches them.
    pub fn new(places: TranscriptPlaces, query: &EventQuery) -> Self {
        let since = query.since.and_then(|since| since.duration_since(UNIX_EPOCH).ok());
        let since = since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        let mut omissions = OmissionCounts::default();
        let mut waiting = Vec::new();
        for format in &FORMATS {
            if !query.agents.is_empty() && !query.agents.iter().any(|agent| agent == format.agent) {
                continue;
            }
            let (mut files, mut found) = (Vec::new(), Found::default());
            (format.find)(&places, &mut files, &mut found);
            for (kind, example) in found.omissions {
                omissions.add(title(format), kind, || example);
            }
            waiting.extend(files.into_iter().filter(|file| file.changed >= since).map(|file| (format, file)));
        }
        waiting.sort_by(|(_, one), (_, other)| (one.changed, &one.path).cmp(&(other.changed, &other.path)));
        let total = waiting.iter().map(|(_, file)| file.size).sum();
        let (open, ready, known, read) = Default::default();
        Self { places, since, waiting, open, ready, known, omissions, read, total }
    }

    /// Returns what was left out so far.
    pub fn omissions(&self) -> Vec<Omission> {
        self.omissions.all()
    }

    /// Returns the number of bytes that were read so far, and the number of bytes of all transcripts. The second number is an estimate.
    pub fn progress(&self) -> (u64, u64) {
        let read = self.read + self.open.as_ref().map_or(0, |open| open.source.position().min(open.file.size));
        (read, self.total.max(read))
    }

    /// Returns the number of transcripts that are not completely read yet.
    pub fn remaining_transcripts(&self) -> usize {
        self.waiting.len() + usize::from(self.open.is_some())
    }

    /// Returns the next event. Returns `None` at the end, and as soon as `is_over` returns true. `is_over` is called before each line,
    /// because a transcript may contain no event for a long time.
    pub fn next_unless(&mut self, is_over: impl Fn() -> bool) -> Option<PastEvent> {
        loop {
            if is_over() {
                return None;
            }
            if let Some(event) = self.ready.pop() {
                return Some(event);
            }
            match self.open.take() {
                Some(open) => self.read_next(open),
                None if self.open_next() => {}
                None => return None,
            }
        }
    }

    /// Opens the next transcript. Returns false if there is none.
    fn open_next(&mut self) -> bool {
        let Some((format, file)) = self.waiting.pop() else { return false };
        let Some(adapter) = by_name(format.agent) else { return true };
        match (format.open)(&file, &self.places, self.since) {
            Ok(source) => self.open = Some(OpenTranscript { adapter, file, source }),
            Err(why) => {
                self.read += file.size;
                self.omissions.add(title(format), OmissionKind::UnreadableFile, || why);
            }
        }
        true
    }

    /// Reads the next part of the open transcript.
    fn read_next(&mut self, mut open: OpenTranscript) {
        let mut found = Found::default();
        let has_more = open.source.read_next(&mut found);
        let agent = open.adapter.agent().title;
        for (kind, example) in found.omissions {
            self.omissions.add(agent, kind, || example);
        }
        for message in found.messages {
            let event = self.event(&open, &message);
            self.ready.extend(event);
        }
        self.ready.reverse();
        if has_more {
            self.open = Some(open);
        } else {
            self.read += open.file.size;
        }
    }

    /// Returns the event of a message. Returns `None` if it is too old, is a copy, or cannot be read.
    fn event(&mut self, open: &OpenTranscript, message: &HookMessage) -> Option<PastEvent> {
        let time = message.time.unwrap_or(open.file.changed);
        if time < self.since {
            return None;
        }
        let OpenTranscript { adapter, file, .. } = open;
        let agent = adapter.agent().title;
        let mut omit =
            |kind, why: &str| self.omissions.add(agent, kind, || format!("{why}, in {}", file.path.display()));
        let body = message.body.to_string();
        let hook_message = Message { point: message.point, ..Message::new(body.as_bytes(), self.places.home()) };
        let mut call = match adapter.decode(&hook_message) {
            Ok(call) => call,
            Err(unreadable) => {
                omit(OmissionKind::UnreadableCall, &unreadable.why);
                return None;
            }
        };
        if let Some(why) = call.session.is_elsewhere() {
            omit(OmissionKind::OtherSystem, why.split('`').nth(1).unwrap_or_default());
            return None;
        }
        if message.lacks_directory {
            omit(OmissionKind::UnknownDirectory, "no directory");
            let home = self.places.home().to_owned();
            (call.session.cwd, call.session.workspace) = (home.clone(), home);
        }
        if !self.is_new(adapter, &call, message, time) {
            return None;
        }
        let time = UNIX_EPOCH + Duration::from_millis(time);
        Some(PastEvent { adapter, call, time, transcript: Arc::clone(&file.path) })
    }

    /// Remembers a call. Returns false if it was already known.
    fn is_new(&mut self, adapter: &Adapter, call: &HookCall, message: &HookMessage, time: u64) -> bool {
        let HookEvent::BeforeToolCall(tool) = &call.event else { return true };
        if message.call.is_empty() {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        (adapter.agent().name, &message.call, &tool.name, tool.arguments.to_string()).hash(&mut hasher);
        if message.call.len() < UNIQUE_ID {
            (time, &call.session.id).hash(&mut hasher);
        }
        if self.known.len() >= MAX_KNOWN_CALLS {
            self.known.clear();
        }
        self.known.insert(hasher.finish())
    }
}

fn title(format: &TranscriptFormat) -> &'static str {
    by_name(format.agent).map_or(format.agent, |adapter| adapter.agent().title)
}

impl Iterator for PastEvents {
    type Item = PastEvent;

    fn next(&mut self) -> Option<PastEvent> {
        self.next_unless(|| false)
    }
}

impl std::fmt::Debug for PastEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PastEvents").field("transcripts", &self.remaining_transcripts()).finish_non_exhaustive()
    }
}
