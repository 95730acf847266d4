//! The effects of plugins' calls: decides which effects are applied, and records them with the event.

use super::Dispatch;
use super::records::{Durability, RecordEffects};
use crate::approval::ApprovalRequest;
use crate::audit::{CallRecord, Header, Observed, raw};
use crate::contract::{Cause, EventKind, Rejection, Shape};
use crate::locked::locked;
use crate::sandbox::capability::{Effects, Level, LogLine, Reminder};
use crate::session::not_asked::NotAsked;
use crate::session::notice::{Notice, NoticeKind};
use crate::state::{LABELS, LabelOrigin, Source, Time, Writes};
use crate::store::{QuestionChange, StoreError};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum length of a warning that a plugin logs about an audit record, in characters. The length is limited, because
/// the warning may be shown on a terminal.
const MAX_WARNING: usize = 200;

/// Maximum number of warnings about audit records that a session passes on, for each plugin.
const MAX_WARNINGS: u32 = 20;

/// Maximum number of lines that are traced for one call about an audit record.
const MAX_TRACED: usize = 50;

/// A plugin's log line about an audit record, in the form in which the host passes it on.
#[derive(Debug, PartialEq)]
enum PassedOn<'a> {
    Warning(String),
    Traced(Level, &'a str),
    /// Number of lines that are left out.
    LeftOut(u64),
}

/// Returns the log lines of a call that the host passes on: the first warning, unless the plugin has already `warned`
/// too often, and a limited number of the other lines as traces. The limits exist because one answer of a model can
/// cause a hundred records, whose lines would fill a terminal.
fn passed_on(call: &CallRecord, warned: u32) -> Vec<PassedOn<'_>> {
    let warns = |line: &LogLine| matches!(line.level, Level::Warn | Level::Error);
    let first = call.log.iter().position(|line| warned < MAX_WARNINGS && warns(line));
    let mut passed_on = Vec::new();
    let (mut traced, mut left_out) = (0, call.log_dropped);
    for (place, LogLine { level, message }) in call.log.iter().enumerate() {
        if first == Some(place) {
            let is_last = warned + 1 == MAX_WARNINGS;
            let more = if is_last { " (its further warnings in this session are only traced)" } else { "" };
            passed_on.push(PassedOn::Warning(message.chars().take(MAX_WARNING).chain(more.chars()).collect()));
        } else if traced < MAX_TRACED {
            traced += 1;
            passed_on.push(PassedOn::Traced(*level, message));
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 {
        passed_on.push(PassedOn::LeftOut(left_out));
    }
    passed_on
}

/// The effects of one plugin's calls so far.
#[derive(Default)]
pub(super) struct PendingEffects {
    pub(super) snapshot: Option<Arc<dyn Source>>,
    /// The writes of the plugin's last call that returned, with the index of the call's record.
    pub(super) writes: Option<(usize, Writes)>,
    /// The other effects of the plugin's last call, with the index of the call's record; `None` if the call failed.
    pub(super) last: Option<(usize, Effects)>,
    /// The effects of each call whose change is part of the final value.
    kept: Vec<(usize, Effects)>,
    pub(super) asked: bool,
    /// True if the filter of the plugin's entry excluded the plugin.
    pub(super) filtered_out: bool,
}

/// Effects of an event that are applied together with its outcome.
#[derive(Default)]
pub(super) struct HeldEffects {
    pub(super) writes: Vec<(Arc<str>, Writes)>,
    reminders: Vec<HeldReminder>,
}

/// A reminder, and the kind of call that set it.
struct HeldReminder {
    /// True if the plugin set the reminder in its last call about the event.
    is_last: bool,
    /// True if the plugin set the reminder in a call whose change is part of the value.
    is_change: bool,
    reminder: Reminder,
}

impl HeldEffects {
    /// Returns the reminders that are applied. `runs` is true if the agent runs the event's value.
    pub(super) fn reminders(self, runs: bool) -> Vec<Reminder> {
        // Usually there is no reminder.
        if self.reminders.is_empty() {
            return Vec::new();
        }
        let holds = |held: &HeldReminder| held.is_last || (held.is_change && runs);
        self.reminders.into_iter().filter(holds).map(|held| held.reminder).collect()
    }

    /// Returns the effects without labels.
    pub(super) fn without_labels(mut self) -> Self {
        self.writes.retain(|(plugin, _)| **plugin != *LABELS);
        self
    }

    /// Returns the effects that the next dispatch of the same value takes over. Reminders of last calls are left out,
    /// because in that dispatch each plugin has a new last call.
    pub(super) fn carried(self) -> Self {
        let changes = self.reminders.into_iter().filter(|held| held.is_change);
        let reminders = changes.map(|held| HeldReminder { is_last: false, ..held }).collect();
        Self { writes: Vec::new(), reminders }
    }
}

impl Dispatch<'_> {
    /// Records the observers' calls and applies their effects.
    pub(in crate::session) async fn conclude_observed(&mut self) {
        // A record of these calls would cause another `audit-record` event, and so on without end.
        if self.record.event == EventKind::AuditRecord {
            self.trace_log();
            return;
        }
        let mut held = self.effects();
        let mut observed = Observed {
            id: self.record.id.clone(),
            header: Header::new(&*self.info.id, self.session.services.now()),
            event: self.record.event,
            calls: self.record.calls.clone(),
            redacted: std::collections::BTreeMap::new(),
        };
        let writes = std::mem::take(&mut held.writes);
        let with = RecordEffects { writes, reminders: held.reminders(true), question: None };
        if let Err(error) = self.session.record(self.rules, &self.info, &observed, with, Durability::Soon).await {
            tracing::error!(%error, "the calls of observers could not be recorded, so their effects are not applied");
            observed.calls.iter_mut().for_each(CallRecord::void_effects);
            self.session.record_soon(self.rules, &self.info, &observed);
        }
    }

    /// Passes on the log lines of plugins about an audit record, because these calls have no record of their own.
    fn trace_log(&self) {
        for call in &self.record.calls {
            let plugin = &call.plugin;
            let warned = locked(&self.session.warned).get(plugin).copied().unwrap_or_default();
            for passed_on in passed_on(call, warned) {
                match passed_on {
                    PassedOn::Warning(message) => {
                        *locked(&self.session.warned).entry(plugin.clone()).or_default() += 1;
                        tracing::warn!(plugin, "a plugin that observes `audit-record` logged: {message}");
                    }
                    PassedOn::Traced(level, message) => tracing::debug!(plugin, ?level, "{message}"),
                    PassedOn::LeftOut(lines) => tracing::debug!(plugin, lines, "more lines are left out"),
                }
            }
        }
    }

    /// Records the event and applies its effects. If the event cannot be recorded, no effects are applied.
    pub(super) async fn conclude(&mut self, durability: Durability) -> Result<(), StoreError> {
        self.conclude_with(durability, None).await
    }

    /// Like [`Self::conclude`], and also changes the row of a question.
    pub(super) async fn conclude_with(
        &mut self,
        durability: Durability,
        question: Option<QuestionChange>,
    ) -> Result<(), StoreError> {
        self.note_time();
        let mut held = self.effects();
        let writes = std::mem::take(&mut held.writes);
        let with = RecordEffects { writes, reminders: held.reminders(!self.record.outcome.is_no()), question };
        self.session.record(self.rules, &self.info, &*self.record, with, durability).await?;
        self.concluded = true;
        Ok(())
    }

    /// Records the event as escalated, together with its question. The effects are applied when the question is
    /// answered.
    pub(super) async fn conclude_escalated(&mut self, request: &ApprovalRequest) -> Result<HeldEffects, StoreError> {
        self.note_time();
        // From here on, nothing that happens to the database makes this process take a yes without a passkey.
        self.session.services.passkeys().await?;
        let held = self.effects();
        let with = RecordEffects { question: Some(self.question(request)?), ..RecordEffects::default() };
        self.session.record(self.rules, &self.info, &*self.record, with, Durability::Now).await?;
        self.concluded = true;
        Ok(held)
    }

    /// Handles a record that could not be written. Its effects are dropped, and the record is written later without
    /// them.
    pub(super) fn record_without_effects(&mut self, error: &StoreError) {
        tracing::error!(%error, event = %self.record.event, id = self.record.id, "an event could not be recorded");
        self.concluded = true;
        self.void_effects();
        self.cannot_be_replayed("it could not be recorded in time".into());
        self.record_late();
    }

    /// Queues the record, to be written after the turn.
    pub(super) fn record_late(&mut self) {
        self.note_time();
        self.record.id = self.session.late_event_id(std::mem::take(&mut self.record.id));
        self.session.record_soon(self.rules, &self.info, &*self.record);
    }

    fn note_time(&mut self) {
        self.record.micros = Some(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX));
    }

    /// Ends an event that has no outcome, because no plugin can be asked about it. Adds a notice for the user.
    pub(in crate::session) fn leave_out(&mut self, why: &NotAsked) {
        self.record_not_asked(why);
        let text = format!("no plugin was asked about the event {}: {}", self.record.event, of_the_session(why));
        self.session.notice(Notice::new(NoticeKind::NotAsked, text));
    }

    /// Rejects an event, because no plugin can be asked about it.
    pub(in crate::session) fn not_asked(&mut self, why: &NotAsked) -> Rejection {
        let rejection = self.rejected(Rejection::host(Vec::new(), why.cause(), why.to_string()));
        self.record_not_asked(why);
        rejection
    }

    fn record_not_asked(&mut self, why: &NotAsked) {
        match why {
            // An `audit-record` event writes no record.
            _ if self.concluded => {}
            NotAsked::Store(error) => self.record_without_effects(error),
            NotAsked::Ended | NotAsked::NoRuntime(_) | NotAsked::Invalid(_) => {
                self.concluded = true;
                self.cannot_be_replayed("no plugin was asked".into());
                self.record_late();
            }
        }
    }

    /// Removes the effects from the record.
    pub(super) fn void_effects(&mut self) {
        self.record.calls.iter_mut().for_each(CallRecord::void_effects);
    }

    /// Rejects an event that could not be recorded.
    pub(super) fn not_recorded(&mut self, error: &StoreError) -> Rejection {
        let rejection = self.rejected(Rejection::host(Vec::new(), Cause::NotRecorded, error.to_string()));
        self.record_without_effects(error);
        rejection
    }

    /// Decides which effects are applied, and adds them to the record.
    fn effects(&mut self) -> HeldEffects {
        // A rejected event has no final value that could contain a change. So only the effects of each plugin's last
        // call are applied.
        let has_value = !self.record.outcome.is_no();
        // A call that was rejected did not happen. So only the plugins that rejected it can label it.
        let is_stopped =
            !has_value && self.record.event.shape() == Shape::Gate && self.record.enforcement.is_enforced();
        let mut held = std::mem::take(&mut self.carried);
        let mut labels = BTreeSet::new();
        for (plugin, pending_effects) in self.chain.iter().zip(&mut self.pending_effects) {
            let mut pending_effects = std::mem::take(pending_effects);
            let last = self.record.calls.iter().rposition(|call| call.plugin == plugin.name());
            pending_effects.kept.retain(|(call, _)| has_value || Some(*call) == last);
            if let Some((call, writes)) = pending_effects.writes.filter(|(_, writes)| !writes.is_empty()) {
                self.record.calls[call].note_writes(&writes);
                held.writes.push((Arc::clone(&plugin.shared.name), writes));
            }
            let has_stopped = self.record.by.iter().any(|by| by == plugin.name());
            let changes = pending_effects.kept.into_iter().map(|kept| (true, kept));
            for (is_change, (call, effects)) in changes.chain(pending_effects.last.map(|last| (false, last))) {
                let record = &mut self.record.calls[call];
                record.findings = effects.findings;
                // A label changes the verdicts of other plugins, and a plugin in the mode `observe` must not do that.
                if plugin.enforces() && (has_stopped || !is_stopped) {
                    record.labels = effects.labels;
                    labels.extend(record.labels.iter().cloned());
                }
                if plugin.enforces() && self.record.enforcement.is_enforced() {
                    let is_last = Some(call) == last;
                    let held_reminder = |reminder| HeldReminder { is_last, is_change, reminder };
                    held.reminders.extend(effects.reminders.into_iter().map(held_reminder));
                }
            }
            if pending_effects.filtered_out && !pending_effects.asked {
                self.record.not_matched.push(plugin.name().to_owned());
            }
        }
        held.writes.extend(written_labels(&labels, &self.record.id, self.record.header.time));
        held
    }

    /// Records that a plugin's change is part of the value, and keeps the effects of the call that made the change.
    pub(super) fn changed<T: serde::Serialize>(&mut self, member: usize, value: &T) {
        let value = raw(value);
        self.size = value.get().len();
        self.record.last = Some(value);
        let pending_effects = &mut self.pending_effects[member];
        pending_effects.kept.extend(pending_effects.last.take());
    }
}

/// Returns the write that adds the labels of an event, if there are any.
pub(in crate::session) fn written_labels(
    labels: &BTreeSet<String>,
    event: &str,
    time: Time,
) -> Option<(Arc<str>, Writes)> {
    let origin = || LabelOrigin { time, event: event.to_owned() };
    (!labels.is_empty()).then(|| (LABELS.into(), Writes::of_labels(labels, &origin())))
}

/// Returns the reason as a complete sentence for a notice.
fn of_the_session(why: &NotAsked) -> String {
    match why {
        NotAsked::Ended => format!("the session has ended: {why}"),
        NotAsked::NoRuntime(_) => format!("there is no tokio runtime with a timer: {why}"),
        NotAsked::Store(_) | NotAsked::Invalid(_) => why.to_string(),
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
        let passed_on = passed_on(&info, 0);
        assert_eq!(passed_on.len(), MAX_TRACED + 1);
        assert_eq!(passed_on[0], PassedOn::Traced(Level::Info, "0"));
        assert_eq!(passed_on[MAX_TRACED], PassedOn::LeftOut(5 + 7));
    }

    #[test]
    fn the_first_warning_of_a_call_is_one_of_the_program_until_the_plugin_has_warned_often() {
        let warns = call(2, "error");
        let first = |warned| passed_on(&warns, warned).swap_remove(0);
        assert_eq!(first(0), PassedOn::Warning("0".into()));
        let PassedOn::Warning(last) = first(MAX_WARNINGS - 1) else { panic!() };
        assert!(last.starts_with("0 (its further warnings in this session"), "{last}");
        assert_eq!(first(MAX_WARNINGS), PassedOn::Traced(Level::Error, "0"));
        assert_eq!(passed_on(&warns, 0)[1], PassedOn::Traced(Level::Error, "1"));
    }
}
