//! Which effects of a plugin's calls hold, and recording them with the event.

use super::Dispatch;
use crate::audit::{CallRecord, Observed, raw};
use crate::contract::{Cause, EventKind, Rejection};
use crate::sandbox::capability::{Effects, Level, LogLine, Reminder};
use crate::session::recording::Due;
use crate::state::{Source, Writes};
use crate::store::StoreError;
use std::sync::Arc;

/// Most characters of a warning that a plugin logs about a record: it may be said on a terminal.
const MAX_WARNING: usize = 200;

/// What one plugin did beside its verdicts, so far.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) snapshot: Option<Arc<dyn Source>>,
    /// Of its last call that returned, with the index of its record.
    pub(super) writes: Option<(usize, Writes)>,
    /// Of its last call; none where that failed. With the index of its record.
    pub(super) last: Option<(usize, Effects)>,
    /// Of each call whose change is part of the final value.
    kept: Vec<(usize, Effects)>,
    pub(super) asked: bool,
    /// Whether its entry kept it from being asked.
    pub(super) narrowed: bool,
}

/// What is to hold of an event beside its outcome.
#[derive(Default)]
pub(in crate::session) struct Held {
    pub(in crate::session) writes: Vec<(Arc<str>, Writes)>,
    reminders: Vec<HeldReminder>,
}

/// A reminder, and of which call.
struct HeldReminder {
    /// Of the plugin's last call about the event.
    is_last: bool,
    /// Of a call whose change is part of the value.
    is_change: bool,
    reminder: Reminder,
}

impl Held {
    /// The reminders that hold, where the event's value runs and where it does not.
    pub(in crate::session) fn reminders(self, runs: bool) -> Vec<Reminder> {
        let holds = |held: &HeldReminder| held.is_last || (held.is_change && runs);
        self.reminders.into_iter().filter(holds).map(|held| held.reminder).collect()
    }

    /// What the next asking about the same value takes over: there each plugin has another last call.
    pub(super) fn carried(self) -> Self {
        let changes = self.reminders.into_iter().filter(|held| held.is_change);
        let reminders = changes.map(|held| HeldReminder { is_last: false, ..held }).collect();
        Self { writes: Vec::new(), reminders }
    }
}

impl Dispatch<'_> {
    /// Records what the observers did, and makes what they wrote hold.
    pub(in crate::session) async fn conclude_observed(&mut self) {
        // The record of a record would never end.
        if self.record.event == EventKind::AuditRecord {
            self.trace_log();
            return;
        }
        let mut held = self.effects();
        let observed = Observed {
            id: self.record.id.clone(),
            session: self.info.id.clone(),
            event: self.record.event,
            time: crate::session::now(),
            calls: self.record.calls.clone(),
            redacted: std::collections::BTreeMap::new(),
        };
        let writes = std::mem::take(&mut held.writes);
        match self.session.record(self.rules, &self.info, &observed, writes, Due::Soon).await {
            Ok(()) => self.session.remind(held.reminders(true)),
            Err(error) => tracing::error!(%error, "what observers did could not be recorded, and does not hold"),
        }
    }

    /// Hands on what plugins logged about a record, which has no record of its own: the first warning of a call, and all else
    /// for whoever traces.
    fn trace_log(&self) {
        for call in &self.record.calls {
            let plugin = &call.plugin;
            let mut has_warned = false;
            for LogLine { level, message } in &call.log {
                let warns = matches!(level, Level::Warn | Level::Error) && !std::mem::replace(&mut has_warned, true);
                if warns {
                    let message: String = message.chars().take(MAX_WARNING).collect();
                    tracing::warn!(plugin, "a plugin that subscribes to `audit-record` logged: {message}");
                } else {
                    tracing::debug!(plugin, ?level, "{message}");
                }
            }
        }
    }

    /// Records the event and makes its effects hold: both, or neither.
    pub(super) async fn conclude(&mut self, due: Due) -> Result<(), StoreError> {
        let mut held = self.effects();
        let writes = std::mem::take(&mut held.writes);
        self.session.record(self.rules, &self.info, &self.record, writes, due).await?;
        self.concluded = true;
        self.session.remind(held.reminders(!self.record.outcome.is_no()));
        Ok(())
    }

    /// Records the event as escalated. Its effects hold once it is answered.
    pub(super) async fn conclude_escalated(&mut self) -> Result<Held, StoreError> {
        let held = self.effects();
        self.session.record(self.rules, &self.info, &self.record, Vec::new(), Due::Now).await?;
        self.concluded = true;
        Ok(held)
    }

    /// Where a record could not be written, none of its effects hold; what is left of it is written when that can be done.
    pub(super) fn record_without_effects(&mut self, error: &StoreError) {
        tracing::error!(%error, event = %self.record.event, id = self.record.id, "an event could not be recorded");
        self.concluded = true;
        self.void_effects();
        self.cannot_be_replayed("it could not be recorded in time".into());
        self.session.record_soon(self.rules, &self.info, &self.record);
    }

    /// Takes back what the record says of effects that were to hold.
    pub(super) fn void_effects(&mut self) {
        self.record.calls.iter_mut().for_each(CallRecord::void_effects);
    }

    /// What has no record may not happen.
    pub(super) fn not_recorded(&mut self, error: &StoreError) -> Rejection {
        let rejection = self.rejected(Rejection::host(Vec::new(), Cause::NotRecorded, error.to_string()));
        self.record_without_effects(error);
        rejection
    }

    /// Settles which effects hold, and notes them in the record.
    fn effects(&mut self) -> Held {
        // Without a final value no change is part of it; then only the effects of the last call hold.
        let stands = !self.record.outcome.is_no();
        let mut held = std::mem::take(&mut self.carried);
        let fresh = self.chain.iter().map(|_| Ledger::default()).collect();
        for (plugin, mut ledger) in self.chain.iter().zip(std::mem::replace(&mut self.ledger, fresh)) {
            let last = self.record.calls.iter().rposition(|call| call.plugin == plugin.name());
            ledger.kept.retain(|(call, _)| stands || Some(*call) == last);
            if let Some((call, writes)) = ledger.writes.filter(|(_, writes)| !writes.is_empty()) {
                self.record.calls[call].note_writes(&writes);
                held.writes.push((Arc::clone(&plugin.shared.name), writes));
            }
            let changes = ledger.kept.into_iter().map(|kept| (true, kept));
            for (is_change, (call, effects)) in changes.chain(ledger.last.map(|last| (false, last))) {
                self.record.calls[call].findings = effects.findings;
                if plugin.enforces() {
                    let is_last = Some(call) == last;
                    let held_reminder = |reminder| HeldReminder { is_last, is_change, reminder };
                    held.reminders.extend(effects.reminders.into_iter().map(held_reminder));
                }
            }
            if ledger.narrowed && !ledger.asked {
                self.record.not_matched.push(plugin.name().to_owned());
            }
        }
        held
    }

    /// A plugin's change is part of the value: so are the effects of the call that made it.
    pub(super) fn changed<T: serde::Serialize>(&mut self, member: usize, value: &T) {
        let value = raw(value);
        self.size = value.get().len();
        self.record.last = Some(value);
        let ledger = &mut self.ledger[member];
        ledger.kept.extend(ledger.last.take());
    }
}
