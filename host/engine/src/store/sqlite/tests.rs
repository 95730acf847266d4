//! Tests of the state and the log, both in a file and in memory.

use super::{FollowFrom, FollowedLog, Log, LogError};
use crate::audit::{BEFORE_THE_FIRST, Flaw};
use crate::locked::locked;
use crate::state::{KEY_COST, Lineage, MAX_KEYS, Scope, StateError, View};
use crate::store::{Backend as _, LateWrite, Store, StoreError, Unit};
use futures_util::FutureExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn plugin(name: &str) -> Arc<str> {
    name.into()
}

/// A session in the tree whose root is the session `r`.
fn of(session: &str) -> Lineage<'_> {
    Lineage { session, root: "r" }
}

fn view(store: &Store, name: &str, session: &str, now: u64) -> View {
    View::new(store.snapshot(&plugin(name), of(session), now), 2000, now)
}

fn unit(name: &str, session: &str, time: u64, records: &[&str], view: View) -> Unit {
    let records = records.iter().map(|&record| record.to_owned()).collect();
    let writes = vec![(plugin(name), view.into_parts().0)];
    Unit { records, writes, session: session.into(), root: "r".into(), time, ..Unit::default() }
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn commit(store: &Store, unit: &Unit) {
    block_on(store.commit(unit)).unwrap();
}

/// Returns the unit with a write to the state, so that the unit cannot go into the journal.
fn with_effect(unit: Unit) -> Unit {
    let mut view = view(&Store::in_memory(), "p", "s", 0);
    view.set(Scope::Plugin, "effect", b"1".to_vec(), None).unwrap();
    Unit { writes: vec![(plugin("p"), view.into_parts().0)], session: "s".into(), root: "r".into(), ..unit }
}

fn write(store: &Store, view: View) {
    commit(store, &unit("p", "s", 0, &[], view));
}

fn get(store: &Store, scope: Scope, key: &str) -> Option<Vec<u8>> {
    view(store, "p", "s", 0).get(scope, key).unwrap()
}

/// Both kinds of store, which have to behave the same.
fn stores() -> (tempfile::TempDir, [Store; 2]) {
    let directory = tempfile::tempdir().unwrap();
    let stores = [Store::in_memory(), Store::open(&directory.path().join("hookhost.db"), 0).unwrap()];
    (directory, stores)
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/hookhost.db");
    (directory, path)
}

fn lines(path: &Path) -> Vec<String> {
    Log::open(path).unwrap().lines().unwrap().map(|line| line.unwrap().text().to_owned()).collect()
}

#[test]
fn an_event_sees_its_snapshot_and_its_own_writes() {
    for store in &stores().1 {
        let mut first = view(store, "p", "s", 0);
        let mut second = view(store, "p", "s", 0);
        assert_eq!(second.get(Scope::Plugin, "k").unwrap(), None);
        first.set(Scope::Plugin, "k", b"1".to_vec(), None).unwrap();
        assert_eq!(first.get(Scope::Plugin, "k").unwrap(), Some(b"1".to_vec()));
        write(store, first);
        assert_eq!(second.get(Scope::Plugin, "k").unwrap(), None);
        assert_eq!(view(store, "p", "other", 0).get(Scope::Plugin, "k").unwrap(), Some(b"1".to_vec()));
        assert_eq!(view(store, "q", "s", 0).get(Scope::Plugin, "k").unwrap(), None);
    }
}

#[test]
fn other_sessions_do_not_see_a_sessions_state() {
    for store in &stores().1 {
        let mut first = view(store, "p", "s", 0);
        first.set(Scope::Session, "k", b"1".to_vec(), None).unwrap();
        write(store, first);
        assert_eq!(get(store, Scope::Session, "k"), Some(b"1".to_vec()));
        assert_eq!(get(store, Scope::Plugin, "k"), None);
        assert_eq!(view(store, "p", "other", 0).get(Scope::Session, "k").unwrap(), None);
    }
}

#[test]
fn increments_of_concurrent_sessions_add_up() {
    for store in &stores().1 {
        let mut views: Vec<_> = (0..3).map(|n| view(store, "p", &format!("s{n}"), 0)).collect();
        for view in &mut views {
            assert_eq!(view.increment(Scope::Plugin, "n", 2).unwrap(), 2);
            assert_eq!(view.increment(Scope::Plugin, "n", 2).unwrap(), 4);
        }
        for view in views {
            write(store, view);
        }
        assert_eq!(get(store, Scope::Plugin, "n"), Some(b"12".to_vec()));
    }
}

#[test]
fn state_of_a_tree_is_that_of_each_of_its_sessions_and_of_no_other_tree() {
    for store in &stores().1 {
        let read = |session, root| {
            let mut view = View::new(store.snapshot(&plugin("p"), Lineage { session, root }, 0), 2000, 0);
            view.get(Scope::Tree, "n").unwrap()
        };
        // One view for the root and one for each of two sessions below it. All three begin with the same state.
        let mut views: Vec<_> = ["r", "a", "b"].map(|session| view(store, "p", session, 0)).into();
        for view in &mut views {
            assert_eq!(view.increment(Scope::Tree, "n", 2).unwrap(), 2);
        }
        for view in views {
            write(store, view);
        }
        assert_eq!((read("r", "r"), read("b", "r")), (Some(b"6".to_vec()), Some(b"6".to_vec())));
        assert_eq!((read("r", "other"), read("other", "other")), (None, None));
        for scope in [Scope::Session, Scope::Plugin] {
            assert_eq!(view(store, "p", "r", 0).get(scope, "n").unwrap(), None);
        }
    }
}

#[test]
fn the_last_of_concurrent_sets_wins() {
    for (store, scope) in stores().1.iter().flat_map(|store| [(store, Scope::Tree), (store, Scope::Plugin)]) {
        let (mut first, mut second) = (view(store, "p", "a", 0), view(store, "p", "b", 0));
        first.set(scope, "k", b"first".to_vec(), None).unwrap();
        second.set(scope, "k", b"second".to_vec(), None).unwrap();
        write(store, second);
        write(store, first);
        assert_eq!(get(store, scope, "k"), Some(b"first".to_vec()));
    }
}

#[test]
fn a_value_expires() {
    for store in &stores().1 {
        let mut setting = view(store, "p", "s", 1_000);
        setting.set(Scope::Session, "k", b"v".to_vec(), Some(2)).unwrap();
        commit(store, &unit("p", "s", 1_000, &[], setting));
        assert_eq!(view(store, "p", "s", 2_999).get(Scope::Session, "k").unwrap(), Some(b"v".to_vec()));
        assert_eq!(view(store, "p", "s", 3_000).get(Scope::Session, "k").unwrap(), None);
    }
}

#[test]
fn a_value_that_never_expires_outlives_every_clock() {
    for store in &stores().1 {
        let mut setting = view(store, "p", "s", 1);
        setting.set(Scope::Session, "k", b"v".to_vec(), Some(u64::MAX)).unwrap();
        commit(store, &unit("p", "s", 1, &[], setting));
        store.forget(of("s"));
        assert_eq!(view(store, "p", "s", 1 << 60).get(Scope::Session, "k").unwrap(), Some(b"v".to_vec()));
    }
}

#[test]
fn a_write_over_the_quota_is_refused_and_changes_nothing() {
    for store in &stores().1 {
        let quota = KEY_COST + 10;
        let mut view = View::new(store.snapshot(&plugin("p"), of("s"), 0), quota, 0);
        view.set(Scope::Session, "key", b"value".to_vec(), None).unwrap();
        assert_eq!(view.set(Scope::Session, "more", b"value".to_vec(), None), Err(StateError::QuotaExceeded));
        assert_eq!(view.get(Scope::Session, "more").unwrap(), None);
        assert_eq!(view.set(Scope::Session, "key", vec![0; 8], None), Err(StateError::QuotaExceeded));
        assert_eq!(view.get(Scope::Session, "key").unwrap(), Some(b"value".to_vec()));
        // The other scopes have separate quotas.
        view.set(Scope::Tree, "key", b"value".to_vec(), None).unwrap();
        view.set(Scope::Plugin, "key", b"value".to_vec(), None).unwrap();
        write(store, view);
        let mut full = View::new(store.snapshot(&plugin("p"), of("s"), 0), quota, 0);
        assert_eq!(full.set(Scope::Session, "other", vec![], None), Err(StateError::QuotaExceeded));
        full.delete(Scope::Session, "key").unwrap();
        full.set(Scope::Session, "other", vec![], None).unwrap();
    }
}

#[test]
fn expired_values_do_not_count_against_the_quota() {
    for store in &stores().1 {
        let quota = KEY_COST + 10;
        let mut view = View::new(store.snapshot(&plugin("p"), of("s"), 0), quota, 0);
        view.set(Scope::Plugin, "key", b"value".to_vec(), Some(1)).unwrap();
        write(store, view);
        let mut view = View::new(store.snapshot(&plugin("p"), of("s"), 1_000), quota, 1_000);
        view.set(Scope::Plugin, "new", b"value".to_vec(), None).unwrap();
    }
}

#[test]
fn an_increment_keeps_the_time_at_which_a_value_expires() {
    for store in &stores().1 {
        let mut setting = view(store, "p", "s", 0);
        setting.set(Scope::Plugin, "n", b"1".to_vec(), Some(10)).unwrap();
        write(store, setting);
        let mut counting = view(store, "p", "s", 5_000);
        assert_eq!(counting.increment(Scope::Plugin, "n", 1).unwrap(), 2);
        commit(store, &unit("p", "s", 5_000, &[], counting));
        assert_eq!(view(store, "p", "s", 9_999).get(Scope::Plugin, "n").unwrap(), Some(b"2".to_vec()));
        assert_eq!(view(store, "p", "s", 10_000).get(Scope::Plugin, "n").unwrap(), None);
        // An expired number counts as 0 again, and the new number does not expire.
        let mut late = view(store, "p", "s", 10_000);
        assert_eq!(late.increment(Scope::Plugin, "n", 1).unwrap(), 1);
        commit(store, &unit("p", "s", 10_000, &[], late));
        assert_eq!(view(store, "p", "s", 1 << 50).get(Scope::Plugin, "n").unwrap(), Some(b"1".to_vec()));
    }
}

#[test]
fn deleting_a_missing_key_stores_nothing() {
    for store in &stores().1 {
        let mut view = view(store, "p", "s", 0);
        for n in 0..1000 {
            view.delete(Scope::Plugin, &"k".repeat(n)).unwrap();
        }
        assert!(view.into_parts().0.is_empty());
    }
}

#[test]
fn a_deleted_value_is_gone() {
    for store in &stores().1 {
        let mut setting = view(store, "p", "s", 0);
        setting.set(Scope::Plugin, "k", b"v".to_vec(), None).unwrap();
        write(store, setting);
        let mut deleting = view(store, "p", "s", 0);
        deleting.delete(Scope::Plugin, "k").unwrap();
        assert_eq!(deleting.get(Scope::Plugin, "k").unwrap(), None);
        assert_eq!(deleting.increment(Scope::Plugin, "k", 3).unwrap(), 3);
        deleting.delete(Scope::Plugin, "k").unwrap();
        write(store, deleting);
        assert_eq!(get(store, Scope::Plugin, "k"), None);
    }
}

#[test]
fn a_text_cannot_be_incremented() {
    for store in &stores().1 {
        let mut view = view(store, "p", "s", 0);
        view.set(Scope::Session, "k", b"five".to_vec(), None).unwrap();
        assert!(matches!(view.increment(Scope::Session, "k", 1), Err(StateError::Unavailable(_))));
    }
}

#[test]
fn state_outlives_the_process_and_every_process_sees_it() {
    let (_directory, path) = file();
    let (one, two) = (Store::open(&path, 0).unwrap(), Store::open(&path, 0).unwrap());
    for round in 1..=3 {
        for store in [&one, &two] {
            let mut view = view(store, "p", "s", 0);
            view.increment(Scope::Plugin, "n", 1).unwrap();
            view.increment(Scope::Session, "n", 1).unwrap();
            write(store, view);
        }
        assert_eq!(get(&one, Scope::Plugin, "n"), Some((2 * round).to_string().into_bytes()));
        assert_eq!(get(&two, Scope::Session, "n"), Some((2 * round).to_string().into_bytes()));
    }
    drop((one, two));
    assert_eq!(get(&Store::open(&path, 0).unwrap(), Scope::Plugin, "n"), Some(b"6".to_vec()));
}

#[test]
fn state_of_sessions_and_of_trees_is_forgotten_after_30_days_and_that_of_plugins_never() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    let mut setting = view(&store, "p", "s", 0);
    for scope in Scope::ALL {
        setting.set(scope, "k", b"v".to_vec(), None).unwrap();
    }
    write(&store, setting);
    let days = |days: u64| days * 24 * 60 * 60 * 1000;
    assert_eq!(get(&Store::open(&path, days(30)).unwrap(), Scope::Session, "k"), Some(b"v".to_vec()));
    let later = Store::open(&path, days(31)).unwrap();
    assert_eq!((get(&later, Scope::Session, "k"), get(&later, Scope::Tree, "k")), (None, None));
    assert_eq!(get(&later, Scope::Plugin, "k"), Some(b"v".to_vec()));
}

#[test]
fn state_that_is_old_stays_as_long_as_its_session_has_events() {
    let (_directory, path) = file();
    let days = |days: u64| days * 24 * 60 * 60 * 1000;
    let store = Store::open(&path, 0).unwrap();
    let mut setting = view(&store, "p", "s", 0);
    setting.set(Scope::Tree, "k", b"v".to_vec(), None).unwrap();
    write(&store, setting);
    // The tree of the session `r` has events until the 20th day.
    let row = "INSERT INTO session (id, version, events, life, touched) VALUES ('r', 1, 7, '', ?1)";
    rusqlite::Connection::open(&path).unwrap().execute(row, [days(20).cast_signed()]).unwrap();
    assert_eq!(get(&Store::open(&path, days(40)).unwrap(), Scope::Tree, "k"), Some(b"v".to_vec()));
    assert_eq!(get(&Store::open(&path, days(51)).unwrap(), Scope::Tree, "k"), None);
}

#[test]
fn sessions_are_looked_through_for_old_ones_once_a_day() {
    let (_directory, path) = file();
    let days = |days: u64| days * 24 * 60 * 60 * 1000;
    let open = |now: u64| drop(Store::open(&path, now).unwrap());
    let connection = || rusqlite::Connection::open(&path).unwrap();
    let end_one = || {
        let row = "INSERT INTO session (id, version, events, life, touched) VALUES ('old', 1, 7, '', 0)";
        connection().execute(row, []).unwrap();
    };
    let sessions = || -> i64 {
        connection().query_row("SELECT count(*) FROM session WHERE id = 'old'", [], |row| row.get(0)).unwrap()
    };
    open(days(40));
    end_one();
    open(days(41) - 1);
    assert_eq!(sessions(), 1, "within a day");
    open(days(41));
    assert_eq!(sessions(), 0, "a day later");
    end_one();
    open(days(40));
    assert_eq!(sessions(), 0, "by a clock that was set back");
    // The event numbers of deleted sessions are not used again.
    let store = Store::open(&path, days(40)).unwrap();
    assert_eq!(store.session("new").unwrap().events, 7);
}

#[test]
fn a_record_and_its_writes_are_committed_together_or_not_at_all() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    store.push(LateWrite::of(r#"{"kind":"event","n":1}"#.into())).unwrap();
    // The unit is too large for the file, so neither its record nor its write is stored. The record that was queued
    // before stays in the queue.
    let pages: i64 = {
        let inner = locked(&store.on_disk().unwrap().inner);
        inner.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap()
    };
    let limit = |pages: i64| {
        let inner = locked(&store.on_disk().unwrap().inner);
        inner.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(pages + 2);
    let mut setting = view(&store, "p", "s", 0);
    setting.set(Scope::Plugin, "k", b"v".to_vec(), None).unwrap();
    let large = format!(r#"{{"kind":"event","text":"{}"}}"#, "x".repeat(100_000));
    let failed = block_on(store.commit(&unit("p", "s", 0, &[&large], setting.clone())));
    assert_eq!(failed, Err(StoreError::Full(path.clone())));
    assert_eq!(get(&store, Scope::Plugin, "k"), None);
    limit(1 << 20);
    commit(&store, &unit("p", "s", 0, &[r#"{"kind":"event","n":2}"#], setting));
    assert_eq!(get(&store, Scope::Plugin, "k"), Some(b"v".to_vec()));
    let lines = lines(&path);
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].contains(r#""n":1"#) && lines[2].contains(r#""n":2"#), "{lines:?}");
}

#[test]
fn queued_records_are_written_before_later_ones_and_when_the_store_is_closed() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    store.push(LateWrite::of(r#"{"kind":"a"}"#.into())).unwrap();
    store.push(LateWrite::of(r#"{"kind":"b"}"#.into())).unwrap();
    commit(&store, &Unit { records: vec![r#"{"kind":"c"}"#.into()], ..Unit::default() });
    let written = lines(&path);
    let kinds: Vec<_> = written.iter().map(|line| &line[line.find("kind").unwrap() + 7..][..1]).collect();
    assert_eq!(kinds, ["l", "a", "b", "c"]);
    store.push(LateWrite::of(r#"{"kind":"d"}"#.into())).unwrap();
    drop(store);
    assert_eq!(lines(&path).len(), 5);
}

#[test]
fn the_flusher_writes_what_is_queued() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    store.push(LateWrite::of(r#"{"kind":"a"}"#.into())).unwrap();
    let began = std::time::Instant::now();
    while lines(&path).len() < 2 {
        assert!(began.elapsed().as_secs() < 20, "nobody wrote it");
        std::thread::yield_now();
    }
}

#[test]
fn a_store_that_is_closed_over_and_over_leaves_a_small_wal_and_all_records() {
    let (_directory, path) = file();
    let wal = super::database::wal(&path);
    let mut sizes = Vec::new();
    for number in 0..100_u32 {
        let store = Store::open(&path, 0).unwrap();
        let record = format!(r#"{{"kind":"session-ended","session":"s","time":{number},"x":"{}"}}"#, "x".repeat(4000));
        commit(&store, &unit("p", "s", 0, &[&record], view(&store, "p", "s", 0)));
        drop(store);
        sizes.push(std::fs::metadata(&wal).map_or(0, |wal| wal.len()));
    }
    assert!(sizes.iter().all(|&size| size < 512 << 10), "{sizes:?}");
    // Not every close runs a checkpoint.
    assert!(sizes.iter().filter(|&&size| size == 0).count() <= 20, "{sizes:?}");
    assert_eq!(lines(&path).len(), 101);
    assert!(Log::open(&path).unwrap().verify(None).unwrap().is_sound());
}

#[test]
fn the_wal_does_not_grow_with_what_is_written_without_a_pause() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    let record = format!("{{\"event\":\"{}\"}}", "x".repeat(8 << 10));
    let unit = Unit { records: vec![record], session: "s".into(), ..Unit::default() };
    let (mut written, mut largest) = (0, 0);
    while written < 128 << 20 {
        commit(&store, &unit);
        written += unit.records[0].len() as u64;
        largest = largest.max(std::fs::metadata(super::database::wal(&path)).unwrap().len());
    }
    assert!(largest < written / 2, "{largest} of {written} bytes were in the WAL at once");
}

#[test]
fn stores_that_are_created_at_once_share_one_log() {
    for _ in 0..20 {
        let (_directory, path) = file();
        let stores: Vec<Store> = std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(&path, 0).unwrap())).collect();
            opening.into_iter().map(|opened| opened.join().unwrap()).collect()
        });
        drop(stores);
        assert_eq!(lines(&path).len(), 1);
    }
}

#[test]
fn a_full_queue_takes_nothing_more() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    // Another process holds the write lock.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let record = format!(r#"{{"kind":"{}"}}"#, "x".repeat(1 << 20));
    let taken = (0..100).take_while(|_| store.push(LateWrite::of(record.clone())).is_ok()).count();
    assert!((16..20).contains(&taken), "{taken}");
    other.execute_batch("ROLLBACK").unwrap();
    block_on(store.flush()).unwrap();
    assert_eq!(lines(&path).len(), 1 + taken);
}

#[test]
fn records_of_several_processes_make_one_chain() {
    let (_directory, path) = file();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let path = path.clone();
            std::thread::spawn(move || {
                let store = Store::open(&path, 0).unwrap();
                for n in 0..50 {
                    let record = format!(r#"{{"kind":"event","writer":{writer},"n":{n}}}"#);
                    if n % 3 == 0 {
                        store.push(LateWrite::of(record)).unwrap();
                    } else {
                        commit(&store, &Unit { records: vec![record], ..Unit::default() });
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    let report = Log::open(&path).unwrap().verify(None).unwrap();
    assert_eq!((report.lines, report.flaws), (201, vec![]));
}

/// Stores a record in the database itself.
fn store_record(store: &Store, number: u64) {
    let record = format!(r#"{{"kind":"session-ended","session":"s{number}","time":{number}}}"#);
    commit(store, &with_effect(Unit { records: vec![record], ..Unit::default() }));
}

fn follow(path: &Path, from: FollowFrom) -> FollowedLog {
    let (log, is_other) = FollowedLog::open(path, from).unwrap();
    assert!(!is_other);
    log
}

fn next_numbers(log: &mut FollowedLog, most: usize) -> Vec<u64> {
    log.next_records(most).unwrap().iter().map(crate::audit::Line::seq).collect()
}

#[test]
fn a_reader_gets_each_record_once_also_after_a_restart() {
    let (_directory, path) = file();
    let (store, other) = (Store::open(&path, 0).unwrap(), Store::open(&path, 0).unwrap());
    (2..=4).for_each(|number| store_record(&store, number));
    let mut log = follow(&path, FollowFrom::Beginning);
    assert_eq!(next_numbers(&mut log, 3), [1, 2, 3]);
    assert_eq!((next_numbers(&mut log, 3), next_numbers(&mut log, 3)), (vec![4], vec![]));
    store_record(&other, 5);
    assert_eq!(next_numbers(&mut log, 3), [5]);
    let position = log.position();
    drop(log);
    store_record(&store, 6);
    assert_eq!(next_numbers(&mut follow(&path, FollowFrom::After(position)), 3), [6]);
    let mut log = follow(&path, FollowFrom::End);
    store_record(&store, 7);
    assert_eq!(next_numbers(&mut log, 3), [7]);
}

#[test]
fn another_log_in_the_place_of_a_followed_one_is_noticed_and_read_from_its_beginning() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    store_record(&store, 2);
    let mut log = follow(&path, FollowFrom::Beginning);
    assert_eq!((next_numbers(&mut log, 9), log.is_replaced()), (vec![1, 2], false));
    drop(store);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    store_record(&Store::open(&path, 1).unwrap(), 2);
    assert!(log.is_replaced());
    let (mut other, is_other) = FollowedLog::open(&path, FollowFrom::After(log.position())).unwrap();
    assert!(is_other);
    assert_eq!(next_numbers(&mut other, 9), [1, 2]);
}

#[test]
fn a_changed_record_is_named_once_and_the_records_after_it_are_read() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    (2..=6).for_each(|number| store_record(&store, number));
    let changed = "UPDATE audit SET line = replace(line, 's3', 's9') WHERE seq = 3; DELETE FROM audit WHERE seq = 5";
    rusqlite::Connection::open(&path).unwrap().execute_batch(changed).unwrap();
    let mut log = follow(&path, FollowFrom::Beginning);
    let is_named = |log: &mut FollowedLog, record| {
        assert!(matches!(log.next_records(9), Err(LogError::NotAsWritten { from, .. }) if from == record));
    };
    assert_eq!(next_numbers(&mut log, 9), [1, 2]);
    is_named(&mut log, 3);
    assert_eq!(next_numbers(&mut log, 9), [4]);
    is_named(&mut log, 5);
    assert_eq!(next_numbers(&mut log, 9), [6]);
    store_record(&store, 7);
    assert_eq!(next_numbers(&mut log, 9), [7]);
}

#[test]
fn a_row_with_a_number_that_hookhost_never_writes_is_named_once_and_hides_no_record() {
    let row = |seq: i64| format!("INSERT INTO audit SELECT {seq}, hash, line FROM audit WHERE seq = 1");
    for rows in [(-20..=0).map(row).collect::<Vec<_>>().join(";"), row(i64::MAX), row(i64::MIN)] {
        let (_directory, path) = file();
        let store = Store::open(&path, 0).unwrap();
        (2..=6).for_each(|number| store_record(&store, number));
        let (mut late, mut log) = (follow(&path, FollowFrom::End), follow(&path, FollowFrom::Beginning));
        altered(&path, &rows);
        let (mut numbers, mut named) = (Vec::new(), 0);
        for _ in 0..9 {
            match log.next_records(3) {
                Ok(lines) => numbers.extend(lines.iter().map(crate::audit::Line::seq)),
                Err(LogError::NotAsWritten { .. }) => named += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((numbers, named), (vec![1, 2, 3, 4, 5, 6], 1), "{rows}");
        let _ = late.next_records(3);
        assert_eq!(late.next_records(3).unwrap().len(), 0);
        match FollowedLog::open(&path, FollowFrom::After(log.position())) {
            Ok((again, is_other)) => assert!(!is_other && again.position() == log.position(), "the same log"),
            Err(error) => assert!(error.to_string().contains("a number that hookhost never writes"), "{error}"),
        }
    }
}

#[test]
fn a_row_with_a_number_far_ahead_hides_no_record_that_is_stored_after_its_removal() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    store_record(&store, 2);
    let mut log = follow(&path, FollowFrom::Beginning);
    assert_eq!(next_numbers(&mut log, 9), [1, 2]);
    let forged = crate::audit::next(999_999, &BEFORE_THE_FIRST, r#"{"kind":"session-ended","session":"s","time":1}"#);
    let hash: String = forged.hash().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    altered(&path, &format!("INSERT INTO audit VALUES (1000000, x'{hash}', '{}')", forged.text()));
    assert!(matches!(log.next_records(9), Err(LogError::NotAsWritten { from: 3, .. })));
    assert_eq!(follow(&path, FollowFrom::After(log.position())).position().seq, 2, "a restart goes on there");
    assert_eq!(next_numbers(&mut log, 9), [1_000_000]);
    altered(&path, "DELETE FROM audit WHERE seq > 2");
    store_record(&store, 3);
    assert!(matches!(log.next_records(9), Err(LogError::NotAsWritten { from: 3, .. })));
    assert_eq!((next_numbers(&mut log, 9), next_numbers(&mut log, 9)), (vec![3], vec![]));
}

#[test]
fn records_that_take_the_place_of_removed_ones_are_read() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    (2..=4).for_each(|number| store_record(&store, number));
    let mut log = follow(&path, FollowFrom::Beginning);
    assert_eq!((next_numbers(&mut log, 2), next_numbers(&mut log, 9)), (vec![1, 2], vec![3, 4]));
    altered(&path, "DELETE FROM audit WHERE seq > 2");
    (13..=16).for_each(|number| store_record(&store, number));
    assert!(matches!(log.next_records(9), Err(LogError::NotAsWritten { from: 3, .. })));
    assert_eq!((next_numbers(&mut log, 9), next_numbers(&mut log, 9)), (vec![3, 4, 5, 6], vec![]));
    assert_eq!(log.position().seq, 6);
}

#[test]
fn a_file_of_another_program_is_refused_and_left_as_it_is() {
    let (_directory, path) = file();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE precious (value)").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    let refused = |path: &Path| Store::open(path, 0).err().unwrap();
    assert_eq!(refused(&path), StoreError::Foreign(path.clone()));
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let text = path.with_file_name("notes.txt");
    std::fs::write(&text, "not a database, and long enough to be seen as none".repeat(20)).unwrap();
    assert_eq!(refused(&text), StoreError::Foreign(text.clone()));
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("not a database"));
}

#[test]
fn a_file_of_a_later_version_is_refused_and_left_as_it_is() {
    let (_directory, path) = file();
    drop(Store::open(&path, 0).unwrap());
    let later = rusqlite::Connection::open(&path).unwrap();
    later.pragma_update(None, "user_version", 7).unwrap();
    drop(later);
    let expected = StoreError::Version { path: path.clone(), found: 7, known: crate::audit::FORMAT };
    assert_eq!(Store::open(&path, 0).err().unwrap(), expected);
    assert!(expected.to_string().contains("use the version that wrote it"));
    assert!(Log::open(&path).is_err());
}

#[test]
fn a_damaged_file_is_refused_and_left_as_it_is() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    for n in 0..200 {
        commit(&store, &Unit { records: vec![format!(r#"{{"kind":"event","n":{n}}}"#)], ..Unit::default() });
    }
    drop(store);
    // Empty the WAL, because SQLite would read pages from it instead of the damaged pages.
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let mut bytes = std::fs::read(&path).unwrap();
    let size = bytes.len();
    bytes[100..size].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();
    let error = Store::open(&path, 0).err().unwrap();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("move it away"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn only_its_user_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    commit(&store, &Unit { records: vec![r#"{"kind":"a"}"#.into()], ..Unit::default() });
    for file in [path.clone(), super::database::wal(&path)] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_commit_waits_for_another_process_without_holding_up_the_thread() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    block_on(async {
        let unit = with_effect(Unit { records: vec![r#"{"kind":"a"}"#.into()], ..Unit::default() });
        let mut commit = std::pin::pin!(store.commit(&unit));
        assert!(commit.as_mut().now_or_never().is_none(), "it waits, and gives the thread back");
        other.execute_batch("ROLLBACK").unwrap();
        commit.await.unwrap();
    });
    assert_eq!(Log::open(&path).unwrap().verify(None).unwrap().flaws, Vec::<Flaw>::new());
}

/// Changes the database with SQL, as another program could.
fn altered(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

const CHANGES: [(&str, &str); 9] = [
    (
        "CREATE TRIGGER t BEFORE INSERT ON audit WHEN new.line LIKE '%SECRET%' BEGIN SELECT raise(ignore); END",
        "the trigger `t`, which hookhost did not make",
    ),
    ("CREATE VIEW v AS SELECT * FROM audit", "the view `v`, which hookhost did not make"),
    ("CREATE INDEX i ON audit (line)", "the index `i`, which hookhost did not make"),
    ("CREATE TABLE more (x)", "the table `more`, which hookhost did not make"),
    ("CREATE TABLE counted (x INTEGER PRIMARY KEY AUTOINCREMENT)", "the table `counted`, which hookhost did not make"),
    ("ANALYZE", "the table `sqlite_stat1`, which hookhost did not make"),
    ("DROP TABLE value", "no table `value`"),
    ("ALTER TABLE value ADD COLUMN more", "a table `value` that is not as hookhost makes it"),
    (
        "DROP TABLE value; CREATE TABLE value (space INTEGER NOT NULL REFERENCES space, key TEXT NOT NULL COLLATE NOCASE,
         value BLOB NOT NULL, expires INTEGER, PRIMARY KEY (space, key)) WITHOUT ROWID",
        "a table `value` that is not as hookhost makes it",
    ),
];

/// Changes of the table of records after which the records can still be read.
const LOG_CHANGES: [(&str, &str); 4] = [
    (
        "ALTER TABLE audit RENAME TO hidden; CREATE VIEW audit AS SELECT * FROM hidden",
        "the view `audit`, which hookhost did not make",
    ),
    (
        "ALTER TABLE audit RENAME TO old;
         CREATE TABLE audit (seq INTEGER PRIMARY KEY, hash BLOB NOT NULL, line TEXT NOT NULL UNIQUE ON CONFLICT IGNORE);
         INSERT INTO audit SELECT * FROM old; DROP TABLE old",
        "a table `audit` that is not as hookhost makes it",
    ),
    (
        "ALTER TABLE audit ADD COLUMN twice TEXT GENERATED ALWAYS AS (line || line)",
        "a table `audit` that is not as hookhost makes it",
    ),
    ("DROP TABLE audit", "no table `audit`"),
];

#[test]
fn a_database_whose_schema_is_not_exactly_ours_is_refused_and_what_is_foreign_is_named() {
    for (change, what) in CHANGES.iter().chain(&LOG_CHANGES) {
        let (_directory, path) = file();
        drop(Store::open(&path, 0).unwrap());
        altered(&path, change);
        let error = Store::open(&path, 0).err().unwrap();
        assert_eq!(error, StoreError::Altered { path: path.clone(), what: (*what).to_owned() }, "{change}");
        assert!(error.to_string().contains(what) && error.to_string().contains("move it away"), "{error}");
    }
}

#[test]
fn verifying_names_what_is_foreign_and_a_log_whose_table_is_another_is_not_read() {
    for (change, what) in CHANGES {
        let (_directory, path) = file();
        drop(Store::open(&path, 0).unwrap());
        altered(&path, change);
        let report = Log::open(&path).unwrap().verify(None).unwrap();
        assert!(report.flaws.contains(&Flaw::Foreign(what.to_owned())), "{change}: {:?}", report.flaws);
        assert!(!report.is_sound());
    }
    for (change, what) in LOG_CHANGES {
        let (_directory, path) = file();
        drop(Store::open(&path, 0).unwrap());
        altered(&path, change);
        let error = Log::open(&path).unwrap_err().to_string();
        assert!(error.contains(what), "{change}: {error}");
    }
}

#[test]
fn a_schema_that_changes_while_the_store_is_open_is_noticed_before_anything_is_written() {
    for (change, what) in CHANGES.iter().chain(&LOG_CHANGES) {
        let (_directory, path) = file();
        let store = Store::open(&path, 0).unwrap();
        let secret = || Unit { records: vec![r#"{"kind":"a","text":"SECRET"}"#.into()], ..Unit::default() };
        commit(&store, &secret());
        altered(&path, change);
        let error = block_on(store.commit(&with_effect(secret()))).unwrap_err();
        assert_eq!(error, StoreError::Altered { path: path.clone(), what: (*what).to_owned() }, "{change}");
        // From then on, no record is written to the journal either.
        let error = block_on(store.commit(&secret())).unwrap_err();
        assert_eq!(error, StoreError::Altered { path: path.clone(), what: (*what).to_owned() }, "{change}");
    }
    // `VACUUM` moves the schema within the file, but does not change the schema.
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    altered(&path, "VACUUM");
    commit(&store, &Unit { records: vec![r#"{"kind":"a"}"#.into()], ..Unit::default() });
    assert!(Log::open(&path).unwrap().verify(None).unwrap().is_sound());
}

#[test]
fn a_record_that_sqlite_did_not_insert_is_an_error() {
    // This has the same effect as if the schema had changed during the transaction. The connection does not run
    // triggers, so the test enables them.
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    {
        let inner = locked(&store.on_disk().unwrap().inner);
        let trigger = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
        assert!(!inner.connection.db_config(trigger).unwrap(), "triggers are off");
        inner.connection.set_db_config(trigger, true).unwrap();
        let ignoring = "CREATE TEMP TRIGGER t BEFORE INSERT ON main.audit BEGIN SELECT raise(ignore); END";
        inner.connection.execute_batch(ignoring).unwrap();
    }
    let unit = with_effect(Unit { records: vec![r#"{"kind":"a"}"#.into()], ..Unit::default() });
    assert!(matches!(block_on(store.commit(&unit)), Err(StoreError::Damaged { .. })));
}

#[test]
fn the_schema_is_that_of_its_version() {
    let text: String = super::database::TABLES.iter().map(|(name, makes)| format!("{name}: {makes};\n")).collect();
    let digest = crate::config::Digest::of_bytes(text.as_bytes()).to_string();
    // The schemas of databases are compared with this text verbatim. So if a word in it changes, the version has to be
    // raised, and this digest has to be updated. A new table needs no new version, because it is added to existing
    // databases.
    assert_eq!(
        (crate::audit::FORMAT, digest.as_str()),
        (2, "41215b8ac4d636362fbad34baf898a0d34186c94f4d7030504b4602ed0602db6")
    );
}
#[test]
fn a_database_that_is_removed_or_replaced_while_it_is_open_takes_no_more_records() {
    let remove_all: fn(&Path) = |path| std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let remove: fn(&Path) = |path| std::fs::remove_file(path).unwrap();
    let replace: fn(&Path) = |path| {
        let copy = path.with_extension("copy");
        std::fs::copy(path, &copy).unwrap();
        std::fs::rename(copy, path).unwrap();
    };
    let remove_wal: fn(&Path) = |path| std::fs::remove_file(super::database::wal(path)).unwrap();
    for change in [remove_all, remove, replace, remove_wal] {
        let (_directory, path) = file();
        let store = Store::open(&path, 0).unwrap();
        let unit = Unit { records: vec![r#"{"kind":"a"}"#.into()], ..Unit::default() };
        commit(&store, &unit);
        change(&path);
        assert_eq!(block_on(store.commit(&unit)), Err(StoreError::Gone(path.clone())));
    }
}
#[test]
fn a_database_that_is_put_back_takes_records_again() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    let unit = Unit { records: vec![r#"{"kind":"a"}"#.into()], ..Unit::default() };
    let away = path.with_extension("away");
    std::fs::rename(&path, &away).unwrap();
    assert!(block_on(store.commit(&unit)).is_err());
    std::fs::rename(&away, &path).unwrap();
    commit(&store, &unit);
    assert_eq!(lines(&path).len(), 2);
}
#[test]
fn no_ticket_is_kept_while_the_database_fails() {
    let (_directory, path) = file();
    let database = super::Database::open(&path, 0).unwrap();
    let is_kept = || {
        let late = LateWrite { record: Some(r#"{"kind":"a"}"#.into()), ..LateWrite::default() };
        database.push(late).unwrap();
        locked(&database.shared.queue).keeps_tickets
    };
    // The flusher gives the ticket back from time to time, so the test tries repeatedly.
    assert!((0..1_000).any(|_| is_kept()), "a ticket is kept while all is well");
    let away = path.with_extension("away");
    std::fs::rename(&path, &away).unwrap();
    assert!(database.commit(&with_effect(Unit::default())).is_err());
    database.shared.give_back_tickets();
    assert!(!(0..10).any(|_| is_kept()), "another process would wait for as long as the flusher rests");
    std::fs::rename(&away, &path).unwrap();
    assert!(database.commit(&with_effect(Unit::default())).is_ok());
    assert!((0..1_000).any(|_| is_kept()));
}

#[test]
fn a_name_that_sqlite_would_not_read_as_a_file_is_refused() {
    for name in ["", ":memory:", "file:log.db", "file:log?mode=memory"] {
        let path = Path::new(name);
        for error in [Store::open(path, 0).err().unwrap().to_string(), Log::open(path).unwrap_err().to_string()] {
            assert!(error.starts_with(&format!("`{name}` cannot be the name of an audit log, since ")), "{error}");
        }
        assert!(!path.exists());
    }
}

/// Inserts many keys by hand, as an earlier version could leave them.
fn fill(path: &Path, keys: usize) {
    let mut connection = rusqlite::Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    transaction.execute("INSERT INTO space VALUES (1, 'p', 'plugin', '', 1, 0)", []).unwrap();
    {
        let mut insert = transaction.prepare("INSERT INTO value VALUES (1, ?1, x'31', NULL)").unwrap();
        for key in 0..keys {
            insert.execute([format!("{key:06}")]).unwrap();
        }
    }
    transaction.commit().unwrap();
}

#[test]
fn the_number_of_keys_is_bounded_and_a_scope_that_has_more_can_be_read_and_emptied() {
    let large = |store: &Store| View::new(store.snapshot(&plugin("p"), of("s"), 0), 1 << 30, 0);
    for keys in [MAX_KEYS - 1, MAX_KEYS, MAX_KEYS + 1, MAX_KEYS + 5] {
        let (_directory, path) = file();
        drop(Store::open(&path, 0).unwrap());
        fill(&path, keys);
        let store = Store::open(&path, 0).unwrap();
        let mut view = large(&store);
        let room = keys < MAX_KEYS;
        assert_eq!(view.get(Scope::Plugin, "000007"), Ok(Some(b"1".to_vec())));
        assert_eq!(view.set(Scope::Plugin, "new", vec![], None).is_ok(), room, "{keys}");
        assert_eq!(view.set(Scope::Plugin, "new 2", vec![], None), Err(StateError::QuotaExceeded), "{keys}");
        assert_eq!(view.set(Scope::Plugin, "000007", b"2".to_vec(), None), Ok(()), "{keys}");
        assert_eq!(view.set(Scope::Plugin, "000007", b"22".to_vec(), None).is_ok(), keys <= MAX_KEYS, "{keys}");
        assert_eq!(view.set(Scope::Session, "new", vec![], None), Ok(()), "{keys}");
        for key in 10..20 {
            view.delete(Scope::Plugin, &format!("{key:06}")).unwrap();
        }
        write(&store, view);
        let mut after = large(&store);
        assert_eq!(after.get(Scope::Plugin, "000010"), Ok(None));
        assert_eq!(after.set(Scope::Plugin, "another", vec![], None), Ok(()), "{keys}");
    }
    // A scope with far too many keys does not accept a new key even after some keys were deleted.
    let (_directory, path) = file();
    drop(Store::open(&path, 0).unwrap());
    fill(&path, 2 * MAX_KEYS);
    let store = Store::open(&path, 0).unwrap();
    for key in 0..2 {
        let mut view = large(&store);
        view.delete(Scope::Plugin, &format!("{key:06}")).unwrap();
        write(&store, view);
    }
    assert_eq!(large(&store).set(Scope::Plugin, "new", vec![], None), Err(StateError::QuotaExceeded));
}

/// Inserts more keys than the host ever stores, expired or not.
fn overfull(path: &Path, keys: u32, expires: &str) {
    drop(Store::open(path, 0).unwrap());
    altered(
        path,
        &format!(
            "INSERT INTO space VALUES (1, 'p', 'plugin', '', 1, 0);
             WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {keys})
             INSERT INTO value SELECT 1, printf('%06d', n), x'31', {expires} FROM n"
        ),
    );
}

#[test]
fn every_query_of_a_state_that_is_far_too_large_ends_after_a_bounded_number_of_steps() {
    let (_directory, path) = file();
    overfull(&path, 400_000, "NULL");
    let store = Store::open(&path, 0).unwrap();
    let large = || View::new(store.snapshot(&plugin("p"), of("s"), 10), 1 << 30, 10);
    let mut event = large();
    assert_eq!(event.get(Scope::Plugin, "399999"), Ok(Some(b"1".to_vec())));
    assert_eq!(event.get(Scope::Plugin, "none"), Ok(None));
    assert_eq!(event.increment(Scope::Plugin, "new", 1), Err(StateError::QuotaExceeded));
    assert_eq!(event.increment(Scope::Session, "new", 1), Ok(1));
    assert_eq!(event.delete(Scope::Plugin, "000001"), Ok(()));
    write(&store, event);
    assert_eq!(large().get(Scope::Plugin, "000001"), Ok(None));
    // Another event needs the connection, so the whole snapshot would have to be moved into memory.
    let snapshot = store.snapshot(&plugin("p"), of("s"), 10);
    snapshot.value(Scope::Plugin, "000003").unwrap();
    store.on_disk().unwrap().readers.end_transactions();
    let refused = snapshot.value(Scope::Plugin, "000003").unwrap_err();
    assert_eq!(refused, "reading the state takes more steps than a state within its limits can need");
}

#[test]
fn a_state_with_far_too_many_expired_keys_takes_new_ones_and_drops_the_old() {
    let (_directory, path) = file();
    overfull(&path, 400_000, "5");
    let store = Store::open(&path, 0).unwrap();
    let mut event = view(&store, "p", "s", 10);
    assert_eq!(event.get(Scope::Plugin, "399999"), Ok(None));
    assert_eq!(event.increment(Scope::Plugin, "new", 1), Ok(1));
    commit(&store, &unit("p", "s", 10, &[], event));
    let inner = locked(&store.on_disk().unwrap().inner);
    let rows: i64 = inner.connection.query_row("SELECT count(*) FROM value", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[test]
fn reading_a_key_reads_no_other() {
    let (_directory, path) = file();
    drop(Store::open(&path, 0).unwrap());
    fill(&path, 100);
    // A damaged value is an error only for an event that reads it.
    altered(&path, "UPDATE value SET value = 1.5 WHERE key = '000050'");
    let store = Store::open(&path, 0).unwrap();
    let mut view = view(&store, "p", "s", 0);
    assert_eq!(view.get(Scope::Plugin, "000049"), Ok(Some(b"1".to_vec())));
    assert!(matches!(view.get(Scope::Plugin, "000050"), Err(StateError::Unavailable(_))));
}

#[test]
fn expired_values_do_not_pile_up() {
    let (_directory, path) = file();
    let store = Store::open(&path, 0).unwrap();
    for round in 0..20_u64 {
        let mut event = view(&store, "p", "s", round * 10_000);
        for key in 0..5 {
            event.set(Scope::Plugin, &format!("{round}-{key}"), vec![], Some(1)).unwrap();
        }
        commit(&store, &unit("p", "s", round * 10_000, &[], event));
    }
    let inner = locked(&store.on_disk().unwrap().inner);
    let rows: i64 = inner.connection.query_row("SELECT count(*) FROM value", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 5);
}

#[test]
fn the_cached_size_of_a_scope_stays_right_whichever_process_writes_to_it() {
    let (_directory, path) = file();
    let (one, two) = (Store::open(&path, 0).unwrap(), Store::open(&path, 0).unwrap());
    let mut number = 0_u32;
    let mut random = || {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        number >> 16
    };
    for round in 0..200_u64 {
        let now = round * 400;
        let store = if random() % 3 == 0 { &two } else { &one };
        let mut event = view(store, "p", "s", now);
        for _ in 0..3 {
            let key = format!("k{}", random() % 8);
            let scope = if random() % 2 == 0 { Scope::Session } else { Scope::Plugin };
            match random() % 4 {
                0 => event.delete(scope, &key).unwrap(),
                1 => drop(event.increment(scope, &format!("n{key}"), 1).unwrap()),
                _ => {
                    let lives = (random() % 3 == 0).then_some(1);
                    event.set(scope, &key, vec![b'x'; random() as usize % 20], lives).unwrap();
                }
            }
        }
        commit(store, &unit("p", "s", now, &[], event));
        let fresh = Store::open(&path, 0).unwrap();
        let usage = |store: &Store| store.snapshot(&plugin("p"), of("s"), now).usage().unwrap();
        assert_eq!([usage(&one), usage(&two)], [usage(&fresh); 2], "round {round}");
    }
}
#[test]
fn a_database_is_refused_if_others_can_write_it_or_a_file_beside_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, path) = file();
    drop(Store::open(&path, 0).unwrap());
    let directory = path.parent().unwrap().to_owned();
    let beside = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
    let made = ["-wal", "-shm", "-journal"].map(|end| (beside(end), true));
    for (file, made) in [(path.clone(), false), (directory, false)].into_iter().chain(made) {
        if made {
            std::fs::write(&file, "").unwrap();
        }
        let before = std::fs::metadata(&file).unwrap().permissions();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o777)).unwrap();
        match Store::open(&path, 0).map(drop) {
            Err(StoreError::Refused(refused)) => assert_eq!(refused.path, file),
            other => panic!("{}: {other:?}", file.display()),
        }
        std::fs::set_permissions(&file, before).unwrap();
        if made {
            std::fs::remove_file(&file).unwrap();
        }
    }
    Store::open(&path, 0).unwrap();
}
#[test]
fn a_database_in_a_directory_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, path) = file();
    drop(Store::open(&path, 0).unwrap());
    let directory = path.parent().unwrap();
    let mode = |mode| std::fs::set_permissions(directory, std::fs::Permissions::from_mode(mode)).unwrap();
    // In a directory with the sticky bit, other users cannot replace the database, but they can create a journal beside
    // it.
    for shared in [0o777, 0o1777] {
        mode(shared);
        match Store::open(&path, 0).map(drop) {
            Err(StoreError::Refused(refused)) => {
                assert_eq!(refused.path, directory);
                assert!(refused.to_string().contains("other users can write it (mode 777)"), "{refused}");
            }
            other => panic!("{shared:o}: {other:?}"),
        }
    }
    mode(0o755);
    Store::open(&path, 0).unwrap();
}

/// Returns the bytes of a rollback journal. SQLite would use it to replace the database beside it by the database at
/// `other`.
fn hot_journal(other: &Path) -> Vec<u8> {
    const SECTOR: usize = 512;
    let pages = std::fs::read(other).unwrap();
    let size = usize::from(u16::from_be_bytes([pages[16], pages[17]]));
    let count = u32::try_from(pages.len() / size).unwrap();
    let number = |n: usize| u32::try_from(n).unwrap().to_be_bytes();
    // <https://sqlite.org/fileformat2.html#the_rollback_journal>
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for field in [count, 0, count] {
        journal.extend(field.to_be_bytes());
    }
    journal.extend([number(SECTOR), number(size)].concat());
    journal.resize(SECTOR, 0);
    for (index, page) in pages.chunks(size).enumerate() {
        journal.extend(number(index + 1));
        journal.extend(page);
        // The checksum is the sum of every 200th byte, counted from the end of the page.
        let bytes = (1..).map_while(|step| size.checked_sub(200 * step)).filter(|at| *at > 0);
        journal.extend(bytes.map(|at| u32::from(page[at])).sum::<u32>().to_be_bytes());
    }
    journal
}
#[test]
fn a_journal_beside_the_log_does_not_replace_it() {
    let ((_one, path), (_two, other)) = (file(), file());
    for (path, record) in [(&path, "mine"), (&other, "theirs")] {
        let store = Store::open(path, 0).unwrap();
        commit(&store, &unit("p", "s", 0, &[&format!("{{\"kind\":\"{record}\"}}")], view(&store, "p", "s", 0)));
    }
    // Move all records from the WAL into the database file.
    let connection = rusqlite::Connection::open(&other).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let before = lines(&path);
    let journal = PathBuf::from(format!("{}-journal", path.display()));
    std::fs::write(&journal, hot_journal(&other)).unwrap();
    for refused in [Store::open(&path, 0).map(drop), super::database::read(&path).map(drop)] {
        match refused {
            Err(error @ StoreError::Altered { .. }) => assert!(error.to_string().contains("-journal"), "{error}"),
            other => panic!("{other:?}"),
        }
    }
    std::fs::remove_file(&journal).unwrap();
    assert_eq!(lines(&path), before);
}

#[tokio::test]
async fn another_process_has_its_turn_soon_after_events_that_are_recorded_soon() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookhost.db");
    let (one, other) = (Store::open(&path, 0).unwrap(), Store::open(&path, 0).unwrap());
    let (first, second) = (one.turn_queue("s"), other.turn_queue("s"));
    for n in 0..5 {
        for event in 0..3 {
            let turn = first.turn().await.unwrap();
            one.push(LateWrite::of(format!(r#"{{"kind":"event","n":{n},"event":{event}}}"#))).unwrap();
            drop(turn);
        }
        let turn = tokio::time::timeout(std::time::Duration::from_secs(10), second.turn())
            .await
            .expect("a ticket was kept")
            .unwrap();
        assert!(turn.is_stale && turn.is_after_another_store);
    }
}
