//! Tests of changes that several handles of one session make at the same time. No change is lost or applied twice.

use super::*;
use crate::config::Digest;
use crate::contract::FailureKind;
use crate::session::notice::NoticeKind;
use proptest::prelude::*;

fn notice(text: &str) -> Notice {
    Notice::new(NoticeKind::NotAsked, text)
}

/// The session's row in the store.
#[derive(Default)]
struct Row(SessionRow);

impl Row {
    /// Writes the changes of a handle, as a transaction does.
    fn write(&mut self, state: &Arc<SessionCopy>, with: Vec<Change>) {
        let written = state.pending_write(with);
        if written.is_changed() {
            let mut changed = written.changed(self.0.clone());
            changed.row.version = self.0.version + 1;
            self.0 = changed.row.clone();
            written.note_written(changed);
        }
    }

    /// Reads the row, as a handle does when it has a turn.
    fn read(&self, state: &SessionCopy) {
        state.take_over(&self.0);
    }

    fn state(&self) -> SessionState {
        parse("s", &self.0.state)
    }
}

fn reminder(body: &str) -> Reminder {
    Reminder { plugin: "p".into(), body: body.into(), tags: Vec::new(), dedupe_key: None, ttl_turns: None }
}

fn bodies(state: &SessionState) -> Vec<String> {
    state.reminders.iter().map(|(_, reminder)| reminder.body.clone()).collect()
}

fn caller() -> Caller {
    serde_json::from_value(serde_json::json!({
        "plugin": "p", "observes": false, "of": [Digest::of_bytes(b"file"), Digest::of_bytes(b"config")],
    }))
    .unwrap()
}

#[test]
fn what_another_handle_has_written_meanwhile_is_kept_and_each_change_holds_once() {
    let (mut row, one, other) = (Row::default(), SessionCopy::new("s".into()), SessionCopy::new("s".into()));
    one.change(Change::Remind(0, reminder("one")));
    other.change(Change::Remind(0, reminder("other")));
    row.write(&one, Vec::new());
    // This handle has not read the change of the first handle.
    row.write(&other, vec![Change::Remind(0, reminder("with the event"))]);
    row.write(&one, Vec::new());
    assert_eq!(bodies(&row.state()), ["one", "other", "with the event"]);
    row.read(&one);
    assert_eq!(one.with(bodies), other.with(bodies));
}

#[test]
fn what_was_to_hold_with_an_event_that_was_not_recorded_does_not_hold() {
    let (row, state) = (Row::default(), SessionCopy::new("s".into()));
    let written = state.pending_write(vec![Change::Remind(0, reminder("lost"))]);
    // The transaction is rolled back.
    let _ = written.changed(row.0.clone());
    assert_eq!(state.with(bodies), Vec::<String>::new());
    assert!(!state.is_unwritten());
}

#[test]
fn failures_in_a_row_are_counted_over_all_handles() {
    let mut row = Row::default();
    let failure = Failure::new(FailureKind::Trap, "trapped");
    for failures in 1..=3 {
        // Each event is sent by a new process.
        let state = SessionCopy::new("s".into());
        row.read(&state);
        assert_eq!(state.next_call(caller, 0), NextCall::Made, "after {} failures", failures - 1);
        state.failed(&caller(), &failure, 0);
        assert_eq!(state.with(|state| state.notices.len()), usize::from(failures == 3));
        row.write(&state, Vec::new());
    }
    let state = SessionCopy::new("s".into());
    row.read(&state);
    assert_eq!(state.next_call(caller, 1), NextCall::Tripped);
    assert_eq!(state.take_notices().len(), 1);
    row.write(&state, Vec::new());
    assert_eq!(row.state().notices, []);
}

#[test]
fn numbers_of_events_are_given_out_once_and_ascend_from_turn_to_turn() {
    let (mut row, handles) = (Row::default(), [SessionCopy::new("s".into()), SessionCopy::new("s".into())]);
    let mut last = None;
    for turn in 0..500 {
        // Each handle has several turns in a row.
        let state = &handles[(turn / 3) % 2];
        row.read(state);
        let number = state.next_number();
        assert!(last < Some(number), "{number} after {last:?}");
        last = Some(number);
        row.write(state, Vec::new());
    }
}

#[test]
fn a_handle_that_uses_its_numbers_up_takes_more_at_once_until_another_one_has_a_turn() {
    let (mut row, one, other) = (Row::default(), SessionCopy::new("s".into()), SessionCopy::new("s".into()));
    let mut writes_of = |state: &Arc<SessionCopy>, events: u64| {
        row.read(state);
        let before = row.0.version;
        (0..events).for_each(|_| {
            state.next_number();
            row.write(state, Vec::new());
        });
        row.0.version - before
    };
    // The blocks have 64, 256, … 65 536 numbers. Each further block also has 65 536 numbers.
    assert_eq!(writes_of(&one, (0..6).map(|time| 64 * 4_u64.pow(time)).sum()), 6);
    assert_eq!(writes_of(&one, 10 * MAX_NUMBERS), 10);
    assert_eq!(writes_of(&other, 64), 1);
    assert_eq!(writes_of(&one, 64 + 256), 2, "it begins with few");
}

#[test]
fn what_waits_for_a_database_that_cannot_be_written_is_bounded_and_numbers_stay_taken() {
    let (mut row, state) = (Row::default(), SessionCopy::new("s".into()));
    let mut last = 0;
    for event in 0..20_000_u32 {
        last = state.next_number();
        state.change(Change::Remind(event, reminder(&event.to_string())));
        state.change(Change::ModelCalls("p".into(), 1));
        // A transaction that is rolled back.
        let _ = state.pending_write(Vec::new()).changed(row.0.clone());
        assert!(locked(&state.copy).unwritten.iter().count() <= unwritten::MAX_UNWRITTEN);
    }
    // The handle's own copy contains all changes.
    assert_eq!(state.with(|state| state.model_calls["p"]), 20_000);
    let written = state.pending_write(Vec::new());
    let mut changed = written.changed(row.0.clone());
    changed.row.version = 1;
    row.0 = changed.row.clone();
    // A change that was made while the row was written waits for the next transaction.
    state.change(Change::Remind(20_000, reminder("later")));
    written.note_written(changed);
    assert_eq!(locked(&state.copy).unwritten.iter().count(), 1);
    row.write(&state, Vec::new());
    assert_eq!(bodies(&row.state()).last().map(String::as_str), Some("later"));
    let other = SessionCopy::new("s".into());
    row.read(&other);
    assert!(other.next_number() > last, "another handle uses none of its numbers");
}

#[test]
fn an_invalid_row_is_replaced() {
    let mut row = Row(SessionRow { version: 7, events: 3, state: "{".into() });
    let state = SessionCopy::new("s".into());
    row.read(&state);
    state.change(Change::Notice(notice("told")));
    row.write(&state, Vec::new());
    assert_eq!((row.0.version, row.state().notices), (8, vec![notice("told")]));
}

#[test]
fn a_newer_field_of_a_row_is_read_past() {
    let row = Row(SessionRow { version: 1, events: 0, state: r#"{"task": "tidy up", "newer": {"since": 2}}"#.into() });
    assert_eq!(row.state().task.as_deref(), Some("tidy up"));
}

proptest! {
    /// Handles make, write and read changes in any order, even outside of their turns. The row then contains each
    /// change once, in the order in which its handle made the changes.
    #[test]
    fn no_change_of_any_handle_is_lost_or_made_twice(steps in proptest::collection::vec((0..3_usize, 0..4_u8), 0..60)) {
        let handles = [(); 3].map(|()| SessionCopy::new("s".into()));
        let (mut row, mut made, mut model_calls) = (Row::default(), Vec::new(), 0);
        for (step, (handle, what)) in steps.into_iter().enumerate() {
            let state = &handles[handle];
            match what {
                0 => {
                    made.push(format!("{handle} {step}"));
                    state.change(Change::Notice(notice(&format!("{handle} {step}"))));
                }
                1 => {
                    state.model_calls("p").fetch_add(1, Ordering::Relaxed);
                    state.note_model_calls("p");
                    model_calls += 1;
                }
                2 => row.write(state, Vec::new()),
                _ => row.read(state),
            }
        }
        for state in &handles {
            row.write(state, Vec::new());
        }
        let mut notices: Vec<_> = row.state().notices.into_iter().map(|notice| notice.text).collect();
        for handle in 0..3 {
            let of = |all: &[String]| -> Vec<String> {
                all.iter().filter(|text| text.starts_with(&format!("{handle} "))).cloned().collect()
            };
            prop_assert_eq!(of(&notices), of(&made));
        }
        notices.sort();
        made.sort();
        prop_assert_eq!(notices, made);
        prop_assert_eq!(row.state().model_calls.get("p").copied().unwrap_or_default(), model_calls);
    }
}
