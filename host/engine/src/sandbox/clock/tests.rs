use super::{Busy, CallTime, CallTimeout, LATE_AFTER, YieldState};
use crate::sandbox::ticker::TICK;
use std::time::Duration;
use tokio::time::Instant;

const MS: Duration = Duration::from_millis(1);
const DEADLINE: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(2);

/// Simulates a call that yields the thread and gets a thread again after `until`. The result that it waits for is ready
/// after `rang`.
fn away(
    spent: &mut CallTime,
    left: fn(Instant) -> YieldState,
    rang: Option<Duration>,
    until: Duration,
) -> Option<CallTimeout> {
    away_while(Duration::ZERO, spent, left, rang, until)
}

/// Like [`away`], but the call's own connections keep the thread busy for the time `busy`.
fn away_while(
    busy: Duration,
    spent: &mut CallTime,
    left: fn(Instant) -> YieldState,
    rang: Option<Duration>,
    until: Duration,
) -> Option<CallTimeout> {
    let since = Instant::now();
    spent.away(left(since), since + until, rang.map(|after| since + after), busy, DEADLINE);
    spent.over(DEADLINE, TIMEOUT)
}

fn spent() -> CallTime {
    CallTime { own: Duration::ZERO, starved: Duration::ZERO }
}

#[test]
fn what_a_call_waits_for_by_its_own_choice_counts_against_its_deadline() {
    let mut spent = spent();
    assert_eq!(away(&mut spent, YieldState::Waiting, None, DEADLINE - MS), None);
    assert_eq!(away(&mut spent, YieldState::Waiting, None, MS), Some(CallTimeout::Deadline));
}

#[test]
fn an_answer_that_was_there_in_time_counts_however_late_a_thread_is_free() {
    assert_eq!(away(&mut spent(), YieldState::Waiting, Some(DEADLINE - MS), TIMEOUT), None);
}

#[test]
fn an_answer_that_was_there_too_late_does_not_count() {
    assert_eq!(away(&mut spent(), YieldState::Waiting, Some(DEADLINE), DEADLINE), Some(CallTimeout::Deadline));
}

#[test]
fn time_in_which_it_could_run_is_not_its_own() {
    let mut spent = spent();
    assert_eq!(away(&mut spent, YieldState::Runnable, None, TIMEOUT), None);
    assert_eq!((spent.own, spent.starved), (Duration::ZERO, TIMEOUT));
}

#[test]
fn a_call_that_starves_for_longer_than_the_bound_is_overloaded() {
    // The time for which the call has waited for a free instance counts as well.
    let mut spent = CallTime { starved: MS, ..spent() };
    assert_eq!(away(&mut spent, YieldState::Waiting, Some(Duration::ZERO), TIMEOUT), Some(CallTimeout::Overloaded));
}

#[test]
fn a_call_that_computes_for_long_is_given_a_share_of_a_busy_machine() {
    let long = Duration::from_secs(60);
    let mut spent = CallTime { own: 10 * TIMEOUT, starved: 9 * 10 * TIMEOUT };
    assert_eq!(spent.over(long, TIMEOUT), None);
    spent.starved = 11 * 10 * TIMEOUT;
    assert_eq!(spent.over(long, TIMEOUT), Some(CallTimeout::Overloaded));
}

#[test]
fn where_the_timer_was_held_up_the_call_waits_as_long_again() {
    let mut spent = spent();
    assert_eq!(away(&mut spent, YieldState::Waiting, None, DEADLINE + 20 * MS), None);
    assert_eq!(DEADLINE - spent.own, 20 * MS);
    assert_eq!(away(&mut spent, YieldState::Waiting, None, 20 * MS), Some(CallTimeout::Deadline));
}

#[test]
fn a_timer_that_is_as_late_as_timers_are_ends_the_call() {
    assert_eq!(away(&mut spent(), YieldState::Waiting, None, DEADLINE + LATE_AFTER - MS), Some(CallTimeout::Deadline));
}

#[test]
fn a_call_whose_timer_is_always_held_up_ends_as_overloaded() {
    let mut spent = spent();
    let over = (0..100).find_map(|_| away(&mut spent, YieldState::Waiting, None, 2 * DEADLINE));
    assert_eq!(over, Some(CallTimeout::Overloaded));
}

#[test]
fn a_first_tick_that_lasted_longer_was_not_computed() {
    let mut spent = spent();
    spent.ran(DEADLINE, false);
    assert_eq!((spent.own, spent.starved), (TICK, Duration::ZERO));
}

#[test]
fn a_timer_that_the_calls_own_connections_held_up_ends_the_call() {
    let late = DEADLINE + 20 * MS;
    assert_eq!(away_while(20 * MS, &mut spent(), YieldState::Waiting, None, late), Some(CallTimeout::Deadline));
    // The connections took only a part of the delay. The rest counts as the machine's time.
    let mut spent = spent();
    assert_eq!(away_while(10 * MS, &mut spent, YieldState::Waiting, None, late), None);
    assert_eq!((DEADLINE - spent.own, spent.starved), (10 * MS, 10 * MS));
}

#[test]
fn time_that_the_calls_own_connections_took_is_its_own_where_it_could_run() {
    for (left, rang) in
        [(YieldState::Waiting as fn(Instant) -> YieldState, Some(Duration::ZERO)), (YieldState::Runnable, None)]
    {
        let mut spent = spent();
        assert_eq!(away_while(30 * MS, &mut spent, left, rang, 50 * MS), None);
        assert_eq!((spent.own, spent.starved), (30 * MS, 20 * MS));
        assert_eq!(away_while(TIMEOUT, &mut spent, left, rang, 70 * MS), Some(CallTimeout::Deadline));
        assert_eq!((spent.own, spent.starved), (DEADLINE, 20 * MS));
    }
}

#[test]
fn a_connection_counts_from_when_the_call_could_continue_and_only_while_it_computes() {
    let (busy, began) = (Busy::default(), Instant::now());
    busy.ran(began, began + 10 * MS, 10 * MS);
    assert_eq!(busy.take(), Duration::ZERO, "the call waits for it");
    busy.count_from(began + 8 * MS);
    busy.count_from(began + 5 * MS);
    busy.ran(began, began + 10 * MS, 10 * MS);
    busy.ran(began + 10 * MS, began + 20 * MS, 2 * MS);
    busy.ran(began, began + MS, MS);
    assert_eq!(busy.take(), 7 * MS);
    busy.ran(began, began + 10 * MS, 10 * MS);
    assert_eq!(busy.take(), Duration::ZERO, "it has resumed");
}
