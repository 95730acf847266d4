//! Handles a failed call: counts and records it, and applies the plugin's `on-failure`.

use super::Dispatch;
use crate::compose::{OnFailure, Verdict};
use crate::contract::{Escalation, EventKind, Failure, FailureKind};
use crate::failure_policy::FailureConsequence;
use crate::plugin::Plugin;
use crate::session::failure_count::{Caller, NextCall};
use crate::session::inner::SessionInner;
use crate::session::notice::{Notice, NoticeKind, TOLD};

impl Dispatch<'_> {
    /// Returns the replacement for the verdict of the last call, which failed.
    pub(super) fn in_place_of_verdict<V, R>(&self, on_failure: OnFailure) -> Verdict<V, R> {
        let call = self.record.calls.last();
        match (on_failure, call.and_then(|call| Some((&call.plugin, call.failure.as_ref()?)))) {
            (OnFailure::Ask, Some((plugin, failure))) => {
                let question = format!(
                    "{plugin} {}{failure}. Allow the event without this plugin's answer?",
                    failure.kind.opening()
                );
                Verdict::Unanswered(Escalation::new(question))
            }
            _ => Verdict::Failed(on_failure),
        }
    }

    /// If the call gave a valid answer, keeps its effects. If the call failed, records the failure, applies the
    /// plugin's `on-failure`, and trips the plugin after several failures.
    pub(super) fn outcome_of<T>(&mut self, member: usize, called: Result<T, Failure>) -> Result<T, OnFailure> {
        let plugin = &self.chain[member];
        match called {
            Ok(value) => {
                tracing::debug!(plugin = plugin.name(), "a plugin has answered");
                self.session.succeeded(plugin, self.observes());
                if let Some((call, writes, effects)) = self.returned.take() {
                    let pending_effects = &mut self.pending_effects[member];
                    pending_effects.writes = writes.map(|writes| (call, writes));
                    pending_effects.last = Some((call, effects));
                }
                Ok(value)
            }
            Err(failure) => {
                tracing::warn!(target: TOLD, plugin = plugin.name(), kind = ?failure.kind, "a plugin has failed");
                self.session.failed(plugin, self.observes(), &failure);
                let on_failure = plugin.on_failure(self.record.event);
                let event = self.record.event;
                if let FailureConsequence::Passes(why) = on_failure.consequence(event.shape(), plugin.enforces()) {
                    self.session.skipped(plugin, event, &failure, why);
                }
                if let Some(record) = self.record.calls.last_mut() {
                    record.failure = Some(failure);
                }
                Err(on_failure)
            }
        }
    }
}

impl SessionInner {
    /// Adds a notice, once for each plugin, that a failure had no consequence: the event continued without the
    /// plugin's answer.
    fn skipped(&self, plugin: &Plugin, event: EventKind, failure: &Failure, why: &str) {
        let name = plugin.name();
        if failure.kind == FailureKind::Tripped || !self.state.is_skipped_first(name) {
            return;
        }
        // The log does not contain the calls of plugins that observe audit records.
        let further = if event == EventKind::AuditRecord { "not reported" } else { "only in the audit log" };
        let text = format!(
            "the plugin {name} failed on {event}: it {failure}; {why}. Its further failures in this session are {further}"
        );
        self.notice(Notice::about(NoticeKind::FailureSkipped, name, text));
    }

    /// Decides if a plugin's next call is made.
    pub(super) fn next_call(&self, plugin: &Plugin, observes: bool) -> NextCall {
        self.state.next_call(|| Caller::new(plugin, observes), self.services.now())
    }

    fn succeeded(&self, plugin: &Plugin, observes: bool) {
        self.state.succeeded(|| Caller::new(plugin, observes));
    }

    /// Counts a failure. If it trips the plugin, the user gets a notice.
    fn failed(&self, plugin: &Plugin, observes: bool, failure: &Failure) {
        self.state.failed(&Caller::new(plugin, observes), failure, self.services.now());
    }
}
