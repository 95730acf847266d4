//! A second implementation of the rules for gates, which is slow but obviously correct. It stores only the answers of
//! the plugins, in order. Each rule is a function that reads all of these answers again.

use super::events::{Event, Plugin, Reply, Run, Said, event};
use crate::compose::generated::{cases, question, refusal};
use crate::compose::{GateResult, Layer, Member, Objection, OnFailure, QuestionOrigin, Verdict};
use crate::contract::Escalation;
use proptest::prelude::*;

struct Model<'a> {
    event: &'a Event,
    replies: Vec<Reply>,
}

impl Model<'_> {
    fn run(event: &Event) -> Run {
        let mut model = Model { event, replies: Vec::new() };
        while let Some((round, member)) = model.next() {
            let (form, (_, value)) = model.current();
            let said = event.plugins[member].answer(value, round);
            model.replies.push(Reply { round, member, value, form, said });
        }
        Run { decision: model.decision(), replies: model.replies }
    }

    /// Returns the answers that have an effect. A plugin in observe mode is asked, but its answers have no effect.
    fn said(&self) -> impl DoubleEndedIterator<Item = &Reply> {
        self.replies.iter().filter(|reply| self.event.enforces(reply.member))
    }

    fn said_by(&self, member: usize) -> impl DoubleEndedIterator<Item = &Reply> {
        self.said().filter(move |reply| reply.member == member)
    }

    /// Rule 4: the forms that the value has had, each with its author. A change to the same value creates no new form.
    fn forms(&self) -> Vec<(Option<usize>, u8)> {
        let mut forms = vec![(None, self.event.value)];
        for reply in self.said() {
            match reply.said {
                Verdict::Change(to) if to != reply.value => forms.push((Some(reply.member), to)),
                _ => {}
            }
        }
        forms
    }

    /// Returns the current form of the value: its number, its author, and the value.
    fn current(&self) -> (usize, (Option<usize>, u8)) {
        self.forms().into_iter().enumerate().next_back().expect("the first form is always there")
    }

    /// Rule 5: the member was asked about the value in exactly this form, or it wrote this form and does not see its own
    /// changes.
    fn has_seen(&self, member: usize) -> bool {
        let (current, (author, _)) = self.current();
        let knows = author == Some(member) && !self.event.plugins[member].member.sees_own_changes;
        knows || self.replies.iter().any(|reply| reply.member == member && reply.form == current)
    }

    /// Returns true if the member gave no answer the last time it was asked.
    fn is_silent(&self, member: usize) -> bool {
        let last = self.said_by(member).next_back().map(|reply| &reply.said);
        matches!(last, Some(Verdict::NotMatched | Verdict::Failed(OnFailure::Skip) | Verdict::Unanswered(_)))
    }

    /// Returns the members that must see the value but have not seen it.
    fn missing(&self) -> Vec<usize> {
        let members = 0..self.event.plugins.len();
        members.filter(|&member| self.event.enforces(member) && !self.has_seen(member)).collect()
    }

    /// Rules 1 and 5: the next round and member to ask.
    fn next(&self) -> Option<(u32, usize)> {
        if self.said().any(|reply| self.no(reply).is_some()) {
            return None;
        }
        let (round, place) = self.replies.last().map_or((1, 0), |last| (last.round, last.member + 1));
        let rest = (place..self.event.plugins.len()).map(|member| (round, member));
        let all = (0..self.event.plugins.len()).map(|member| (round + 1, member));
        rest.chain(all).find(|&(round, member)| !self.has_seen(member) && self.may_ask(round, member))
    }

    /// Returns true if the member may be asked in this round. There are four rounds for all members. If then only
    /// members are missing that gave no answer last time, these are asked in a fifth round.
    fn may_ask(&self, round: u32, member: usize) -> bool {
        let begun = self.replies.last().is_some_and(|last| last.round == 5);
        round <= 4
            || round == 5
                && self.event.enforces(member)
                && self.is_silent(member)
                && (begun || self.missing().into_iter().all(|member| self.is_silent(member)))
    }

    /// Rule 2, and failures: returns the objection if this answer ends the event.
    fn no(&self, reply: &Reply) -> Option<Objection> {
        let by = reply.member;
        match &reply.said {
            Verdict::Reject(refusal) => Some(Objection::Verdict { by, refusal: refusal.clone() }),
            Verdict::Failed(OnFailure::Reject | OnFailure::Ask) => Some(Objection::Failure { by }),
            _ => None,
        }
    }

    /// Rule 3: the last question that the member asked, unless the member withdrew it by a later answer.
    fn question(&self, member: usize) -> Option<Escalation> {
        let last = self.said_by(member).rfind(|reply| reply.allows() || matches!(reply.said, Verdict::Escalate(_)))?;
        if let Verdict::Escalate(question) = &last.said { Some(question.clone()) } else { None }
    }

    /// Failures: the question that a person is asked if the member failed to give its last answer.
    fn unanswered(&self, member: usize) -> Option<Escalation> {
        let is_passed_over = |said: &Said| matches!(said, Verdict::NotMatched | Verdict::Failed(OnFailure::Skip));
        let last = self.said_by(member).rfind(|reply| !is_passed_over(&reply.said))?;
        if let Verdict::Unanswered(question) = &last.said { Some(question.clone()) } else { None }
    }

    /// Rule 6: the first response to the current form of the value.
    fn response(&self) -> Option<(usize, u8)> {
        let (current, _) = self.current();
        self.said().filter(|reply| reply.form == current).find_map(|reply| match reply.said {
            Verdict::Respond(response) => Some((reply.member, response)),
            _ => None,
        })
    }

    /// Rule 7: the members that approved the current form of the value and have the grant for it.
    fn approvers(&self) -> Vec<usize> {
        let (current, _) = self.current();
        (0..self.event.plugins.len())
            .filter(|&member| self.event.plugins[member].member.may_approve.is_some())
            .filter(|&member| self.said_by(member).any(|reply| reply.form == current && reply.said == Verdict::Approve))
            .collect()
    }

    fn is_of_project(&self, member: usize) -> bool {
        self.event.plugins[member].member.may_approve == Some(Layer::Project)
    }

    /// Rule 7: the first of the approvers. The approvers of a project come after all others.
    fn approved_by(&self) -> Option<usize> {
        let (projects, others): (Vec<_>, Vec<_>) =
            self.approvers().into_iter().partition(|&member| self.is_of_project(member));
        others.into_iter().chain(projects).next()
    }

    /// Rule 7: an approver of a project waives the questions of projects, and any other approver waives all questions.
    fn is_waived(&self, asking: Layer) -> bool {
        self.approvers().into_iter().any(|member| asking == Layer::Project || !self.is_of_project(member))
    }

    fn decision(&self) -> GateResult<u8, u8> {
        if let Some(objection) = self.said().find_map(|reply| self.no(reply)) {
            return GateResult::Rejected(objection);
        }
        let missing = self.missing();
        if !missing.is_empty() {
            let by = missing.into_iter().filter(|&member| !self.is_silent(member)).collect();
            return GateResult::Rejected(Objection::Disagreement { by });
        }
        let (_, (_, value)) = self.current();
        let mut questions = vec![];
        if let (None, Some((layer, ask))) = (self.response(), &self.event.asks[usize::from(value)])
            && !self.is_waived(*layer)
        {
            questions.push((QuestionOrigin::Configuration, ask.clone()));
        }
        for member in 0..self.event.plugins.len() {
            let held = [self.question(member), self.unanswered(member)].into_iter().flatten();
            questions.extend(held.map(|question| (QuestionOrigin::Member(member), question)));
        }
        GateResult::Accepted {
            value,
            changed_by: self.forms().into_iter().filter_map(|(author, _)| author).collect(),
            response: self.response(),
            questions,
            approved_by: self.approved_by(),
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_gate_asks_and_decides_as_the_model_does(event in event()) {
        prop_assert_eq!(event.run(), Model::run(&event));
    }
}

#[test]
fn a_gate_asks_and_decides_as_the_model_does_for_every_pair_of_plugins_over_two_values() {
    let all: [Said; 12] = [
        Verdict::Allow,
        Verdict::Approve,
        Verdict::Change(0),
        Verdict::Change(1),
        Verdict::Escalate(question(0)),
        Verdict::Reject(refusal(0)),
        Verdict::Respond(0),
        Verdict::NotMatched,
        Verdict::Failed(OnFailure::Reject),
        Verdict::Failed(OnFailure::Skip),
        Verdict::Failed(OnFailure::Ask),
        Verdict::Unanswered(question(3)),
    ];
    let members = [
        (true, None, false),
        (true, None, true),
        (true, Some(Layer::User), false),
        (true, Some(Layer::Project), false),
        (false, Some(Layer::User), false),
    ];
    let mut plugins = Vec::new();
    for (enforcing, may_approve, sees_own_changes) in members {
        for zero in &all {
            for one in &all {
                let mut plugin = Plugin::of(|value, _| if value == 0 { zero.clone() } else { one.clone() });
                plugin.member = Member { enforcing, may_approve, sees_own_changes };
                plugins.push(plugin);
            }
        }
    }
    let mut event = Event::before([plugins[0].clone(), plugins[0].clone()]);
    event.asks[1] = Some((Layer::Project, question(1)));
    for first in &plugins {
        event.plugins[0] = first.clone();
        for second in &plugins {
            event.plugins[1] = second.clone();
            assert_eq!(event.run(), Model::run(&event), "{event:?}");
        }
    }
}

/// Checks that the random events reach every kind of decision and every round. Otherwise the properties would prove
/// little.
#[test]
fn the_random_events_come_to_every_end() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..10_000 {
        let event = event().new_tree(&mut runner).expect("nothing is filtered").current();
        let Run { replies, decision } = event.run();
        let mut see = |what, is: bool| *seen.entry(what).or_default() += u32::from(is);
        see("a fourth round", replies.iter().any(|reply| reply.round == 4));
        see("those asked once more after it", replies.iter().any(|reply| reply.round == 5));
        match decision {
            GateResult::Rejected(Objection::Verdict { .. }) => see("rejected", true),
            GateResult::Rejected(Objection::Failure { .. }) => see("failed", true),
            GateResult::Rejected(Objection::Disagreement { .. }) => see("disagreed", true),
            GateResult::Accepted { changed_by, response, questions, approved_by, value } => {
                let asks = |asker: fn(&QuestionOrigin) -> bool| questions.iter().any(|(by, _)| asker(by));
                see("allowed as it was", changed_by.is_empty() && questions.is_empty());
                see("allowed after several changes", changed_by.len() > 1 && questions.is_empty());
                see("responded", response.is_some());
                see("asked by the configuration", asks(|by| matches!(by, QuestionOrigin::Configuration)));
                see("asked by a plugin", asks(|by| matches!(by, QuestionOrigin::Member(_))));
                let unanswered =
                    |reply: &Reply| matches!(reply.said, Verdict::Unanswered(_)) && event.enforces(reply.member);
                see(
                    "asked in place of a plugin that failed",
                    !questions.is_empty() && replies.last().is_some_and(unanswered),
                );
                let asked = event.asks[usize::from(value)].is_some();
                see("approved, what the configuration asks about", approved_by.is_some() && asked);
                see(
                    "approved, and asked by the configuration nevertheless",
                    approved_by.is_some() && asks(|by| matches!(by, QuestionOrigin::Configuration)),
                );
                see(
                    "approved, what a plugin asks about",
                    approved_by.is_some() && asks(|by| matches!(by, QuestionOrigin::Member(_))),
                );
            }
        }
    }
    assert!(seen.values().all(|&times| times >= 20), "{seen:#?}");
    assert_eq!(seen.len(), 14, "{seen:#?}");
}
