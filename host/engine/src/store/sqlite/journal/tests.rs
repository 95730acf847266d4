//! Tests that each record of a journal is in the log exactly once, no matter when its process was killed, and that
//! damage is reported.

use super::*;
use crate::store::sqlite::{Log, LogError, database, take_in};
use crate::store::{LateWrite, Store, Unit};
use std::time::Instant;

const LOG: Digest = Digest::from_bytes([7; 32]);

const ID: &str = "0123456789abcdef";

/// The bytes of a journal with these records.
fn written(records: &[&str]) -> Vec<u8> {
    let mut bytes = header(LOG, ID);
    records.iter().for_each(|record| frame(&mut bytes, 0, record));
    bytes
}

/// The record with this number.
fn record(number: usize) -> String {
    format!(r#"{{"kind":"event","n":{number}}}"#)
}

fn records(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(record).collect()
}

#[test]
fn of_a_journal_that_is_cut_at_any_byte_all_records_before_the_cut_are_read() {
    let records = ["a", "", "a longer record", "ü"];
    let bytes = written(&records);
    for cut in 0..=bytes.len() {
        let whole: Vec<&str> = (0..=records.len())
            .rev()
            .map(|count| &records[..count])
            .find(|some| written(some).len() <= cut)
            .unwrap_or(&[])
            .to_vec();
        let read = read(&bytes[..cut], 0, LOG, ID);
        assert_eq!((read.records, read.problem), (whole, None), "cut at {cut}");
    }
}

#[test]
fn a_journal_in_which_any_byte_is_another_one_is_damaged_after_what_comes_before_it() {
    let records = ["a", "", "a longer record", "ü"];
    let bytes = written(&records);
    for at in 0..bytes.len() {
        for change in [1, 0x80, bytes[at]].into_iter().filter(|change| *change != 0) {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let read = read(&damaged, 0, LOG, ID);
            let before = (0..=records.len()).rev().find(|count| written(&records[..*count]).len() <= at).unwrap_or(0);
            assert!(read.problem.is_some(), "byte {at}");
            assert_eq!(read.records, records[..before], "byte {at}");
        }
    }
}

#[test]
fn a_record_in_another_place_is_damage_and_blank_bytes_at_the_end_are_none() {
    let bytes = written(&["one", "two"]);
    let one = written(&["one"]);
    let twice = [&one[..], &one[header(LOG, ID).len()..]].concat();
    assert_eq!(read(&twice, 0, LOG, ID).problem, Some("the length of a record is not as it was written"));
    let blank = [&bytes[..], &[0; 100]].concat();
    assert_eq!(
        read(&blank, 0, LOG, ID),
        JournalContents { records: vec!["one", "two"], end: bytes.len() as u64, problem: None }
    );
    assert_eq!(read(&[0; 100], 0, LOG, ID).problem, None);
    // Reading can begin after the part that was already imported.
    let rest = read(&bytes[one.len()..], one.len() as u64, LOG, ID);
    assert_eq!((rest.records, rest.end, rest.problem), (vec!["two"], bytes.len() as u64, None));
    assert_eq!(read(&bytes, 0, Digest::from_bytes([8; 32]), ID).problem, Some("its records are those of another log"));
}

/// A database, and its path without links.
fn database() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("state/hookhost.db");
    drop(Store::open(&path, 0).unwrap());
    (directory, path)
}

/// Simulates the store of another process. It has no flusher, so nothing moves its records into the database.
struct Other {
    journal: Journal,
    files: Files,
}

impl Other {
    fn of(path: &Path) -> Self {
        let created = database::create(path, 0).unwrap();
        let journal = Journal::new(Directory::of(path), take_in::log_of(&created, path).unwrap());
        Self { journal, files: Files::new(path, created.file, database::wal(path), None) }
    }

    fn records(&mut self, numbers: std::ops::Range<usize>) {
        let records = records(numbers);
        self.journal.append(&mut self.files, records.iter().map(|record| &**record)).unwrap().unwrap();
    }

    fn file(&self) -> PathBuf {
        self.journal.current.as_ref().unwrap().path.clone()
    }

    /// Simulates that the process is killed. Returns the journal that is left.
    fn killed(self) -> PathBuf {
        self.file()
    }
}

/// Checks that the log is sound, and returns the numbers of its records.
fn numbers(path: &Path) -> Vec<usize> {
    let log = Log::open(path).unwrap();
    let lines: Vec<_> = log.lines().unwrap().skip(1).map(|line| line.unwrap().text().to_owned()).collect();
    let report = log.verify(None).unwrap();
    assert!(report.is_sound(), "{report:?}");
    let number = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["n"].as_u64().unwrap();
    lines.iter().map(|line| usize::try_from(number(line)).unwrap()).collect()
}

fn all(end: usize) -> Vec<usize> {
    (0..end).collect()
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn commit(store: &Store, number: usize) {
    block_on(store.commit(&Unit { records: vec![record(number)], ..Unit::default() })).unwrap();
}

fn journals(path: &Path) -> Vec<String> {
    Directory::of(path).list().unwrap()
}

#[test]
fn what_a_killed_process_has_left_is_taken_in_once_by_the_next_store() {
    let (_directory, path) = database();
    let mut other = Other::of(&path);
    other.records(0..2);
    other.records(2..3);
    let left = other.killed();
    let store = Store::open(&path, 0).unwrap();
    assert!(!left.exists());
    commit(&store, 3);
    drop(store);
    drop(Store::open(&path, 0).unwrap());
    assert_eq!(numbers(&path), all(4));
    assert_eq!(journals(&path), [""; 0]);
}

#[test]
fn a_reader_shows_what_a_killed_process_has_left_and_writes_nothing() {
    let (_directory, path) = database();
    let mut other = Other::of(&path);
    other.records(0..2);
    let left = other.killed();
    let bytes = || [&path, &database::wal(&path), &left].map(|file| std::fs::read(file).unwrap_or_default());
    let before = bytes();
    let log = Log::open(&path).unwrap();
    assert_eq!(log.last().unwrap(), 3);
    let read: Vec<_> = log.lines().unwrap().map(|line| line.unwrap().text().to_owned()).collect();
    assert_eq!(log.lines_after(2).unwrap().map(|line| line.unwrap().seq()).collect::<Vec<_>>(), [3]);
    assert!(log.verify(None).unwrap().is_sound());
    let log = log.only_stored();
    assert_eq!((log.last().unwrap(), log.lines().unwrap().count()), (1, 1));
    assert!(bytes() == before, "something was written");
    // The next store imports the records as the same lines.
    drop(Store::open(&path, 0).unwrap());
    assert!(!left.exists());
    let stored: Vec<_> = log.lines().unwrap().map(|line| line.unwrap().text().to_owned()).collect();
    assert_eq!(stored, read);
}

#[test]
fn the_records_of_a_live_process_are_read_as_they_come_and_taken_in_while_it_lives() {
    let (_directory, path) = database();
    let mut other = Other::of(&path);
    for end in 1..7 {
        other.records(end - 1..end);
        assert_eq!(numbers(&path), all(end));
        if end % 2 == 0 {
            drop(Store::open(&path, 0).unwrap());
            assert_eq!(numbers(&path), all(end));
        }
        assert!(other.file().exists(), "its process is alive");
    }
    // The killed process did not know that all of its journal was imported, so the file is still there. The next
    // process removes it.
    let left = other.killed();
    assert!(left.exists());
    drop(Store::open(&path, 0).unwrap());
    assert_eq!(numbers(&path), all(6));
    assert!(!left.exists());
}

#[test]
fn a_store_writes_no_record_that_another_process_has_taken_in() {
    let (_directory, path) = database();
    let store = Store::open(&path, 0).unwrap();
    for number in 0..20 {
        commit(&store, number);
        if number % 3 == 0 {
            drop(Store::open(&path, 0).unwrap());
            assert_eq!(numbers(&path), all(number + 1));
        }
        if number % 7 == 0 {
            block_on(store.flush()).unwrap();
        }
    }
    drop(store);
    assert_eq!(numbers(&path), all(20));
    assert_eq!(journals(&path), [""; 0]);
}

#[test]
fn an_event_without_effects_waits_for_no_other_process() {
    let (_directory, path) = database();
    let store = Store::open(&path, 0).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    commit(&store, 0);
    other.execute_batch("ROLLBACK").unwrap();
    drop(store);
    assert_eq!(numbers(&path), all(1));
}

#[test]
fn what_may_be_late_comes_before_what_is_recorded_after_it_also_where_the_process_is_killed() {
    let (_directory, path) = database();
    let store = Store::open(&path, 0).unwrap();
    // The database is locked, so the records can only be in the journal.
    let locks = rusqlite::Connection::open(&path).unwrap();
    locks.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.push(LateWrite::of(record(0))).unwrap();
    commit(&store, 1);
    let [id] = &journals(&path)[..] else { panic!("{:?}", journals(&path)) };
    let bytes = std::fs::read(Directory::of(&path).file(id)).unwrap();
    let log = database::first_hash(&locks).unwrap();
    assert_eq!(read(&bytes, 0, log, id).records, records(0..2));
    locks.execute_batch("ROLLBACK").unwrap();
    drop(store);
    assert_eq!(numbers(&path), all(2));
}

#[test]
fn a_journal_that_is_cut_or_damaged_at_any_byte_lacks_nothing_silently() {
    let (_directory, path) = database();
    let mut other = Other::of(&path);
    other.records(0..1);
    let first = std::fs::metadata(other.file()).unwrap().len();
    other.records(1..2);
    let left = other.killed();
    let bytes = std::fs::read(&left).unwrap();
    let before = std::fs::read(&path).unwrap();
    let wal = std::fs::read(database::wal(&path)).unwrap_or_default();
    let restore = || {
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
        }
        std::fs::write(&path, &before).unwrap();
        if !wal.is_empty() {
            std::fs::write(database::wal(&path), &wal).unwrap();
        }
    };
    for at in 0..bytes.len() {
        let is_behind_first = at as u64 >= first;
        restore();
        std::fs::write(&left, &bytes[..at]).unwrap();
        drop(Store::open(&path, 0).unwrap());
        assert_eq!(numbers(&path), all(usize::from(is_behind_first)), "cut at {at}");

        restore();
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&left, damaged).unwrap();
        match Store::open(&path, 0).map(drop) {
            Err(StoreError::Damaged { path, .. }) => assert_eq!(path, left),
            other => panic!("byte {at}: {other:?}"),
        }
        let told = Log::open(&path).unwrap().lines().map(drop).unwrap_err();
        assert!(matches!(told, LogError::Store(StoreError::Damaged { .. })), "{told}");
        // Nothing was lost: when the original bytes are restored, all records are read.
        std::fs::write(&left, &bytes).unwrap();
        assert_eq!(numbers(&path), all(2), "byte {at}");
    }
}

#[test]
fn a_journal_of_another_log_is_not_taken_in() {
    let ((_one, path), (_other, second)) = (database(), database());
    drop(std::fs::remove_file(&second));
    drop(Store::open(&second, 1).unwrap());
    let mut other = Other::of(&second);
    other.records(0..1);
    let left = other.killed();
    let stray = Directory::of(&path).file("0123456789abcdef");
    std::fs::rename(left, &stray).unwrap();
    let told = Store::open(&path, 0).err().unwrap().to_string();
    assert!(told.contains("its records are those of another log"), "{told}");
    assert!(stray.exists());
    std::fs::remove_file(stray).unwrap();
    assert_eq!(numbers(&path), all(0));
}

#[test]
fn a_copy_of_a_journal_under_another_name_is_not_taken_in_beside_it() {
    let (_directory, path) = database();
    let mut other = Other::of(&path);
    other.records(0..2);
    let copy = Directory::of(&path).file(ID);
    // `fs::copy` keeps the mode, as `cp -a` does.
    std::fs::copy(other.file(), &copy).unwrap();
    let told = Store::open(&path, 0).err().unwrap().to_string();
    assert!(told.contains(ID) && told.contains("it is a copy") && told.contains("move it away"), "{told}");
    let left = other.killed();
    std::fs::remove_file(copy).unwrap();
    drop(Store::open(&path, 0).unwrap());
    assert_eq!(numbers(&path), all(2));
    assert!(!left.exists());
}

#[test]
fn a_journal_of_an_earlier_version_is_taken_in() {
    let mut bytes = [&NAMELESS_MAGIC[..], LOG.as_bytes()].concat();
    frame(&mut bytes, 0, "one");
    assert_eq!(
        read(&bytes, 0, LOG, ID),
        JournalContents { records: vec!["one"], end: bytes.len() as u64, problem: None }
    );
}
#[test]
fn a_journal_that_others_can_write_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_directory, path) = database();
    let mut other = Other::of(&path);
    other.records(0..1);
    let left = other.killed();
    let mode = |mode| std::fs::set_permissions(&left, std::fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(std::fs::metadata(&left).unwrap().permissions().mode() & 0o777, 0o600);
    mode(0o666);
    match Store::open(&path, 0).map(drop) {
        Err(StoreError::Refused(refused)) => assert_eq!(refused.path, left),
        other => panic!("{other:?}"),
    }
    mode(0o600);
    assert_eq!(numbers(&path), all(1));
}

#[test]
fn a_journal_that_is_removed_under_its_store_loses_nothing_while_that_lives() {
    let (_directory, path) = database();
    let store = Store::open(&path, 0).unwrap();
    let locks = rusqlite::Connection::open(&path).unwrap();
    locks.execute_batch("BEGIN IMMEDIATE").unwrap();
    commit(&store, 0);
    journals(&path).iter().for_each(|id| std::fs::remove_file(Directory::of(&path).file(id)).unwrap());
    locks.execute_batch("ROLLBACK").unwrap();
    commit(&store, 1);
    drop(store);
    assert_eq!(numbers(&path), all(2));
}

#[test]
fn journals_do_not_pile_up_and_neither_do_their_rows() {
    let (_directory, path) = database();
    let store = Store::open(&path, 0).unwrap();
    let text = "x".repeat(256 << 10);
    let began = Instant::now();
    for number in 0..64 {
        let record = format!(r#"{{"kind":"event","n":{number},"text":"{text}"}}"#);
        block_on(store.commit(&Unit { records: vec![record], ..Unit::default() })).unwrap();
    }
    block_on(store.flush()).unwrap();
    assert!(journals(&path).len() <= 1, "{:?} after {:?}", journals(&path), began.elapsed());
    drop(store);
    commit(&Store::open(&path, 0).unwrap(), 64);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let rows: u32 = connection.query_row("SELECT count(*) FROM session WHERE id <> ''", [], |row| row.get(0)).unwrap();
    assert!(rows <= 2, "{rows}");
    assert_eq!(numbers(&path), all(65));
}
