//! Tests of archives: nothing is lost at any point, and nobody can hide what is missing behind an archive.

use super::{Archives, MAX_RECORDS, open};
use crate::audit::{Flaw, Heads, Record, Report};
use crate::store::sqlite::{FollowFrom, FollowedLog, Log};
use crate::store::{Store, Unit};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A log of this many records after the first. The time of each is its number.
fn log(records: u64) -> (tempfile::TempDir, PathBuf, Store) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookhost.db");
    let store = Store::open(&path, 0).unwrap();
    append(&store, 2..=records + 1);
    (directory, path, store)
}

fn append(store: &Store, times: impl Iterator<Item = u64>) {
    let record = |time| format!(r#"{{"kind":"session-ended","session":"s{time}","time":{time}}}"#);
    let unit = Unit { records: times.map(record).collect(), ..Unit::default() };
    block_on(store.commit(&unit)).unwrap();
    block_on(store.flush()).unwrap();
}

fn archive(store: &Store, before: u64) -> Option<u64> {
    let written = store.write_archive(before, 1000).unwrap()?;
    block_on(store.commit_archive(&written)).unwrap();
    Some(written.record().through)
}

fn stored(path: &Path) -> Vec<String> {
    Log::open(path).unwrap().lines().unwrap().map(|line| line.unwrap().text().to_owned()).collect()
}

/// The lines of the log and of its archives.
fn all(path: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let unread = Log::open(path).unwrap().each_line(|line| lines.push(line.text().to_owned())).unwrap();
    assert_eq!(unread, [""; 0]);
    lines
}

fn verified(path: &Path) -> Report {
    Log::open(path).unwrap().verify(None).unwrap()
}

fn files(path: &Path) -> Vec<PathBuf> {
    Archives::of(path).list().unwrap().into_iter().map(|file| file.path).collect()
}

fn numbers(path: &Path) -> Vec<u64> {
    Log::open(path).unwrap().lines().unwrap().map(|line| line.unwrap().seq()).collect()
}

#[test]
fn old_records_move_into_a_file_as_they_were_and_the_chain_leads_through_it() {
    let (_directory, path, store) = log(9);
    let before = stored(&path);
    assert_eq!(archive(&store, 7), Some(6));
    assert_eq!(numbers(&path), [1, 7, 8, 9, 10, 11], "the first record stays, and a record about the archive is added");
    let [file] = &files(&path)[..] else { panic!("one file") };
    let archived: Vec<String> = open(file).unwrap().map(Result::unwrap).collect();
    assert_eq!(archived, before[1..6]);
    assert_eq!(all(&path)[..10], before[..]);
    let report = verified(&path);
    assert_eq!((report.lines, report.is_sound(), report.archived.as_slice()), (11, true, &[][..]));
    let last = Log::open(&path).unwrap().lines().unwrap().last().unwrap().unwrap().entry().unwrap();
    let Record::Archived(record) = last else { panic!("{last:?}") };
    assert_eq!((record.first, record.through, record.file.as_str()), (2, 6, "log-2-6.jsonl.lz"));
    assert_eq!(record.digest, crate::config::Digest::of_bytes(&std::fs::read(file).unwrap()));
}

#[test]
fn a_later_archive_begins_where_the_one_before_it_ends() {
    let (_directory, path, store) = log(9);
    let before = stored(&path);
    assert_eq!([archive(&store, 4), archive(&store, 8), archive(&store, 8)], [Some(3), Some(7), None]);
    append(&store, 20..=22);
    assert_eq!(all(&path)[..10], before[..]);
    assert!(verified(&path).is_sound());
    assert_eq!(files(&path).len(), 2);
    // Also the records about the first archives can be archived.
    assert_eq!(archive(&store, 1001), Some(15));
    assert_eq!(numbers(&path), [1, 16]);
    assert!(verified(&path).is_sound());
    assert_eq!(verified(&path).lines, 16);
}

#[test]
fn a_process_that_is_killed_at_any_point_loses_nothing() {
    let (_directory, path, store) = log(9);
    let before = stored(&path);
    // While it writes the file.
    let directory = Archives::of(&path).directory;
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join(".hookhost-1234"), "LZIP").unwrap();
    assert_eq!((stored(&path), verified(&path).is_sound()), (before.clone(), true));
    // After the file is complete, before the records are removed.
    let file = store.write_archive(7, 1000).unwrap().unwrap().record().file.clone();
    assert!(!directory.join(".hookhost-1234").exists());
    assert_eq!((stored(&path), verified(&path).is_sound()), (before.clone(), true));
    let modified = std::fs::metadata(directory.join(&file)).unwrap().modified().unwrap();
    // The next one continues with that file, although it would archive more.
    assert_eq!(archive(&store, 9), Some(6));
    assert_eq!(std::fs::metadata(directory.join(&file)).unwrap().modified().unwrap(), modified);
    assert_eq!(archive(&store, 9), Some(8));
    assert_eq!(all(&path)[..10], before[..]);
    assert!(verified(&path).is_sound());
    // After that, before anybody is told.
    drop(store);
    let store = Store::open(&path, 0).unwrap();
    append(&store, 30..=30);
    assert!(verified(&path).is_sound());
}

#[test]
fn a_file_that_was_left_incomplete_under_its_final_name_is_not_trusted() {
    let (_directory, path, store) = log(9);
    let written = store.write_archive(7, 1000).unwrap().unwrap();
    let file = files(&path).remove(0);
    drop(written);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    // It has the name of the archive to be written, so somebody has to look at it.
    assert!(store.write_archive(7, 1000).is_err());
    assert_eq!(stored(&path).len(), 10);
    // An archive of another range is written beside it.
    assert_eq!(archive(&store, 6), Some(5));
    assert!(verified(&path).is_sound());
}

#[test]
fn an_archive_that_is_elsewhere_is_named_and_is_no_flaw() {
    let (_directory, path, store) = log(9);
    archive(&store, 4);
    archive(&store, 8);
    let files = files(&path);
    std::fs::rename(&files[0], path.with_extension("elsewhere")).unwrap();
    assert_eq!((verified(&path).is_sound(), verified(&path).archived), (true, vec![(2, 3)]));
    std::fs::remove_file(&files[1]).unwrap();
    assert_eq!((verified(&path).is_sound(), verified(&path).archived), (true, vec![(2, 7)]));
}

#[test]
fn records_that_no_archive_has_are_missing_even_if_there_are_archives() {
    let (_directory, path, store) = log(9);
    archive(&store, 5);
    drop(store);
    let removed = |sql: &str| {
        let copy = path.with_extension("copy");
        let connection = Connection::open(&path).unwrap();
        connection.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
        let flaws = verified(&copy).flaws;
        std::fs::remove_file(&copy).unwrap();
        flaws
    };
    assert_eq!(removed("SELECT 1"), [], "the archive of the copy is elsewhere");
    assert_eq!(removed("DELETE FROM audit WHERE seq = 5"), [Flaw::Removed(2, 5)]);
    assert_eq!(removed("DELETE FROM audit WHERE seq = 7"), [Flaw::Removed(7, 7)]);
    // Without the record about it, an archive explains nothing.
    assert_eq!(removed("DELETE FROM audit WHERE seq = 11"), [Flaw::Removed(2, 4)]);
}

#[test]
fn an_archive_that_was_changed_is_a_flaw() {
    let (_directory, path, store) = log(9);
    archive(&store, 7);
    let file = files(&path).remove(0);
    let good = std::fs::read(&file).unwrap();
    let with = |lines: &[String]| {
        use lzma_rust2::{LzipOptions, LzipWriter};
        use std::io::Write as _;
        let mut writer = LzipWriter::new(Vec::new(), LzipOptions::with_preset(1));
        lines.iter().for_each(|line| writeln!(writer, "{line}").unwrap());
        std::fs::write(&file, writer.finish().unwrap()).unwrap();
        verified(&path).flaws
    };
    let lines: Vec<String> = {
        std::fs::write(&file, &good).unwrap();
        open(&file).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(with(&lines), []);
    let mut changed = lines.clone();
    changed[1] = changed[1].replace("s3", "s4");
    assert_eq!(with(&changed), [Flaw::Changed(3)]);
    assert_eq!(with(&lines[..3]), [Flaw::Removed(5, 6)]);
    assert_eq!(with(&lines[1..]), [Flaw::Removed(2, 2)]);
    // The file itself is cut or damaged.
    std::fs::write(&file, &good[..good.len() - 9]).unwrap();
    let flaws = verified(&path).flaws;
    assert!(
        flaws.iter().any(|flaw| matches!(flaw, Flaw::UnreadableArchive(what) if what.contains("log-2-6"))),
        "{flaws:?}"
    );
}

#[test]
fn nothing_is_archived_from_a_log_that_was_changed() {
    let (_directory, path, store) = log(9);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE audit SET line = replace(line, 's4', 's5') WHERE seq = 4")
        .unwrap();
    let Err(error) = store.write_archive(7, 1000) else { panic!("it is archived") };
    assert!(error.to_string().contains("record 4 is not as it was written, so nothing is archived"), "{error}");
    assert_eq!((files(&path).len(), numbers(&path).len()), (0, 10));
}

#[test]
fn only_one_process_archives_at_a_time() {
    let (_directory, path, store) = log(9);
    let other = Store::open(&path, 0).unwrap();
    let written = store.write_archive(7, 1000).unwrap().unwrap();
    assert!(other.write_archive(7, 1000).is_err_and(|error| error.to_string().contains("another hookhost archives")));
    block_on(store.commit_archive(&written)).unwrap();
    drop(written);
    assert!(other.write_archive(7, 1000).unwrap().is_none());
}

#[test]
fn an_archive_has_a_limited_number_of_records() {
    let (_directory, path, store) = log(MAX_RECORDS + 50);
    assert_eq!(archive(&store, u64::MAX), Some(MAX_RECORDS + 1));
    assert_eq!(numbers(&path)[..2], [1, MAX_RECORDS + 2]);
    assert!(verified(&path).is_sound());
}

#[test]
fn a_reader_that_begins_with_the_first_record_continues_after_the_archives() {
    let (_directory, path, store) = log(9);
    archive(&store, 7);
    let (mut followed, _) = FollowedLog::open(&path, FollowFrom::Beginning).unwrap();
    let numbers: Vec<u64> = followed.next_records(100).unwrap().iter().map(crate::audit::Line::seq).collect();
    assert_eq!(numbers, [1, 7, 8, 9, 10, 11]);
    assert_eq!(followed.next_records(100).unwrap(), []);
}

#[test]
fn a_reader_continues_after_an_archive_that_contains_the_record_that_it_read_last() {
    for read in [3, 6, 8] {
        let (_directory, path, store) = log(9);
        let (mut followed, _) = FollowedLog::open(&path, FollowFrom::Beginning).unwrap();
        followed.next_records(read).unwrap();
        archive(&store, 7);
        let numbers = |followed: &mut FollowedLog| -> Vec<u64> {
            followed.next_records(100).unwrap().iter().map(crate::audit::Line::seq).collect()
        };
        let expected: Vec<u64> = (7.max(read as u64 + 1)..=11).collect();
        let (mut restarted, is_other) = FollowedLog::open(&path, FollowFrom::After(followed.position())).unwrap();
        assert!(!is_other, "{read}");
        assert_eq!(numbers(&mut restarted), expected, "{read}");
        assert_eq!(numbers(&mut followed), expected, "{read}");
    }
}

#[test]
fn a_log_with_archives_is_still_verified_line_by_line() {
    let (_directory, path, store) = log(9);
    archive(&store, 7);
    let log = Log::open(&path).unwrap();
    let lines: Vec<u64> = log.verified_lines().unwrap().map(|line| line.unwrap().seq()).collect();
    assert_eq!(lines, [1, 7, 8, 9, 10, 11]);
    drop(log);
    Connection::open(&path).unwrap().execute_batch("DELETE FROM audit WHERE seq = 7").unwrap();
    let log = Log::open(&path).unwrap();
    assert!(log.verified_lines().unwrap().any(|line| line.is_err()));
}

#[test]
fn an_anchor_in_an_archive_is_found_there() {
    let (_directory, path, store) = log(9);
    let hash = Log::open(&path).unwrap().lines().unwrap().nth(3).unwrap().unwrap().hash();
    archive(&store, 7);
    let check = |seq: u64| {
        let mut heads = Heads::default();
        heads.anchored.insert((seq, hash));
        let report = Log::open(&path).unwrap().verify_with(&heads, |_| {}).unwrap();
        (report.anchors_found, report.flaws)
    };
    assert_eq!(check(4), (1, vec![]));
    assert_eq!(check(5), (0, vec![Flaw::AnchorDiffers(5)]));
    assert_eq!(check(50), (0, vec![Flaw::AnchorMissing(50)]));
    std::fs::remove_file(files(&path).remove(0)).unwrap();
    assert_eq!(check(4), (0, vec![]), "the record is elsewhere");
}
