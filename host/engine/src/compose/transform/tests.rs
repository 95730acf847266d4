//! Tests the rules of `docs/composition.md` for transforms with random events. Each rule has a test with its name, and
//! all rules together are compared with a model.

use super::{Passage, Transform};
use crate::compose::generated::{ENFORCING, VALUES, cases, member, on_failure, refusal};
use crate::compose::{Member, Objection, OnFailure};
use proptest::prelude::*;

/// A plugin, represented by its answer about each value.
#[derive(Clone, Debug)]
struct Plugin {
    member: Member,
    says: Vec<Passage<u8>>,
}

/// The value that passes and the plugins that changed it, or the objection that withholds it.
type GateResult = Result<(u8, Vec<usize>), Objection>;

#[derive(Debug, PartialEq, Eq)]
struct Run {
    /// The plugins that were asked, in order, each with the value that it was asked about.
    asked: Vec<(usize, u8)>,
    decision: GateResult,
}

fn run(plugins: &[Plugin], value: u8) -> Run {
    let mut transform = Transform::new(plugins.iter().map(|plugin| plugin.member), value);
    let mut asked = Vec::new();
    while let Some(member) = transform.ask() {
        assert!(asked.len() < plugins.len(), "the asking does not end");
        let before = *transform.value();
        asked.push((member, before));
        let changed = transform.answer(plugins[member].says[usize::from(before)].clone());
        assert_eq!(changed, *transform.value() != before);
    }
    Run { asked, decision: transform.decide() }
}

/// Returns the result of a chain. It is the answer of the last plugin about the result of the chain without this
/// plugin.
fn model(plugins: &[Plugin], first: u8) -> GateResult {
    let Some((last, before)) = plugins.split_last() else { return Ok((first, Vec::new())) };
    let (value, mut changed_by) = model(before, first)?;
    let by = before.len();
    match &last.says[usize::from(value)] {
        _ if !last.member.enforcing => Ok((value, changed_by)),
        Passage::Reject(refusal) => Err(Objection::Verdict { by, refusal: refusal.clone() }),
        Passage::Failed(OnFailure::Reject | OnFailure::Ask) => Err(Objection::Failure { by }),
        Passage::Replace(new) if *new != value => {
            changed_by.push(by);
            Ok((*new, changed_by))
        }
        Passage::Replace(_) | Passage::Keep | Passage::Failed(OnFailure::Skip) => Ok((value, changed_by)),
    }
}

fn said() -> impl Strategy<Value = Passage<u8>> {
    prop_oneof![
        3 => Just(Passage::Keep),
        6 => (0..VALUES).prop_map(Passage::Replace),
        1 => (0..VALUES).prop_map(|number| Passage::Reject(refusal(number))),
        2 => on_failure().prop_map(Passage::Failed),
    ]
}

fn plugin() -> impl Strategy<Value = Plugin> {
    let says = prop::collection::vec(said(), VALUES as usize);
    (member(), says).prop_map(|(member, says)| Plugin { member, says })
}

fn chain() -> impl Strategy<Value = Vec<Plugin>> {
    prop::collection::vec(plugin(), 0..6)
}

fn always(says: &Passage<u8>) -> Plugin {
    Plugin { member: ENFORCING, says: vec![says.clone(); VALUES as usize] }
}

/// Runs a chain with a further plugin at index `at`. The indices in the result are those of the chain without this
/// plugin.
fn with(plugins: &[Plugin], plugin: Plugin, at: usize, value: u8) -> Run {
    let at = at.min(plugins.len());
    let mut more = plugins.to_vec();
    more.insert(at, plugin);
    let Run { asked, decision } = run(&more, value);
    let down = |member: usize| member - usize::from(member > at);
    Run {
        asked: asked
            .into_iter()
            .filter(|(member, _)| *member != at)
            .map(|(member, value)| (down(member), value))
            .collect(),
        decision: match decision {
            Ok((value, changed_by)) => Ok((value, changed_by.into_iter().map(down).collect())),
            Err(Objection::Verdict { by, refusal }) => Err(Objection::Verdict { by: down(by), refusal }),
            Err(Objection::Failure { by }) => Err(Objection::Failure { by: down(by) }),
            Err(Objection::Disagreement { by }) => {
                Err(Objection::Disagreement { by: by.into_iter().map(down).collect() })
            }
        },
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_transform_decides_as_the_model_does(plugins in chain(), value in 0..VALUES) {
        prop_assert_eq!(run(&plugins, value).decision, model(&plugins, value));
    }

    #[test]
    fn each_plugin_is_asked_once_in_order_about_the_result_of_those_before(plugins in chain(), value in 0..VALUES) {
        let Run { asked, decision } = run(&plugins, value);
        for (place, (member, about)) in asked.iter().enumerate() {
            prop_assert_eq!(place, *member);
            prop_assert_eq!(Some(*about), model(&plugins[..place], value).ok().map(|(value, _)| value));
        }
        // The remaining plugins are not asked only if the value is withheld.
        prop_assert!(decision.is_err() || asked.len() == plugins.len());
    }

    #[test]
    fn a_reject_or_a_failure_that_is_not_skipped_withholds_the_value_and_ends_the_asking(
        plugins in chain(), value in 0..VALUES
    ) {
        let Run { asked, decision } = run(&plugins, value);
        let no = asked.iter().find_map(|&(by, about)| match &plugins[by].says[usize::from(about)] {
            _ if !plugins[by].member.enforcing => None,
            Passage::Reject(refusal) => Some(Objection::Verdict { by, refusal: refusal.clone() }),
            Passage::Failed(OnFailure::Reject | OnFailure::Ask) => Some(Objection::Failure { by }),
            _ => None,
        });
        if let Some(Objection::Verdict { by, .. } | Objection::Failure { by }) = &no {
            prop_assert_eq!(asked.last().map(|(member, _)| member), Some(by));
        }
        prop_assert_eq!(decision.err(), no);
    }

    #[test]
    fn a_plugin_in_audit_mode_changes_nothing(
        plugins in chain(), mut audited in plugin(), at in 0..6usize, value in 0..VALUES
    ) {
        audited.member.enforcing = false;
        prop_assert_eq!(with(&plugins, audited, at, value), run(&plugins, value));
    }

    #[test]
    fn a_plugin_that_always_fails_with_skip_changes_nothing(plugins in chain(), at in 0..6usize, value in 0..VALUES) {
        let failing = always(&Passage::Failed(OnFailure::Skip));
        prop_assert_eq!(with(&plugins, failing, at, value), run(&plugins, value));
    }

    #[test]
    fn a_replacement_by_the_same_value_is_a_keep(plugins in chain(), value in 0..VALUES) {
        let mut keeping = plugins.clone();
        for plugin in &mut keeping {
            for (about, says) in (0..).zip(&mut plugin.says) {
                if *says == Passage::Replace(about) {
                    *says = Passage::Keep;
                }
            }
        }
        prop_assert_eq!(run(&plugins, value), run(&keeping, value));
    }

    #[test]
    fn the_same_plugins_and_value_give_the_same_result(plugins in chain(), value in 0..VALUES) {
        prop_assert_eq!(run(&plugins, value), run(&plugins, value));
    }
}

#[test]
fn each_plugin_works_on_the_result_of_the_one_before() {
    let plugins = [Passage::Replace(1), Passage::Replace(1), Passage::Replace(2)].map(|says| always(&says));
    assert_eq!(run(&plugins, 0).decision, Ok((2, vec![0, 2])));
}

#[test]
fn a_value_that_could_not_be_redacted_is_withheld_unless_the_failure_is_skipped() {
    let decision = |on_failure| run(&[always(&Passage::Failed(on_failure))], 3).decision;
    for on_failure in [OnFailure::Reject, OnFailure::Ask] {
        assert_eq!(decision(on_failure), Err(Objection::Failure { by: 0 }));
    }
    assert_eq!(decision(OnFailure::Skip), Ok((3, vec![])));
}

#[test]
fn a_failure_beside_a_reject_withholds_the_value_in_both_orders() {
    let rejects = always(&Passage::Reject(refusal(1)));
    let verdict = |by| Err(Objection::Verdict { by, refusal: refusal(1) });
    let fails = |on_failure| always(&Passage::Failed(on_failure));
    let failure = Err(Objection::Failure { by: 0 });
    assert_eq!(run(&[fails(OnFailure::Reject), rejects.clone()], 0).decision, failure);
    assert_eq!(run(&[fails(OnFailure::Skip), rejects.clone()], 0).decision, verdict(1));
    assert_eq!(run(&[rejects.clone(), fails(OnFailure::Reject)], 0).decision, verdict(0));
    assert_eq!(run(&[rejects, fails(OnFailure::Skip)], 0).decision, verdict(0));
}

#[test]
fn a_chain_that_was_not_asked_to_its_end_withholds_the_value() {
    let auditing = Member { enforcing: false, ..ENFORCING };
    let decision = |members: &[Member]| {
        let mut transform = Transform::new(members.to_vec(), 0);
        transform.answer(Passage::Keep);
        transform.decide()
    };
    assert_eq!(decision(&[ENFORCING, auditing, ENFORCING]), Err(Objection::Disagreement { by: vec![2] }));
    assert_eq!(decision(&[ENFORCING, auditing]), Ok((0, vec![])));
}

#[test]
fn an_answer_that_nobody_was_asked_for_changes_nothing() {
    let mut transform = Transform::new(vec![], 0);
    assert!(!transform.answer(Passage::Replace(1)));
    assert_eq!(transform.decide(), Ok((0, vec![])));
    let mut withheld = Transform::new(vec![ENFORCING; 2], 0);
    withheld.answer(Passage::Reject(refusal(1)));
    assert!(!withheld.answer(Passage::Replace(1)));
    assert_eq!(withheld.decide(), Err(Objection::Verdict { by: 0, refusal: refusal(1) }));
}
