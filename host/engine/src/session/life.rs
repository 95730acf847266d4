//! What a session is beside the state that plugins have of it: a row of the store, of which each handle has a copy.
//!
//! A handle notes each change in its copy at once, and keeps it in a list until a transaction has written it. Where another
//! handle has written the row meanwhile, the changes of the list are made again to what that one wrote: none is lost.

use super::streak::{Caller, NextCall, Streaks, counts};
use super::{MAX_NOTICES, MAX_REMINDERS, now};
use crate::contract::Failure;
use crate::sandbox::capability::Reminder;
use crate::state::Time;
use crate::store::{Changed, KeepsSession, SessionRow};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many numbers of events a handle takes at once: so seldom does an event write the row for that alone.
const NUMBERS: u64 = 64;

/// What the row holds, as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct LifeState {
    pub(super) streaks: Streaks,
    /// Each with the number of model calls before which it was given.
    pub(super) reminders: Vec<(u32, Reminder)>,
    /// What the user is to be told.
    pub(super) notices: Vec<String>,
    /// Plugins of which it was told that a failure of theirs was skipped.
    skipped: BTreeSet<String>,
    /// Side calls of models, by plugin.
    model_calls: BTreeMap<String, u32>,
    /// How the prompt begins that the agent works on.
    pub(super) task: Option<String>,
    /// The session at the root of its tree, as its first handle knew it; absent: itself.
    pub(super) root: Option<String>,
}

/// A change of a session.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// So many numbers of events are taken.
    Numbers(u64),
    /// A plugin failed.
    Failed(Caller, Time),
    /// A plugin answered after it had failed.
    Succeeded(Caller),
    /// A tripped plugin is tried again.
    Tried(Caller, Time),
    /// The operator has a plugin called again.
    Reset(String),
    /// A plugin reminds the model, before so many model calls.
    Remind(u32, Reminder),
    /// The user is to be told.
    Notice(String),
    /// The user was told.
    Told(Vec<String>),
    /// It was told that a failure of the plugin was skipped.
    Skipped(String),
    /// A plugin has called a model so many times more.
    ModelCalls(String, u32),
    /// The agent works on another prompt.
    Task(String),
    /// The tree that it is in.
    Root(String),
}

impl LifeState {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Numbers(_) => {}
            Change::Failed(caller, at) => self.streaks.failed(caller, *at),
            Change::Succeeded(caller) => self.streaks.succeeded(caller),
            Change::Tried(caller, at) => self.streaks.tried(caller, *at),
            Change::Reset(plugin) => self.streaks.reset(plugin),
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
            Change::Notice(text) => {
                if self.notices.len() < MAX_NOTICES {
                    self.notices.push(text.clone());
                }
            }
            Change::Told(told) => {
                for text in told {
                    if let Some(at) = self.notices.iter().position(|notice| notice == text) {
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
        }
    }
}

/// Whether a reminder is still to be told, before so many model calls.
pub(super) fn lives(born: u32, reminder: &Reminder, turn: u32) -> bool {
    reminder.ttl_turns.is_none_or(|ttl| turn < born.saturating_add(ttl))
}

/// A handle's copy of the row of its session.
pub(super) struct Life {
    id: String,
    handle: u64,
    copy: Mutex<Copy>,
    /// A failing plugin is looked up only where there is one.
    has_streaks: AtomicBool,
    is_unsure: AtomicBool,
}

#[derive(Default)]
struct Copy {
    state: LifeState,
    /// Of the row that it is a copy of.
    version: u64,
    /// Numbers of events that are given out, as far as this handle knows.
    events: u64,
    /// Numbers that this handle may still use.
    numbers: Range<u64>,
    /// What is in `state` and not yet in the row.
    unwritten: Vec<Change>,
    /// What calls under way count in.
    model_calls: HashMap<String, Arc<AtomicU32>>,
}

/// What is written with an event: all that is unwritten, and what holds only if the event is recorded.
pub(super) struct Written {
    life: Arc<Life>,
    with: Vec<Change>,
}

impl Life {
    pub(super) fn new(id: String) -> Arc<Self> {
        static HANDLES: AtomicU64 = AtomicU64::new(0);
        let handle = HANDLES.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            id,
            handle,
            copy: Mutex::default(),
            has_streaks: AtomicBool::default(),
            is_unsure: AtomicBool::default(),
        })
    }

    /// Which handle it is the copy of: no two of a process have the same number.
    pub(super) fn handle(&self) -> u64 {
        self.handle
    }

    fn copy(&self) -> MutexGuard<'_, Copy> {
        self.copy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the state as this handle knows it.
    pub(super) fn look<T>(&self, look: impl FnOnce(&LifeState) -> T) -> T {
        look(&self.copy().state)
    }

    fn note(&self, copy: &mut Copy, change: Change) {
        copy.state.apply(&change);
        copy.unwritten.push(change);
        self.note_streaks(copy);
    }

    /// Makes a change.
    pub(super) fn change(&self, change: Change) {
        self.note(&mut self.copy(), change);
    }

    /// Whether something is to be written.
    pub(super) fn is_unwritten(&self) -> bool {
        !self.copy().unwritten.is_empty()
    }

    /// What is to be written with an event.
    pub(super) fn written(self: &Arc<Self>, with: Vec<Change>) -> Arc<Written> {
        Arc::new(Written { life: Arc::clone(self), with })
    }

    /// Has the row read before the next event is settled, also where that fails at first.
    pub(super) fn mark_stale(&self) {
        self.is_unsure.store(true, Ordering::Relaxed);
    }

    /// Whether the row has to be read.
    pub(super) fn is_unsure(&self) -> bool {
        self.is_unsure.load(Ordering::Relaxed)
    }

    /// Takes over what the row is, where another handle has written it.
    pub(super) fn take_over(&self, row: &SessionRow) {
        let mut copy = self.copy();
        // A row that nobody has written yet may begin behind numbers that are used.
        if row.version != copy.version || copy.events < row.events {
            copy.replace(parse(&self.id, &row.life), row.version, row.events, 0);
            // Others have used later ones meanwhile.
            copy.numbers = 0..0;
            self.note_streaks(&copy);
        }
        self.is_unsure.store(false, Ordering::Relaxed);
    }

    fn note_streaks(&self, copy: &Copy) {
        self.has_streaks.store(!copy.state.streaks.is_empty(), Ordering::Relaxed);
    }

    /// The number of the next event, within its turn.
    pub(super) fn next_number(&self) -> u64 {
        let mut copy = self.copy();
        if copy.numbers.is_empty() {
            copy.numbers = copy.events..copy.events + NUMBERS;
            copy.events += NUMBERS;
            copy.unwritten.push(Change::Numbers(NUMBERS));
        }
        let number = copy.numbers.start;
        copy.numbers.start += 1;
        number
    }

    /// Whether numbers are taken that the row does not hold: another handle may take them, too.
    pub(super) fn has_unwritten_numbers(&self) -> bool {
        self.copy().unwritten.iter().any(|change| matches!(change, Change::Numbers(_)))
    }

    /// How a plugin's next call is made.
    pub(super) fn next_call(&self, caller: impl FnOnce() -> Caller, now: Time) -> NextCall {
        // Nearly always nothing has failed.
        if !self.has_streaks.load(Ordering::Relaxed) {
            return NextCall::Made;
        }
        let caller = caller();
        let mut copy = self.copy();
        let next = copy.state.streaks.next_call(&caller, now);
        if next == NextCall::Made && copy.state.streaks.is_trial(&caller) {
            self.note(&mut copy, Change::Tried(caller, now));
        }
        next
    }

    /// A plugin has answered.
    pub(super) fn succeeded(&self, caller: impl FnOnce() -> Caller) {
        if self.has_streaks.load(Ordering::Relaxed) {
            self.change(Change::Succeeded(caller()));
        }
    }

    /// Counts a failure, unless it is not the plugin's; the user is told when the plugin is tripped.
    pub(super) fn failed(&self, caller: &Caller, failure: &Failure, now: Time) {
        if !counts(failure) {
            return;
        }
        let mut copy = self.copy();
        self.note(&mut copy, Change::Failed(caller.clone(), now));
        if let Some(notice) = copy.state.streaks.notice(caller, failure) {
            self.note(&mut copy, Change::Notice(notice));
        }
    }

    /// Forgets the failures of a plugin; whether it was tripped.
    pub(super) fn reset(&self, plugin: &str) -> bool {
        let mut copy = self.copy();
        let was_tripped = copy.state.streaks.is_tripped(plugin);
        self.note(&mut copy, Change::Reset(plugin.to_owned()));
        was_tripped
    }

    /// Takes what the user is to be told.
    pub(super) fn take_notices(&self) -> Vec<String> {
        let mut copy = self.copy();
        let told = copy.state.notices.clone();
        if !told.is_empty() {
            self.note(&mut copy, Change::Told(told.clone()));
        }
        told
    }

    /// Whether it is the first time that a failure of the plugin is skipped.
    pub(super) fn is_skipped_first(&self, plugin: &str) -> bool {
        let mut copy = self.copy();
        let is_first = !copy.state.skipped.contains(plugin);
        if is_first {
            self.note(&mut copy, Change::Skipped(plugin.to_owned()));
        }
        is_first
    }

    /// What calls of a plugin count in when they call a model.
    pub(super) fn model_calls(&self, plugin: &str) -> Arc<AtomicU32> {
        let mut copy = self.copy();
        let counted = copy.state.model_calls.get(plugin).copied().unwrap_or_default();
        Arc::clone(copy.model_calls.entry(plugin.to_owned()).or_insert_with(|| Arc::new(counted.into())))
    }

    /// Notes the calls of models that a plugin has made since they were last noted.
    pub(super) fn note_model_calls(&self, plugin: &str) {
        let mut copy = self.copy();
        let Some(made) = copy.model_calls.get(plugin).map(|calls| calls.load(Ordering::Relaxed)) else { return };
        let noted = copy.state.model_calls.get(plugin).copied().unwrap_or_default();
        if made > noted {
            self.note(&mut copy, Change::ModelCalls(plugin.to_owned(), made - noted));
        }
    }
}

impl Copy {
    /// Puts another state in place of this one, with all unwritten changes but the first `written` made to it.
    fn replace(&mut self, state: LifeState, version: u64, events: u64, written: usize) {
        let before = std::mem::replace(&mut self.state, state);
        (self.version, self.events) = (version, events);
        let unwritten = self.unwritten.split_off(written);
        for change in &unwritten {
            self.state.apply(change);
            if let Change::Numbers(taken) = change {
                self.events += taken;
            }
        }
        self.unwritten = unwritten;
        for (plugin, calls) in &self.model_calls {
            let of = |state: &LifeState| state.model_calls.get(plugin).copied().unwrap_or_default();
            // By what others have made: a call under way may have counted one meanwhile.
            calls.fetch_add(of(&self.state).saturating_sub(of(&before)), Ordering::Relaxed);
        }
    }
}

impl KeepsSession for Written {
    fn id(&self) -> &str {
        &self.life.id
    }

    fn handle(&self) -> u64 {
        self.life.handle
    }

    fn is_changed(&self) -> bool {
        !self.with.is_empty() || self.life.is_unwritten()
    }

    fn changed(&self, row: SessionRow) -> Changed {
        let copy = self.life.copy();
        let mut state = if row.version == copy.version {
            copy.state.clone()
        } else {
            let mut state = parse(&self.life.id, &row.life);
            copy.unwritten.iter().for_each(|change| state.apply(change));
            state
        };
        self.with.iter().for_each(|change| state.apply(change));
        let taken = |change: &Change| if let Change::Numbers(taken) = change { *taken } else { 0 };
        let taken = copy.unwritten.iter().map(taken).sum::<u64>();
        // At least those that this handle may use: nobody else is to take one of them.
        let events = row.events.saturating_add(taken).max(copy.numbers.end);
        // A struct of texts and numbers has no reason not to be JSON.
        let life = serde_json::to_string(&state).unwrap_or_default();
        Changed { row: SessionRow { version: row.version, events, life }, changes: copy.unwritten.len(), time: now() }
    }

    fn note_written(&self, changed: Changed) {
        let Changed { row, changes, .. } = changed;
        let mut copy = self.life.copy();
        let is_only_ours = row.version == copy.version + 1 && self.with.is_empty();
        if is_only_ours {
            copy.version = row.version;
            copy.unwritten.drain(..changes);
        } else if row.version <= copy.version {
            // This handle has read a later row meanwhile. That row holds these changes, and the copy has them twice.
            copy.unwritten.drain(..changes);
            copy.version = 0;
            self.life.mark_stale();
        } else {
            if row.version != copy.version + 1 {
                // Another handle has written the row in between, and may have taken the same numbers.
                copy.numbers = 0..0;
            }
            copy.replace(parse(&self.life.id, &row.life), row.version, row.events, changes);
        }
        self.life.note_streaks(&copy);
    }
}

/// The root of the tree of a session, as its row has it.
pub(super) fn root_in(session: &str, row: &SessionRow) -> Option<String> {
    parse(session, &row.life).root
}

/// What a row holds. A row that cannot be read is that of a session that has just begun: it holds nothing that a verdict
/// depends on but failures, which are counted anew.
fn parse(session: &str, life: &str) -> LifeState {
    if life.is_empty() {
        return LifeState::default();
    }
    serde_json::from_str(life).unwrap_or_else(|error| {
        tracing::error!(session, %error, "the row of a session cannot be read, and is begun anew");
        LifeState::default()
    })
}

#[cfg(test)]
mod tests;
