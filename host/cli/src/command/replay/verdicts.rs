//! What the rules would have decided about past calls: counts for each agent and each rule.

use hookhost::audit::EventRecord;
use hookhost::contract::{Fact, FactName, OutcomeKind, Rejection};
use hookhost_telemetry::tally::RuleName;
use hookhost_transcripts::Omission;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// What would have become of a past call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PastOutcome {
    Rejected,
    Asked,
    Changed,
    Allowed,
}

/// The verdict on a past call.
pub(super) struct PastVerdict {
    pub(super) outcome: PastOutcome,
    /// The rule that decided. Empty if the call was allowed.
    pub(super) rule: RuleName,
    /// The reason or the question.
    pub(super) reason: Option<String>,
    /// The facts of then that the rules asked for, and that are not known.
    pub(super) unknown_facts: Vec<FactName>,
}

impl PastVerdict {
    /// Returns the verdict that a record contains. `rejection` is the outcome, if the call was rejected.
    pub(super) fn of(record: &EventRecord, rejection: Option<&Rejection>) -> Self {
        let facts = record.calls.iter().flat_map(|call| &call.inputs.facts);
        let unknown = facts.filter(|read| matches!(read.value, Fact::Unreadable(_)));
        let unknown_facts: Vec<FactName> = unknown.map(|read| read.name.clone()).collect();
        if record.outcome == OutcomeKind::Escalated {
            let question = record.questions.first();
            return Self {
                outcome: PastOutcome::Asked,
                rule: RuleName {
                    by: question.map(|question| question.by.to_string()).unwrap_or_default(),
                    code: question.and_then(|question| question.escalation.code.clone()),
                },
                reason: question.map(|question| question.escalation.question.clone()),
                unknown_facts,
            };
        }
        if let Some(rejection) = rejection {
            return Self {
                outcome: PastOutcome::Rejected,
                rule: RuleName { by: rejection.by.join(", "), code: rejection.refusal.code.clone() },
                reason: Some(rejection.refusal.reason.clone()),
                unknown_facts,
            };
        }
        let outcome = if !record.changed_by.is_empty() || record.outcome == OutcomeKind::Responded {
            PastOutcome::Changed
        } else {
            PastOutcome::Allowed
        };
        let by = if record.changed_by.is_empty() { &record.by } else { &record.changed_by };
        Self { outcome, rule: RuleName { by: by.join(", "), code: None }, reason: None, unknown_facts }
    }
}

/// The number of an agent's calls, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallCounts {
    pub(crate) calls: u64,
    pub(crate) rejected: u64,
    pub(crate) asked: u64,
    pub(crate) changed: u64,
}

impl CallCounts {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.rejected += other.rejected;
        self.asked += other.asked;
        self.changed += other.changed;
    }

    fn count(&mut self, outcome: PastOutcome) {
        self.calls += 1;
        match outcome {
            PastOutcome::Rejected => self.rejected += 1,
            PastOutcome::Asked => self.asked += 1,
            PastOutcome::Changed => self.changed += 1,
            PastOutcome::Allowed => {}
        }
    }
}

/// A rule, and what it decided.
pub(super) type RuleKey = (PastOutcome, RuleName);

/// The calls about which one rule decided.
#[derive(Clone, Debug)]
pub(super) struct RuleCalls {
    pub(super) count: u64,
    /// The newest of the calls, on one line.
    pub(super) example: String,
    pub(super) reason: Option<String>,
    /// Time of the example, in milliseconds since the Unix epoch.
    time: u64,
}

/// The verdicts on the past calls of a period.
#[derive(Debug, Default)]
pub(crate) struct PastVerdicts {
    /// The period that was asked for.
    pub(super) period: Duration,
    pub(super) agents: BTreeMap<&'static str, CallCounts>,
    pub(super) rules: BTreeMap<RuleKey, RuleCalls>,
    /// The profile by which calls were judged, because there are no rules.
    pub(super) profile: Option<&'static str>,
    /// The files from which rules were read.
    pub(super) files: BTreeSet<PathBuf>,
    /// True if there was any rule.
    pub(super) has_rules: bool,
    /// Plugins that were not asked, because they could have an effect outside of hookhost.
    pub(super) not_asked: BTreeSet<String>,
    /// What could not be read in the transcripts.
    pub(super) omissions: Vec<Omission>,
    /// The number of calls on which no verdict is possible, by reason.
    pub(super) unjudged: BTreeMap<String, u64>,
    /// The number of calls whose directory does not exist here, and one such directory.
    pub(super) elsewhere: (u64, PathBuf),
    /// The number of calls that would not simply have run and for which a rule asked for a fact of then that is not known, and these facts.
    pub(super) in_doubt: (u64, BTreeSet<FactName>),
    /// True if all transcripts were read in the given time.
    pub(super) is_complete: bool,
}

impl PastVerdicts {
    /// Adds the verdict on a call.
    pub(super) fn add(
        &mut self,
        agent: &'static str,
        verdict: PastVerdict,
        time: u64,
        example: impl FnOnce() -> String,
    ) {
        self.agents.entry(agent).or_default().count(verdict.outcome);
        if verdict.outcome == PastOutcome::Allowed {
            return;
        }
        let PastVerdict { outcome, rule, reason, unknown_facts } = verdict;
        if !unknown_facts.is_empty() {
            self.in_doubt.0 += 1;
            self.in_doubt.1.extend(unknown_facts);
        }
        let example = example();
        let fresh = RuleCalls { count: 0, example: String::new(), reason: None, time: 0 };
        let rule = self.rules.entry((outcome, rule)).or_insert(fresh);
        rule.count += 1;
        // The order in which calls are judged differs from run to run. The example does not.
        if rule.count == 1 || (time, &example) > (rule.time, &rule.example) {
            (rule.example, rule.reason, rule.time) = (example, reason, time);
        }
    }

    /// Returns the counts of all agents together.
    pub(crate) fn total(&self) -> CallCounts {
        let mut total = CallCounts::default();
        self.agents.values().for_each(|counts| total.add(*counts));
        total
    }

    /// Returns the number of calls that were judged by a fact that transcripts do not contain.
    pub(crate) fn in_doubt(&self) -> u64 {
        self.in_doubt.0
    }

    /// Returns the rules, the most frequent first.
    pub(super) fn frequent_rules(&self) -> Vec<(&RuleKey, &RuleCalls)> {
        let mut rules: Vec<_> = self.rules.iter().collect();
        rules.sort_by_key(|(key, calls)| (key.0, std::cmp::Reverse(calls.count)));
        rules
    }

    /// Describes the result in one sentence part: `of 4 812 calls in 30 days, 11 would have been rejected and 23 asked about`. Returns
    /// `None` if there were no calls, or no rules.
    pub(crate) fn in_one_line(&self) -> Option<String> {
        let CallCounts { calls, rejected, asked, changed } = self.total();
        if calls == 0 || !self.has_rules {
            return None;
        }
        let newest = if self.is_complete { "" } else { "the newest " };
        let changed = if changed == 0 { String::new() } else { format!(", and {} changed", thousands(changed)) };
        let and = if changed.is_empty() { " and" } else { "," };
        Some(format!(
            "of {newest}{} calls in {}, {} would have been rejected{and} {} asked about{changed}",
            thousands(calls),
            period_in_words(self.period),
            thousands(rejected),
            thousands(asked),
        ))
    }

    /// Returns the summary as JSON.
    pub(super) fn to_json(&self) -> Value {
        let agent = |(name, counts): (&&str, &CallCounts)| {
            let CallCounts { calls, rejected, asked, changed } = counts;
            json!({ "agent": name, "calls": calls, "rejected": rejected, "asked": asked, "changed": changed })
        };
        let rule = |((outcome, RuleName { by, code }), calls): (&RuleKey, &RuleCalls)| {
            let RuleCalls { count, example, reason, .. } = calls;
            json!({ "outcome": outcome, "by": by, "code": code, "calls": count, "example": example, "reason": reason })
        };
        let unread = |omission: &Omission| json!({ "agent": omission.agent, "count": omission.count, "says": omission.to_string() });
        let CallCounts { calls, rejected, asked, changed } = self.total();
        json!({
            "type": "summary",
            "seconds": self.period.as_secs(),
            "complete": self.is_complete,
            "profile": self.profile,
            "rules-from": self.files,
            "calls": calls,
            "rejected": rejected,
            "asked": asked,
            "changed": changed,
            "agents": self.agents.iter().map(agent).collect::<Vec<_>>(),
            "rules": self.frequent_rules().into_iter().map(rule).collect::<Vec<_>>(),
            "plugins-not-asked": self.not_asked,
            "not-judged": self.unjudged,
            "in-directories-elsewhere": self.elsewhere.0,
            "in-doubt": { "calls": self.in_doubt.0, "facts": self.in_doubt.1 },
            "not-read": self.omissions.iter().map(unread).collect::<Vec<_>>(),
        })
    }
}

/// Formats a number with a space between thousands.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a period: `30 days`, `12 hours`, `90 minutes`.
pub(super) fn period_in_words(period: Duration) -> String {
    let minutes = period.as_secs() / 60;
    let (number, unit) = match minutes {
        _ if minutes.is_multiple_of(24 * 60) => (minutes / (24 * 60), "day"),
        _ if minutes.is_multiple_of(60) => (minutes / 60, "hour"),
        _ => (minutes, "minute"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(outcome: PastOutcome, code: &str) -> PastVerdict {
        PastVerdict {
            outcome,
            rule: RuleName { by: "guard".into(), code: Some(code.into()) },
            reason: Some("no".into()),
            unknown_facts: Vec::new(),
        }
    }

    #[test]
    fn numbers_and_periods_are_formatted_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (4812, "4 812"), (1_234_567, "1 234 567")] {
            assert_eq!(thousands(number), text);
        }
        for (seconds, text) in
            [(86_400, "1 day"), (30 * 86_400, "30 days"), (43_200, "12 hours"), (5_400, "90 minutes")]
        {
            assert_eq!(period_in_words(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn the_example_of_a_rule_is_its_newest_call_in_whatever_order_calls_are_judged() {
        let calls = [(3, "three"), (1, "one"), (2, "two")];
        for turn in 0..3 {
            let mut verdicts = PastVerdicts::default();
            for (time, example) in calls.iter().cycle().skip(turn).take(3) {
                verdicts.add("pi", verdict(PastOutcome::Rejected, "a"), *time, || (*example).to_owned());
            }
            assert_eq!(verdicts.frequent_rules()[0].1.example, "three");
        }
    }

    #[test]
    fn one_line_says_what_would_have_happened_unless_there_are_no_calls_or_no_rules() {
        let mut verdicts = PastVerdicts { period: Duration::from_secs(30 * 86_400), ..PastVerdicts::default() };
        assert_eq!(verdicts.in_one_line(), None);
        verdicts.add("pi", verdict(PastOutcome::Rejected, "a"), 1, String::new);
        verdicts.add("pi", verdict(PastOutcome::Asked, "b"), 1, String::new);
        verdicts.add("codex", verdict(PastOutcome::Allowed, "c"), 1, String::new);
        assert_eq!(verdicts.in_one_line(), None);
        (verdicts.has_rules, verdicts.is_complete) = (true, true);
        assert_eq!(
            verdicts.in_one_line().unwrap(),
            "of 3 calls in 30 days, 1 would have been rejected and 1 asked about"
        );
        verdicts.add("codex", verdict(PastOutcome::Changed, "d"), 1, String::new);
        verdicts.is_complete = false;
        assert_eq!(
            verdicts.in_one_line().unwrap(),
            "of the newest 4 calls in 30 days, 1 would have been rejected, 1 asked about, and 1 changed"
        );
    }
}
