//! Tests of anchors: what they find, and what they cannot find.

use super::{Anchor, AnchorError, AnchorPlace, Anchors, FILE, git, parsed};
use hookhost::audit::{Heads, Line};
use hookhost::config::Digest;
use hookhost::store::Log;
use std::path::{Path, PathBuf};

/// The bodies of records after their numbers and hashes.
fn bodies(name: &str, count: u64) -> Vec<String> {
    let first = r#""kind":"log","version":2,"time":7}"#.to_owned();
    let further =
        (2..=count).map(|number| format!(r#""kind":"session-ended","session":"{name}{number}","time":{number}}}"#));
    std::iter::once(first).chain(further).collect()
}

/// Makes a chain of these records, as whoever rewrites a log would.
pub(crate) fn chained(bodies: &[String]) -> Vec<String> {
    let mut previous = "0".repeat(64);
    let mut lines = Vec::new();
    for (number, body) in (1..).zip(bodies) {
        let line = format!(r#"{{"seq":{number},"previous":"{previous}",{body}"#);
        previous = Digest::of_bytes(line.as_bytes()).to_string();
        lines.push(line);
    }
    lines
}

fn anchor(lines: &[String], number: usize) -> Anchor {
    let head = Line::parse(&lines[number - 1]).unwrap().hash();
    let log = Line::parse(&lines[0]).unwrap().hash();
    Anchor { log, seq: number as u64, head, time: 1_760_000_000_000, machine: "m".to_owned() }
}

/// Returns the flaws of a log that is checked against anchors.
fn flaws(lines: &[String], anchors: &Anchors) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let log = Log::open(&path).unwrap();
    let heads = anchors.heads(&log).unwrap();
    let report = log.verify_with(&heads, |_| {}).unwrap();
    let checked = anchors.checked(&heads, &report);
    report.flaws.iter().map(ToString::to_string).chain(checked.problem).collect()
}

#[test]
fn each_manipulation_of_what_was_anchored_is_found() {
    let genuine = bodies("s", 10);
    let lines = chained(&genuine);
    let text: String =
        [1, 6, 9].map(|number| format!("{}\n", serde_json::to_string(&anchor(&lines, number)).unwrap())).concat();
    let anchors = parsed(&text);
    assert_eq!(flaws(&lines, &anchors), [""; 0], "the log as it is");
    let edited = |edit: &dyn Fn(&mut Vec<String>)| {
        let mut bodies = genuine.clone();
        edit(&mut bodies);
        chained(&bodies)
    };
    // The chain of each of these is unbroken, so the log alone shows nothing.
    let manipulations: Vec<(&str, Vec<String>, &str)> = vec![
        ("the end is cut", lines[..8].to_vec(), "record 9 was anchored and is not there"),
        ("all but the first is cut", lines[..1].to_vec(), "record 6 was anchored and is not there"),
        ("rewritten from the first on", edited(&|b| b[0] = b[0].replace('7', "8")), "no anchor is of this log"),
        ("rewritten from the second on", edited(&|b| b[1] = b[1].replace("s2", "t2")), "record 6 is not the one"),
        ("an anchored record is changed", edited(&|b| b[5] = b[5].replace("s6", "t6")), "record 6 is not the one"),
        (
            "a record between anchors is changed",
            edited(&|b| b[7] = b[7].replace("s8", "t8")),
            "record 9 is not the one",
        ),
        ("a record is removed", edited(&|b| drop(b.remove(3))), "record 6 is not the one"),
        ("a record is added", edited(&|b| b.insert(3, b[2].clone())), "record 6 is not the one"),
        ("records are exchanged", edited(&|b| b.swap(6, 7)), "record 9 is not the one"),
        (
            "another log is in its place",
            chained(&{
                let mut other = bodies("x", 12);
                other[0] = other[0].replace('7', "9");
                other
            }),
            "no anchor is of this log",
        ),
        (
            "an old copy is continued",
            chained(&[&genuine[..4], &bodies("y", 12)[4..]].concat()),
            "record 6 is not the one",
        ),
        (
            "the time of a record is changed",
            edited(&|b| b[4] = b[4].replace("\"time\":5", "\"time\":4")),
            "record 6 is not the one",
        ),
    ];
    assert_eq!(manipulations.len(), 12);
    for (what, manipulated, expected) in manipulations {
        let alone = flaws(&manipulated, &parsed(&serde_json::to_string(&anchor(&manipulated, 1)).unwrap()));
        assert_eq!(alone, [""; 0], "{what}: the log alone shows it");
        let found = flaws(&manipulated, &anchors);
        assert!(found.iter().any(|flaw| flaw.contains(expected)), "{what}: {found:?}");
    }
}

#[test]
fn what_comes_after_the_newest_anchor_can_change_unnoticed() {
    let genuine = bodies("s", 10);
    let lines = chained(&genuine);
    let anchors = Anchors { anchors: vec![anchor(&lines, 9)], unreadable: 0 };
    assert_eq!(flaws(&lines[..9], &anchors), [""; 0]);
}

#[test]
fn a_change_of_the_anchors_is_found() {
    let lines = chained(&bodies("s", 10));
    let line = serde_json::to_string(&anchor(&lines, 6)).unwrap();
    let damaged = flaws(&lines, &parsed(&format!("{}\n{line}\n", line.replace("seq", "sequence"))));
    assert!(damaged[0].contains("1 lines of the anchors cannot be read"), "{damaged:?}");
    let other = line.replace(&anchor(&lines, 6).head.to_string(), &anchor(&lines, 5).head.to_string());
    assert!(flaws(&lines, &parsed(&format!("{other}\n")))[0].contains("record 6 is not the one that was anchored"));
    // A writer that was interrupted is not somebody who changed the file.
    assert_eq!(flaws(&lines, &parsed(&format!("{line}\n{}", &line[..40]))), [""; 0]);
}

fn repository() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("anchors");
    std::fs::create_dir(&path).unwrap();
    git(&path, &["init", "--quiet"]).unwrap();
    (directory, path)
}

fn an_anchor(number: usize) -> Anchor {
    anchor(&chained(&bodies("s", 10)), number)
}

fn read(path: &Path) -> Vec<u64> {
    AnchorPlace::open(path).unwrap().read().unwrap().anchors.iter().map(|anchor| anchor.seq).collect()
}

#[test]
fn an_anchor_is_appended_once_and_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("anchors.jsonl");
    let place = AnchorPlace::open(&path).unwrap();
    assert!(matches!(place.read(), Err(AnchorError::NoAnchors(_))));
    assert!(place.add(&an_anchor(3)).unwrap() && place.add(&an_anchor(5)).unwrap());
    assert!(!place.add(&Anchor { time: 9, ..an_anchor(5) }).unwrap(), "the same record again");
    assert_eq!(place.read().unwrap().anchors, [an_anchor(3), an_anchor(5)]);
    // An interrupted writer has left half a line.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"log\":\"00")).unwrap();
    assert!(place.add(&an_anchor(7)).unwrap());
    assert_eq!(read(&path), [3, 5, 7]);
}

#[test]
fn a_place_that_cannot_hold_anchors_is_refused_with_the_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let says = |path: &Path| AnchorPlace::open(path).unwrap_err().to_string();
    assert!(says(directory.path()).contains("is a directory but no git repository: run `git init "));
    assert!(says(&directory.path().join("missing/anchors.jsonl")).contains("missing: make it, for example with"));
}

#[test]
fn only_the_file_of_anchors_is_committed_and_no_hook_runs() {
    let (_directory, path) = repository();
    std::fs::write(path.join("staged"), "1").unwrap();
    git(&path, &["add", "staged"]).unwrap();
    let hooks = path.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "reference-transaction"] {
        let file = hooks.join(hook);
        std::fs::write(&file, "#!/bin/sh\ntouch \"$(git rev-parse --show-toplevel)/ran\"\nexit 1\n").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let place = AnchorPlace::open(&path).unwrap();
    assert!(place.add(&an_anchor(3)).unwrap() && place.add(&an_anchor(5)).unwrap());
    assert!(!path.join("ran").exists());
    let committed = git(&path, &["log", "--format=%s %an", "--name-only"]).unwrap();
    let lines: Vec<&str> = committed.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 4, "{committed}");
    assert!(lines[0].starts_with("Anchor record 5 of the log ") && lines[0].ends_with(" hookhost"), "{committed}");
    assert_eq!((lines[1], lines[3]), (FILE, FILE));
    assert_eq!(git(&path, &["diff", "--cached", "--name-only"]).unwrap().trim(), "staged");
}

#[test]
fn anchors_that_were_removed_from_the_file_are_still_in_the_last_commit() {
    let (_directory, path) = repository();
    let place = AnchorPlace::open(&path).unwrap();
    place.add(&an_anchor(3)).unwrap();
    place.add(&an_anchor(5)).unwrap();
    std::fs::write(path.join(FILE), "").unwrap();
    assert_eq!(read(&path), [3, 5]);
    std::fs::remove_file(path.join(FILE)).unwrap();
    assert_eq!(read(&path), [3, 5]);
}

#[test]
fn an_anchor_that_could_not_be_committed_is_committed_with_the_next() {
    let (_directory, path) = repository();
    let place = AnchorPlace::open(&path).unwrap();
    std::fs::write(path.join(".git/index.lock"), "").unwrap();
    let error = place.add(&an_anchor(3)).unwrap_err().to_string();
    assert!(error.contains("is written to") && error.contains("not committed"), "{error}");
    std::fs::remove_file(path.join(".git/index.lock")).unwrap();
    assert!(!place.add(&an_anchor(3)).unwrap(), "it is in the file already");
    assert_eq!(git(&path, &["rev-list", "--count", "HEAD"]).unwrap().trim(), "1");
}

#[test]
fn anchors_of_other_logs_are_counted_and_not_compared() {
    let lines = chained(&bodies("s", 10));
    let other = Anchor { log: Digest::of_bytes(b"other"), ..anchor(&lines, 4) };
    let anchors = Anchors { anchors: vec![other, anchor(&lines, 6)], unreadable: 0 };
    assert_eq!(flaws(&lines, &anchors), [""; 0]);
    let heads = Heads::default();
    let report = hookhost::audit::Report::default();
    assert_eq!(anchors.checked(&heads, &report).of_other_logs, 2);
    assert_eq!(anchors.newest(anchor(&lines, 1).log).unwrap().seq, 6);
}
