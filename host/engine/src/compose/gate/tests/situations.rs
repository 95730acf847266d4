//! Examples of the situations that the rules describe, written by hand.

use super::events::{Event, Plugin, Said};
use crate::compose::generated::{ENFORCING, question, refusal};
use crate::compose::{Ask, Gate, GateResult, Layer, MAX_ROUNDS, Member, Objection, OnFailure, QuestionOrigin, Verdict};
use crate::contract::Escalation;

type Questions = Vec<(QuestionOrigin, Escalation)>;

/// Returns the value, the response and the questions of the decision.
fn accepted(event: &Event) -> (u8, Option<(usize, u8)>, Questions) {
    match event.decide() {
        GateResult::Accepted { value, response, questions, .. } => (value, response, questions),
        GateResult::Rejected(objection) => panic!("rejected: {objection:?}"),
    }
}

fn approved_by(event: &Event) -> Option<usize> {
    match event.decide() {
        GateResult::Accepted { approved_by, .. } => approved_by,
        GateResult::Rejected(objection) => panic!("rejected: {objection:?}"),
    }
}

/// Returns a plugin that changes 0 into 1.
fn changer() -> Plugin {
    Plugin::of(|value, _| if value == 0 { Verdict::Change(1) } else { Verdict::Allow })
}

/// Returns a plugin that answers `first` about the value 0, and `then` about every other value.
fn says(first: Said, then: Said) -> Plugin {
    Plugin::of(move |value, _| if value == 0 { first.clone() } else { then.clone() })
}

#[test]
fn a_later_reject_outranks_a_held_escalation() {
    let escalates = Plugin::always(&Verdict::Escalate(question(1)));
    let rejects = Plugin::always(&Verdict::Reject(refusal(1)));
    assert_eq!(
        Event::before([escalates, rejects]).decide(),
        GateResult::Rejected(Objection::Verdict { by: 1, refusal: refusal(1) })
    );
}

#[test]
fn a_failure_beside_a_reject_is_a_rejection_in_both_orders() {
    let fails = Plugin::always(&Verdict::Failed(OnFailure::Reject));
    let rejects = Plugin::always(&Verdict::Reject(refusal(1)));
    assert_eq!(
        Event::before([fails.clone(), rejects.clone()]).decide(),
        GateResult::Rejected(Objection::Failure { by: 0 })
    );
    let verdict = |by| GateResult::Rejected(Objection::Verdict { by, refusal: refusal(1) });
    assert_eq!(Event::before([rejects.clone(), fails]).decide(), verdict(0));
    let skipped = Plugin::always(&Verdict::Failed(OnFailure::Skip));
    assert_eq!(Event::before([skipped.clone(), rejects.clone()]).decide(), verdict(1));
    assert_eq!(Event::before([rejects, skipped]).decide(), verdict(0));
}

#[test]
fn only_the_own_allow_or_approve_about_a_newer_value_withdraws_an_escalation() {
    let escalates = |then| Event::before([says(Verdict::Escalate(question(1)), then), changer()]);
    for withdrawn in [Verdict::Allow, Verdict::Approve, Verdict::Change(1)] {
        assert_eq!(accepted(&escalates(withdrawn)).2, vec![]);
    }
    for kept in [Verdict::Failed(OnFailure::Skip), Verdict::NotMatched, Verdict::Respond(1), Verdict::Change(2)] {
        assert_eq!(accepted(&escalates(kept)).2, vec![(QuestionOrigin::Member(0), question(1))]);
    }
    assert_eq!(accepted(&escalates(Verdict::Escalate(question(2)))).2, vec![(QuestionOrigin::Member(0), question(2))]);
}

#[test]
fn a_question_for_a_failure_leaves_the_plugins_own_open_until_it_answers_about_a_newer_value() {
    let failed = || Verdict::Unanswered(question(1));
    let asked = |first, then| accepted(&Event::before([says(first, then), changer()])).2;
    let of_first = |numbers: &[u8]| -> Questions {
        numbers.iter().map(|&number| (QuestionOrigin::Member(0), question(number))).collect()
    };
    assert_eq!(accepted(&Event::before([Plugin::always(&failed())])).2, of_first(&[1]));
    for answer in [Verdict::Allow, Verdict::Approve, Verdict::Change(1), Verdict::Change(2), Verdict::Respond(1)] {
        assert_eq!(asked(failed(), answer), vec![]);
    }
    assert_eq!(asked(failed(), Verdict::Escalate(question(2))), of_first(&[2]));
    for silence in [Verdict::NotMatched, Verdict::Failed(OnFailure::Skip), failed()] {
        assert_eq!(asked(failed(), silence), of_first(&[1]));
    }
    assert_eq!(asked(Verdict::Escalate(question(2)), failed()), of_first(&[2, 1]));
}

#[test]
fn nobody_is_asked_about_a_failure_where_another_plugin_rejects() {
    let rejects = Plugin::always(&Verdict::Reject(refusal(1)));
    let fails = Plugin::always(&Verdict::Unanswered(question(1)));
    let verdict = |by| GateResult::Rejected(Objection::Verdict { by, refusal: refusal(1) });
    assert_eq!(Event::before([fails.clone(), rejects.clone()]).decide(), verdict(1));
    assert_eq!(Event::before([rejects, fails]).decide(), verdict(0));
}

#[test]
fn an_approval_of_an_old_value_is_not_one_of_the_new() {
    let approver = |then| says(Verdict::Approve, then).may_approve();
    assert_eq!(approved_by(&Event::before([approver(Verdict::Allow)])), Some(0));
    for then in [Verdict::Allow, Verdict::Failed(OnFailure::Skip), Verdict::NotMatched] {
        assert_eq!(approved_by(&Event::before([approver(then), changer()])), None);
    }
    assert_eq!(approved_by(&Event::before([approver(Verdict::Approve), changer()])), Some(0));
}

#[test]
fn an_approval_is_not_one_of_the_same_value_that_came_about_by_other_changes() {
    let approver = Plugin::of(|_, round| if round == 1 { Verdict::Approve } else { Verdict::Allow }).may_approve();
    let back = Plugin::of(|value, _| if value == 1 { Verdict::Change(0) } else { Verdict::Allow });
    let once = Plugin::of(|_, round| if round == 1 { Verdict::Change(1) } else { Verdict::Allow });
    let event = Event::before([approver, once, back]);
    assert_eq!((accepted(&event).0, approved_by(&event)), (0, None));
}

#[test]
fn a_plugin_that_may_approve_does_not_approve_its_own_change() {
    assert_eq!(approved_by(&Event::before([changer().may_approve()])), None);
}

#[test]
fn an_approve_in_audit_mode_or_without_the_grant_waives_nothing() {
    let approver = Plugin::always(&Verdict::Approve);
    for approver in [approver.clone(), approver.may_approve().auditing()] {
        let mut event = Event::before([approver]);
        for layer in [Layer::User, Layer::Project] {
            event.asks[0] = Some((layer, question(1)));
            assert_eq!(accepted(&event).2, [(QuestionOrigin::Configuration, question(1))]);
        }
    }
}

#[test]
fn an_approve_of_a_projects_plugin_waives_what_projects_ask_and_nothing_else() {
    let approver = |layer| Plugin::always(&Verdict::Approve).of_layer(layer);
    let asked = |plugins: Vec<Plugin>| {
        let mut event = Event::before(plugins);
        let is_asked = |layer| {
            event.asks[0] = Some((layer, question(1)));
            !accepted(&event).2.is_empty()
        };
        ([Layer::User, Layer::Project, Layer::Chosen].map(is_asked), approved_by(&event))
    };
    assert_eq!(asked(vec![approver(Layer::Project)]), ([true, false, true], Some(0)));
    for layer in [Layer::User, Layer::Chosen] {
        assert_eq!(asked(vec![approver(layer)]), ([false; 3], Some(0)));
        assert_eq!(asked(vec![approver(Layer::Project), approver(layer)]), ([false; 3], Some(1)));
    }
}

#[test]
fn the_configuration_asks_first_and_about_the_final_value_only() {
    let escalates = Plugin::always(&Verdict::Escalate(question(1)));
    let mut event = Event::before([escalates, changer()]);
    event.asks[0] = Some((Layer::User, question(2)));
    event.asks[1] = Some((Layer::User, question(3)));
    let questions = vec![(QuestionOrigin::Configuration, question(3)), (QuestionOrigin::Member(0), question(1))];
    assert_eq!(accepted(&event).2, questions);
}

#[test]
fn the_configuration_asks_nothing_where_a_response_counts_and_again_where_it_was_dropped() {
    let responds = says(Verdict::Respond(7), Verdict::Allow);
    let mut event = Event::before([responds.clone()]);
    event.asks.fill(Some((Layer::User, question(1))));
    assert_eq!(accepted(&event), (0, Some((0, 7)), vec![]));
    event.plugins = vec![responds, changer()];
    assert_eq!(accepted(&event), (1, None, vec![(QuestionOrigin::Configuration, question(1))]));
}

#[test]
fn the_first_response_counts() {
    let event = Event::before([Plugin::always(&Verdict::Respond(1)), Plugin::always(&Verdict::Respond(2))]);
    assert_eq!(accepted(&event).1, Some((0, 1)));
}

#[test]
fn plugins_that_never_agree_are_named_after_the_last_pass() {
    let wants = |to: u8| Plugin::of(move |value, _| if value == to { Verdict::Allow } else { Verdict::Change(to) });
    let plugins = [Plugin::always(&Verdict::Allow), wants(1), wants(2)];
    let disagree = GateResult::Rejected(Objection::Disagreement { by: vec![0, 1] });
    assert_eq!(Event::before(plugins.clone()).decide(), disagree);
    // A plugin that always fails is not named.
    let failing = Plugin::always(&Verdict::Failed(OnFailure::Skip));
    assert_eq!(Event::before([&plugins[..], &[failing]].concat()).decide(), disagree);
}

#[test]
fn a_plugin_that_failed_before_is_asked_once_more_after_the_last_pass() {
    // The last change comes in the last round, after the plugin that has only failed so far.
    let others = [
        Plugin::of(|value, _| Verdict::Change(1 - value.min(1))),
        Plugin::of(|value, round| if round < MAX_ROUNDS { Verdict::Change(1 - value.min(1)) } else { Verdict::Allow }),
    ];
    let failing = |then: Said| {
        Plugin::of(move |_, round| if round <= MAX_ROUNDS { Verdict::Failed(OnFailure::Skip) } else { then.clone() })
    };
    let event = |first: Plugin| Event::before([&[first][..], &others].concat());
    assert_eq!(accepted(&event(failing(Verdict::Failed(OnFailure::Skip)))).0, 1);
    assert_eq!(accepted(&event(failing(Verdict::Allow))).0, 1);
    assert_eq!(
        event(failing(Verdict::Reject(refusal(1)))).decide(),
        GateResult::Rejected(Objection::Verdict { by: 0, refusal: refusal(1) })
    );
    assert_eq!(
        event(failing(Verdict::Change(3))).decide(),
        GateResult::Rejected(Objection::Disagreement { by: vec![1, 2] })
    );
}

#[test]
fn the_same_plugin_is_named_until_it_has_answered() {
    let mut gate = Gate::<u8, ()>::new(vec![ENFORCING; 2], 0);
    assert_eq!((gate.ask(), gate.ask()), (Some(Ask { member: 0, round: 1 }), Some(Ask { member: 0, round: 1 })));
    gate.answer(Verdict::Allow);
    // No plugin was asked since then, so this answer is ignored.
    gate.answer(Verdict::Change(1));
    assert_eq!((gate.value(), gate.version()), (&0, 0));
    assert_eq!(gate.ask(), Some(Ask { member: 1, round: 1 }));
}

#[test]
fn a_decision_before_the_asking_has_ended_is_a_rejection() {
    let decide = |answers: Vec<Verdict<u8, ()>>| {
        let mut gate = Gate::new(vec![ENFORCING; 3], 0);
        for answer in answers {
            assert!(gate.ask().is_some());
            gate.answer(answer);
        }
        gate.decide(None)
    };
    let disagreement = |by| GateResult::Rejected(Objection::Disagreement { by });
    assert_eq!(decide(vec![Verdict::Allow]), disagreement(vec![1, 2]));
    // If all members that have not seen the value gave no answer, they are named.
    let skip = || Verdict::Failed(OnFailure::Skip);
    assert_eq!(decide(vec![skip(), Verdict::NotMatched, Verdict::Change(1)]), disagreement(vec![0, 1]));
}

#[test]
fn a_plugin_in_audit_mode_need_not_have_been_asked() {
    let auditing = Member { enforcing: false, ..ENFORCING };
    let decision = Gate::<u8, ()>::new(vec![auditing], 0).decide(None);
    assert!(matches!(decision, GateResult::Accepted { value: 0, .. }));
}
