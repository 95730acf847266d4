//! Evidence for auditors: what the log shows about a period, and what it does not show.

mod csv;
mod html;
mod table;

pub use table::Table;

use crate::anchor::Anchors;
use crate::controls::{Control, controls};
use crate::rule_history::{RuleHistory, RuleInForce};
use crate::tally::{self, RuleName, Tally};
use hookhost::audit::{ApprovalRecord, Delivery, DeliveryKind, EventRecord, Line, OperatorAction, Record};
use hookhost::config::{Digest, Enforcement};
use hookhost::store::{Log, LogError, RuleTexts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The evidence of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Evidence {
    /// When it was made, in milliseconds since the Unix epoch.
    pub made: u64,
    /// The version of the program that made it.
    pub version: String,
    /// The beginning of the period, in milliseconds since the Unix epoch.
    pub from: u64,
    /// The end of the period, which is not part of it.
    pub to: u64,
    /// Number of events in the period.
    pub events: u64,
    /// The log, its verification and its anchors.
    pub chain: Chain,
    /// The rules that were in force.
    pub rules: Vec<RuleEvidence>,
    /// The decisions by rule.
    pub decisions: Vec<DecisionCount>,
    /// The questions that were answered, or that got no answer.
    pub approvals: Vec<Approval>,
    /// The failures, and what followed from them.
    pub failures: Vec<FailedCall>,
    /// What hookhost did not see, or did not enforce.
    pub gaps: Vec<Gap>,
    /// The changes of hookhost by its operator.
    pub operator: Vec<OperatorChange>,
    /// The controls of frameworks that the evidence is about.
    pub controls: Vec<Control>,
    /// What the evidence does not show, one sentence each.
    pub not_shown: Vec<String>,
}

/// The log from which the evidence comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Chain {
    /// The hash of the first record, which identifies the log.
    pub log: String,
    /// The time of the first record, in milliseconds since the Unix epoch.
    pub begins: u64,
    /// Number of records, with those in archives.
    pub records: u64,
    /// The hash of the last record.
    pub head: String,
    /// True if every record is as it was written, and every anchored record is in its place.
    pub is_verified: bool,
    /// What is wrong with the log, one sentence each.
    pub flaws: Vec<String>,
    /// Ranges of records in archives that were not there to be checked.
    pub archived_elsewhere: Vec<(u64, u64)>,
    /// The anchors, if a place was named.
    pub anchors: Option<AnchorEvidence>,
}

/// The anchors of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AnchorEvidence {
    /// Number of anchors of this log.
    pub of_this_log: u64,
    /// How many of them are in the log.
    pub found: u64,
    /// The number of the newest anchored record; 0 without one.
    pub newest: u64,
    /// When it was anchored, in milliseconds since the Unix epoch.
    pub newest_time: u64,
    /// The hash of the newest anchored record.
    pub newest_head: String,
}

/// A rule that was in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleEvidence {
    /// The rule, and when it was in force.
    #[serde(flatten)]
    pub rule: RuleInForce,
    /// What is known of its text.
    pub text_is: TextState,
    /// The configuration as JSON, if it was kept beside the log.
    pub text: Option<String>,
}

/// What is known of the text of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextState {
    /// No text was kept, for example because the host was older.
    #[default]
    Missing,
    /// The text has the digest that the log names.
    AsLoaded,
    /// The text has another digest, because parts of it were masked or somebody changed it.
    Masked,
}

/// The decisions of one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DecisionCount {
    /// Name of the plugin, or what stands for the configuration.
    pub by: String,
    /// Code of the rule within the plugin; empty if it has none.
    pub rule: String,
    /// Rejected events.
    pub rejected: u64,
    /// Rounds of questions.
    pub asked: u64,
    /// Changed calls.
    pub changed: u64,
    /// Changed results and texts.
    pub masked: u64,
    /// Results and texts that were kept back.
    pub withheld: u64,
}

/// An answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Approval {
    /// The number of the answer's record.
    pub record: u64,
    /// Its time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The event's identifier.
    pub event_id: String,
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The event, with the name of the tool if it is a call.
    pub event: String,
    /// The rules that asked.
    pub asked_by: String,
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
    /// The person who answered; empty if the log does not say.
    pub by: String,
    /// The channel of the answer; empty if the log does not say.
    pub via: String,
    /// Where and how else the answer was given, as far as the log says.
    pub details: BTreeMap<String, String>,
    /// Time until the answer, in microseconds.
    pub wait: u64,
    /// The outcome of the event.
    pub outcome: String,
}

/// A call of a plugin that failed, or an event that could not be decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailedCall {
    /// The number of the record.
    pub record: u64,
    /// Its time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The event's identifier.
    pub event_id: String,
    /// The session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The event, with the name of the tool if it is a call.
    pub event: String,
    /// The plugin; empty if no plugin was asked.
    pub plugin: String,
    /// The kind of failure.
    pub failure: String,
    /// The outcome of the event, and its cause.
    pub consequence: String,
}

/// Something that hookhost did not see or did not enforce.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Gap {
    /// The kind of gap.
    pub kind: String,
    /// The agent, if it is known.
    pub agent: String,
    /// The first record about it; 0 if there is none.
    pub record: u64,
    /// When it was or began, in milliseconds since the Unix epoch; 0 if it is not known.
    pub time: u64,
    /// How often, or how many.
    pub count: u64,
    /// What it means.
    pub meaning: String,
}

/// A change of hookhost by its operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OperatorChange {
    /// The number of the record.
    pub record: u64,
    /// Its time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// The change.
    pub action: String,
    /// The user's name; empty if the log does not say.
    pub by: String,
    /// The rules, agents, labels or files that it was about.
    pub about: String,
    /// The end of a pause, in milliseconds since the Unix epoch; 0 if it has none.
    pub until: u64,
}

/// The period, and what the log itself does not know.
#[derive(Clone, Debug, Default)]
pub struct EvidenceRequest {
    /// The beginning of the period, in milliseconds since the Unix epoch.
    pub from: u64,
    /// The end of the period, which is not part of it.
    pub to: u64,
    /// The time of the export, in milliseconds since the Unix epoch.
    pub now: u64,
    /// The version of the program.
    pub version: String,
    /// The anchors against which the log is checked.
    pub anchors: Option<Anchors>,
}

impl Evidence {
    /// Reads and verifies the whole log, with its archives. `progress` is called with the number of lines so far.
    ///
    /// # Errors
    /// If the log cannot be read. A log that was changed is no error: the evidence says so.
    pub fn read(log: &Log, request: &EvidenceRequest, progress: impl FnMut(u64)) -> Result<(Self, Tally), LogError> {
        let EvidenceRequest { from, to, now, version, anchors } = request;
        let mut reading = Reading::new(*from, *to);
        let mut first = None;
        let unread = log.each_line(|line| {
            first.get_or_insert_with(|| (line.hash(), line.entry().map_or(0, |entry| entry.time())));
            reading.add(line);
        })?;
        let (first, begins) = first.unwrap_or((Digest::of_bytes(&[]), 0));
        let heads = anchors.as_ref().map(|anchors| anchors.heads(log)).transpose()?.unwrap_or_default();
        let report = log.verify_with(&heads, progress)?;
        let mut flaws: Vec<String> = report.flaws.iter().map(ToString::to_string).collect();
        if report.more_flaws > 0 {
            flaws.push(format!("and {} more", report.more_flaws));
        }
        flaws.extend(anchors.as_ref().and_then(|anchors| anchors.checked(&heads, &report).problem));
        let newest = anchors.as_ref().and_then(|anchors| anchors.newest(first));
        let anchor_evidence = anchors.as_ref().map(|_| AnchorEvidence {
            of_this_log: heads.anchored.len() as u64,
            found: report.anchors_found,
            newest: newest.map_or(0, |anchor| anchor.seq),
            newest_time: newest.map_or(0, |anchor| anchor.time),
            newest_head: newest.map(|anchor| anchor.head.to_string()).unwrap_or_default(),
        });
        let chain = Chain {
            log: first.to_string(),
            begins,
            records: report.lines,
            head: report.head.map(|head| head.to_string()).unwrap_or_default(),
            is_verified: flaws.is_empty(),
            flaws,
            archived_elsewhere: report.archived.clone(),
            anchors: anchor_evidence,
        };
        let texts = RuleTexts::of(log.path());
        let mut evidence =
            Self { made: *now, version: version.clone(), from: *from, to: *to, chain, ..Self::default() };
        let tally = reading.finish(&mut evidence, &texts);
        for problem in unread {
            evidence.gap("unreadable-archive", &format!("records are missing here: {problem}"), 1);
        }
        evidence.controls = controls();
        evidence.not_shown = evidence.sentences_about_what_is_missing();
        Ok((evidence, tally))
    }

    /// Adds a gap that the log does not know about.
    pub fn add_gap(&mut self, gap: Gap) {
        self.gaps.push(gap);
    }

    fn gap(&mut self, kind: &str, meaning: &str, count: u64) {
        self.gaps.push(Gap { kind: kind.to_owned(), meaning: meaning.to_owned(), count, ..Gap::default() });
    }

    fn sentences_about_what_is_missing(&self) -> Vec<String> {
        let mut sentences = vec![
            "Events that an agent does not report to a hook are not in the log. The gaps name the sessions that were found without an event.".to_owned(),
            "A rule is shown with its first and its last call in the period. Between them, another configuration may have been in force. A rule that was not called in the period is not shown."
                .to_owned(),
            "The log says what was decided and delivered. What a permitted command did is not in it.".to_owned(),
            "Times are those of the machine's clock.".to_owned(),
            "The name of a person who answered is what the asking program says, unless the details name a proof.".to_owned(),
        ];
        sentences.push(match &self.chain.anchors {
            Some(anchors) if anchors.newest > 0 => format!(
                "Records after number {} are not anchored: whoever can write the log could have removed the last of them.",
                anchors.newest
            ),
            _ => "No head of the log was checked against an anchor. Whoever can write the log could have rewritten all of it."
                .to_owned(),
        });
        if self.chain.begins > self.from {
            sentences.push("The log begins within the period. About the time before, there is no evidence.".to_owned());
        }
        sentences
    }

    /// Returns the evidence as JSON, for programs.
    ///
    /// # Errors
    /// Never, because each part has a JSON form.
    pub fn to_json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }

    /// Returns the evidence as a page for a browser, ready to print.
    #[must_use]
    pub fn to_html(&self) -> String {
        html::page(self)
    }

    /// Returns the evidence as files of comma-separated values: their names and contents.
    #[must_use]
    pub fn to_csv(&self) -> Vec<(String, String)> {
        self.tables().iter().map(|table| (format!("{}.csv", table.name), csv::written(table))).collect()
    }
}

/// What was read of the log so far.
struct Reading {
    from: u64,
    to: u64,
    history: RuleHistory,
    tally: Tally,
    /// The agents of the sessions.
    agents: HashMap<String, String>,
    /// The questions that wait for an answer, by the event's identifier.
    questions: HashMap<String, AskedQuestion>,
    approvals: Vec<Approval>,
    failures: Vec<FailedCall>,
    operator: Vec<OperatorChange>,
    /// The gaps, by kind, agent and meaning.
    gaps: BTreeMap<(String, String, String), Gap>,
}

#[derive(Clone, Default)]
struct AskedQuestion {
    event: String,
    asked_by: String,
    question: String,
}

impl Reading {
    fn new(from: u64, to: u64) -> Self {
        Self {
            from,
            to,
            history: RuleHistory::default(),
            tally: Tally::new(from),
            agents: HashMap::new(),
            questions: HashMap::new(),
            approvals: Vec::new(),
            failures: Vec::new(),
            operator: Vec::new(),
            gaps: BTreeMap::new(),
        }
    }

    fn add(&mut self, line: &Line) {
        let Some(time) = time_of(line) else { return };
        // Sessions and questions may be older than the period. Other records are large, so they are not parsed.
        let is_within = self.from <= time && time < self.to;
        let is_needed = line.text().contains(r#""kind":"session""#) || line.text().contains(r#""outcome":"escalated""#);
        if !(is_within || is_needed && time < self.to) {
            return;
        }
        let Ok(record) = line.entry() else {
            return self.note_gap("unreadable", "", line.seq(), time, 1, "a record cannot be read by this version");
        };
        if record.session().is_some_and(tally::is_proof) {
            return;
        }
        self.tally.add(&record);
        if let Record::Session(opened) = &record {
            self.agents.insert(opened.header.session.clone(), opened.agent.clone());
        }
        let agent = record.session().map(|session| self.agent(session)).unwrap_or_default();
        if agent == tally::TRIAL_AGENT {
            return;
        }
        if is_within {
            self.history.add(line.seq(), &record);
        }
        match &record {
            Record::Event(event) => {
                self.note_question(event);
                if is_within {
                    self.add_event(line.seq(), event, &agent);
                }
            }
            Record::Approval(answer) => self.add_answer(line, answer, &agent),
            Record::AnswerRefused(refused) => {
                let meaning = format!("an answer did not count: {}", refused.why);
                self.note_gap("answer-refused", &agent, line.seq(), time, 1 + refused.unrecorded, &meaning);
            }
            Record::Delivery(delivery) => self.add_delivery(line.seq(), delivery, &agent),
            Record::Dropped(dropped) => {
                let events = dropped.events.values().sum();
                let meaning = "events were not passed to plugins that only observe";
                self.note_gap("not-observed", &agent, line.seq(), time, events, meaning);
            }
            Record::Operator(action) => self.add_operator(line.seq(), action),
            Record::Archived(archived) => self.operator.push(OperatorChange {
                record: line.seq(),
                time,
                action: "archive".to_owned(),
                about: format!("records {} to {} in {}", archived.first, archived.through, archived.file),
                ..OperatorChange::default()
            }),
            _ => {}
        }
    }

    fn agent(&self, session: &str) -> String {
        let known = self.agents.get(session).cloned();
        known.unwrap_or_else(|| tally::agent_of_session(session).unwrap_or_default().to_owned())
    }

    fn note_question(&mut self, event: &EventRecord) {
        if event.questions.is_empty() {
            return;
        }
        let by = event.questions.iter().map(|question| match &question.escalation.code {
            Some(code) => format!("{} {code}", question.by),
            None => question.by.to_string(),
        });
        let asked = AskedQuestion {
            event: title(event),
            asked_by: by.collect::<Vec<_>>().join(", "),
            question: event
                .questions
                .iter()
                .map(|question| &*question.escalation.question)
                .collect::<Vec<_>>()
                .join(" / "),
        };
        self.questions.insert(event.id.clone(), asked);
    }

    fn add_event(&mut self, seq: u64, event: &EventRecord, agent: &str) {
        let time = event.header.time;
        match event.enforcement {
            Enforcement::Observed => {
                self.note_gap("only-observed", agent, seq, time, 1, "events continued whatever the rules decided");
            }
            Enforcement::Paused => self.note_gap("paused", agent, seq, time, 1, "events passed without any rule"),
            _ => {}
        }
        let cause = event.cause.map(|cause| format!(" ({})", word(&cause))).unwrap_or_default();
        let failed = FailedCall {
            record: seq,
            time,
            event_id: event.id.clone(),
            session: event.header.session.clone(),
            agent: agent.to_owned(),
            event: title(event),
            consequence: format!("{}{cause}", event.outcome),
            ..FailedCall::default()
        };
        let before = self.failures.len();
        for call in &event.calls {
            if let Some(failure) = &call.failure {
                let kind = word(&failure.kind);
                self.failures.push(FailedCall { plugin: call.plugin.clone(), failure: kind, ..failed.clone() });
            }
        }
        let is_of_the_host = event.cause.is_some_and(|cause| is_of_the_host(&word(&cause)));
        if self.failures.len() == before && is_of_the_host {
            let failure = event.cause.map(|cause| word(&cause)).unwrap_or_default();
            self.failures.push(FailedCall { failure, ..failed });
        }
    }

    fn add_answer(&mut self, line: &Line, answer: &ApprovalRecord, agent: &str) {
        let asked = self.questions.remove(&answer.id).unwrap_or_default();
        // Later versions add members that say more about the answer.
        let stored: Value = serde_json::from_str(line.text()).unwrap_or_default();
        let members = stored["answer"].as_object().cloned().unwrap_or_default();
        let known = ["kind", "micros", "by", "via", "reason", "for-session", "proof"];
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let further = members.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let mut details: BTreeMap<String, String> = further.map(|(name, value)| (name.clone(), text(value))).collect();
        if answer.answer.proof.is_some() {
            // The verification of the log has checked the signature.
            details.insert("passkey".to_owned(), "signed".to_owned());
        }
        if answer.answer.for_session {
            details.insert("for-session".to_owned(), "yes".to_owned());
        }
        details.extend(answer.answer.reason.clone().map(|reason| ("reason".to_owned(), reason)));
        self.approvals.push(Approval {
            record: line.seq(),
            time: answer.header.time,
            event_id: answer.id.clone(),
            session: answer.header.session.clone(),
            agent: agent.to_owned(),
            event: if asked.event.is_empty() { answer.event.to_string() } else { asked.event },
            asked_by: asked.asked_by,
            question: asked.question,
            answer: word(&answer.answer.kind),
            by: answer.answer.by.clone().unwrap_or_default(),
            via: answer.answer.via.clone().unwrap_or_default(),
            details,
            wait: answer.answer.micros,
            outcome: answer.outcome.to_string(),
        });
    }

    fn add_delivery(&mut self, seq: u64, delivery: &Delivery, agent: &str) {
        let meaning = match delivery.what {
            DeliveryKind::Degraded => "the agent could not express the outcome, and got a stricter one or a part of it",
            DeliveryKind::ChangeNotApplied => "a call ran with other arguments than the permitted ones",
            DeliveryKind::Unanswered => "the agent got no decision in time",
            _ => return,
        };
        self.note_gap(delivery.what.name(), agent, seq, delivery.header.time, 1, meaning);
    }

    fn add_operator(&mut self, seq: u64, action: &OperatorAction) {
        let OperatorAction { time, action: kind, by, until, agents, rules, session, labels, .. } = action;
        let labels = labels.iter().map(|label| &label.name);
        let about: Vec<&str> = agents.iter().chain(rules).chain(session).chain(labels).map(String::as_str).collect();
        self.operator.push(OperatorChange {
            record: seq,
            time: *time,
            action: kind.name().to_owned(),
            by: by.clone().unwrap_or_default(),
            about: about.join(", "),
            until: until.unwrap_or_default(),
        });
    }

    fn note_gap(&mut self, kind: &str, agent: &str, record: u64, time: u64, count: u64, meaning: &str) {
        let key = (kind.to_owned(), agent.to_owned(), meaning.to_owned());
        let gap = self.gaps.entry(key).or_insert_with_key(|(kind, agent, meaning)| Gap {
            kind: kind.clone(),
            agent: agent.clone(),
            record,
            time,
            count: 0,
            meaning: meaning.clone(),
        });
        gap.count += count;
    }

    fn finish(self, evidence: &mut Evidence, texts: &RuleTexts) -> Tally {
        evidence.rules = self.history.in_force().into_iter().map(|rule| with_text(rule, texts)).collect();
        evidence.events = self.tally.total.events;
        let counts = self.tally.by_rule.iter().map(|(RuleName { by, code }, counts)| DecisionCount {
            by: by.clone(),
            rule: code.clone().unwrap_or_default(),
            rejected: counts.rejected,
            asked: counts.asked,
            changed: counts.changed,
            masked: counts.masked,
            withheld: counts.withheld,
        });
        evidence.decisions = counts.collect();
        evidence.approvals = self.approvals;
        evidence.failures = self.failures;
        evidence.operator = self.operator;
        evidence.gaps = self.gaps.into_values().collect();
        self.tally
    }
}

/// Returns the time of a record. Other members are not parsed, because a record can be large.
fn time_of(line: &Line) -> Option<u64> {
    #[derive(Deserialize)]
    struct Timed {
        time: u64,
    }
    serde_json::from_str::<Timed>(line.text()).ok().map(|timed| timed.time)
}

fn with_text(rule: RuleInForce, texts: &RuleTexts) -> RuleEvidence {
    let kept = rule.config.parse::<Digest>().ok().and_then(|digest| texts.read(digest).ok().flatten());
    let text_is = match &kept {
        None => TextState::Missing,
        Some(text) if text.is_as_loaded => TextState::AsLoaded,
        Some(_) => TextState::Masked,
    };
    RuleEvidence { rule, text_is, text: kept.map(|kept| kept.text) }
}

/// Returns the event, and the name of the tool if it is about a call.
fn title(event: &EventRecord) -> String {
    #[derive(Deserialize)]
    struct Call {
        name: Option<String>,
        call: Option<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let call = serde_json::from_str::<Call>(event.original.get()).ok();
    let name = call.and_then(|call| call.name.or_else(|| call.call.map(|call| call.name)));
    match name {
        Some(name) => format!("{} {name}", event.event),
        None => event.event.to_string(),
    }
}

/// Returns the name that a value without members has in JSON.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(members)) => {
            let words = members.iter().map(|(name, value)| match value {
                Value::String(value) => format!("{name} {value}"),
                _ => name.clone(),
            });
            words.collect::<Vec<_>>().join(", ")
        }
        other => other.map(|value| value.to_string()).unwrap_or_default(),
    }
}

/// Returns true for a cause that no answer of a plugin or a person leads to.
fn is_of_the_host(cause: &str) -> bool {
    ["not-recorded", "no-runtime", "no-plugin", "ended", "invalid"].contains(&cause)
}

#[cfg(test)]
mod tests;
