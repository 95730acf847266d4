//! Counts what the log contains about a period: decisions by rule and by agent, questions and their answers, and the time that the rules
//! took.

use hookhost::audit::{ApprovalRecord, CallRecord, EventRecord, Record};
use hookhost::config::Enforcement;
use hookhost::contract::{AnswerKind, Cause, EventKind, OutcomeKind, Question, Shape};
use hookhost_agents::canary;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Length of the slots in which activity is counted, in milliseconds. A slot with at least one event is active.
const ACTIVITY_SLOT: u64 = 5 * 60 * 1000;

/// The agent of the events that a person tries with `hookhost dispatch`. They are not counted.
pub const TRIAL_AGENT: &str = "hookhost-dispatch";

/// Name of the agent in the tally if the log does not say which agent sent an event.
const UNKNOWN_AGENT: &str = "(unknown)";

/// The decisions about some events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of all events.
    pub events: u64,
    /// Events that were rejected without a question, or because nobody is to be asked.
    pub rejected: u64,
    /// Rounds of questions.
    pub asked: u64,
    /// Calls and other gate events that passed with another value, or with a response in their place.
    pub changed: u64,
    /// Results and texts that plugins changed.
    pub masked: u64,
    /// Results and texts that were kept back.
    pub withheld: u64,
    /// Events of hooks that ran in `hookhost exec`. Only the counts of an agent have it.
    pub sandboxed: u64,
}

impl Counts {
    /// Returns the number of decisions that differ from "nothing to object".
    pub fn decisions(&self) -> u64 {
        self.rejected + self.asked + self.changed + self.masked + self.withheld
    }

    fn add(&mut self, kind: DecisionKind) {
        *match kind {
            DecisionKind::Rejected => &mut self.rejected,
            DecisionKind::Asked => &mut self.asked,
            DecisionKind::Changed => &mut self.changed,
            DecisionKind::Masked => &mut self.masked,
            DecisionKind::Withheld => &mut self.withheld,
        } += 1;
    }
}

#[derive(Clone, Copy)]
enum DecisionKind {
    Rejected,
    Asked,
    Changed,
    Masked,
    Withheld,
}

/// The answers to questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Questions that a person answered with yes.
    pub yes: u64,
    /// Questions that a person answered with no.
    pub no: u64,
    /// Nobody answered: there was no time, no person, or no process any more that waited.
    pub none: u64,
    /// The agent asked its own user, and the call ran.
    pub ran: u64,
    /// The agent asked its own user, and no result of the call is in the log.
    pub did_not_run: u64,
    /// Questions without an answer yet.
    pub open: u64,
    /// Times until a person answered, in microseconds, in ascending order.
    pub waits: Vec<u64>,
}

/// A rule: the plugin, or the configuration, and the code of the rule if it has one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleName {
    /// Name of the plugin, or what stands for the configuration.
    pub by: String,
    /// Code of the rule within the plugin.
    pub code: Option<String>,
}

/// Time from an event to its outcome, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTimes {
    /// Median of all events.
    pub median: u64,
    /// 99th percentile of all events.
    pub p99: u64,
}

/// The counts of a period. Give it the records in the order of the log.
#[derive(Debug, Default)]
pub struct Tally {
    /// Beginning of the period, in milliseconds since the Unix epoch.
    since: u64,
    /// The decisions that had an effect.
    pub total: Counts,
    /// The decisions by the agent whose event they were about.
    pub by_agent: BTreeMap<String, Counts>,
    /// The decisions by the rule that made them, whether they had an effect or were only observed.
    pub by_rule: BTreeMap<RuleName, Counts>,
    /// The decisions that had no effect, because the rules were only observed. They are no part of the total.
    pub observed: Counts,
    /// Events that passed because hookhost was paused.
    pub paused: u64,
    /// Rejections because a plugin failed or could not be asked. They are part of the rejections.
    pub failed: u64,
    /// Rejected calls that a person has let pass once.
    pub allowed_once: u64,
    answers: Answers,
    /// The agents of the sessions, by the session's identifier.
    agents: HashMap<String, String>,
    /// Questions without an answer so far, by the identifier of the event.
    open: HashSet<String>,
    /// Rejections because nobody is to be asked, by the identifier of the event.
    overridable: HashSet<String>,
    /// Calls that the agent asked its own user about and that have no result so far, by session and identifier.
    handed_over: HashMap<(String, String), u64>,
    /// The call of each open question, because the answer can hand it over.
    calls: HashMap<String, (String, String)>,
    /// The agents' sessions with events, as `AGENT:ID`. Sub-agents belong to the session that started them.
    sessions: HashSet<String>,
    active: BTreeSet<u64>,
    times: Vec<u64>,
}

impl Tally {
    /// Creates the tally of a period that begins at `since`, in milliseconds since the Unix epoch.
    pub fn new(since: u64) -> Self {
        Self { since, ..Self::default() }
    }

    /// Counts a record. Records before the period only say which agent a session belongs to.
    pub fn add(&mut self, record: &Record) {
        if record.session().is_some_and(is_proof) {
            return;
        }
        if let Record::Session(opened) = record {
            self.agents.insert(opened.header.session.clone(), opened.agent.clone());
        }
        let is_trial = record.session().is_some_and(|session| self.agent(session) == TRIAL_AGENT);
        if record.time() < self.since || is_trial {
            return;
        }
        match record {
            Record::Event(event) => self.add_event(event),
            Record::Approval(answer) => self.add_answer(answer),
            _ => {}
        }
    }

    /// Returns the answers. A question without an answer is open, or nobody waits for the answer any more.
    pub fn answers(&self) -> Answers {
        let mut answers = self.answers.clone();
        answers.open = self.open.len() as u64;
        answers.did_not_run = self.handed_over.values().sum();
        answers.waits.sort_unstable();
        answers
    }

    /// Returns true if the log has an event of this session of an agent.
    pub fn has_session(&self, agent: &str, id: &str) -> bool {
        self.sessions.contains(&format!("{agent}:{id}"))
    }

    /// Returns the hours with events, counted in slots of five minutes.
    pub fn active_hours(&self) -> f64 {
        let slots = u32::try_from(self.active.len()).unwrap_or(u32::MAX);
        f64::from(slots) * (ACTIVITY_SLOT as f64 / 3_600_000.0)
    }

    /// Returns the time that plugins took per event, for the events about which a plugin was asked.
    pub fn times(&self) -> Option<EventTimes> {
        let mut times = self.times.clone();
        times.sort_unstable();
        Some(EventTimes { median: percentile(&times, 50)?, p99: percentile(&times, 99)? })
    }

    fn add_event(&mut self, record: &EventRecord) {
        let session = &record.header.session;
        if let Some(top) = session.match_indices(':').nth(1).map_or(Some(&**session), |(end, _)| session.get(..end))
            && !self.sessions.contains(top)
        {
            self.sessions.insert(top.to_owned());
        }
        let agent = self.agent(session);
        self.active.insert(record.header.time / ACTIVITY_SLOT);
        if record.event == EventKind::AfterToolCall {
            self.note_result(record);
        }
        let is_observed = record.enforcement == Enforcement::Observed;
        self.paused += u64::from(record.enforcement == Enforcement::Paused);
        if record.asked_again.is_none() {
            self.total.events += 1;
            self.observed.events += u64::from(is_observed);
            let counts = self.by_agent.entry(agent.clone()).or_default();
            counts.events += 1;
            counts.sandboxed += u64::from(record.sandboxed);
        }
        if !record.calls.is_empty() {
            self.times.push(record.wall_micros());
        }
        let Some((kind, rules)) = decision(record) else { return };
        if record.outcome == OutcomeKind::Rejected && !record.questions.is_empty() {
            self.overridable.insert(record.id.clone());
        }
        for rule in rules {
            self.by_rule.entry(rule).or_default().add(kind);
        }
        self.by_agent.entry(agent).or_default().add(kind);
        if is_observed {
            self.observed.add(kind);
            return;
        }
        self.total.add(kind);
        if matches!(kind, DecisionKind::Rejected | DecisionKind::Withheld)
            && !matches!(
                record.cause,
                Some(Cause::Verdict | Cause::NotApproved | Cause::Overridable | Cause::Disagreement)
            )
        {
            self.failed += 1;
        }
        if matches!(kind, DecisionKind::Asked) {
            self.open.insert(record.id.clone());
            if let Some(call) = call_id(&record.original) {
                self.calls.insert(record.id.clone(), (record.header.session.clone(), call));
            }
        }
    }

    fn add_answer(&mut self, record: &ApprovalRecord) {
        if self.overridable.remove(&record.id) {
            self.allowed_once += u64::from(record.answer.kind == AnswerKind::Approved);
            return;
        }
        if !self.open.remove(&record.id) {
            // The question is older than the period.
            return;
        }
        let call = self.calls.remove(&record.id);
        let is_answered = match record.answer.kind {
            AnswerKind::Approved => {
                self.answers.yes += 1;
                true
            }
            AnswerKind::Denied => {
                self.answers.no += 1;
                true
            }
            AnswerKind::HandedOver => {
                *self.handed_over.entry(call.unwrap_or_default()).or_default() += 1;
                false
            }
            _ => {
                self.answers.none += 1;
                false
            }
        };
        if is_answered {
            self.answers.waits.push(record.answer.micros);
        }
    }

    /// Notes the result of a call. If the agent asked its own user about the call, the user has agreed.
    fn note_result(&mut self, record: &EventRecord) {
        if self.handed_over.is_empty() {
            return;
        }
        let Some(call) = call_of_result(record) else { return };
        let key = (record.header.session.clone(), call);
        if let Some(times) = self.handed_over.get_mut(&key) {
            self.answers.ran += 1;
            *times -= 1;
            if *times == 0 {
                self.handed_over.remove(&key);
            }
        }
    }

    /// Returns the agent of a session. The identifier of an agent's session begins with the agent's name.
    fn agent(&self, session: &str) -> String {
        if let Some(agent) = self.agents.get(session) {
            return agent.clone();
        }
        agent_of_session(session).unwrap_or(UNKNOWN_AGENT).to_owned()
    }
}

/// Returns the agent that the identifier of a session begins with, or `None` if the identifier names no agent.
pub fn agent_of_session(session: &str) -> Option<&str> {
    session.split_once(':').map(|(agent, _)| agent)
}

/// Returns true if the session contains only the calls by which `hookhost doctor` proves a hook.
pub fn is_proof(session: &str) -> bool {
    session.split_once(':').is_some_and(|(_, id)| canary::is_proof(id))
}

/// Returns the value at a percentile of ascending values; `None` if there are no values.
pub fn percentile(ascending: &[u64], percent: usize) -> Option<u64> {
    let last = ascending.len().checked_sub(1)?;
    ascending.get((ascending.len() * percent / 100).min(last)).copied()
}

/// Returns the rules that decided an event. There are none if no rule had anything to object.
pub fn deciding_rules(record: &EventRecord) -> BTreeSet<RuleName> {
    decision(record).map(|(_, rules)| rules).unwrap_or_default()
}

/// Returns the kind of a decision that differs from "nothing to object", and the rules that made it.
fn decision(record: &EventRecord) -> Option<(DecisionKind, BTreeSet<RuleName>)> {
    Some(match record.outcome {
        OutcomeKind::Escalated => (DecisionKind::Asked, askers(&record.questions)),
        OutcomeKind::Rejected if !record.questions.is_empty() => (DecisionKind::Rejected, askers(&record.questions)),
        OutcomeKind::Rejected => (DecisionKind::Rejected, rejecters(record)),
        OutcomeKind::Withheld => (DecisionKind::Withheld, rejecters(record)),
        OutcomeKind::Responded => (DecisionKind::Changed, plugins(&record.by)),
        OutcomeKind::Allowed if !record.changed_by.is_empty() => (DecisionKind::Changed, plugins(&record.changed_by)),
        OutcomeKind::Passed if !record.changed_by.is_empty() && record.event.shape() == Shape::Transform => {
            (DecisionKind::Masked, plugins(&record.changed_by))
        }
        _ => return None,
    })
}

fn askers(questions: &[Question]) -> BTreeSet<RuleName> {
    let rule = |question: &Question| RuleName { by: question.by.to_string(), code: question.escalation.code.clone() };
    questions.iter().map(rule).collect()
}

fn plugins(names: &[String]) -> BTreeSet<RuleName> {
    names.iter().map(|by| RuleName { by: by.clone(), code: None }).collect()
}

/// Returns the rules that rejected an event, each with the code of its refusal.
fn rejecters(record: &EventRecord) -> BTreeSet<RuleName> {
    #[derive(Deserialize)]
    struct Rejection {
        reject: Refusal,
    }
    #[derive(Deserialize)]
    struct Refusal {
        code: Option<String>,
    }
    let refusal = |call: &CallRecord| serde_json::from_str::<Rejection>(call.verdict.as_ref()?.get()).ok();
    let code = |by: &String| {
        let mut calls = record.calls.iter().rev().filter(|call| call.plugin == *by);
        calls.find_map(refusal).and_then(|verdict| verdict.reject.code)
    };
    record.by.iter().map(|by| RuleName { by: by.clone(), code: code(by) }).collect()
}

/// Returns the identifier of the call whose result an event is about.
pub fn call_of_result(record: &EventRecord) -> Option<String> {
    #[derive(Deserialize)]
    struct Outcome<'a> {
        #[serde(borrow)]
        call: &'a RawValue,
    }
    let Outcome { call } = serde_json::from_str(record.original.get()).ok()?;
    call_id(call)
}

/// Returns the identifier of a tool call, if it has one.
fn call_id(call: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Call {
        id: String,
    }
    serde_json::from_str::<Call>(call.get()).ok().map(|call| call.id).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Counts, RuleName, Tally, percentile};
    use hookhost::audit::Record;
    use serde_json::{Value, json};

    fn record(mut record: Value) -> Record {
        let defaults = json!({ "turn": 0, "by": [], "changed-by": [], "calls": [], "original": null, "session": "codex:s", "time": 9 });
        for (key, value) in defaults.as_object().unwrap() {
            record.as_object_mut().unwrap().entry(key).or_insert(value.clone());
        }
        Record::from_json(&record.to_string()).unwrap()
    }

    #[expect(clippy::needless_pass_by_value, reason = "each test gives a new value")]
    fn event(outcome: &str, more: Value) -> Record {
        let mut event = json!({ "kind": "event", "id": "e", "event": "before-tool-call", "outcome": outcome });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record(event)
    }

    fn answer(id: &str, kind: &str, seconds: u64) -> Record {
        let answered = json!({ "kind": kind, "micros": seconds * 1_000_000 });
        let outcome = if kind == "approved" { "allowed" } else { "rejected" };
        record(
            json!({ "kind": "answer", "id": id, "event": "before-tool-call", "outcome": outcome, "answer": answered }),
        )
    }

    fn tally(records: impl IntoIterator<Item = Record>) -> Tally {
        let mut tally = Tally::new(5);
        records.into_iter().for_each(|record| tally.add(&record));
        tally
    }

    fn call(plugin: &str, verdict: &Value, micros: u64) -> Value {
        let digest = "0".repeat(64);
        json!({ "plugin": plugin, "digest": digest, "config": digest, "mode": "enforce", "round": 1, "verdict": verdict,
            "fuel": 0, "micros": micros })
    }

    #[test]
    fn decisions_are_counted_by_rule_and_by_agent() {
        let refusal =
            json!({ "reject": { "reason": "no", "code": "git.force-push", "retryable": false, "stop": false } });
        let rejects = call("guard", &refusal, 10);
        let tally = tally([
            event("allowed", json!({})),
            event("rejected", json!({ "by": ["guard"], "cause": "verdict", "calls": [rejects] })),
            event("allowed", json!({ "changed-by": ["bounded"], "session": "pi:1" })),
            event("rejected", json!({ "by": ["guard"], "cause": { "failed": "trap" } })),
            record(
                json!({ "kind": "event", "id": "m", "event": "after-tool-call", "outcome": "passed", "changed-by": ["redact"] }),
            ),
            record(
                json!({ "kind": "event", "id": "w", "event": "after-tool-call", "outcome": "withheld", "by": ["redact"], "cause": "verdict" }),
            ),
            event("rejected", json!({ "time": 4, "by": ["guard"], "cause": "verdict" })),
            event(
                "rejected",
                json!({ "session": "codex:hookhost-doctor-denied", "by": ["hookhost-canary"], "cause": "verdict" }),
            ),
        ]);
        let counts = Counts { events: 6, rejected: 2, changed: 1, masked: 1, withheld: 1, ..Counts::default() };
        assert_eq!((tally.total, tally.failed), (counts, 1));
        assert_eq!(tally.by_agent["pi"], Counts { events: 1, changed: 1, ..Counts::default() });
        let rule = RuleName { by: "guard".into(), code: Some("git.force-push".into()) };
        assert_eq!(tally.by_rule[&rule].rejected, 1);
        assert_eq!(tally.times().map(|times| (times.median, times.p99)), Some((10, 10)));
    }

    #[test]
    fn each_question_has_one_answer_and_a_rejection_that_may_pass_once_is_no_question() {
        let asks = json!([{ "plugin": "guard", "question": "push?", "code": "git.push" }]);
        let asked = |id: &str, outcome: &str, call: &str| {
            event(outcome, json!({ "id": id, "by": ["guard"], "questions": asks, "original": { "id": call } }))
        };
        let result = |call: &str| {
            record(json!({ "kind": "event", "id": "r", "event": "after-tool-call", "outcome": "passed",
                "original": { "call": { "id": call } } }))
        };
        let tally = tally([
            asked("1", "escalated", "a"),
            answer("1", "approved", 8),
            asked("2", "escalated", "b"),
            answer("2", "denied", 2),
            asked("3", "escalated", "c"),
            answer("3", "too-late", 300),
            asked("4", "escalated", "d"),
            answer("4", "handed-over", 0),
            result("d"),
            asked("5", "escalated", "e"),
            answer("5", "handed-over", 0),
            asked("6", "rejected", "f"),
            answer("6", "approved", 60),
            asked("7", "rejected", "g"),
            answer("before the period", "approved", 1),
        ]);
        let answers = tally.answers();
        assert_eq!((tally.total.asked, tally.total.rejected, tally.allowed_once), (5, 2, 1));
        assert_eq!((answers.yes, answers.no, answers.none, answers.open), (1, 1, 1, 0));
        assert_eq!((answers.ran, answers.did_not_run), (1, 1));
        assert_eq!(answers.waits, [2_000_000, 8_000_000]);
    }

    #[test]
    fn what_was_only_observed_or_passed_in_a_pause_is_no_part_of_the_total() {
        let rejected = json!({ "by": ["guard"], "cause": "verdict" });
        let with = |enforcement: &str| {
            let mut more = rejected.clone();
            more["enforcement"] = enforcement.into();
            more
        };
        let paused = event("allowed", json!({ "enforcement": "paused" }));
        let tally = tally([event("rejected", rejected.clone()), event("rejected", with("observed")), paused]);
        assert_eq!((tally.total.events, tally.total.rejected, tally.paused), (3, 1, 1));
        assert_eq!(tally.observed, Counts { events: 1, rejected: 1, ..Counts::default() });
        assert_eq!(tally.by_rule[&RuleName { by: "guard".into(), code: None }].rejected, 2);
    }

    #[test]
    fn times_that_no_number_can_hold_are_cut() {
        let calls = [u64::MAX, 1].map(|micros| call("guard", &json!("pass"), micros));
        let tally = tally([event("allowed", json!({ "calls": calls }))]);
        assert_eq!(tally.times().map(|times| times.median), Some(u64::MAX));
    }

    #[test]
    fn what_a_person_tries_with_dispatch_is_not_counted() {
        let of = |agent: &str| {
            event("rejected", json!({ "session": format!("{agent}:s"), "by": ["guard"], "cause": "verdict" }))
        };
        let tally = tally([of(super::TRIAL_AGENT), of("pi")]);
        assert_eq!(tally.total.rejected, 1);
    }

    #[test]
    fn an_hour_is_active_as_far_as_it_has_events() {
        let at = |minute: u64| event("allowed", json!({ "time": minute * 60_000 }));
        let hours = |tally: Tally| (tally.active_hours() * 12.0).round();
        assert_eq!(hours(tally([at(10), at(11), at(12), at(31)])), 2.0);
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        assert_eq!(percentile(&[], 50), None);
        assert_eq!([percentile(&[7], 50), percentile(&[7], 99)], [Some(7), Some(7)]);
        let values: Vec<u64> = (0..100).collect();
        assert_eq!([percentile(&values, 50), percentile(&values, 99)], [Some(50), Some(99)]);
    }
}
