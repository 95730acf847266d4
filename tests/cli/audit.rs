//! `hookhost audit`: what happened is shown as it was recorded, and changes of the log are detected.

use hookhost_tests::{Ended, Entry, User};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

const NOT_LOADED: i32 = 5;
const DIFFERS: i32 = 6;

fn call(command: &str) -> Value {
    json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": command } }, "session": { "id": format!("s-{command:.9}") } })
}

/// A user with a log of 10 records: of two calls, of which `guard` rejects the second, and of a prompt.
/// Each is in a session of its own.
fn user_with_a_log() -> User {
    let user = User::new();
    let reject =
        json!({ "before-tool-call": { "when": { "contains": "make" }, "verdict": "reject", "reason": "no make" } });
    let guard = Entry::all_events("guard", reject).keys("events = [\"before-tool-call\"]");
    user.configure(&guard.to_toml());
    let (ended, _) = user.dispatch("before-tool-call", &call("ls"));
    ended.expect(0, &[]);
    let (ended, _) = user.dispatch("before-tool-call", &call("make"));
    ended.expect(3, &[]);
    let (ended, _) = user.dispatch("prompt-submit", &json!({ "prompt": "go", "session": { "id": "t-1" } }));
    ended.expect(0, &[]);
    assert_eq!(user.records().len(), 10);
    user
}

fn audit(user: &User, arguments: &[&str]) -> Ended {
    user.run(std::iter::once("audit").chain(arguments.iter().copied()))
}

/// The numbers of the records that are shown.
#[track_caller]
fn shown(user: &User, arguments: &[&str]) -> Vec<u64> {
    let for_people = audit(user, arguments);
    let for_programs = audit(user, &[arguments, &["--json"]].concat());
    for_programs.expect(0, &[]);
    let numbers = for_programs.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64());
    let numbers: Vec<_> = numbers.map(Option::unwrap).collect();
    for_people.expect(0, &[]);
    let heads = for_people.stdout.lines().filter(|line| !line.starts_with(' '));
    let heads: Vec<u64> = heads.map(|line| line.split_once("  ").unwrap().0.parse().unwrap()).collect();
    assert_eq!(numbers, heads, "people and programs see the same records");
    numbers
}

#[test]
fn show_prints_the_last_records_oldest_first() {
    let user = user_with_a_log();
    let all: Vec<u64> = (1..=10).collect();
    assert_eq!(shown(&user, &["show"]), all, "20 unless one says otherwise");
    assert_eq!(shown(&user, &["show", "--all"]), all);
    assert_eq!(shown(&user, &["show", "3"]), [8, 9, 10]);
    assert_eq!(shown(&user, &["show", "0"]), [0; 0]);
    assert_eq!(shown(&user, &["tail"]), all, "10 unless one says otherwise");
    assert_eq!(shown(&user, &["tail", "-n", "1"]), [10]);
    for _ in 0..5 {
        let _ = user.dispatch("prompt-submit", &json!({ "prompt": "go" }));
    }
    assert_eq!(shown(&user, &["show"]), (6..=25).collect::<Vec<_>>());
    assert_eq!(shown(&user, &["tail"]), (16..=25).collect::<Vec<_>>());
}

#[test]
fn a_record_shows_its_event_the_outcome_the_reason_and_what_each_plugin_said() {
    let user = user_with_a_log();
    let text = audit(&user, &["show", "--outcome", "rejected"]).stdout;
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("6  ") && lines[0].ends_with("Z  before-tool-call  rejected by guard"), "{text}");
    assert_eq!(lines[1..4], ["    session s-make, turn 0", "    bash command=make", "    Rejected by guard: no make"]);
    assert!(lines[4].starts_with("    guard reject reason=\"no make\" (round 1, fuel "), "{text}");
}

#[test]
fn records_can_be_chosen_by_session_event_plugin_and_outcome() {
    let user = user_with_a_log();
    for (filter, numbers) in [
        (&["--session", "s-make"][..], &[5, 6, 7][..]),
        (&["--session", "s-"], &[]),
        (&["--event", "before-tool-call"], &[3, 6]),
        (&["--event", "prompt-submit"], &[9]),
        (&["--plugin", "guard"], &[3, 6]),
        (&["--outcome", "allowed"], &[3]),
        (&["--outcome", "rejected", "--plugin", "guard", "--session", "s-make"], &[6]),
        (&["--outcome", "rejected", "--event", "prompt-submit"], &[]),
        (&["--plugin", "guar"], &[]),
    ] {
        assert_eq!(shown(&user, &[&["show"], filter].concat()), numbers, "{filter:?}");
        assert_eq!(shown(&user, &[&["tail"], filter].concat()), numbers, "{filter:?}");
    }
    assert_eq!(shown(&user, &["show", "1", "--session", "s-make"]), [7], "the last of those that fit");
    audit(&user, &["show", "--plugin", "nobody"]).expect(0, &["none of the 10 records match the filter"]);
}

#[test]
fn an_unknown_word_is_reported_with_the_nearest_one() {
    let user = user_with_a_log();
    for (arguments, said) in [
        (["show", "--event", "before-tool-cal"], "'before-tool-call'"),
        (["tail", "--outcome", "reject"], "'rejected'"),
        (["show", "--outcomes", "rejected"], "'--outcome'"),
        (["show", "--log=x", "--evnt=y"], "'--event'"),
    ] {
        audit(&user, &arguments).expect(2, &["a similar", said]);
    }
    audit(&user, &["verify", "--head", "abc"]).expect(2, &["a SHA-256 digest is 64 hexadecimal digits"]);
    audit(&user, &["show", "many"]).expect(2, &["many"]);
    audit(&user, &["show", "1", "--all"]).expect(2, &["--all"]);
    user.run(["dispatch", "before-tool-cal"]).expect(2, &["a similar", "'before-tool-call'"]);
}

#[test]
fn without_a_log_every_command_says_so_and_makes_none() {
    let user = User::new();
    for command in [&["show"][..], &["tail", "-f"], &["verify"]] {
        let ended = audit(&user, command);
        ended.expect(
            NOT_LOADED,
            &[
                "there is no audit log at ",
                "hookhost.db, because no agent has called hookhost yet",
                "try: hookhost doctor",
            ],
        );
        audit(&user, &[command, &["--log", "nowhere.db"]].concat()).expect(NOT_LOADED, &["no audit log at nowhere.db"]);
    }
    assert!(!user.path("state").exists());
    user.write("notes.txt", "not a log\n");
    for command in [&["show", "--log"][..], &["verify", "--log"]] {
        let ended = audit(&user, &[command, &["notes.txt"]].concat());
        ended.expect(NOT_LOADED, &["notes.txt is not an audit log of hookhost"]);
    }
    audit(&user, &["verify", "--log", "."]).expect(NOT_LOADED, &["cannot be used"]);
}

#[test]
fn nothing_recorded_steers_the_terminal() {
    let user = User::new();
    let evil = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}";
    let reject = json!({ "before-tool-call": { "verdict": "reject", "reason": evil, "do": [{ "log": evil }] } });
    user.configure(&Entry::all_events("guard", reject).to_toml());
    let mut payload = call(evil);
    payload["session"] = json!({ "id": "s", "agent": evil, "cwd": format!("/{evil}") });
    user.dispatch("before-tool-call", &payload).0.expect(3, &[]);
    let ended = audit(&user, &["show", "--all"]);
    let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!ended.stdout.contains(steers), "{:?}", ended.stdout);
    assert!(ended.stdout.matches("\u{fffd}]0;x\u{fffd}").count() >= 4, "{:?}", ended.stdout);
    // The export is what is stored, byte for byte.
    let record = &user.records()[2];
    assert_eq!(record["original"]["arguments"]["command"], evil);
    audit(&user, &["verify"]).expect(0, &[]);
}

/// Exports the log, and lets `change` change it.
fn exported(user: &User, change: impl FnOnce(&mut Vec<String>)) {
    let export = audit(user, &["show", "--all", "--json"]).stdout;
    let mut lines: Vec<String> = export.lines().map(str::to_owned).collect();
    change(&mut lines);
    user.write("log.jsonl", lines.join("\n") + "\n");
}

fn verify_export(user: &User) -> (Ended, Value) {
    let for_programs = audit(user, &["verify", "--log", "log.jsonl", "--json"]);
    let object = serde_json::from_str(&for_programs.stdout).unwrap();
    let ended = audit(user, &["verify", "--log", "log.jsonl"]);
    assert_eq!(ended.code, for_programs.code);
    (ended, object)
}

#[test]
fn an_export_is_verified_shown_and_chosen_from_as_the_log_itself() {
    let user = user_with_a_log();
    exported(&user, |_| {});
    let (ended, object) = verify_export(&user);
    ended.expect(0, &[]);
    assert_eq!((&object["verified"], &object["records"], &object["flaws"]), (&json!(true), &json!(10), &json!([])));
    let own: Value = serde_json::from_str(&audit(&user, &["verify", "--json"]).stdout).unwrap();
    assert_eq!(object["head"], own["head"]);
    assert_eq!(shown(&user, &["show", "1", "--log", "log.jsonl", "--event", "before-tool-call"]), [6]);
    assert_eq!(shown(&user, &["tail", "-n", "2", "--log", "log.jsonl"]), [9, 10]);
    let ended = audit(&user, &["tail", "-f", "--log", "log.jsonl"]);
    ended.expect(2, &["an export does not grow"]);
}

#[test]
fn verify_says_how_many_records_there_are_and_what_to_note_elsewhere() {
    let user = user_with_a_log();
    let ended = audit(&user, &["verify"]);
    ended.expect(0, &[]);
    let text = &ended.stdout;
    assert!(text.contains("verified  10 records") && text.contains("hookhost audit verify --head HEAD"), "{text}");
    let head = text.lines().find_map(|line| line.trim().strip_prefix("head ")).unwrap().trim().to_owned();
    let _ = user.dispatch("before-tool-call", &call("ls"));
    let ended = audit(&user, &["verify", "--head", &head]);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("the head that you noted is record 10; 3 records since"), "{ended:#?}");
    // What no log shows by itself.
    exported(&user, |lines| lines.truncate(9));
    assert_eq!(verify_export(&user).0.code, Some(0));
    let ended = audit(&user, &["verify", "--log", "log.jsonl", "--head", &head]);
    ended.expect(DIFFERS, &[]);
    assert!(ended.stdout.contains(&format!("no record has the hash {head}: the end of the log")), "{ended:#?}");
    // Also that the last record was rewritten.
    exported(&user, |lines| lines[12] = lines[12].replace("s-ls", "s-lx"));
    assert_eq!(verify_export(&user).0.code, Some(0));
    let head: Value = serde_json::from_str(&audit(&user, &["verify", "--json"]).stdout).unwrap();
    audit(&user, &["verify", "--log", "log.jsonl", "--head", head["head"].as_str().unwrap()]).expect(DIFFERS, &[]);
}

#[test]
fn verify_names_each_record_that_was_changed_removed_or_moved() {
    let user = user_with_a_log();
    let flaws = |change: &dyn Fn(&mut Vec<String>), said: &[&str], kinds: Value| {
        exported(&user, change);
        let (ended, object) = verify_export(&user);
        ended.expect(DIFFERS, &[]);
        for said in said {
            assert!(ended.stdout.lines().any(|line| line.trim() == format!("flaw      {said}")), "{said}: {ended:#?}");
        }
        assert!(ended.stdout.contains("not as it was written"), "{ended:#?}");
        assert_eq!(object["verified"], false);
        let found: Vec<_> = object["flaws"].as_array().unwrap().iter().map(|flaw| &flaw["kind"]).collect();
        assert_eq!(json!(found), kinds, "{object}");
    };
    flaws(&|lines| lines[2] = lines[2].replacen("ls", "lx", 1), &["record 3 was changed"], json!(["changed"]));
    flaws(&|lines| drop(lines.remove(5)), &["record 6 was removed"], json!(["removed"]));
    flaws(&|lines| drop(lines.drain(1..8)), &["records 2 to 8 were removed"], json!(["removed"]));
    flaws(&|lines| lines.swap(4, 5), &["record 6 was moved"], json!(["moved"]));
    flaws(&|lines| lines.insert(6, lines[3].clone()), &["record 4 is there twice"], json!(["twice"]));
    // What is no record has no number, so the number is missing as well.
    flaws(
        &|lines| lines[4] = "{".into(),
        &[
            "line 5 is not a record of an audit log: EOF while parsing an object at line 1 column 1",
            "record 5 was removed",
        ],
        json!(["unreadable", "removed"]),
    );
}

#[test]
fn a_tail_that_a_crash_has_cut_is_reported_as_that_and_is_not_a_flaw() {
    let user = user_with_a_log();
    let export = audit(&user, &["show", "--all", "--json"]).stdout;
    user.write("log.jsonl", &export[..export.len() - 40]);
    let (ended, object) = verify_export(&user);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("line 10 is incomplete") && ended.stdout.contains("9 records"), "{ended:#?}");
    assert_eq!((&object["cut-at-line"], &object["records"]), (&json!(10), &json!(9)));
    // Its session has no end.
    assert_eq!(object["open-sessions"], json!([{ "session": "t-1", "last": 9 }]));
    assert!(ended.stdout.contains("1 session has no end") && ended.stdout.contains("t-1"), "{ended:#?}");
}

#[test]
fn verify_finds_what_was_changed_in_the_database_itself() {
    let user = user_with_a_log();
    let tampered = |sql: &str, said: &str| {
        // Out of the WAL, into the file.
        rusqlite::Connection::open(user.log_file())
            .unwrap()
            .query_row("SELECT count(*) FROM audit", [], |_| Ok(()))
            .unwrap();
        std::fs::copy(user.log_file(), user.path("copy.db")).unwrap();
        rusqlite::Connection::open(user.path("copy.db")).unwrap().execute_batch(sql).unwrap();
        let ended = audit(&user, &["verify", "--log", user.path("copy.db").to_str().unwrap()]);
        ended.expect(DIFFERS, &[]);
        let flaws: Vec<_> = ended.stdout.lines().filter(|line| line.trim().starts_with("flaw")).collect();
        assert_eq!(flaws, [format!("  flaw      {said}")]);
        std::fs::remove_file(user.path("copy.db")).unwrap();
    };
    tampered(
        "UPDATE audit SET line = replace(line, '\"rejected\"', '\"allowed\"') WHERE seq = 6",
        "record 6 was changed",
    );
    tampered("DELETE FROM audit WHERE seq = 6", "record 6 was removed");
    tampered("UPDATE audit SET line = replace(line, 's-ls', 's-lx') WHERE seq = 10 OR seq = 4", "record 4 was changed");
}

#[test]
fn a_log_of_a_later_version_is_not_read() {
    let user = user_with_a_log();
    exported(&user, |lines| lines[0] = lines[0].replace("\"version\":2", "\"version\":9"));
    for command in ["show", "verify"] {
        let ended = audit(&user, &[command, "--log", "log.jsonl"]);
        ended.expect(NOT_LOADED, &["log.jsonl has format 9, and this hookhost knows format 2: use the version that"]);
    }
    user.run(["replay", "log.jsonl"]).expect(NOT_LOADED, &["has format 9"]);
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let user = user_with_a_log();
    // More than a pipe holds.
    let _ = user.dispatch("before-tool-call", &call(&"x".repeat(200_000)));
    let mut child = user.command(["audit", "show", "--all", "--json"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("{\"seq\":1,"), "{first}");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
}

#[test]
fn following_prints_the_records_of_other_processes_as_they_come_until_ctrl_c() {
    let user = user_with_a_log();
    let mut follow = user.command(["audit", "tail", "-n", "1", "--follow", "--event", "before-tool-call"]);
    let mut child = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("6  "), "the last that is there");
    user.dispatch("before-tool-call", &call("pwd")).0.expect(0, &[]);
    let next = lines.find(|line| !line.starts_with(' ')).unwrap();
    assert!(next.starts_with("12  ") && next.ends_with("before-tool-call  allowed"), "{next}");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn following_tells_once_of_what_is_not_a_record_and_continues() {
    let user = user_with_a_log();
    let database = rusqlite::Connection::open(user.log_file()).unwrap();
    database.execute_batch("UPDATE audit SET line = 'nothing' WHERE seq = 10").unwrap();
    let mut follow = user.command(["audit", "tail", "-n", "2", "-f"]);
    let mut child = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("9  "));
    // Each record that comes is another look at the log.
    for _ in 0..3 {
        user.dispatch("before-tool-call", &call("pwd")).0.expect(0, &[]);
        assert!(lines.any(|line| line.ends_with("before-tool-call  allowed")));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("line 10 is not a record of an audit log"), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn following_ends_with_a_sentence_when_the_log_is_removed() {
    let user = user_with_a_log();
    let mut follow = user.command(["audit", "tail", "-n", "1", "-f"]);
    let mut child = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("10  "));
    std::fs::remove_file(user.log_file()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("removed or replaced: run the command again"), "{said}");
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn following_ends_when_nobody_reads_any_more() {
    let user = user_with_a_log();
    let mut follow = user.command(["audit", "tail", "-n", "1", "-f"]);
    let mut child = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("10  "));
    assert!(lines.next().unwrap().unwrap().starts_with("    session "));
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0), "although no record has come");
}
