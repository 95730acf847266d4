use super::Log;
use crate::audit::next;
use crate::audit::{BEFORE_THE_FIRST, FORMAT, Flaw, Line, Report};
use crate::store::{Store, Unit};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The lines of a log: its first record, and then sessions that open and end.
fn log(records: u64) -> Vec<Line> {
    let bodies = (0..records).map(|number| match number {
        0 => format!(r#"{{"kind":"log","version":{FORMAT},"time":0}}"#),
        _ => format!(r#"{{"kind":"session-ended","session":"s{number}","time":{number}}}"#),
    });
    let mut lines: Vec<Line> = Vec::new();
    for body in bodies {
        let (seq, previous) = lines.last().map_or((0, BEFORE_THE_FIRST), |last| (last.seq(), last.hash()));
        lines.push(next(seq, &previous, &body));
    }
    lines
}

struct Export {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn export(texts: &[impl AsRef<str>]) -> Export {
    let text: String = texts.iter().map(|text| format!("{}\n", text.as_ref())).collect();
    write(text.as_bytes())
}

fn write(bytes: &[u8]) -> Export {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    std::fs::write(&path, bytes).unwrap();
    Export { _directory: directory, path }
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| line.text().to_owned()).collect()
}

fn verified(export: &Export) -> Report {
    Log::open(&export.path).unwrap().verify(None).unwrap()
}

fn flaws(texts: &[impl AsRef<str>]) -> Vec<Flaw> {
    verified(&export(texts)).flaws
}

/// The JSON of a record after a change.
fn changed(text: &str) -> String {
    text.replace(r#""session":"s"#, r#""session":"t"#)
}

proptest! {
    #[test]
    fn a_log_as_it_was_written_is_sound_and_has_its_last_lines_hash_as_head(records in 1_u64..20) {
        let lines = log(records);
        let report = verified(&export(&texts(&lines)));
        prop_assert!(report.is_sound(), "{report:?}");
        prop_assert_eq!(report.lines, records);
        prop_assert_eq!(report.head, Some(lines[lines.len() - 1].hash()));
        for line in &lines {
            let report = Log::open(&export(&texts(&lines)).path).unwrap().verify(Some(line.hash())).unwrap();
            prop_assert!(report.is_sound());
            prop_assert_eq!(report.head_at, Some(line.seq()));
        }
    }

    #[test]
    fn every_changed_record_but_the_last_is_named(records in 3_usize..20, at in 1_usize..19) {
        let at = 1 + at % (records - 2);
        let mut texts = texts(&log(records as u64));
        texts[at] = changed(&texts[at]);
        prop_assert_eq!(flaws(&texts), [Flaw::Changed(at as u64 + 1)]);
    }

    #[test]
    fn no_byte_of_a_line_can_be_changed_unnoticed(records in 3_usize..6, at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let whole: String = texts(&log(records as u64)).iter().map(|text| format!("{text}\n")).collect();
        let before_last = whole.trim_end().rfind('\n').unwrap();
        let mut bytes = whole.into_bytes();
        let at = at.index(before_last);
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        let export = write(&bytes);
        let report = Log::open(&export.path).and_then(|log| log.verify(None));
        prop_assert!(report.is_err() || !report.as_ref().unwrap().is_sound(), "{at}: {report:?}");
    }

    #[test]
    fn records_that_were_removed_are_named(records in 3_usize..20, first in 0_usize..18, count in 1_usize..5) {
        let first = first % (records - 1);
        let last = (first + count).min(records - 1);
        let mut texts = texts(&log(records as u64));
        texts.drain(first..last);
        prop_assert_eq!(flaws(&texts), [Flaw::Removed(first as u64 + 1, last as u64)]);
    }

    #[test]
    fn a_record_that_was_moved_is_named(records in 3_usize..20, from in 0_usize..19, to in 0_usize..19) {
        let (from, to) = (from % records, to % records);
        prop_assume!(from != to);
        let mut texts = texts(&log(records as u64));
        let text = texts.remove(from);
        texts.insert(to, text);
        // Of two neighbours, either may have been moved.
        let either = [from as u64 + 1, to as u64 + 1];
        match &flaws(&texts)[..] {
            [Flaw::Moved(seq)] if from.abs_diff(to) == 1 => prop_assert!(either.contains(seq)),
            flaws => prop_assert_eq!(flaws, [Flaw::Moved(from as u64 + 1)]),
        }
    }

    #[test]
    fn a_duplicate_record_is_named(records in 2_usize..20, which in 0_usize..19, at in 0_usize..19) {
        let (which, at) = (which % records, at % (records + 1));
        let mut texts = texts(&log(records as u64));
        texts.insert(at, texts[which].clone());
        prop_assert_eq!(flaws(&texts), [Flaw::Twice(which as u64 + 1)]);
    }

    #[test]
    fn a_log_that_ends_in_the_middle_of_a_line_is_sound_up_to_there(records in 2_usize..10, cut in any::<prop::sample::Index>()) {
        let texts = texts(&log(records as u64));
        let (last, whole) = texts.split_last().unwrap();
        let mut bytes: Vec<u8> = whole.iter().flat_map(|text| format!("{text}\n").into_bytes()).collect();
        bytes.extend(&last.as_bytes()[..1 + cut.index(last.len() - 2)]);
        let report = verified(&write(&bytes));
        prop_assert!(report.is_sound(), "{report:?}");
        prop_assert_eq!(report.cut_at, Some(records as u64));
        prop_assert_eq!(report.lines, records as u64 - 1);
    }

    #[test]
    fn whatever_a_file_holds_is_reported(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        let export = write(&bytes);
        // Random bytes are not opened as a log. A text that only begins like a log is opened, but it is not sound.
        prop_assert!(Log::open(&export.path).is_err());
        let mut begun = br#"{"seq":"#.to_vec();
        begun.extend(bytes);
        let report = Log::open(&write(&begun).path).unwrap().verify(None).unwrap();
        prop_assert!(!report.is_sound(), "{report:?}");
    }
}

#[test]
fn a_log_without_its_end_is_sound_but_lacks_the_noted_head() {
    let lines = log(5);
    let head = lines[4].hash();
    let report = Log::open(&export(&texts(&lines[..4])).path).unwrap().verify(Some(head)).unwrap();
    assert_eq!(report.flaws, [Flaw::HeadMissing(head)]);
    // The same holds for a log whose hashes were all recomputed.
    let rewritten: Vec<String> = {
        let mut lines: Vec<Line> = Vec::new();
        for number in 0..5 {
            let (seq, previous) = lines.last().map_or((0, BEFORE_THE_FIRST), |last| (last.seq(), last.hash()));
            lines.push(next(seq, &previous, &format!(r#"{{"kind":"log","version":{FORMAT},"time":{number}}}"#)));
        }
        texts(&lines)
    };
    let report = Log::open(&export(&rewritten).path).unwrap().verify(Some(head)).unwrap();
    assert_eq!(report.flaws, [Flaw::HeadMissing(head)]);
}

#[test]
fn a_line_that_is_not_a_record_is_named_by_its_number() {
    let mut texts = texts(&log(4));
    texts[1] = "rubbish".into();
    let flaws = flaws(&texts);
    assert!(matches!(&flaws[..], [Flaw::Unreadable { line: 2, .. }, Flaw::Removed(2, 2)]), "{flaws:?}");
}

#[test]
fn a_log_of_another_version_is_not_judged() {
    for version in [FORMAT - 1, FORMAT + 1] {
        let begins = format!(r#"{{"kind":"log","version":{version},"time":0}}"#);
        let text = next(0, &BEFORE_THE_FIRST, &begins).text().to_owned();
        let error = Log::open(&export(&[text]).path).unwrap().verify(None).unwrap_err();
        let says = format!("has format {version}, and this hookhost knows format {FORMAT}");
        assert!(error.to_string().contains(&says), "{error}");
    }
}

#[test]
fn sessions_without_an_end_are_reported() {
    let bodies = [
        format!(r#"{{"kind":"log","version":{FORMAT},"time":0}}"#),
        opened("a"),
        opened("b"),
        r#"{"kind":"session-ended","session":"a","time":0}"#.into(),
    ];
    let mut lines: Vec<Line> = Vec::new();
    for body in &bodies {
        let (seq, previous) = lines.last().map_or((0, BEFORE_THE_FIRST), |last| (last.seq(), last.hash()));
        lines.push(next(seq, &previous, body));
    }
    assert_eq!(verified(&export(&texts(&lines))).open_sessions, BTreeMap::from([("b".to_owned(), 3)]));
}

fn opened(session: &str) -> String {
    format!(
        r#"{{"kind":"session","session":"{session}","time":0,"agent":"a","cwd":"/","workspace":"/","depth":0,"interactive":false,"tools":[],"models":[]}}"#
    )
}

/// A database with ten records after the first.
async fn database(path: &Path) -> rusqlite::Connection {
    let store = Store::open(path, 0).unwrap();
    for number in 0..10 {
        let record = format!(r#"{{"kind":"session-ended","session":"s{number}","time":{number}}}"#);
        let unit = Unit { records: vec![record], session: "s".into(), root: "s".into(), ..Unit::default() };
        store.commit(&unit).await.unwrap();
    }
    drop(store);
    rusqlite::Connection::open(path).unwrap()
}

#[tokio::test]
async fn each_change_of_a_database_is_named() {
    let cases: [(&str, &[Flaw]); 9] = [
        ("UPDATE audit SET line = replace(line, 'session-ended', 'session-ender') WHERE seq = 4", &[Flaw::Changed(4)]),
        // A change of the last line is found as well, because the stored hash no longer matches the line.
        ("UPDATE audit SET line = replace(line, '\"s9\"', '\"t9\"') WHERE seq = 11", &[Flaw::Changed(11)]),
        ("UPDATE audit SET hash = zeroblob(32) WHERE seq = 4", &[Flaw::Changed(4)]),
        ("DELETE FROM audit", &[Flaw::NoBeginning]),
        ("DELETE FROM audit WHERE seq = 1", &[Flaw::Removed(1, 1)]),
        ("UPDATE audit SET seq = 1000 WHERE seq = 11", &[Flaw::Moved(11)]),
        ("UPDATE audit SET seq = -11 WHERE seq = 11", &[Flaw::Moved(11)]),
        ("DELETE FROM audit WHERE seq IN (3, 4, 6)", &[Flaw::Removed(3, 4), Flaw::Removed(6, 6)]),
        (
            "DELETE FROM audit WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 9",
            &[Flaw::Moved(9), Flaw::Removed(5, 5)],
        ),
    ];
    for (done, expected) in cases {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hookhost.db");
        let connection = database(&path).await;
        assert_eq!(Log::open(&path).unwrap().verify(None).unwrap().flaws, []);
        connection.execute_batch(done).unwrap();
        let report = Log::open(&path).unwrap().verify(None).unwrap();
        assert_eq!(report.flaws, expected, "{done}");
    }
}

#[tokio::test]
async fn a_log_whose_last_number_is_the_highest_possible_one_is_damaged() {
    for number in ["9223372036854775807", "-5"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hookhost.db");
        let connection = database(&path).await;
        connection.execute_batch(&format!("UPDATE audit SET seq = {number} WHERE seq = 11")).unwrap();
        if number == "-5" {
            connection.execute_batch("DELETE FROM audit WHERE seq > 0").unwrap();
        }
        drop(connection);
        let error = Store::open(&path, 0).err().unwrap().to_string();
        assert!(error.contains("is damaged"), "{error}");
    }
}

#[tokio::test]
async fn rows_out_of_order_are_reported_as_damage_and_are_not_read_twice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookhost.db");
    let connection = database(&path).await;
    let page: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0)).unwrap();
    let page = page as usize;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    // The second page is the only page of the table. It begins with a header of eight bytes. After the header, there
    // are two bytes for the position of each row.
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(bytes[page], 13, "a leaf");
    let rows = usize::from(u16::from_be_bytes([bytes[page + 3], bytes[page + 4]]));
    let places = page + 8..page + 8 + 2 * rows;
    let reversed: Vec<u8> = bytes[places.clone()].rchunks(2).flatten().copied().collect();
    bytes[places].copy_from_slice(&reversed);
    std::fs::write(&path, &bytes).unwrap();
    let log = Log::open(&path).unwrap();
    let read: Vec<_> = log.lines().unwrap().take(100).collect();
    assert!(read.len() < 100, "it ends");
    let error = read.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(error.contains("is damaged (record 10 is out of order: its number must be at least 12)"), "{error}");
    assert!(log.verify(None).unwrap_err().to_string().contains("is damaged"));
}

#[tokio::test]
async fn a_query_that_takes_more_steps_than_the_file_can_need_is_given_up_as_damage() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookhost.db");
    drop(database(&path).await);
    let opened = crate::store::sqlite::database::read(&path).unwrap();
    let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let count = || opened.connection.query_row(endless, [], |row| row.get::<_, i64>(0));
    let error = crate::store::StoreError::of(&count().unwrap_err(), &path).to_string();
    assert!(error.contains("is damaged (reading it takes more steps than a file of its size can need)"), "{error}");
    // After a reset, the next query may again take the full number of steps.
    opened.steps.begin();
    opened.connection.query_row("SELECT count(*) FROM space", [], |row| row.get::<_, i64>(0)).unwrap();
}

#[test]
fn many_duplicate_records_out_of_order_are_found_in_time() {
    let lines = texts(&log(20_000));
    let mut shuffled: Vec<&str> = lines.iter().flat_map(|line| [line.as_str(), line.as_str()]).collect();
    shuffled.reverse();
    let report = verified(&export(&shuffled));
    assert_eq!(report.lines, 40_000);
    assert!(report.more_flaws > 0);
}
