//! Tests that a snapshot shows one moment of the state, no matter what is written meanwhile, and whether it is read
//! from the database or from memory.

use super::super::database;
use super::*;
use crate::state::View;
use crate::store::{Store, Unit};

const S: Lineage<'_> = Lineage { session: "s", root: "r" };

fn store() -> (tempfile::TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("hookhost.db"), 0).unwrap();
    (directory, store)
}

fn set(store: &Store, keys: &[&str], value: &str) {
    let mut view = View::new(store.snapshot(&"p".into(), S, 0), 1 << 20, 0);
    for key in keys {
        view.set(Scope::Plugin, key, value.into(), None).unwrap();
    }
    let unit = Unit { writes: vec![("p".into(), view.into_parts().0)], session: "s".into(), ..Unit::default() };
    commit(store, &unit);
}

/// Retries while the store's own thread runs a checkpoint.
fn commit(store: &Store, unit: &Unit) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(store.commit(unit)).unwrap();
}

fn get(snapshot: &Arc<dyn Source>, key: &str) -> String {
    match snapshot.value(Scope::Plugin, key) {
        Ok(Found::Value(Some(value))) => String::from_utf8(value).unwrap(),
        other => format!("{other:?}"),
    }
}

#[test]
fn keys_that_are_read_later_are_of_the_same_moment() {
    let (_directory, store) = store();
    set(&store, &["a", "b"], "1");
    let snapshot = store.snapshot(&"p".into(), S, 0);
    assert_eq!(get(&snapshot, "a"), "1");
    set(&store, &["a", "b", "c"], "2");
    let other = Store::open(&store.on_disk().unwrap().path, 0).unwrap();
    set(&other, &["b", "c"], "3");
    assert_eq!(
        (get(&snapshot, "a"), get(&snapshot, "b"), get(&snapshot, "c")),
        ("1".into(), "1".into(), "Ok(Value(None))".into())
    );
    let later = store.snapshot(&"p".into(), S, 0);
    assert_eq!((get(&later, "a"), get(&later, "b"), get(&later, "c")), ("2".into(), "3".into(), "3".into()));
}

#[test]
fn a_snapshot_that_is_moved_into_memory_stays_the_same() {
    let (_directory, store) = store();
    set(&store, &["a", "b"], "1");
    let snapshot = store.snapshot(&"p".into(), S, 0);
    assert_eq!(get(&snapshot, "a"), "1");
    let usage = snapshot.usage();
    set(&store, &["b", "c"], "2");
    store.on_disk().unwrap().readers.end_transactions();
    set(&store, &["a"], "3");
    assert_eq!(
        (get(&snapshot, "a"), get(&snapshot, "b"), get(&snapshot, "c")),
        ("1".into(), "1".into(), "Ok(Value(None))".into())
    );
    assert_eq!(snapshot.usage(), usage);
    assert_eq!(snapshot.size(Scope::Plugin, "b"), Ok(Some(2)));
}

#[test]
fn any_number_of_events_read_their_own_snapshots_over_a_bounded_number_of_connections() {
    let (_directory, store) = store();
    let mut snapshots = Vec::new();
    for number in 0..3 * MAX_READERS {
        set(&store, &["a", "b"], &number.to_string());
        let snapshot = store.snapshot(&"p".into(), S, 0);
        assert_eq!(get(&snapshot, "a"), number.to_string());
        snapshots.push(snapshot);
    }
    for (number, snapshot) in snapshots.iter().enumerate() {
        assert_eq!(get(snapshot, "b"), number.to_string());
    }
    let readers = &store.on_disk().unwrap().readers;
    let open = locked(&readers.pool).open;
    assert!(open <= MAX_READERS, "{open}");
    drop(snapshots);
    let pool = locked(&readers.pool);
    assert_eq!(pool.free.len(), pool.open);
}

#[test]
fn an_event_that_reads_for_long_does_not_keep_the_wal_from_restarting() {
    let (_directory, store) = store();
    set(&store, &["a", "b"], "1");
    let snapshot = store.snapshot(&"p".into(), S, 0);
    assert_eq!(get(&snapshot, "a"), "1");
    let wal = database::wal(&store.on_disk().unwrap().path);
    let record = format!("{{\"event\":\"{}\"}}", "x".repeat(64 << 10));
    let unit = Unit { records: vec![record], ..Unit::default() };
    let mut size = 0;
    let is_restarted = (0..4096).any(|_| {
        commit(&store, &unit);
        let before = std::mem::replace(&mut size, std::fs::metadata(&wal).unwrap().len());
        size < before
    });
    assert!(is_restarted, "the WAL has {size} bytes");
    assert_eq!(get(&snapshot, "b"), "1");
}

#[test]
fn a_state_that_is_not_used_costs_no_connection() {
    let (_directory, store) = store();
    drop(store.snapshot(&"p".into(), S, 0));
    assert_eq!(locked(&store.on_disk().unwrap().readers.pool).open, 0);
}

#[test]
fn a_session_and_that_no_question_waits_are_read_over_the_connection_that_writes_while_nobody_writes() {
    let (_directory, store) = store();
    let disk = store.on_disk().unwrap();
    let open = || locked(&disk.readers.pool).open;
    let questions = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(store.questions()).unwrap().len()
    };
    assert_eq!((questions(), store.session("s").unwrap().version, open()), (0, 0, 0));
    let writes = locked(&disk.inner);
    assert_eq!((store.session("s").unwrap().version, open()), (0, 1));
    drop(writes);
    assert_eq!((questions(), open()), (0, 1));
}
