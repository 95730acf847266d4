//! Groups the events whose outcome differs by the rule that makes the difference.

use crate::command::test::CaseOutcome;
use crate::output::{
    one_line, record,
    style::{ADVICE, CHANGED, DIM, NAME},
    time,
    truncate::counted,
};
use hookhost::replay::Compared;
use hookhost_telemetry::tally::{RuleName, deciding_rules};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The rule, and the outcomes then and now.
type Key = (RuleName, CaseOutcome, CaseOutcome);

/// The events that differ.
#[derive(Default)]
pub(super) struct DifferencesByRule(BTreeMap<Key, Vec<DifferingEvent>>);

struct DifferingEvent {
    seq: u64,
    time: u64,
    /// The event on one line.
    subject: String,
}

impl DifferencesByRule {
    /// Adds an event that differs.
    pub(super) fn add(&mut self, compared: &Compared) {
        let Compared { seq, recorded, again: Some(again), .. } = compared else { return };
        // A rule that objects now makes the difference, or else one that objected then.
        let rules = |record| deciding_rules(record).into_iter().next();
        let rule = rules(again).or_else(|| rules(recorded)).unwrap_or(RuleName { by: "no rule".into(), code: None });
        let key = (rule, CaseOutcome::of(recorded), CaseOutcome::of(again));
        let event =
            DifferingEvent { seq: *seq, time: recorded.header.time, subject: record::subject(&recorded.original) };
        self.0.entry(key).or_default().push(event);
    }

    /// Returns a paragraph for each rule: its events, and `command` with the number of one of them.
    pub(super) fn to_text(&self, command: impl Fn(u64) -> String) -> String {
        let mut text = String::new();
        for ((RuleName { by, code }, then, now), events) in &self.0 {
            let code = code.as_ref().map_or_else(String::new, |code| format!(" [{}]", one_line(code)));
            let (then, now) = (then.name(), now.name());
            let became = if then == now {
                format!("{then}, {CHANGED}in another way{CHANGED:#}")
            } else {
                format!("{then} {CHANGED}→{CHANGED:#} {now}")
            };
            let count = counted(events.len(), "event");
            let _ = writeln!(text, "{NAME}{}{code}{NAME:#}: {count}, {became}", one_line(by));
            let width = events.last().map_or(0, |last| last.seq.to_string().len());
            for DifferingEvent { seq, time, subject } in events {
                let _ = writeln!(text, "  {seq:>width$}  {DIM}{}{DIM:#}  {subject}", time::utc(*time));
            }
            if let Some(first) = events.first() {
                let _ = writeln!(text, "  {ADVICE}try:{ADVICE:#} {}\n", one_line(&command(first.seq)));
            }
        }
        text
    }
}
