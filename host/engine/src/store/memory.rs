//! The store without a file. It keeps state until the host is dropped, and has no log.

use super::turns::Turns;
use super::{
    Backend, FirstAnswer, LateWrite, OpenQuestion, Owner, QuestionChange, SessionChanges, SessionRow, StoreError,
    TreeValue, Unit, owner,
};
use crate::locked::locked;
use crate::state::{Lineage, Namespace, Namespaces, Scope, Source, Time};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// The namespaces of all plugins, the rows of all sessions that have changed, and the open questions.
#[derive(Default)]
pub(super) struct Memory {
    namespaces: Mutex<HashMap<Owner, Arc<Namespace>>>,
    sessions: Mutex<HashMap<String, SessionRow>>,
    questions: Mutex<BTreeMap<String, OpenQuestion>>,
    turns: Turns,
}

impl Memory {
    fn write(&self, handle: &dyn SessionChanges) {
        if !handle.is_changed() {
            return;
        }
        let mut sessions = locked(&self.sessions);
        let before = sessions.get(handle.id()).cloned().unwrap_or_default();
        let version = before.version + 1;
        let mut changed = handle.changed(before);
        changed.row.version = version;
        sessions.insert(handle.id().to_owned(), changed.row.clone());
        handle.note_written(changed);
    }
}

impl Backend for Memory {
    fn keeps_log(&self) -> bool {
        false
    }

    fn turns(&self) -> &Turns {
        &self.turns
    }

    fn session(&self, id: &str) -> Result<SessionRow, StoreError> {
        let sessions = locked(&self.sessions);
        Ok(sessions.get(id).cloned().unwrap_or_default())
    }

    fn tree_values(&self, plugin: &str) -> Result<Vec<TreeValue>, StoreError> {
        let namespaces = locked(&self.namespaces);
        let of_plugin = namespaces.iter().filter(|(owner, _)| owner.scope == Scope::Tree && *owner.plugin == *plugin);
        let mut all: Vec<_> = of_plugin
            .flat_map(|(owner, namespace)| {
                namespace.values().map(|(key, value)| TreeValue {
                    session: owner.session.clone(),
                    key: key.to_owned(),
                    value: value.to_owned(),
                })
            })
            .collect();
        all.sort_by(|one, other| (&one.session, &one.key).cmp(&(&other.session, &other.key)));
        Ok(all)
    }

    fn answer(&self, id: &str, answer: &str) -> Result<Option<FirstAnswer>, StoreError> {
        Ok(locked(&self.questions).get_mut(id).map(|question| {
            let is_this = question.answer.is_none();
            let answer = question.answer.get_or_insert_with(|| answer.to_owned()).clone();
            FirstAnswer { answer, is_this }
        }))
    }

    fn answered(&self, id: &str) -> Result<Option<Option<String>>, StoreError> {
        Ok(locked(&self.questions).get(id).map(|question| question.answer.clone()))
    }

    fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        Ok(locked(&self.questions).values().cloned().collect())
    }

    /// Applies a late write at once.
    fn push(&self, late: LateWrite) -> Result<(), StoreError> {
        if let Some(id) = late.settles {
            locked(&self.questions).remove(&id);
        }
        if let Some(handle) = late.session {
            self.write(&*handle);
        }
        Ok(())
    }

    /// Returns the current state of a plugin.
    fn snapshot(&self, plugin: &Arc<str>, lineage: Lineage<'_>, now: Time) -> Arc<dyn Source> {
        let namespaces = locked(&self.namespaces);
        let of = |scope| namespaces.get(&owner(plugin, lineage, scope)).cloned().unwrap_or_default();
        Arc::new(Namespaces::new(Scope::ALL.map(of), now))
    }

    fn commit(&self, unit: &Unit) -> Result<(), StoreError> {
        match &unit.question {
            Some(QuestionChange::Ask(question)) => {
                locked(&self.questions).insert(question.id.clone(), (**question).clone());
            }
            Some(QuestionChange::Allow { id, answer, expires }) => {
                if let Some(question) = locked(&self.questions).get_mut(id) {
                    (question.answer, question.expires) = (Some(answer.clone()), *expires);
                }
            }
            Some(QuestionChange::Settle(id) | QuestionChange::Take(id)) => {
                locked(&self.questions).remove(id);
            }
            None => {}
        }
        if let Some(handle) = &unit.handle {
            self.write(&**handle);
        }
        let mut namespaces = locked(&self.namespaces);
        for (plugin, writes) in &unit.writes {
            for scope in Scope::ALL {
                if writes.of(scope).next().is_some() {
                    let namespace = namespaces.entry(owner(plugin, unit.lineage(), scope)).or_default();
                    // If an event still reads the namespace, `make_mut` copies the namespace, so the event keeps its
                    // snapshot.
                    Arc::make_mut(namespace).apply(scope, writes, unit.time);
                }
            }
        }
        Ok(())
    }
}
