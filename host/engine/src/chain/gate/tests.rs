//! The rules of a gate, each by name, and all of them against a model that is slow and obvious.

use super::super::{Answer, Member, Objection, OnFailure};
use super::{Decision, Gate, MAX_PASSES};
use crate::contract::{Escalation, Refusal};
use proptest::prelude::*;

type Said = Answer<u8, &'static str>;

/// A plugin of the model: what it answers about each value, in each round. A pristine instance answers as a function of
/// what it is asked, so this is all that a plugin can be.
#[derive(Clone, Debug)]
struct Plugin {
    member: Member,
    says: Vec<Vec<Said>>,
}

const VALUES: u8 = 4;

impl Plugin {
    fn answer(&self, value: u8, round: u32) -> Said {
        self.says[round as usize - 1][value as usize].clone()
    }

    fn always(said: &Said) -> Self {
        Self::of(|_, _| said.clone())
    }

    fn of(says: impl Fn(u8, u32) -> Said) -> Self {
        let rounds = (1..=MAX_PASSES + 1).map(|round| (0..VALUES).map(|value| says(value, round)).collect());
        Self { member: Member { enforcing: true, may_approve: false }, says: rounds.collect() }
    }
}

/// Everything that was said, in order: who, about which version, what.
type Log = Vec<(usize, usize, Said)>;

fn run(plugins: &[Plugin], value: u8) -> (Decision<u8, &'static str>, Log) {
    let mut gate = Gate::new(plugins.iter().map(|plugin| plugin.member).collect(), value);
    let mut log = Log::new();
    while let Some(ask) = gate.ask() {
        let said = plugins[ask.member].answer(*gate.value(), ask.round);
        log.push((ask.member, gate.version() as usize, said.clone()));
        gate.answer(said);
    }
    (gate.decide(), log)
}

fn decide(plugins: &[Plugin], value: u8) -> Decision<u8, &'static str> {
    run(plugins, value).0
}

/// The rules of `docs/composition.md`, worked out anew from the whole log at every step.
fn model(plugins: &[Plugin], first: u8) -> Decision<u8, &'static str> {
    let mut log = Log::new();
    // Each version of the value and who wrote it.
    let mut versions: Vec<(u8, Option<usize>)> = vec![(first, None)];
    let last_of = |log: &Log, member: usize| log.iter().rev().find(|entry| entry.0 == member).cloned();
    let unseen = |log: &Log, versions: &[(u8, Option<usize>)], member: usize| {
        let current = versions.len() - 1;
        versions[current].1 != Some(member) && last_of(log, member).is_none_or(|(_, version, _)| version != current)
    };
    let silent = |log: &Log, member: usize| {
        last_of(log, member)
            .is_some_and(|(_, _, said)| matches!(said, Answer::Unconcerned | Answer::Failed(OnFailure::Skip)))
    };
    for pass in 1..=MAX_PASSES + 1 {
        let enforcing_unseen: Vec<usize> = (0..plugins.len())
            .filter(|&member| plugins[member].member.enforcing && unseen(&log, &versions, member))
            .collect();
        let extra = pass > MAX_PASSES;
        if extra && !enforcing_unseen.iter().all(|&member| silent(&log, member)) {
            break;
        }
        for (member, plugin) in plugins.iter().enumerate() {
            if !unseen(&log, &versions, member) || (extra && !(silent(&log, member) && plugin.member.enforcing)) {
                continue;
            }
            let current = versions.len() - 1;
            let said = plugin.answer(versions[current].0, pass);
            log.push((member, current, said.clone()));
            if !plugin.member.enforcing {
                continue;
            }
            match said {
                Answer::Reject(refusal) => return Decision::Rejected(Objection::Verdict { by: member, refusal }),
                Answer::Failed(OnFailure::Reject) => return Decision::Rejected(Objection::Failure { by: member }),
                Answer::Change(value) if value != versions[current].0 => versions.push((value, Some(member))),
                _ => {}
            }
        }
    }
    let enforcing = |member: usize| plugins[member].member.enforcing;
    let left: Vec<usize> =
        (0..plugins.len()).filter(|&member| enforcing(member) && unseen(&log, &versions, member)).collect();
    if !left.is_empty() {
        return Decision::Rejected(Objection::Disagreement { by: left });
    }
    let current = versions.len() - 1;
    let of = |member: usize| log.iter().filter(move |entry| entry.0 == member);
    let question = |member: usize| {
        of(member).fold(None, |held, (_, version, said)| match said {
            Answer::Escalate(question) => Some(question.clone()),
            Answer::Allow | Answer::Approve => None,
            Answer::Change(value) if *value == versions[*version].0 => None,
            _ => held,
        })
    };
    Decision::Stands {
        value: versions[current].0,
        changed_by: versions.iter().filter_map(|version| version.1).collect(),
        response: log.iter().find_map(|(member, version, said)| match said {
            Answer::Respond(response) if *version == current && enforcing(*member) => Some((*member, *response)),
            _ => None,
        }),
        questions: (0..plugins.len())
            .filter(|&member| enforcing(member))
            .filter_map(|member| Some((member, question(member)?)))
            .collect(),
        approved_by: (0..plugins.len()).find(|&member| {
            enforcing(member)
                && plugins[member].member.may_approve
                && of(member)
                    .next_back()
                    .is_some_and(|(_, version, said)| *version == current && *said == Answer::Approve)
        }),
    }
}

fn refusal() -> Refusal {
    Refusal { reason: "no".into(), code: None, retryable: false, stop: false }
}

fn question() -> Escalation {
    Escalation { question: "sure?".into(), code: None }
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        8 => Just(Answer::Allow),
        2 => Just(Answer::Approve),
        4 => (0..VALUES).prop_map(Answer::Change),
        2 => Just(Answer::Escalate(question())),
        1 => Just(Answer::Reject(refusal())),
        2 => Just(Answer::Respond("instead")),
        1 => Just(Answer::Unconcerned),
        1 => Just(Answer::Failed(OnFailure::Reject)),
        2 => Just(Answer::Failed(OnFailure::Skip)),
    ]
}

fn plugin() -> impl Strategy<Value = Plugin> {
    let says = prop::collection::vec(prop::collection::vec(said(), VALUES as usize), MAX_PASSES as usize + 1);
    // Half of the plugins answer the same in each round, as most do.
    (prop::bool::weighted(0.85), any::<bool>(), any::<bool>(), says).prop_map(
        |(enforcing, may_approve, steady, says)| {
            let says = if steady { vec![says[0].clone(); says.len()] } else { says };
            Plugin { member: Member { enforcing, may_approve }, says }
        },
    )
}

fn chain() -> impl Strategy<Value = Vec<Plugin>> {
    prop::collection::vec(plugin(), 0..6)
}

/// The decision without the member at `index`, as the others are numbered with it.
fn renumbered(decision: Decision<u8, &'static str>, index: usize) -> Decision<u8, &'static str> {
    let up = |member: usize| if member >= index { member + 1 } else { member };
    match decision {
        Decision::Stands { value, changed_by, response, questions, approved_by } => Decision::Stands {
            value,
            changed_by: changed_by.into_iter().map(up).collect(),
            response: response.map(|(member, response)| (up(member), response)),
            questions: questions.into_iter().map(|(member, question)| (up(member), question)).collect(),
            approved_by: approved_by.map(up),
        },
        Decision::Rejected(Objection::Verdict { by, refusal }) => {
            Decision::Rejected(Objection::Verdict { by: up(by), refusal })
        }
        Decision::Rejected(Objection::Failure { by }) => Decision::Rejected(Objection::Failure { by: up(by) }),
        Decision::Rejected(Objection::Disagreement { by }) => {
            Decision::Rejected(Objection::Disagreement { by: by.into_iter().map(up).collect() })
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_outcome_is_the_models(plugins in chain(), value in 0..VALUES) {
        prop_assert_eq!(decide(&plugins, value), model(&plugins, value));
    }

    #[test]
    fn what_stands_was_seen_in_exactly_that_form_by_every_enforcing_plugin(plugins in chain(), value in 0..VALUES) {
        let (decision, log) = run(&plugins, value);
        if let Decision::Stands { changed_by, .. } = decision {
            let current = changed_by.len();
            for (member, plugin) in plugins.iter().enumerate().filter(|(_, plugin)| plugin.member.enforcing) {
                let agreed = log.iter().any(|(who, version, said)| *who == member && *version == current && match said {
                    Answer::Allow | Answer::Approve | Answer::Respond(_) | Answer::Escalate(_) => true,
                    Answer::Unconcerned | Answer::Failed(OnFailure::Skip) => true,
                    Answer::Change(same) => *same == last_value(&plugins, value),
                    Answer::Reject(_) | Answer::Failed(OnFailure::Reject) => false,
                });
                prop_assert!(agreed || changed_by.last() == Some(&member), "{plugin:?}");
            }
        }
    }

    #[test]
    fn a_reject_of_an_enforcing_plugin_about_any_value_it_was_asked_about_rejects(plugins in chain(), value in 0..VALUES) {
        let (decision, log) = run(&plugins, value);
        let rejected = log.iter().any(|(member, _, said)| {
            plugins[*member].member.enforcing && matches!(said, Answer::Reject(_) | Answer::Failed(OnFailure::Reject))
        });
        prop_assert!(!rejected || matches!(decision, Decision::Rejected(_)));
    }

    #[test]
    fn a_plugin_in_audit_mode_changes_nothing(plugins in chain(), mut silent in plugin(), at in 0..6usize, value in 0..VALUES) {
        silent.member.enforcing = false;
        let at = at.min(plugins.len());
        let mut with = plugins.clone();
        with.insert(at, silent);
        prop_assert_eq!(decide(&with, value), renumbered(decide(&plugins, value), at));
    }

    #[test]
    fn a_plugin_that_always_fails_with_skip_changes_nothing(plugins in chain(), at in 0..6usize, value in 0..VALUES) {
        let at = at.min(plugins.len());
        let mut with = plugins.clone();
        with.insert(at, Plugin::always(&Answer::Failed(OnFailure::Skip)));
        let (with, without) = (decide(&with, value), renumbered(decide(&plugins, value), at));
        match (with, without) {
            // It had not seen the last value either; the others disagree all the same.
            (Decision::Rejected(Objection::Disagreement { by }), Decision::Rejected(Objection::Disagreement { by: others })) => {
                prop_assert_eq!(by.into_iter().filter(|member| *member != at).collect::<Vec<_>>(), others);
            }
            (with, without) => prop_assert_eq!(with, without),
        }
    }

    #[test]
    fn the_same_plugins_and_event_give_the_same_outcome(plugins in chain(), value in 0..VALUES) {
        prop_assert_eq!(run(&plugins, value), run(&plugins, value));
    }

    #[test]
    fn nobody_is_asked_more_often_than_there_are_passes(plugins in chain(), value in 0..VALUES) {
        let (_, log) = run(&plugins, value);
        for member in 0..plugins.len() {
            prop_assert!(log.iter().filter(|entry| entry.0 == member).count() <= MAX_PASSES as usize + 1);
        }
    }
}

fn last_value(plugins: &[Plugin], value: u8) -> u8 {
    match decide(plugins, value) {
        Decision::Stands { value, .. } => value,
        Decision::Rejected(_) => unreachable!("only asked where something stands"),
    }
}

type Standing = (u8, Option<(usize, &'static str)>, Vec<(usize, Escalation)>);

fn stands(decision: Decision<u8, &'static str>) -> Standing {
    match decision {
        Decision::Stands { value, response, questions, .. } => (value, response, questions),
        Decision::Rejected(objection) => panic!("rejected: {objection:?}"),
    }
}

#[test]
fn an_empty_chain_allows() {
    assert_eq!(stands(decide(&[], 1)), (1, None, vec![]));
}

#[test]
fn a_later_reject_outranks_a_held_escalation() {
    let plugins = [Plugin::always(&Answer::Escalate(question())), Plugin::always(&Answer::Reject(refusal()))];
    assert_eq!(decide(&plugins, 0), Decision::Rejected(Objection::Verdict { by: 1, refusal: refusal() }));
}

#[test]
fn an_approval_of_an_old_value_is_not_one_of_the_new() {
    let approver = Plugin {
        member: Member { enforcing: true, may_approve: true },
        ..Plugin::of(|value, _| if value == 0 { Answer::Approve } else { Answer::Allow })
    };
    let changer = Plugin::of(|value, _| if value == 0 { Answer::Change(1) } else { Answer::Allow });
    assert!(matches!(decide(std::slice::from_ref(&approver), 0), Decision::Stands { approved_by: Some(0), .. }));
    assert!(matches!(decide(&[approver, changer], 0), Decision::Stands { approved_by: None, value: 1, .. }));
}

#[test]
fn approve_without_the_grant_is_allow() {
    assert!(matches!(decide(&[Plugin::always(&Answer::Approve)], 0), Decision::Stands { approved_by: None, .. }));
}

#[test]
fn only_the_own_allow_about_a_newer_value_withdraws_an_escalation() {
    let asks =
        |then: Said| Plugin::of(move |value, _| if value == 0 { Answer::Escalate(question()) } else { then.clone() });
    let changer = Plugin::of(|value, _| if value == 0 { Answer::Change(1) } else { Answer::Allow });
    assert_eq!(stands(decide(&[asks(Answer::Allow), changer.clone()], 0)).2, vec![]);
    for kept in [Answer::Failed(OnFailure::Skip), Answer::Unconcerned, Answer::Respond("x"), Answer::Change(2)] {
        let (_, _, questions) = stands(decide(&[asks(kept), changer.clone()], 0));
        assert_eq!(questions, vec![(0, question())]);
    }
}

#[test]
fn a_response_is_dropped_by_a_later_change() {
    let responds = Plugin::of(|value, _| if value == 0 { Answer::Respond("old") } else { Answer::Allow });
    let changer = Plugin::of(|value, _| if value == 0 { Answer::Change(1) } else { Answer::Allow });
    assert_eq!(stands(decide(std::slice::from_ref(&responds), 0)).1, Some((0, "old")));
    assert_eq!(stands(decide(&[responds, changer], 0)).1, None);
}

#[test]
fn the_first_response_stands() {
    let plugins = [Plugin::always(&Answer::Respond("first")), Plugin::always(&Answer::Respond("second"))];
    assert_eq!(stands(decide(&plugins, 0)).1, Some((0, "first")));
}

#[test]
fn plugins_that_never_agree_are_named_after_the_last_pass() {
    let flip = |to: u8| Plugin::of(move |value, _| if value == to { Answer::Allow } else { Answer::Change(to) });
    let decision = decide(&[Plugin::always(&Answer::Allow), flip(1), flip(2)], 0);
    assert_eq!(decision, Decision::Rejected(Objection::Disagreement { by: vec![0, 1] }));
}

#[test]
fn a_plugin_that_failed_before_is_asked_once_more_after_the_last_pass() {
    // The last change comes in the last pass, behind the plugin that has only failed so far.
    let others = [
        Plugin::of(|value, _| Answer::Change(1 - value.min(1))),
        Plugin::of(|value, round| if round < MAX_PASSES { Answer::Change(1 - value.min(1)) } else { Answer::Allow }),
    ];
    let failing = |then: Said| {
        Plugin::of(move |_, round| if round <= MAX_PASSES { Answer::Failed(OnFailure::Skip) } else { then.clone() })
    };
    let with = |first: Plugin| decide(&[&[first][..], &others].concat(), 0);
    assert_eq!(stands(with(failing(Answer::Failed(OnFailure::Skip)))).0, 1);
    assert_eq!(stands(with(failing(Answer::Allow))).0, 1);
    assert_eq!(
        with(failing(Answer::Reject(refusal()))),
        Decision::Rejected(Objection::Verdict { by: 0, refusal: refusal() })
    );
    assert_eq!(with(failing(Answer::Change(3))), Decision::Rejected(Objection::Disagreement { by: vec![1, 2] }));
}

#[test]
fn a_decision_before_the_asking_has_ended_is_a_rejection() {
    let mut gate = Gate::<u8, ()>::new(vec![Member { enforcing: true, may_approve: false }; 2], 0);
    assert!(gate.ask().is_some());
    gate.answer(Answer::Allow);
    assert_eq!(gate.decide(), Decision::Rejected(Objection::Disagreement { by: vec![1] }));
}
