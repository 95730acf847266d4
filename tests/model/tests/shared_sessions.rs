//! The protocol of shared sessions keeps its promises in every state that it can reach, and no choice of it can be left out.

use hookhost_model::{Action, Protocol, Rule, Sessions, State, World};
use stateright::{Checker, Expectation, HasDiscoveries, Model, Path};
use std::collections::HashSet;

const DECIDED: Protocol = Protocol::DECIDED;

/// All events arrive in one host of one process.
const TOGETHER: World = World { owners: [0, 0, 0], has_host_for_each_event: false, shares_questions: false };

/// The last one arrives in the other process.
const ONE_APART: World = World { owners: [0, 0, 1], ..TOGETHER };

/// The last two arrive in the other process.
const TWO_APART: World = World { owners: [0, 1, 1], ..TOGETHER };

/// One process has a host for each event.
const OWN_HOSTS: World = World { has_host_for_each_event: true, ..TOGETHER };

fn worlds(has_host_for_each_event: bool, shares_questions: bool) -> [World; 3] {
    [TOGETHER, ONE_APART, TWO_APART].map(|world| World { has_host_for_each_event, shares_questions, ..world })
}

/// Visits every state.
fn explore(sessions: Sessions) {
    let properties = sessions.properties();
    let checker = sessions.checker().threads(2).spawn_bfs().join();
    println!(
        "{} states, {} steps, at most {} deep",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth()
    );
    assert!(checker.is_done());
    for property in properties {
        let found = checker.discovery(property.name);
        if property.expectation == Expectation::Sometimes {
            assert!(found.is_some(), "no state is visited where {}", property.name);
        } else if let Some(path) = found {
            let last = path.last_state().clone();
            panic!("it does not hold that {}: {} leads to {last:#?}", property.name, steps(path));
        }
    }
}

fn steps(path: Path<State, Action>) -> String {
    let step = |(state, action): (State, Option<Action>)| action.map(|action| state.describe(action));
    path.into_vec().into_iter().filter_map(step).collect::<Vec<_>>().join("; ")
}

/// Visits states until each of these rules is broken, the nearest first.
fn breaks(rules: &[Rule], protocol: Protocol, world: World) {
    assert_ne!(protocol, DECIDED);
    let names: HashSet<&'static str> = rules.iter().map(|rule| rule.name()).collect();
    let sessions = Sessions { protocol, questions: 1, worlds: vec![world], is_reduced: true };
    let checker =
        sessions.checker().finish_when(HasDiscoveries::AllOf(names.clone().into_iter().collect())).spawn_bfs().join();
    for name in names {
        let Some(path) = checker.discovery(name) else { panic!("{name}, and it should not") };
        println!("not true among {} states: {name}, after: {}", checker.unique_state_count(), steps(path));
    }
}

#[test]
fn every_promise_holds_in_every_state() {
    // How tickets are had and how a question is answered do not depend on each other: two of the four kinds of worlds show both.
    let worlds = [worlds(false, true), worlds(true, false)].concat();
    explore(Sessions { protocol: DECIDED, questions: 1, worlds, is_reduced: true });
}

#[test]
#[ignore = "takes minutes"]
fn every_promise_holds_in_every_world_whenever_the_yes_is_recorded() {
    let worlds = [worlds(false, false), worlds(false, true), worlds(true, false), worlds(true, true)].concat();
    for records_a_yes_before_it_asks_again in [true, false] {
        let protocol = Protocol { records_a_yes_before_it_asks_again, ..DECIDED };
        explore(Sessions { protocol, questions: 1, worlds: worlds.clone(), is_reduced: true });
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_promise_holds_where_the_plugins_ask_something_else_after_a_yes() {
    for records_a_yes_before_it_asks_again in [true, false] {
        let protocol = Protocol { records_a_yes_before_it_asks_again, ..DECIDED };
        explore(Sessions { protocol, questions: 2, worlds: worlds(false, true).into(), is_reduced: true });
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_promise_holds_in_the_states_that_are_left_out() {
    explore(Sessions { protocol: DECIDED, questions: 1, worlds: vec![TWO_APART], is_reduced: false });
}

/// A test for each choice: without it these rules are broken.
macro_rules! needed {
    ($($test:ident: without $choice:ident in $world:expr => $($rule:ident),+;)+) => {$(
        #[test]
        fn $test() {
            breaks(&[$(Rule::$rule),+], Protocol { $choice: false, ..DECIDED }, $world);
        }
    )+};
}

needed! {
    two_may_take_one_ticket_without_the_door: without scans_behind_the_door in TWO_APART => InOrderOfArrival, NoEffectIsLost;
    to_wait_for_the_one_before_is_not_enough: without waits_for_all_below in OWN_HOSTS => InOrderOfArrival, NoEffectIsLost;
    the_door_does_not_stop_the_host_that_has_locked_it: without lets_in_one_of_a_host in TOGETHER => InOrderOfArrival, NoEffectIsLost;
    a_host_does_not_see_its_own_tickets: without knows_its_own_tickets in TOGETHER => InOrderOfArrival, NoEffectIsLost;
    a_ticket_that_outlives_its_process_blocks_all: without tickets_end_with_the_process in ONE_APART => NobodyIsStuck;
    a_kept_ticket_is_not_before_those_that_came: without looks_before_it_reuses in TWO_APART => InOrderOfArrival;
    a_ticket_that_is_kept_for_ever_blocks_all: without gives_back_soon in TWO_APART => NobodyIsStuck;
    what_is_read_before_the_turn_may_be_old: without reads_in_the_turn in TWO_APART => NoStaleYes, NoEffectIsLost;
    a_turn_that_is_noted_when_it_ends_is_not_known_of_the_dead: without notes_its_turn_first in TWO_APART => NoEffectIsLost, NoNumberTwice;
    a_record_without_its_effects_may_be_all_that_is_left: without records_with_the_effects in TOGETHER => NoEffectIsLost;
    what_runs_before_the_commit_may_have_no_record: without runs_after_the_commit in TOGETHER => OnlyWhatIsRecordedRuns;
    effects_that_hold_before_the_answer_hold_twice: without holds_effects_back in TOGETHER => NoEffectIsLost, NoEffectTwice;
    a_process_that_does_not_show_itself_is_taken_for_dead: without shows_itself_first in TOGETHER => OneAnswer;
    a_second_answer_must_not_replace_the_first: without answers_if_unanswered in World { shares_questions: true, ..TOGETHER } => OneAnswer;
    an_answer_that_is_taken_up_beside_an_event_undoes_it: without takes_up_in_a_turn in TOGETHER => InOrderOfArrival, NoStaleYes, NoEffectIsLost;
    a_yes_may_be_older_than_the_rules: without asks_again in TOGETHER => NoStaleYes;
    a_yes_is_about_what_was_shown: without asks_about_what_was_shown in TOGETHER => OnlyWhatIsRecordedRuns;
    old_effects_undo_later_ones: without drops_old_effects in TOGETHER => NoEffectIsLost;
    a_settled_question_must_not_be_found: without removes_the_row_with_the_record in TOGETHER => OneAnswer;
    a_dead_question_is_given_up_once: without gives_up_what_is_there in TOGETHER => OneAnswer;
    a_dropped_question_is_recorded_and_removed_at_once: without drops_a_question_at_once in TOGETHER => OneAnswer;
    a_number_that_was_given_up_is_taken_by_another: without keeps_given_up_numbers_out in TWO_APART => NoNumberTwice;
    a_question_without_a_deadline_may_wait_for_ever: without has_a_deadline in TOGETHER => NobodyIsStuck;
}
