//! The store without a file: it keeps state as long as the host lives, and has no log.

use super::questions::{FirstAnswer, OpenQuestion, QuestionChange};
use super::sessions::{SessionChanges, SessionRow};
use super::{LateWrite, Owner, Unit, owner};
use crate::state::{Lineage, Namespace, Namespaces, Scope, Source, Time};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The namespaces of all plugins, the rows of sessions that have changed, and the open questions.
#[derive(Default)]
pub(super) struct Memory {
    namespaces: Mutex<HashMap<Owner, Arc<Namespace>>>,
    sessions: Mutex<HashMap<String, SessionRow>>,
    questions: Mutex<BTreeMap<String, OpenQuestion>>,
}

impl Memory {
    fn namespaces(&self) -> MutexGuard<'_, HashMap<Owner, Arc<Namespace>>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn questions(&self) -> MutexGuard<'_, BTreeMap<String, OpenQuestion>> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session's row; a session without a row has version 0.
    pub(super) fn session(&self, id: &str) -> SessionRow {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(id).cloned().unwrap_or_default()
    }

    /// Answers a question, unless it has an answer. Returns the answer that counts.
    pub(super) fn answer(&self, id: &str, answer: &str) -> Option<FirstAnswer> {
        self.questions().get_mut(id).map(|question| {
            let is_this = question.answer.is_none();
            let answer = question.answer.get_or_insert_with(|| answer.to_owned()).clone();
            FirstAnswer { answer, is_this }
        })
    }

    /// The answer to a question: `None` if there is no such question, `Some(None)` if it has no answer yet.
    pub(super) fn answered(&self, id: &str) -> Option<Option<String>> {
        self.questions().get(id).map(|question| question.answer.clone())
    }

    /// The open questions.
    pub(super) fn list(&self) -> Vec<OpenQuestion> {
        self.questions().values().cloned().collect()
    }

    /// Applies a late write at once.
    pub(super) fn push(&self, late: LateWrite) {
        if let Some(id) = late.settles {
            self.questions().remove(&id);
        }
        if let Some(handle) = late.session {
            self.write(&*handle);
        }
    }

    fn write(&self, handle: &dyn SessionChanges) {
        if !handle.is_changed() {
            return;
        }
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let before = sessions.get(handle.id()).cloned().unwrap_or_default();
        let version = before.version + 1;
        let mut changed = handle.changed(before);
        changed.row.version = version;
        sessions.insert(handle.id().to_owned(), changed.row.clone());
        handle.note_written(changed);
    }

    /// The state of a plugin as it is now.
    pub(super) fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        let namespaces = self.namespaces();
        let of = |scope| namespaces.get(&owner(plugin, lineage, scope)).cloned().unwrap_or_default();
        Arc::new(Namespaces::new(Scope::ALL.map(of), now))
    }

    pub(super) fn commit(&self, unit: &Unit) {
        match &unit.question {
            Some(QuestionChange::Ask(question)) => {
                self.questions().insert(question.id.clone(), (**question).clone());
            }
            Some(QuestionChange::Settle(id) | QuestionChange::GiveUp(id)) => {
                self.questions().remove(id);
            }
            None => {}
        }
        if let Some(handle) = &unit.handle {
            self.write(&**handle);
        }
        let mut namespaces = self.namespaces();
        for (plugin, writes) in &unit.writes {
            for scope in Scope::ALL {
                if writes.of(scope).next().is_some() {
                    let namespace = namespaces.entry(owner(plugin, unit.lineage(), scope)).or_default();
                    // An event that still reads the namespace keeps its own snapshot.
                    Arc::make_mut(namespace).apply(scope, writes, unit.time);
                }
            }
        }
    }
}
