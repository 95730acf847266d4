//! The state that the host itself keeps about a session, in contrast to the state of plugins, which is stored
//! elsewhere. The store has one row for each session, and each handle of the session has a copy of the row.
//!
//! A handle applies each change to its copy at once, and keeps the change in a list until a transaction has written it.
//! If another handle has written the row meanwhile, the listed changes are applied again to the new row. So no change
//! is lost.

mod unwritten;

use super::clock::now;
use super::failure_count::{Caller, FailureCounts, NextCall};
use super::notice::{MAX_NOTICES, Notice, TOLD};
use crate::contract::Failure;
use crate::failure_policy;
use crate::locked::locked;
use crate::sandbox::capability::Reminder;
use crate::state::Time;
use crate::store::{Changed, SessionChanges, SessionRow};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use unwritten::Unwritten;

/// Number of event numbers that a handle reserves the first time. A handle reserves several numbers at once. So only a
/// few events have to write the row for their numbers. Each time that a handle has used all its numbers, it reserves a
/// larger block. The first block is small, because a process that sends a single event wastes the rest of the block.
const FIRST_NUMBERS: u64 = 64;

/// Factor by which each block of reserved numbers is larger than the previous block.
const MORE_NUMBERS: u64 = 4;

/// Maximum number of event numbers that a handle reserves at once. The event that reserves them waits for a transaction
/// that also writes all queued records. With a maximum of 4096, such transactions wrote most records of a busy session,
/// and events had to wait for them.
const MAX_NUMBERS: u64 = 65_536;

/// Maximum number of a session's reminders. The oldest reminders are dropped first.
const MAX_REMINDERS: usize = 64;

/// Maximum number of project files that are remembered for a session.
const MAX_PROJECT_FILES: usize = 256;

/// The content of the row, stored as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct SessionState {
    pub(super) failure_counts: FailureCounts,
    /// The reminders, each with the number of model calls that the session made before the reminder.
    pub(super) reminders: Vec<(u32, Reminder)>,
    /// Notices for the user.
    pub(super) notices: Vec<Notice>,
    /// Plugins for which the user has already got a notice about a skipped failure.
    skipped: BTreeSet<String>,
    /// Number of model calls of each plugin.
    model_calls: BTreeMap<String, u32>,
    /// The start of the prompt on which the agent works.
    pub(super) task: Option<String>,
    /// The session at the root of this session's tree, as given by the session's first handle. Absent if this session
    /// is the root.
    pub(super) root: Option<String>,
    /// The project files that apply, each with the root of its project.
    pub(super) project_files: BTreeMap<PathBuf, PathBuf>,
}

/// A change of a session.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// The handle has reserved this many event numbers.
    Numbers(u64),
    /// A plugin failed.
    Failed(Caller, Time),
    /// A plugin answered after it had failed.
    Succeeded(Caller),
    /// A tripped plugin is tried again.
    Tried(Caller, Time),
    /// The operator has reset a plugin, so the plugin is called again.
    Reset(String),
    /// A plugin reminds the model. The number is the count of model calls before the reminder.
    Remind(u32, Reminder),
    /// A notice for the user.
    Notice(Notice),
    /// The user got these notices.
    NoticesTaken(Vec<Notice>),
    /// The user got a notice that a failure of the plugin was skipped.
    Skipped(String),
    /// A plugin has made further calls of a model.
    ModelCalls(String, u32),
    /// The agent works on another prompt.
    Task(String),
    /// The session at the root of the tree.
    Root(String),
    /// A project file applies, in the project with this root.
    Counts(PathBuf, PathBuf),
    /// A project file no longer has to be active, because the user has revoked its approval.
    CountsNoMore(PathBuf),
}

impl SessionState {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Numbers(_) => {}
            Change::Failed(caller, at) => self.failure_counts.failed(caller, *at),
            Change::Succeeded(caller) => self.failure_counts.succeeded(caller),
            Change::Tried(caller, at) => self.failure_counts.tried(caller, *at),
            Change::Reset(plugin) => self.failure_counts.reset(plugin),
            Change::Remind(turn, reminder) => {
                self.reminders.retain(|(born, old)| {
                    let is_replaced = old.plugin == reminder.plugin
                        && old.dedupe_key.is_some()
                        && old.dedupe_key == reminder.dedupe_key;
                    !is_replaced && lives(*born, old, *turn)
                });
                self.reminders.push((*turn, reminder.clone()));
                let excess = self.reminders.len().saturating_sub(MAX_REMINDERS);
                self.reminders.drain(..excess);
            }
            Change::Notice(notice) => {
                if self.notices.len() < MAX_NOTICES {
                    self.notices.push(notice.clone());
                }
            }
            Change::NoticesTaken(taken) => {
                for taken in taken {
                    if let Some(at) = self.notices.iter().position(|notice| notice == taken) {
                        self.notices.remove(at);
                    }
                }
            }
            Change::Skipped(plugin) => drop(self.skipped.insert(plugin.clone())),
            Change::ModelCalls(plugin, calls) => {
                let counted = self.model_calls.entry(plugin.clone()).or_default();
                *counted = counted.saturating_add(*calls);
            }
            Change::Task(begins) => self.task = Some(begins.clone()),
            Change::Root(root) => self.root = Some(root.clone()),
            Change::Counts(file, root) if self.project_files.len() < MAX_PROJECT_FILES => {
                self.project_files.entry(file.clone()).or_insert_with(|| root.clone());
            }
            Change::Counts(..) => {}
            Change::CountsNoMore(file) => drop(self.project_files.remove(file)),
        }
    }
}

/// Returns true if a reminder is still shown before the model call with this number.
pub(super) fn lives(born: u32, reminder: &Reminder, turn: u32) -> bool {
    reminder.ttl_turns.is_none_or(|ttl| turn < born.saturating_add(ttl))
}

/// A handle's copy of the row of its session.
pub(super) struct SessionCopy {
    id: String,
    handle: u64,
    copy: Mutex<Inner>,
    /// True if a plugin has failed. If it is false, no lookup of failures is needed.
    has_failures: AtomicBool,
    is_stale: AtomicBool,
}

#[derive(Default)]
struct Inner {
    state: SessionState,
    /// The version of the copied row.
    version: u64,
    /// Number of reserved event numbers, as far as this handle knows.
    events: u64,
    /// Event numbers that this handle has reserved and not used yet.
    numbers: Range<u64>,
    /// The number of event numbers that this handle reserved last; 0 if another handle had a turn since then.
    numbers_at_once: u64,
    /// Changes that are in `state` and not yet in the row.
    unwritten: Unwritten,
    /// The counter of each plugin's model calls, which running calls share.
    model_calls: HashMap<String, Arc<AtomicU32>>,
}

/// The changes that are written with an event: all unwritten changes, and the changes in `with`, which apply only if
/// the event is recorded.
pub(super) struct PendingWrite {
    state: Arc<SessionCopy>,
    with: Vec<Change>,
}

impl SessionCopy {
    pub(super) fn new(id: String) -> Arc<Self> {
        static HANDLES: AtomicU64 = AtomicU64::new(0);
        let handle = HANDLES.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            id,
            handle,
            copy: Mutex::default(),
            has_failures: AtomicBool::default(),
            is_stale: AtomicBool::default(),
        })
    }

    /// Returns the number of the handle, which is unique in the process.
    pub(super) fn handle(&self) -> u64 {
        self.handle
    }

    /// Reads this handle's copy of the state.
    pub(super) fn with<T>(&self, with: impl FnOnce(&SessionState) -> T) -> T {
        with(&locked(&self.copy).state)
    }

    fn note(&self, copy: &mut Inner, change: Change) {
        copy.state.apply(&change);
        copy.unwritten.push(change);
        self.note_failures(copy);
    }

    /// Makes a change.
    pub(super) fn change(&self, change: Change) {
        self.note(&mut locked(&self.copy), change);
    }

    /// Returns true if there are unwritten changes.
    pub(super) fn is_unwritten(&self) -> bool {
        !locked(&self.copy).unwritten.is_empty()
    }

    /// Returns the changes to write with an event.
    pub(super) fn pending_write(self: &Arc<Self>, with: Vec<Change>) -> Arc<PendingWrite> {
        Arc::new(PendingWrite { state: Arc::clone(self), with })
    }

    /// Makes each following event read the row first, until a read succeeds.
    pub(super) fn mark_stale(&self) {
        self.is_stale.store(true, Ordering::Relaxed);
    }

    /// Returns true if the row has to be read.
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// Replaces the copy by the row, if another handle has written the row.
    pub(super) fn take_over(&self, row: &SessionRow) {
        let mut copy = locked(&self.copy);
        // The version of a session without a row does not change. But its event numbers must continue after the numbers
        // that are already used.
        if row.version != copy.version || copy.events < row.events {
            copy.replace(parse(&self.id, &row.state), row.version, row.events, 0);
            // Other handles may have used later numbers.
            copy.numbers = 0..0;
            copy.numbers_at_once = 0;
            self.note_failures(&copy);
        }
        self.is_stale.store(false, Ordering::Relaxed);
    }

    fn note_failures(&self, copy: &Inner) {
        self.has_failures.store(!copy.state.failure_counts.is_empty(), Ordering::Relaxed);
    }

    /// Returns the number of the next event. Call this within the event's turn.
    pub(super) fn next_number(&self) -> u64 {
        let mut copy = locked(&self.copy);
        if copy.numbers.is_empty() {
            let many = (MORE_NUMBERS * copy.numbers_at_once).clamp(FIRST_NUMBERS, MAX_NUMBERS);
            copy.numbers = copy.events..copy.events + many;
            copy.numbers_at_once = many;
            copy.events += many;
            copy.unwritten.push(Change::Numbers(many));
        }
        let number = copy.numbers.start;
        copy.numbers.start += 1;
        number
    }

    /// Returns true if the row does not contain all reserved numbers yet. Another handle may then reserve the same
    /// numbers.
    pub(super) fn has_unwritten_numbers(&self) -> bool {
        locked(&self.copy).unwritten.iter().any(|change| matches!(change, Change::Numbers(_)))
    }

    /// Decides if a plugin's next call is made.
    pub(super) fn next_call(&self, caller: impl FnOnce() -> Caller, now: Time) -> NextCall {
        // Usually nothing has failed.
        if !self.has_failures.load(Ordering::Relaxed) {
            return NextCall::Made;
        }
        let caller = caller();
        let mut copy = locked(&self.copy);
        let next = copy.state.failure_counts.next_call(&caller, now);
        if next == NextCall::Made && copy.state.failure_counts.is_trial(&caller) {
            self.note(&mut copy, Change::Tried(caller, now));
        }
        next
    }

    /// Removes the failures of a plugin that has answered.
    pub(super) fn succeeded(&self, caller: impl FnOnce() -> Caller) {
        if self.has_failures.load(Ordering::Relaxed) {
            self.change(Change::Succeeded(caller()));
        }
    }

    /// Counts a failure, if it is of a kind for which the plugin is to blame. Adds a notice when the plugin is tripped.
    pub(super) fn failed(&self, caller: &Caller, failure: &Failure, now: Time) {
        if !failure_policy::counts_towards_tripping(failure.kind) {
            return;
        }
        let mut copy = locked(&self.copy);
        self.note(&mut copy, Change::Failed(caller.clone(), now));
        if let Some(notice) = copy.state.failure_counts.notice(caller, failure) {
            tracing::warn!(target: TOLD, plugin = notice.plugin, "a plugin is tripped");
            self.note(&mut copy, Change::Notice(notice));
        }
    }

    /// Removes the failures of a plugin. Returns true if it was tripped.
    pub(super) fn reset(&self, plugin: &str) -> bool {
        let mut copy = locked(&self.copy);
        let was_tripped = copy.state.failure_counts.is_tripped(plugin);
        self.note(&mut copy, Change::Reset(plugin.to_owned()));
        was_tripped
    }

    /// Takes the notices for the user.
    pub(super) fn take_notices(&self) -> Vec<Notice> {
        let mut copy = locked(&self.copy);
        let taken = copy.state.notices.clone();
        if !taken.is_empty() {
            self.note(&mut copy, Change::NoticesTaken(taken.clone()));
        }
        taken
    }

    /// Records that a failure of the plugin is skipped. Returns true if no earlier failure of the plugin was skipped.
    pub(super) fn is_skipped_first(&self, plugin: &str) -> bool {
        let mut copy = locked(&self.copy);
        let is_first = !copy.state.skipped.contains(plugin);
        if is_first {
            self.note(&mut copy, Change::Skipped(plugin.to_owned()));
        }
        is_first
    }

    /// Returns the counter of a plugin's model calls.
    pub(super) fn model_calls(&self, plugin: &str) -> Arc<AtomicU32> {
        let mut copy = locked(&self.copy);
        let counted = copy.state.model_calls.get(plugin).copied().unwrap_or_default();
        Arc::clone(copy.model_calls.entry(plugin.to_owned()).or_insert_with(|| Arc::new(counted.into())))
    }

    /// Records the model calls that a plugin has made since this was last recorded.
    pub(super) fn note_model_calls(&self, plugin: &str) {
        let mut copy = locked(&self.copy);
        let Some(made) = copy.model_calls.get(plugin).map(|calls| calls.load(Ordering::Relaxed)) else { return };
        let noted = copy.state.model_calls.get(plugin).copied().unwrap_or_default();
        if made > noted {
            self.note(&mut copy, Change::ModelCalls(plugin.to_owned(), made - noted));
        }
    }
}

impl Inner {
    /// Replaces the state by the state of a row, and applies the handle's changes again that the row does not
    /// contain. The row contains the first `written` changes of the handle.
    fn replace(&mut self, state: SessionState, version: u64, events: u64, written: u64) {
        let before = std::mem::replace(&mut self.state, state);
        (self.version, self.events) = (version, events);
        self.unwritten.forget(written);
        for change in self.unwritten.iter() {
            self.state.apply(change);
            if let Change::Numbers(taken) = change {
                self.events += taken;
            }
        }
        for (plugin, calls) in &self.model_calls {
            let of = |state: &SessionState| state.model_calls.get(plugin).copied().unwrap_or_default();
            // Adds the counts of other handles, instead of replacing the counter, because a running call may have
            // increased the counter meanwhile.
            calls.fetch_add(of(&self.state).saturating_sub(of(&before)), Ordering::Relaxed);
        }
    }
}

impl SessionChanges for PendingWrite {
    fn id(&self) -> &str {
        &self.state.id
    }

    fn handle(&self) -> u64 {
        self.state.handle
    }

    fn is_changed(&self) -> bool {
        !self.with.is_empty() || self.state.is_unwritten()
    }

    fn changed(&self, row: SessionRow) -> Changed {
        let copy = locked(&self.state.copy);
        let mut state = if row.version == copy.version {
            copy.state.clone()
        } else {
            let mut state = parse(&self.state.id, &row.state);
            copy.unwritten.iter().for_each(|change| state.apply(change));
            state
        };
        self.with.iter().for_each(|change| state.apply(change));
        let taken = |change: &Change| if let Change::Numbers(taken) = change { *taken } else { 0 };
        let taken = copy.unwritten.iter().map(taken).sum::<u64>();
        // Includes the numbers that this handle may still use, because no other handle may reserve them.
        let events = row.events.saturating_add(taken).max(copy.numbers.end);
        // A struct of strings and numbers always has a JSON form.
        let state = serde_json::to_string(&state).unwrap_or_default();
        Changed { row: SessionRow { version: row.version, events, state }, changes: copy.unwritten.made(), time: now() }
    }

    fn note_written(&self, changed: Changed) {
        let Changed { row, changes, .. } = changed;
        let mut copy = locked(&self.state.copy);
        let is_only_ours = row.version == copy.version + 1 && self.with.is_empty();
        if is_only_ours {
            copy.version = row.version;
            copy.unwritten.forget(changes);
        } else if row.version <= copy.version {
            // This handle has read a later row meanwhile. That row already contained these changes, so the copy would
            // have them twice.
            copy.unwritten.forget(changes);
            copy.version = 0;
            self.state.mark_stale();
        } else {
            if row.version != copy.version + 1 {
                // Another handle has written the row in between, and may have reserved the same numbers.
                copy.numbers = 0..0;
                copy.numbers_at_once = 0;
            }
            copy.replace(parse(&self.state.id, &row.state), row.version, row.events, changes);
        }
        self.state.note_failures(&copy);
    }
}

/// Returns the root of a session's tree, according to the session's row.
pub(super) fn root_in(session: &str, row: &SessionRow) -> Option<String> {
    parse(session, &row.state).root
}

/// Returns the project files that apply, according to a session's row.
pub(super) fn project_files_in(session: &str, row: &SessionRow) -> BTreeMap<PathBuf, PathBuf> {
    parse(session, &row.state).project_files
}

/// Parses a row's content. An invalid row is treated as the row of a new session. This is safe, because only the
/// failures in the row affect verdicts, and failures are then counted from 0 again.
fn parse(session: &str, state: &str) -> SessionState {
    if state.is_empty() {
        return SessionState::default();
    }
    serde_json::from_str(state).unwrap_or_else(|error| {
        tracing::error!(session, %error, "the row of a session cannot be read, and is replaced");
        SessionState::default()
    })
}

#[cfg(test)]
mod tests;
