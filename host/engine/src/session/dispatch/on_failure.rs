//! What a failed call leads to: it is counted, recorded, and the plugin's `on-failure` applies.

use super::Dispatch;
use crate::compose::{OnFailure, Verdict};
use crate::contract::{Escalation, Failure};
use crate::session::notice::TOLD;

impl Dispatch<'_> {
    /// Replaces the verdict that the plugin called last failed to give.
    pub(super) fn in_place_of_verdict<V, R>(&self, on_failure: OnFailure) -> Verdict<V, R> {
        let call = self.record.calls.last();
        match (on_failure, call.and_then(|call| Some((&call.plugin, call.failure.as_ref()?)))) {
            (OnFailure::Ask, Some((plugin, failure))) => {
                let question = format!("{plugin} {}{failure}. Allow it without its answer?", failure.kind.opening());
                Verdict::Unanswered(Escalation::new(question))
            }
            _ => Verdict::Failed(on_failure),
        }
    }

    /// Takes the effects of a call with a valid answer, or notes its failure, applies the plugin's `on-failure`, and trips the
    /// plugin after several failures.
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
                if on_failure == OnFailure::Skip || !plugin.enforces() {
                    self.session.skipped(plugin, self.record.event, &failure);
                }
                if let Some(record) = self.record.calls.last_mut() {
                    record.failure = Some(failure);
                }
                Err(on_failure)
            }
        }
    }
}
