//! The part of a session that its handle, its events and its observers share.

use super::ids::EventIds;
use super::kept_answers::KeptAnswers;
use super::notice::Notice;
use super::observer_queue::ObserverQueue;
use super::services::Services;
use super::spec::SessionSpec;
use super::state::{Change, SessionCopy};
use crate::active_config::{ActiveConfig, RuleSet};
use crate::approval::AskingAgent;
use crate::contract;
use crate::event::{CallValidator, Schemas};
use crate::locked::locked;
use crate::sandbox::capability::{Reminder, Transcript};
use crate::state::{LABELS, Lineage, Source, Time};
use crate::store::{StoreError, Turn, TurnQueue};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The part of a session that its handle, its events and its observers share.
pub(crate) struct SessionInner {
    pub(crate) services: Arc<Services>,
    pub(crate) spec: SessionSpec,
    pub(crate) schemas: Schemas,
    pub(super) id: Arc<str>,
    /// The session at the root of this session's tree, which may be this session.
    pub(super) root: Arc<str>,
    pub(super) rules: RuleSet,
    /// The queue in which the session's events wait for their turn.
    pub(super) turn_queue: TurnQueue,
    /// The session as plugins see it.
    pub(super) info: Mutex<Arc<contract::Session>>,
    pub(super) ids: EventIds,
    pub(super) kept_answers: Mutex<KeptAnswers>,
    pub(super) state: Arc<SessionCopy>,
    pub(super) transcript: Mutex<Arc<dyn Transcript>>,
    /// For each plugin, the number of its warnings about audit records that were already written to the program's log.
    pub(super) warned: Mutex<HashMap<String, u32>>,
    /// True if the store had no row for the session when the handle was opened.
    pub(super) is_new: bool,
    /// True once the agent has ended the session with this handle.
    pub(super) is_ended: AtomicBool,
    /// True once the handle was dropped. After that, the session's notices are passed to the host.
    pub(super) is_closed: AtomicBool,
    pub(super) observers: ObserverQueue,
}

impl SessionInner {
    /// Waits for the session's turn, and reads the changes of other handles. When this returns, the log contains all
    /// records of the session, including the records from other stores.
    ///
    /// # Errors
    /// If the session does not get its turn, or its row cannot be read.
    pub(super) async fn turn(&self) -> Result<Turn, StoreError> {
        let turn = self.turn_queue.turn().await?;
        if turn.is_stale {
            self.state.mark_stale();
        }
        if turn.is_after_another_store {
            // This future is boxed, because few events need it (see the module `boxed`).
            Box::pin(self.services.store.take_in()).await?;
        }
        if self.state.is_stale() {
            self.state.take_over(&Box::pin(self.services.store.session_now(&self.id)).await?);
        }
        Ok(turn)
    }

    /// Returns the rules for events that begin now.
    pub(super) fn config(&self) -> Arc<ActiveConfig> {
        self.rules.active()
    }

    pub(super) fn info(&self) -> Arc<contract::Session> {
        Arc::clone(&locked(&self.info))
    }

    pub(super) fn validator<'a>(&'a self, info: &'a contract::Session) -> CallValidator<'a> {
        CallValidator {
            actions: &self.services.actions,
            agent: &self.spec.agent,
            schemas: &self.schemas,
            models: &self.spec.models,
            cwd: &info.cwd,
        }
    }

    /// Returns the identifier of the next event. Call this within the event's turn.
    pub(super) fn next_event_id(&self) -> String {
        self.ids.next_event(&self.state, self.services.store.keeps_log())
    }

    /// Returns the identifier of an event whose record is written after its turn. While the session's row in the store
    /// does not contain the event's number, another handle may use the same number. In this case the record gets an
    /// identifier without a number.
    pub(super) fn late_event_id(&self, id: String) -> String {
        if self.state.has_unwritten_numbers() { self.ids.next_call() } else { id }
    }

    pub(super) fn notice(&self, notice: Notice) {
        if self.is_closed.load(Ordering::Acquire) {
            self.services.leave_notices(vec![notice]);
        } else {
            self.state.change(Change::Notice(notice));
        }
    }

    /// Returns the session and the tree whose state the events use.
    pub(super) fn lineage(&self) -> Lineage<'_> {
        Lineage { session: &self.id, root: &self.root }
    }

    /// Returns the labels of the session's tree at this time.
    pub(super) fn labels(&self, time: Time) -> Arc<dyn Source> {
        self.services.store.snapshot(&LABELS.into(), self.lineage(), time)
    }

    /// Returns the asking agent in the form that a person sees.
    pub(super) fn asking_agent(&self) -> AskingAgent {
        AskingAgent {
            depth: self.spec.depth,
            parent: self.spec.parent.clone(),
            task: self.state.with(|state| state.task.clone()),
        }
    }

    pub(super) fn transcript(&self) -> Arc<dyn Transcript> {
        Arc::clone(&locked(&self.transcript))
    }

    /// Converts reminders to changes of the session, with the current number of model calls.
    pub(super) fn reminding(&self, reminders: Vec<Reminder>) -> Vec<Change> {
        if reminders.is_empty() {
            return Vec::new();
        }
        let turn = self.info().turn;
        reminders.into_iter().map(|reminder| Change::Remind(turn, reminder)).collect()
    }
}

impl Drop for SessionInner {
    /// Runs after the last observer has ended. The agent may have dropped its handle earlier.
    fn drop(&mut self) {
        self.services.store.forget(self.lineage());
    }
}
