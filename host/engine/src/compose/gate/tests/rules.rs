//! The numbered rules, each tested with random events.

use super::events::{Reply, Said, event};
use crate::compose::generated::cases;
use crate::compose::{GateResult, Layer, MAX_ROUNDS, Objection, OnFailure, QuestionOrigin, Verdict};
use crate::contract::Escalation;
use proptest::prelude::*;

/// Returns those questions that plugins ask.
fn of_plugins(questions: &[(QuestionOrigin, Escalation)]) -> Vec<(QuestionOrigin, Escalation)> {
    questions.iter().filter(|(asker, _)| *asker != QuestionOrigin::Configuration).cloned().collect()
}

proptest! {
    #![proptest_config(cases())]

    // Rule 1

    #[test]
    fn the_first_round_asks_every_plugin_in_order_unless_one_says_no(event in event()) {
        let replies = event.run().replies;
        let asked: Vec<usize> = replies.iter().filter(|reply| reply.round == 1).map(|reply| reply.member).collect();
        prop_assert_eq!(&asked, &(0..asked.len()).collect::<Vec<_>>());
        let no = replies.last().is_some_and(|last| last.is_no() && event.enforces(last.member));
        prop_assert!(no || asked.len() == event.plugins.len());
    }

    #[test]
    fn each_plugin_is_asked_about_the_value_as_it_then_is(event in event()) {
        let (mut value, mut form) = (event.value, 0);
        for reply in event.run().replies {
            prop_assert_eq!((reply.value, reply.form), (value, form));
            if let Verdict::Change(to) = reply.said && to != value && event.enforces(reply.member) {
                (value, form) = (to, form + 1);
            }
        }
    }

    // Rule 2

    #[test]
    fn a_reject_ends_the_asking_and_is_the_outcome(event in event()) {
        let run = event.run();
        let rejects = run.binding(&event).find_map(|reply| match &reply.said {
            Verdict::Reject(refusal) => Some((reply, Objection::Verdict { by: reply.member, refusal: refusal.clone() })),
            _ => None,
        });
        if let Some((reply, objection)) = rejects {
            prop_assert_eq!(Some(reply), run.replies.last());
            prop_assert_eq!(run.decision, GateResult::Rejected(objection));
        }
    }

    // Rule 3

    #[test]
    fn an_escalation_is_held_until_the_same_plugins_allow_and_a_question_for_a_failure_until_its_answer(event in event()) {
        let run = event.run();
        let GateResult::Accepted { questions, .. } = &run.decision else { return Ok(()) };
        for member in (0..event.plugins.len()).filter(|&member| event.enforces(member)) {
            let said: Vec<&Reply> = run.replies.iter().filter(|reply| reply.member == member).collect();
            let escalated = said.iter().rposition(|reply| matches!(reply.said, Verdict::Escalate(_)));
            let held = match escalated.map(|at| (&said[at].said, &said[at..])) {
                Some((Verdict::Escalate(last), after)) if !after.iter().any(|reply| reply.allows()) => Some(last),
                _ => None,
            };
            let unasked = |reply: &&&Reply| matches!(reply.said, Verdict::NotMatched | Verdict::Failed(_));
            let failed = match said.iter().rev().find(|reply| !unasked(reply)).map(|reply| &reply.said) {
                Some(Verdict::Unanswered(question)) => Some(question),
                _ => None,
            };
            let of_member = questions.iter().filter(|(asker, _)| *asker == QuestionOrigin::Member(member));
            let asked: Vec<&Escalation> = of_member.map(|(_, asked)| asked).collect();
            prop_assert_eq!(asked, held.into_iter().chain(failed).collect::<Vec<_>>());
        }
    }

    // Rule 4

    #[test]
    fn a_change_to_the_same_value_is_an_allow(event in event()) {
        let same = |value, said: &Said| *said == Verdict::Change(value);
        let allowing = event.saying(|_, value, said| if same(value, said) { Verdict::Allow } else { said.clone() });
        let (mut run, allowing) = (event.run(), allowing.run());
        for reply in &mut run.replies {
            if same(reply.value, &reply.said) {
                reply.said = Verdict::Allow;
            }
        }
        prop_assert_eq!(run, allowing);
    }

    #[test]
    fn the_accepted_value_is_the_last_change_and_the_authors_of_all_are_named_in_order(event in event()) {
        let run = event.run();
        if let GateResult::Accepted { value, changed_by, .. } = &run.decision {
            let changes: Vec<&Reply> = run.binding(&event).filter(|reply| reply.changes()).collect();
            prop_assert_eq!(changed_by, &changes.iter().map(|reply| reply.member).collect::<Vec<_>>());
            let last = changes.last().map_or(Verdict::Change(event.value), |last| last.said.clone());
            prop_assert_eq!(last, Verdict::Change(*value));
        }
    }

    // Rule 5

    #[test]
    fn later_passes_ask_in_order(event in event()) {
        let replies = event.run().replies;
        for (one, next) in replies.iter().zip(&replies[1.min(replies.len())..]) {
            prop_assert!((one.round, one.member) < (next.round, next.member));
            prop_assert!(next.round - one.round <= 1);
        }
    }

    #[test]
    fn nobody_is_asked_twice_about_one_form_or_about_the_own_change(event in event()) {
        let run = event.run();
        for (at, reply) in run.replies.iter().enumerate() {
            let before = &run.replies[..at];
            prop_assert!(!before.iter().any(|earlier| (earlier.member, earlier.form) == (reply.member, reply.form)));
            let author = before.iter().rfind(|earlier| earlier.changes() && event.enforces(earlier.member));
            let sees_own = event.plugins[reply.member].member.sees_own_changes;
            prop_assert!(sees_own || author.is_none_or(|author| author.member != reply.member));
        }
    }

    #[test]
    fn nobody_is_asked_in_a_fifth_round_but_an_enforcing_plugin_that_gave_no_answer_last_time(event in event()) {
        let replies = event.run().replies;
        for (at, last) in replies.iter().enumerate().filter(|(_, reply)| reply.round > MAX_ROUNDS) {
            prop_assert_eq!(last.round, MAX_ROUNDS + 1);
            prop_assert!(event.enforces(last.member));
            let before = replies[..at].iter().rfind(|earlier| earlier.member == last.member);
            prop_assert!(before.is_some_and(Reply::is_silence));
        }
    }

    #[test]
    fn only_after_the_fourth_round_those_are_named_that_have_answered_and_not_about_the_last_form(event in event()) {
        let run = event.run();
        if let GateResult::Rejected(Objection::Disagreement { by }) = &run.decision {
            let form = run.last_form(&event);
            prop_assert!(run.replies.last().is_some_and(|last| last.round >= MAX_ROUNDS));
            prop_assert!(!by.is_empty());
            for member in 0..event.plugins.len() {
                let last = run.binding(&event).rfind(|reply| reply.member == member);
                let knows_own = !event.plugins[member].member.sees_own_changes;
                let answered_another = last.is_some_and(|reply| {
                    reply.form + usize::from(reply.changes() && knows_own) != form && !reply.is_silence()
                });
                prop_assert_eq!(by.contains(&member), answered_another);
            }
        }
    }

    #[test]
    fn a_change_after_the_fourth_round_finds_no_agreement(event in event()) {
        let run = event.run();
        let late = run.binding(&event).any(|reply| reply.round > MAX_ROUNDS && reply.changes());
        prop_assert!(!late || matches!(run.decision, GateResult::Rejected(_)));
    }

    // Rule 6

    #[test]
    fn the_first_response_since_the_last_change_counts(event in event()) {
        let run = event.run();
        if let GateResult::Accepted { response, .. } = &run.decision {
            let form = run.last_form(&event);
            let first = run.binding(&event).find_map(|reply| match reply.said {
                Verdict::Respond(response) if reply.form == form => Some((reply.member, response)),
                _ => None,
            });
            prop_assert_eq!(response, &first);
        }
    }

    // Rule 7

    #[test]
    fn approve_without_the_grant_is_an_allow(event in event()) {
        let allowing = event.saying(|member, _, said| match said {
            Verdict::Approve if member.may_approve.is_none() => Verdict::Allow,
            _ => said.clone(),
        });
        prop_assert_eq!(event.decide(), allowing.decide());
    }

    #[test]
    fn the_configuration_asks_about_what_would_run_unless_a_plugin_that_may_approved_exactly_that(event in event()) {
        let run = event.run();
        let form = run.last_form(&event);
        let approving = run.binding(&event).filter(|reply| reply.said == Verdict::Approve && reply.form == form);
        let approving: Vec<Layer> =
            approving.filter_map(|reply| event.plugins[reply.member].member.may_approve).collect();
        match run.decision {
            GateResult::Accepted { value, response, questions, approved_by, .. } => {
                prop_assert_eq!(approved_by.is_some(), !approving.is_empty());
                let of_configuration = questions.iter().filter(|(by, _)| *by == QuestionOrigin::Configuration);
                let asked: Vec<Escalation> = of_configuration.map(|(_, asked)| asked.clone()).collect();
                let asks = event.asks[usize::from(value)].iter().filter(|_| response.is_none());
                let left = asks.filter(|(asking, _)| !approving.iter().any(|layer| layer.may_waive(*asking)));
                prop_assert_eq!(asked, left.map(|(_, asked)| asked.clone()).collect::<Vec<_>>());
            }
            GateResult::Rejected(_) => {}
        }
    }

    #[test]
    fn an_approve_of_a_projects_plugin_never_waives_what_the_user_is_asked_by_rules_of_their_own(event in event()) {
        let mut event = event;
        for plugin in &mut event.plugins {
            plugin.member.may_approve = plugin.member.may_approve.map(|_| Layer::Project);
        }
        event.asks.iter_mut().flatten().for_each(|(layer, _)| *layer = Layer::User);
        let allowing = event.saying(|_, _, said| if *said == Verdict::Approve { Verdict::Allow } else { said.clone() });
        match (event.decide(), allowing.decide()) {
            (GateResult::Accepted { questions, .. }, GateResult::Accepted { questions: without, .. }) => {
                prop_assert_eq!(questions, without);
            }
            (decision, without) => prop_assert_eq!(decision, without),
        }
    }

    #[test]
    fn an_approve_never_waives_another_plugins_escalation(event in event()) {
        let allowing = event.saying(|_, _, said| if *said == Verdict::Approve { Verdict::Allow } else { said.clone() });
        match (event.decide(), allowing.decide()) {
            (GateResult::Accepted { questions, .. }, GateResult::Accepted { questions: without, .. }) => {
                prop_assert_eq!(of_plugins(&questions), of_plugins(&without));
            }
            (decision, without) => prop_assert_eq!(decision, without),
        }
    }

    // Rule 8

    #[test]
    fn an_accepted_value_has_the_configurations_questions_and_then_the_plugins_in_order(event in event()) {
        if let GateResult::Accepted { questions, .. } = event.decide() {
            let place = |asker: &QuestionOrigin| match asker {
                QuestionOrigin::Configuration => 0,
                QuestionOrigin::Member(member) => member + 1,
            };
            let places: Vec<usize> = questions.iter().map(|(asker, _)| place(asker)).collect();
            prop_assert!(places.is_sorted());
        }
    }

    // Rule 9

    #[test]
    fn a_persons_yes_applies_what_would_have_stood_without_the_questions(event in event()) {
        let mut unasked = event.saying(|_, _, said| match said {
            Verdict::Escalate(_) => Verdict::Allow,
            Verdict::Unanswered(_) => Verdict::Failed(OnFailure::Skip),
            said => said.clone(),
        });
        unasked.asks.fill(None);
        match (event.decide(), unasked.decide()) {
            (
                GateResult::Accepted { value, changed_by, response, approved_by, .. },
                GateResult::Accepted {
                    value: then, changed_by: authors, response: instead, questions, approved_by: approver
                },
            ) => {
                prop_assert_eq!((value, changed_by, response, approved_by), (then, authors, instead, approver));
                prop_assert_eq!(questions, vec![]);
            }
            (decision, unasked) => prop_assert_eq!(decision, unasked),
        }
    }
}
