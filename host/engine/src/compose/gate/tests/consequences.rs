//! Properties that follow from the rules, tested with random events.

use super::events::{Event, Plugin, event, place, plugin};
use crate::compose::generated::cases;
use crate::compose::{GateResult, MAX_ROUNDS, OnFailure, QuestionOrigin, Verdict};
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_accepted_value_was_seen_in_exactly_that_form_by_every_enforcing_plugin(event in event()) {
        let run = event.run();
        if let GateResult::Accepted { value, changed_by, questions, .. } = &run.decision {
            let form = run.last_form(&event);
            for member in (0..event.plugins.len()).filter(|&member| event.enforces(member)) {
                let about_it = run.replies.iter().find(|reply| (reply.member, reply.form) == (member, form));
                let agreed = about_it.is_some_and(|reply| reply.value == *value && match reply.said {
                    Verdict::Allow | Verdict::Approve | Verdict::Respond(_) | Verdict::Escalate(_) => true,
                    Verdict::NotMatched | Verdict::Failed(OnFailure::Skip) => true,
                    // In this case a person is asked about exactly this value.
                    Verdict::Unanswered(ref asked) => {
                        questions.contains(&(QuestionOrigin::Member(member), asked.clone()))
                    }
                    Verdict::Change(same) => same == *value,
                    Verdict::Reject(_) | Verdict::Failed(OnFailure::Reject | OnFailure::Ask) => false,
                });
                prop_assert!(agreed || changed_by.last() == Some(&member), "{member} in {run:?}");
            }
        }
    }

    #[test]
    fn a_reject_about_any_value_it_was_asked_about_rejects(event in event()) {
        let run = event.run();
        let rejects = run.binding(&event).any(|reply| matches!(reply.said, Verdict::Reject(_)));
        prop_assert!(!rejects || matches!(run.decision, GateResult::Rejected(_)));
    }

    #[test]
    fn a_failure_that_is_not_skipped_rejects(event in event()) {
        let run = event.run();
        let fails = run.binding(&event).any(|reply| reply.said == Verdict::Failed(OnFailure::Reject));
        prop_assert!(!fails || matches!(run.decision, GateResult::Rejected(_)));
    }

    #[test]
    fn a_plugin_in_audit_mode_changes_nothing(event in event(), audited in plugin(), at in place()) {
        let at = at.min(event.plugins.len());
        prop_assert_eq!(event.with(audited.auditing(), at).run().without(at), event.run());
    }

    #[test]
    fn a_plugin_that_always_fails_with_skip_changes_nothing(event in event(), at in place()) {
        let at = at.min(event.plugins.len());
        let failing = Plugin::always(&Verdict::Failed(OnFailure::Skip));
        prop_assert_eq!(event.with(failing, at).run().without(at), event.run());
    }

    #[test]
    fn a_plugin_that_no_value_concerns_changes_nothing(event in event(), at in place()) {
        let at = at.min(event.plugins.len());
        prop_assert_eq!(event.with(Plugin::always(&Verdict::NotMatched), at).run().without(at), event.run());
    }

    #[test]
    fn the_same_plugins_and_event_give_the_same_outcome(event in event()) {
        prop_assert_eq!(event.run(), event.run());
    }

    #[test]
    fn nobody_is_asked_more_often_than_once_a_pass_and_once_more(event in event()) {
        let replies = event.run().replies;
        for member in 0..event.plugins.len() {
            let times = replies.iter().filter(|reply| reply.member == member).count();
            prop_assert!(times <= MAX_ROUNDS as usize + 1);
        }
    }

    #[test]
    fn a_failure_never_erases_what_another_plugin_answered(event in event(), at in place(), round in 1..=MAX_ROUNDS) {
        // The added plugin is skipped except in one round, where it fails and rejects. The decision is then the same as
        // without the plugin, or a rejection.
        let at = at.min(event.plugins.len());
        let on_failure = |now| if now == round { OnFailure::Reject } else { OnFailure::Skip };
        let failing = Plugin::of(|_, now| Verdict::Failed(on_failure(now)));
        let (with, without) = (event.with(failing, at).run().without(at).decision, event.decide());
        prop_assert!(with == without || matches!(with, GateResult::Rejected(_)));
    }
}

#[test]
fn an_empty_chain_allows() {
    let decision = Event::before([]).decide();
    let accepted =
        GateResult::Accepted { value: 0, changed_by: vec![], response: None, questions: vec![], approved_by: None };
    assert_eq!(decision, accepted);
}
