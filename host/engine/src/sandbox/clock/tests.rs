use super::{LATE, Left, Over, Spent};
use crate::sandbox::ticker::TICK;
use std::time::Duration;
use tokio::time::Instant;

const MS: Duration = Duration::from_millis(1);
const DEADLINE: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(2);

/// A call that is given the thread again so long after it gave it back; what it waited for was there after `rang`.
fn away(spent: &mut Spent, left: fn(Instant) -> Left, rang: Option<Duration>, until: Duration) -> Option<Over> {
    let since = Instant::now();
    spent.away(left(since), since + until, rang.map(|after| since + after), DEADLINE);
    spent.over(DEADLINE, PATIENCE)
}

fn spent() -> Spent {
    Spent { own: Duration::ZERO, starved: Duration::ZERO }
}

#[test]
fn what_a_call_waits_for_by_its_own_choice_counts_against_its_deadline() {
    let mut spent = spent();
    assert_eq!(away(&mut spent, Left::Waiting, None, DEADLINE - MS), None);
    assert_eq!(away(&mut spent, Left::Waiting, None, MS), Some(Over::Deadline));
}

#[test]
fn an_answer_that_was_there_in_time_counts_however_late_a_thread_is_free() {
    assert_eq!(away(&mut spent(), Left::Waiting, Some(DEADLINE - MS), PATIENCE), None);
}

#[test]
fn an_answer_that_was_there_too_late_does_not_count() {
    assert_eq!(away(&mut spent(), Left::Waiting, Some(DEADLINE), DEADLINE), Some(Over::Deadline));
}

#[test]
fn time_in_which_it_could_run_is_not_its_own() {
    let mut spent = spent();
    assert_eq!(away(&mut spent, Left::Runnable, None, PATIENCE), None);
    assert_eq!((spent.own, spent.starved), (Duration::ZERO, PATIENCE));
}

#[test]
fn a_call_that_starves_for_longer_than_the_bound_is_overloaded() {
    // With the time for which it waited for its place.
    let mut spent = Spent { starved: MS, ..spent() };
    assert_eq!(away(&mut spent, Left::Waiting, Some(Duration::ZERO), PATIENCE), Some(Over::Overloaded));
}

#[test]
fn a_call_that_computes_for_long_is_given_a_share_of_a_busy_machine() {
    let long = Duration::from_secs(60);
    let mut spent = Spent { own: 10 * PATIENCE, starved: 9 * 10 * PATIENCE };
    assert_eq!(spent.over(long, PATIENCE), None);
    spent.starved = 11 * 10 * PATIENCE;
    assert_eq!(spent.over(long, PATIENCE), Some(Over::Overloaded));
}

#[test]
fn where_the_timer_was_held_up_the_call_waits_as_long_again() {
    let mut spent = spent();
    assert_eq!(away(&mut spent, Left::Waiting, None, DEADLINE + 20 * MS), None);
    assert_eq!(DEADLINE - spent.own, 20 * MS);
    assert_eq!(away(&mut spent, Left::Waiting, None, 20 * MS), Some(Over::Deadline));
}

#[test]
fn a_timer_that_is_as_late_as_timers_are_ends_the_call() {
    assert_eq!(away(&mut spent(), Left::Waiting, None, DEADLINE + LATE - MS), Some(Over::Deadline));
}

#[test]
fn a_call_whose_timer_is_always_held_up_ends_as_overloaded() {
    let mut spent = spent();
    let over = (0..100).find_map(|_| away(&mut spent, Left::Waiting, None, 2 * DEADLINE));
    assert_eq!(over, Some(Over::Overloaded));
}

#[test]
fn a_first_tick_that_lasted_longer_was_not_computed() {
    let mut spent = spent();
    spent.ran(DEADLINE, false);
    assert_eq!((spent.own, spent.starved), (TICK, Duration::ZERO));
}
