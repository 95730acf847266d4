//! Which effects of a plugin's calls hold, and recording them with the event.

use super::Dispatch;
use crate::approval::ApprovalRequest;
use crate::audit::{CallRecord, Observed, raw};
use crate::contract::{Cause, EventKind, Rejection};
use crate::sandbox::capability::{Effects, Level, LogLine, Reminder};
use crate::session::recording::{Due, With};
use crate::state::{Source, Writes};
use crate::store::StoreError;
use std::sync::Arc;

/// Most characters of a warning that a plugin logs about a record: it may be said on a terminal.
const MAX_WARNING: usize = 200;

/// Most warnings of one plugin about records that one session hands on.
const MAX_WARNINGS: u32 = 20;

/// Most lines of one call about a record that are traced.
const MAX_TRACED: usize = 50;

/// What becomes of what a plugin logged about a record.
#[derive(Debug, PartialEq)]
enum HandedOn<'a> {
    Warning(String),
    Traced(Level, &'a str),
    /// So many lines.
    LeftOut(u64),
}

/// The first warning of a call, unless its plugin has `warned` too often, and some of the rest for whoever traces. A session has a
/// hundred records for an answer: what nobody bounds fills a terminal.
fn handed_on(call: &CallRecord, warned: u32) -> Vec<HandedOn<'_>> {
    let warns = |line: &LogLine| matches!(line.level, Level::Warn | Level::Error);
    let first = call.log.iter().position(|line| warned < MAX_WARNINGS && warns(line));
    let mut handed_on = Vec::new();
    let (mut traced, mut left_out) = (0, call.log_dropped);
    for (place, LogLine { level, message }) in call.log.iter().enumerate() {
        if first == Some(place) {
            let is_last = warned + 1 == MAX_WARNINGS;
            let more = if is_last { " (what it warns of from here on in this session is only traced)" } else { "" };
            handed_on.push(HandedOn::Warning(message.chars().take(MAX_WARNING).chain(more.chars()).collect()));
        } else if traced < MAX_TRACED {
            traced += 1;
            handed_on.push(HandedOn::Traced(*level, message));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        handed_on.push(HandedOn::LeftOut(left_out));
    }
    handed_on
}

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
        // As nearly always.
        if self.reminders.is_empty() {
            return Vec::new();
        }
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
        let with = With { writes, reminders: held.reminders(true), question: None };
        if let Err(error) = self.session.record(self.rules, &self.info, &observed, with, Due::Soon).await {
            tracing::error!(%error, "what observers did could not be recorded, and does not hold");
        }
    }

    /// Hands on what plugins logged about a record, which has no record of its own.
    fn trace_log(&self) {
        for call in &self.record.calls {
            let plugin = &call.plugin;
            let warned = self.session.warned().get(plugin).copied().unwrap_or_default();
            for handed_on in handed_on(call, warned) {
                match handed_on {
                    HandedOn::Warning(message) => {
                        *self.session.warned().entry(plugin.clone()).or_default() += 1;
                        tracing::warn!(plugin, "a plugin that hears `audit-record` logged: {message}");
                    }
                    HandedOn::Traced(level, message) => tracing::debug!(plugin, ?level, "{message}"),
                    HandedOn::LeftOut(lines) => tracing::debug!(plugin, lines, "more lines are left out"),
                }
            }
        }
    }

    /// Records the event and makes its effects hold: both, or neither.
    pub(super) async fn conclude(&mut self, due: Due) -> Result<(), StoreError> {
        let mut held = self.effects();
        let writes = std::mem::take(&mut held.writes);
        let with = With { writes, reminders: held.reminders(!self.record.outcome.is_no()), question: None };
        self.session.record(self.rules, &self.info, &*self.record, with, due).await?;
        self.concluded = true;
        Ok(())
    }

    /// Records the event as escalated, together with its question. Its effects hold once it is answered.
    pub(super) async fn conclude_escalated(&mut self, request: &ApprovalRequest) -> Result<Held, StoreError> {
        let held = self.effects();
        let with = With { question: Some(self.question(request)?), ..With::default() };
        self.session.record(self.rules, &self.info, &*self.record, with, Due::Now).await?;
        self.concluded = true;
        Ok(held)
    }

    /// Where a record could not be written, none of its effects hold; what is left of it is written when that can be done.
    pub(super) fn record_without_effects(&mut self, error: &StoreError) {
        tracing::error!(%error, event = %self.record.event, id = self.record.id, "an event could not be recorded");
        self.concluded = true;
        self.void_effects();
        self.cannot_be_replayed("it could not be recorded in time".into());
        self.record_late();
    }

    /// Has the record written after the turn.
    pub(super) fn record_late(&mut self) {
        self.record.id = self.session.late_event_id(std::mem::take(&mut self.record.id));
        self.session.record_soon(self.rules, &self.info, &*self.record);
    }

    /// Nobody is asked about an event whose session cannot have its turn.
    pub(in crate::session) fn leave_out(&mut self, error: &StoreError) {
        // Whoever feeds records in by hand does not write any.
        if !self.concluded {
            self.record_without_effects(error);
        }
        self.session.notice(format!("no plugin heard of the event {}: {error}", self.record.event));
    }

    /// Takes back what the record says of effects that were to hold.
    pub(super) fn void_effects(&mut self) {
        self.record.calls.iter_mut().for_each(CallRecord::void_effects);
    }

    /// What has no record may not happen.
    pub(in crate::session) fn not_recorded(&mut self, error: &StoreError) -> Rejection {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(lines: usize, level: &str) -> CallRecord {
        let lines: Vec<_> = (0..lines).map(|line| json!({ "level": level, "message": line.to_string() })).collect();
        let digest = "0".repeat(64);
        let call = json!({
            "plugin": "p", "digest": digest, "config": digest, "mode": "enforce", "round": 1, "fuel": 0, "micros": 0,
            "log": lines, "log-dropped": 7,
        });
        serde_json::from_value(call).unwrap()
    }

    #[test]
    fn what_a_plugin_logs_about_a_record_is_handed_on_up_to_a_number_of_lines_and_the_rest_is_counted() {
        let info = call(MAX_TRACED + 5, "info");
        let handed_on = handed_on(&info, 0);
        assert_eq!(handed_on.len(), MAX_TRACED + 1);
        assert_eq!(handed_on[0], HandedOn::Traced(Level::Info, "0"));
        assert_eq!(handed_on[MAX_TRACED], HandedOn::LeftOut(5 + 7));
    }

    #[test]
    fn the_first_warning_of_a_call_is_one_of_the_program_until_the_plugin_has_warned_often() {
        let warns = call(2, "error");
        let first = |warned| handed_on(&warns, warned).swap_remove(0);
        assert_eq!(first(0), HandedOn::Warning("0".into()));
        let HandedOn::Warning(last) = first(MAX_WARNINGS - 1) else { panic!() };
        assert!(last.starts_with("0 (what it warns of from here on"), "{last}");
        assert_eq!(first(MAX_WARNINGS), HandedOn::Traced(Level::Error, "0"));
        assert_eq!(handed_on(&warns, 0)[1], HandedOn::Traced(Level::Error, "1"));
    }
}
