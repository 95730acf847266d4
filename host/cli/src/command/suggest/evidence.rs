//! The calls in the log, and what people answered to the questions about them.

use super::subject::Subject;
use hookhost::audit::{ApprovalRecord, EventRecord, Record};
use hookhost::contract::{AnswerKind, EventKind, OutcomeKind, ToolCall};
use hookhost_telemetry::tally::{RuleName, TRIAL_AGENT, call_of_result, is_proof};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;

/// Maximum number of calls. Of a longer log, the last calls count.
const MAX_CALLS: usize = 20_000;

/// A recorded call.
#[derive(Clone, Debug)]
pub(super) struct PastCall {
    pub(super) agent: String,
    pub(super) session: String,
    pub(super) workspace: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) call: ToolCall,
}

/// What people answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) yes: u64,
    pub(super) no: u64,
}

/// The answers to the questions of one rule about calls that do the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub(super) answered: Answered,
    pub(super) calls: Vec<PastCall>,
}

/// A question about a call.
struct Asked {
    by: Vec<RuleName>,
    call: PastCall,
    answer: Option<bool>,
}

/// The calls and answers of a period. Give it the records in the order of the log.
#[derive(Default)]
pub(super) struct Evidence {
    pub(super) calls: VecDeque<PastCall>,
    /// Agent, workspace and directory of each session.
    sessions: HashMap<String, (String, PathBuf, PathBuf)>,
    /// The questions, in order.
    asked: Vec<Asked>,
    /// The number of the question about an event.
    open: HashMap<String, usize>,
    /// The number of the question about a call that the agent asks its own user about.
    handed_over: HashMap<(String, String), usize>,
}

impl Evidence {
    /// Takes a record. Records before the period only describe sessions.
    pub(super) fn add(&mut self, record: &Record, since: u64) {
        if record.session().is_some_and(is_proof) {
            return;
        }
        if let Record::Session(opened) = record {
            let place = (opened.agent.clone(), opened.workspace.clone().into(), opened.cwd.clone().into());
            self.sessions.insert(opened.header.session.clone(), place);
        }
        if record.time() < since {
            return;
        }
        match record {
            Record::Event(event) if event.event == EventKind::BeforeToolCall => self.add_call(event),
            Record::Event(event) if event.event == EventKind::AfterToolCall => self.add_result(event),
            Record::Approval(answer) => self.add_answer(answer),
            _ => {}
        }
    }

    /// Returns the number of answers.
    pub(super) fn answered(&self) -> u64 {
        self.asked.iter().filter(|asked| asked.answer.is_some()).count() as u64
    }

    /// Returns the answers by rule, and by what the calls do.
    pub(super) fn answers(&self) -> BTreeMap<(RuleName, Subject), Answers> {
        let mut all: BTreeMap<_, Answers> = BTreeMap::new();
        for asked in &self.asked {
            let (Some(answer), Some(subject)) = (asked.answer, Subject::of(&asked.call)) else { continue };
            for rule in &asked.by {
                let answers = all.entry((rule.clone(), subject.clone())).or_default();
                *(if answer { &mut answers.answered.yes } else { &mut answers.answered.no }) += 1;
                answers.calls.push(asked.call.clone());
            }
        }
        all
    }

    fn add_call(&mut self, record: &EventRecord) {
        let session = &record.header.session;
        let Some((agent, workspace, cwd)) = self.sessions.get(session).cloned() else { return };
        // After a yes, the same call is recorded a second time.
        if agent == TRIAL_AGENT || record.asked_again.is_some() {
            return;
        }
        let Ok(call) = serde_json::from_str::<ToolCall>(record.original.get()) else { return };
        let call = PastCall { agent, session: session.clone(), workspace, cwd, call };
        if !record.questions.is_empty() && matches!(record.outcome, OutcomeKind::Escalated | OutcomeKind::Rejected) {
            let by = record
                .questions
                .iter()
                .map(|question| RuleName { by: question.by.to_string(), code: question.escalation.code.clone() });
            self.open.insert(record.id.clone(), self.asked.len());
            self.asked.push(Asked { by: by.collect(), call: call.clone(), answer: None });
        }
        if self.calls.len() == MAX_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    fn add_answer(&mut self, record: &ApprovalRecord) {
        let Some(number) = self.open.remove(&record.id) else { return };
        match record.answer.kind {
            AnswerKind::Approved => self.asked[number].answer = Some(true),
            AnswerKind::Denied => self.asked[number].answer = Some(false),
            AnswerKind::HandedOver => {
                let call = &self.asked[number].call;
                self.handed_over.insert((call.session.clone(), call.call.id.clone()), number);
            }
            _ => {}
        }
    }

    /// Takes the result of a call. If the agent asked its own user about the call, the user has agreed.
    fn add_result(&mut self, record: &EventRecord) {
        if self.handed_over.is_empty() {
            return;
        }
        let Some(call) = call_of_result(record) else { return };
        if let Some(number) = self.handed_over.remove(&(record.header.session.clone(), call)) {
            self.asked[number].answer = Some(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answered, Evidence};
    use hookhost::audit::Record;
    use serde_json::{Value, json};

    fn records(records: &[Value]) -> Evidence {
        let mut evidence = Evidence::default();
        let defaults = json!({ "turn": 0, "by": [], "changed-by": [], "calls": [], "session": "codex:s", "time": 9 });
        for record in records {
            let mut whole = defaults.clone();
            whole.as_object_mut().unwrap().extend(record.as_object().unwrap().clone());
            evidence.add(&Record::from_json(&whole.to_string()).unwrap(), 5);
        }
        evidence
    }

    fn session(agent: &str) -> Value {
        json!({ "kind": "session", "agent": agent, "cwd": "/p", "workspace": "/p", "depth": 0, "interactive": true, "tools": [], "models": [] })
    }

    fn asked(id: &str, outcome: &str) -> Value {
        let call = json!({ "id": id, "name": "Read", "arguments": "{}", "action": { "read-file": "/p/a" }, "origin": "builtin" });
        json!({ "kind": "event", "id": id, "event": "before-tool-call", "outcome": outcome, "original": call,
            "questions": [{ "plugin": "guard", "question": "read?", "code": "c" }] })
    }

    fn answer(id: &str, kind: &str) -> Value {
        json!({ "kind": "answer", "id": id, "event": "before-tool-call", "outcome": "allowed", "answer": { "kind": kind, "micros": 1 } })
    }

    #[test]
    fn a_yes_is_an_answer_a_result_after_the_agents_own_question_or_an_allowed_rejection() {
        let result = json!({ "kind": "event", "id": "r", "event": "after-tool-call", "outcome": "passed", "original": { "call": { "id": "2" } } });
        let evidence = records(&[
            session("codex"),
            asked("1", "escalated"),
            answer("1", "approved"),
            asked("2", "escalated"),
            answer("2", "handed-over"),
            result,
            asked("3", "rejected"),
            answer("3", "approved"),
            asked("4", "escalated"),
            answer("4", "denied"),
            asked("5", "escalated"),
            answer("5", "too-late"),
            asked("6", "rejected"),
        ]);
        let answers = evidence.answers();
        let found: Vec<Answered> = answers.values().map(|answers| answers.answered).collect();
        assert_eq!((found, evidence.calls.len()), (vec![Answered { yes: 3, no: 1 }], 6));
    }

    #[test]
    fn what_a_person_tries_with_dispatch_is_no_evidence() {
        let evidence = records(&[session("hookhost-dispatch"), asked("1", "escalated"), answer("1", "approved")]);
        assert_eq!((evidence.calls.len(), evidence.answered()), (0, 0));
    }
}
