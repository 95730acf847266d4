//! Tests which questions a person's yes answers, with random events whose rules change while the person is asked.

use super::events::{Event, Plugin, Run, event, plugin};
use crate::compose::generated::{VALUES, cases, question};
use crate::compose::{Consent, GateResult, Layer, MAX_QUESTION_ROUNDS, OnFailure, QuestionOrigin, Step, Verdict};
use crate::contract::Escalation;
use proptest::prelude::*;

/// The asking plugin, or `None` for the configuration, and its question. A plugin is identified by its name, because
/// its index may change with the rules.
type Question = (Option<usize>, Escalation);
/// The name of the plugin that responds, and its response.
type Response = (usize, u8);

/// An event, the rules each time that the chain is asked, and a person's answer to each round of questions.
#[derive(Clone, Debug)]
struct Story {
    value: u8,
    plugins: Vec<Plugin>,
    /// Each plugin after an update.
    updated: Vec<Plugin>,
    asks: [Vec<Option<(Layer, Escalation)>>; 2],
    /// The rules each time that the chain is asked. After the last element, the rules no longer change.
    rules: Vec<Rules>,
    /// The person's answer to each round of questions.
    says: Vec<bool>,
}

/// The rules: the plugins that exist, the plugins that are updated, and the index of the configuration's questions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rules {
    there: [bool; 6],
    updated: [bool; 6],
    asks: bool,
}

/// One time that a chain is asked, and the outcome.
#[derive(Debug, PartialEq, Eq)]
struct Asking {
    /// The value about which the chain is asked first.
    value: u8,
    names: Vec<usize>,
    event: String,
    run: Run,
}

/// The value, the response and the questions that a person was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    value: u8,
    response: Option<Response>,
    questions: Vec<Question>,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The value runs, or the response replaces it.
    Runs(u8, Option<Response>),
    Rejected,
    Denied,
    TooManyRounds,
}

#[derive(Debug, PartialEq, Eq)]
struct Course {
    askings: Vec<Asking>,
    shown: Vec<Shown>,
    end: End,
}

/// The result of a chain that accepts the value. Plugins are identified by their names and not by their indices.
struct Accepted {
    value: u8,
    changed: bool,
    response: Option<Response>,
    questions: Vec<Question>,
}

impl Story {
    /// Returns the event for the chain that is asked at this time, and the name of each member of the chain.
    fn event(&self, asking: usize, value: u8) -> (Vec<usize>, Event) {
        let rules = self.rules.get(asking).unwrap_or_else(|| self.rules.last().unwrap());
        let names: Vec<usize> = (0..self.plugins.len()).filter(|&name| rules.there[name]).collect();
        let of = |&name: &usize| if rules.updated[name] { &self.updated[name] } else { &self.plugins[name] };
        let plugins = names.iter().map(of).cloned().collect();
        (names, Event { plugins, asks: self.asks[usize::from(rules.asks)].clone(), value })
    }

    fn asking(&self, asking: usize, value: u8) -> (Asking, Option<Accepted>) {
        let (names, event) = self.event(asking, value);
        let run = event.run();
        let accepted = match &run.decision {
            GateResult::Rejected(_) => None,
            GateResult::Accepted { value, changed_by, response, questions, .. } => {
                let by = |asker: &QuestionOrigin| match asker {
                    QuestionOrigin::Configuration => None,
                    QuestionOrigin::Member(member) => Some(names[*member]),
                };
                Some(Accepted {
                    value: *value,
                    changed: !changed_by.is_empty(),
                    response: response.map(|(member, response)| (names[member], response)),
                    questions: questions.iter().map(|(asker, question)| (by(asker), question.clone())).collect(),
                })
            }
        };
        (Asking { value, names, event: format!("{event:?}"), run }, accepted)
    }

    /// Runs the event in the same way as a session does.
    fn course(&self) -> Course {
        let mut consent = Consent::default();
        let (mut askings, mut shown, mut value) = (Vec::new(), Vec::new(), self.value);
        let end = loop {
            assert!(askings.len() <= MAX_QUESTION_ROUNDS, "the asking does not end");
            let (asking, accepted) = self.asking(askings.len(), value);
            askings.push(asking);
            let Some(accepted) = accepted else { break End::Rejected };
            value = accepted.value;
            match consent.step(&value, accepted.changed, accepted.response.as_ref(), accepted.questions) {
                Step::Settled => break End::Runs(value, accepted.response),
                Step::TooManyRounds(_) => break End::TooManyRounds,
                Step::Ask(questions) => {
                    shown.push(Shown { value, response: accepted.response, questions: questions.clone() });
                    if !self.says[shown.len() - 1] {
                        break End::Denied;
                    }
                    consent.give(value, accepted.response, questions);
                }
            }
        };
        Course { askings, shown, end }
    }

    /// A second implementation of the rule, which is slow but obviously correct. It stores only what the person was
    /// shown, and searches all of it for each question.
    fn model(&self) -> Course {
        let mut course = Course { askings: Vec::new(), shown: Vec::new(), end: End::Denied };
        // The chain is asked once more than there are rounds of questions, because it is asked again after the last
        // yes.
        for round in 0..=MAX_QUESTION_ROUNDS {
            let value = course.shown.last().map_or(self.value, |shown| shown.value);
            let (asking, accepted) = self.asking(round, value);
            course.askings.push(asking);
            let Some(Accepted { value, changed, response, questions }) = accepted else {
                course.end = End::Rejected;
                return course;
            };
            let mut open = Vec::new();
            for question in questions {
                let mut answered = false;
                for shown in &course.shown {
                    let is_this = shown.value == value && shown.response == response;
                    answered |= is_this && !changed && shown.questions.contains(&question);
                }
                if !answered {
                    open.push(question);
                }
            }
            if open.is_empty() {
                course.end = End::Runs(value, response);
                return course;
            }
            if round == MAX_QUESTION_ROUNDS {
                break;
            }
            course.shown.push(Shown { value, response, questions: open });
            if !self.says[round] {
                return course;
            }
        }
        course.end = End::TooManyRounds;
        course
    }
}

fn rules() -> impl Strategy<Value = Rules> {
    let there = prop::array::uniform6(prop::bool::weighted(0.9));
    let updated = prop::array::uniform6(prop::bool::weighted(0.2));
    (there, updated, any::<bool>()).prop_map(|(there, updated, asks)| Rules { there, updated, asks })
}

fn story() -> impl Strategy<Value = Story> {
    let asks = prop::option::of((Just(Layer::User), (0..2_u8).prop_map(question)));
    let asks = prop::collection::vec(asks, VALUES as usize);
    let updated = prop::collection::vec(plugin(), 6);
    let says = prop::collection::vec(prop::bool::weighted(0.9), MAX_QUESTION_ROUNDS);
    (event(), updated, asks, prop::collection::vec(rules(), 1..4), says).prop_map(
        |(event, updated, asks, rules, says)| Story {
            value: event.value,
            updated: updated.into_iter().take(event.plugins.len()).collect(),
            plugins: event.plugins,
            asks: [event.asks, asks],
            rules,
            says,
        },
    )
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_yes_counts_as_the_model_says(story in story()) {
        prop_assert_eq!(story.course(), story.model());
    }

    #[test]
    fn what_runs_is_what_the_chain_of_the_last_rules_agreed_to(story in story()) {
        let course = story.course();
        if let End::Runs(value, response) = course.end {
            let last = course.askings.len() - 1;
            let (asking, accepted) = story.asking(last, course.askings[last].value);
            let accepted = accepted.expect("what runs is accepted");
            prop_assert_eq!((accepted.value, accepted.response), (value, response));
            let (_, event) = story.event(last, asking.value);
            let form = asking.run.last_form(&event);
            for member in (0..event.plugins.len()).filter(|&member| event.enforces(member)) {
                let about_it = asking.run.replies.iter().find(|reply| (reply.member, reply.form) == (member, form));
                let said_no = |said: &Verdict<u8, u8>| matches!(said, Verdict::Reject(_) | Verdict::Failed(OnFailure::Reject | OnFailure::Ask));
                let is_author = matches!(&asking.run.decision,
                    GateResult::Accepted { changed_by, .. } if changed_by.last() == Some(&member));
                prop_assert!(is_author || about_it.is_some_and(|reply| reply.value == value && !said_no(&reply.said)));
            }
        }
    }

    #[test]
    fn nothing_runs_under_a_yes_to_another_value_response_or_question(story in story()) {
        let course = story.course();
        if let End::Runs(value, response) = course.end {
            let last = course.askings.len() - 1;
            let (_, accepted) = story.asking(last, course.askings[last].value);
            let accepted = accepted.expect("what runs is accepted");
            for question in accepted.questions {
                let about_this = |shown: &&Shown| shown.value == value && shown.response == response;
                let answered = course.shown.iter().filter(about_this).any(|shown| shown.questions.contains(&question));
                prop_assert!(answered && !accepted.changed, "{question:?}");
            }
        }
    }

    #[test]
    fn a_reject_in_any_asking_rejects(story in story()) {
        let course = story.course();
        let rejects = course.askings.iter().any(|asking| matches!(asking.run.decision, GateResult::Rejected(_)));
        prop_assert!(!rejects || course.end == End::Rejected);
    }

    #[test]
    fn a_person_is_asked_at_most_twice_and_a_no_ends_it(story in story()) {
        let course = story.course();
        prop_assert!(course.shown.len() <= MAX_QUESTION_ROUNDS);
        let no = story.says.iter().take(course.shown.len()).position(|yes| !yes);
        prop_assert_eq!(no.is_some(), course.end == End::Denied);
        prop_assert!(no.is_none_or(|round| round + 1 == course.shown.len()));
    }

    /// Because of this property, the host need not ask again if no rule and no state has changed.
    #[test]
    fn under_the_same_rules_a_yes_settles_what_the_chain_agrees_to_again(story in story()) {
        let story = Story { rules: story.rules[..1].to_vec(), says: vec![true; MAX_QUESTION_ROUNDS], ..story };
        let course = story.course();
        if let Some(first) = course.shown.first() {
            let (_, again) = story.asking(1, first.value);
            let agrees = again.is_some_and(|again| {
                let known = |question: &Question| first.questions.contains(question);
                !again.changed && again.response == first.response && again.questions.iter().all(known)
            });
            prop_assert!(!agrees || course.end == End::Runs(first.value, first.response));
        }
    }
}

/// Checks that the random stories reach every kind of end. Otherwise the properties would prove little.
#[test]
fn the_random_stories_come_to_every_end() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..20_000 {
        let course = story().new_tree(&mut runner).expect("nothing is filtered").current().course();
        let rounds = course.shown.len();
        let mut see = |what, is: bool| *seen.entry(what).or_default() += u32::from(is);
        see("runs unasked", rounds == 0 && matches!(course.end, End::Runs(..)));
        see("runs after one yes", rounds == 1 && matches!(course.end, End::Runs(..)));
        see("runs after two", rounds == 2 && matches!(course.end, End::Runs(..)));
        see("rejected after a yes", rounds > 0 && course.end == End::Rejected);
        see("denied in the second round", rounds == 2 && course.end == End::Denied);
        see("too many rounds", course.end == End::TooManyRounds);
        see("another value in the second round", rounds == 2 && course.shown[0].value != course.shown[1].value);
        see(
            "another response in the second round",
            rounds == 2 && course.shown[0].response != course.shown[1].response,
        );
    }
    assert!(seen.values().all(|&times| times >= 20), "{seen:#?}");
    assert_eq!(seen.len(), 8, "{seen:#?}");
}
