//! `hookhost evidence`, `audit anchor` and `audit archive`: what the log proves to somebody else, and for how long it is kept.

use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::process::{Command, Stdio};

const DIFFERS: i32 = 6;

fn call(id: &str, command: &str) -> Value {
    let session = json!({ "id": format!("s-{id}"), "agent": "my-agent" });
    json!({ "call": { "id": id, "name": "bash", "arguments": { "command": command } }, "session": session })
}

/// A user whose plugin rejects calls with `make`, and who has decided on three calls.
fn user() -> User {
    let user = User::new();
    let rules = json!({ "before-tool-call": { "when": { "contains": "make" }, "verdict": "reject", "reason": "no make", "code": "no.make" } });
    user.configure(&Entry::all_events("guard", rules).keys("events = [\"before-tool-call\"]").to_toml());
    for (id, command) in [("1", "ls"), ("2", "make"), ("3", "make all")] {
        let _ = user.dispatch("before-tool-call", &call(id, command));
    }
    user
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

fn verify(user: &User, more: &[&str]) -> (Option<i32>, Value) {
    let ended = user.run([&["audit", "verify", "--json"], more].concat());
    (ended.code, json(&ended))
}

fn evidence(user: &User) -> Value {
    let ended = user.run(["evidence", "--from", "2020-01-01", "--json"]);
    ended.expect(0, &[]);
    json(&ended)
}

#[test]
fn evidence_has_the_rules_with_their_texts_and_what_they_decided() {
    let user = user();
    let evidence = evidence(&user);
    assert_eq!((&evidence["events"], &evidence["chain"]["is-verified"]), (&json!(3), &json!(true)));
    let [rule] = &evidence["rules"].as_array().unwrap()[..] else { panic!("{evidence:#}") };
    assert_eq!((&rule["plugin"], &rule["calls"], &rule["text-is"]), (&json!("guard"), &json!(3), &json!("as-loaded")));
    assert!(rule["text"].as_str().unwrap().contains("no make"), "{rule:#}");
    let [decision] = &evidence["decisions"].as_array().unwrap()[..] else { panic!("{evidence:#}") };
    assert_eq!(
        (&decision["by"], &decision["rule"], &decision["rejected"]),
        (&json!("guard"), &json!("no.make"), &json!(2))
    );
    let record: Value = user.records().into_iter().find(|record| record["kind"] == "event").unwrap();
    assert!(record["micros"].as_u64().unwrap() >= record["calls"][0]["micros"].as_u64().unwrap());
}

#[test]
fn the_text_of_a_rule_is_masked_as_the_log_is_and_only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let user = User::new();
    let rules =
        json!({ "before-tool-call": { "when": { "contains": "make" }, "verdict": "reject", "reason": "hunter2" } });
    let entry = Entry::all_events("guard", rules).keys("events = [\"before-tool-call\"]").to_toml();
    user.configure(&format!("[settings.audit]\nmask = [\"reason\"]\n{entry}"));
    let _ = user.dispatch("before-tool-call", &call("1", "ls"));
    let directory = user.log_file().with_file_name("hookhost.db-rules");
    let files: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("(masked)") && !text.contains("hunter2"), "{text}");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(evidence(&user)["rules"][0]["text-is"], "masked");
}

#[test]
fn evidence_is_written_as_csv_files_and_as_a_page() {
    let user = user();
    user.run(["evidence", "--from", "2020-01-01", "--csv", "out/csv"]).expect(0, &[]);
    let decisions = std::fs::read_to_string(user.project().join("out/csv/decisions.csv")).unwrap();
    assert_eq!(decisions.lines().nth(1), Some("\"guard\",\"no.make\",\"2\",\"0\",\"0\",\"0\",\"0\""));
    let chain = std::fs::read_to_string(user.project().join("out/csv/chain.csv")).unwrap();
    assert!(chain.contains("\"verified\",\"yes\""), "{chain}");
    user.run(["evidence", "--from", "2020-01-01", "--html", "out/evidence.html"]).expect(0, &[]);
    let page = std::fs::read_to_string(user.project().join("out/evidence.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("no.make"));
    user.run(["evidence", "--from", "2020-02-01", "--to", "2020-01-01"])
        .expect(2, &["the period ends before it begins"]);
    let of_the_past = user.run(["evidence", "--from", "2020-01-01", "--to", "2020-01-31", "--json"]);
    assert_eq!(json(&of_the_past)["events"], 0);
}

#[test]
fn sessions_after_the_period_are_no_gap_in_it() {
    let user = user();
    let call =
        json!({ "type": "tool_use", "id": "toolu_01ABCDEFGHIJKLMNOPQR", "name": "Bash", "input": { "command": "ls" } });
    let message = json!({
        "type": "assistant", "sessionId": "11111111-2222-3333-4444-555555555555", "version": "2.1.330", "cwd": user.project(),
        "message": { "role": "assistant", "content": [call] },
    });
    std::fs::create_dir_all(user.path(".claude/projects/p")).unwrap();
    let transcript = user.path(".claude/projects/p/11111111-2222-3333-4444-555555555555.jsonl");
    std::fs::write(transcript, format!("{message}\n")).unwrap();
    let unasked = |more: &[&str]| {
        let evidence = json(&user.run([&["evidence", "--from", "2020-01-01", "--json"], more].concat()));
        evidence["gaps"].as_array().unwrap().iter().filter(|gap| gap["kind"] == "did-not-ask").count()
    };
    assert_eq!((unasked(&[]), unasked(&["--to", "2020-01-31"])), (1, 0));
}

#[test]
fn a_trial_with_other_rules_is_no_evidence_that_they_were_in_force() {
    let user = user();
    let before = evidence(&user)["rules"].clone();
    let other = Entry::all_events("other", json!({})).to_toml();
    user.configure(&other);
    user.run(["dispatch", "--shell", "ls"]).expect(0, &[]);
    assert_eq!(evidence(&user)["rules"], before);
}

#[test]
fn evidence_of_a_changed_log_says_so_and_the_command_fails() {
    let user = user();
    let sql = "UPDATE audit SET line = replace(line, '\"rejected\"', '\"allowed\"') WHERE seq = 6";
    rusqlite::Connection::open(user.log_file()).unwrap().execute_batch(sql).unwrap();
    let ended = user.run(["evidence", "--from", "2020-01-01", "--json"]);
    ended.expect(DIFFERS, &["the log is not as it was written", "try: hookhost audit verify"]);
    assert_eq!(json(&ended)["chain"]["flaws"], json!(["record 6 was changed"]));
}

#[test]
fn an_anchor_finds_a_log_that_was_rewritten_and_one_whose_end_was_cut() {
    let user = user();
    user.run(["audit", "anchor", "anchors.jsonl"]).expect(0, &[]);
    assert_eq!(verify(&user, &["--anchors", "anchors.jsonl"]).0, Some(0));
    let ended = user.run(["audit", "anchor", "anchors.jsonl"]);
    assert!(ended.stdout.contains("record 10 is in") && ended.stdout.contains("already"), "{ended:#?}");
    let _ = user.dispatch("before-tool-call", &call("4", "ls"));
    let (code, object) = verify(&user, &["--anchors", "anchors.jsonl"]);
    assert_eq!((code, &object["anchors"]["found"]), (Some(0), &json!(1)), "{object:#}");
    // The end is cut.
    let cut = |through: u64| {
        let sql = format!("DELETE FROM audit WHERE seq > {through}");
        rusqlite::Connection::open(user.log_file()).unwrap().execute_batch(&sql).unwrap();
    };
    cut(10);
    assert_eq!(
        verify(&user, &["--anchors", "anchors.jsonl"]).0,
        Some(0),
        "what is newer than the anchor is not protected"
    );
    cut(8);
    let (code, object) = verify(&user, &["--anchors", "anchors.jsonl"]);
    assert_eq!((code, &object["flaws"][0]["kind"]), (Some(DIFFERS), &json!("anchor-missing")), "{object:#}");
    assert_eq!(verify(&user, &[]).0, Some(0), "the log alone does not show it");
    // Another log takes its place.
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(user.log_file().with_file_name(format!("hookhost.db{ending}")));
    }
    let _ = user.dispatch("before-tool-call", &call("5", "ls"));
    let (code, object) = verify(&user, &["--anchors", "anchors.jsonl"]);
    assert_eq!((code, &object["verified"]), (Some(DIFFERS), &json!(false)), "{object:#}");
    assert!(object["anchors"]["problem"].as_str().unwrap().contains("no anchor is of this log"));
}

#[test]
fn an_anchor_without_a_place_for_it_says_what_to_do() {
    let user = user();
    user.run(["audit", "anchor"]).expect(2, &["name a place for the anchor", "try: git init"]);
    user.run(["audit", "anchor", "missing/anchors"]).expect(2, &["there is no directory", "git init"]);
    user.run(["audit", "anchor", "."]).expect(2, &["no git repository: run `git init"]);
    user.run(["audit", "verify", "--anchors", "none.jsonl"])
        .expect(2, &["there are no anchors at", "hookhost audit anchor"]);
}

#[test]
fn the_place_of_anchors_is_a_setting_of_the_user_alone() {
    let user = user();
    let place = user.path("anchors.jsonl");
    let config = std::fs::read_to_string(user.config_file()).unwrap();
    user.configure(&format!("[evidence]\nanchor = {:?}\nkeep = \"400d\"\n{config}", place.to_str().unwrap()));
    user.run(["audit", "anchor"]).expect(0, &[]);
    assert!(place.exists());
    assert_eq!(evidence(&user)["chain"]["anchors"]["found"], 1);
    for (section, problem) in
        [("anchor = \"relative\"", "absolute path"), ("keep = \"1y\"", "whole number"), ("anchors = \"/x\"", "anchor")]
    {
        user.configure(&format!("[evidence]\n{section}\n{config}"));
        user.run(["audit", "anchor"]).expect(5, &[problem]);
    }
    user.configure(&config);
    user.write("hookhost.toml", "[evidence]\nanchor = \"/tmp/x\"\n");
    user.run(["trust", "--yes", "hookhost.toml"]).expect(5, &["a project's file cannot set `evidence`"]);
}

#[test]
fn a_resident_host_that_ends_anchors_the_log_and_doctor_says_when() {
    let user = user();
    let place = user.path("anchors.jsonl");
    let config = std::fs::read_to_string(user.config_file()).unwrap();
    user.configure(&format!("[evidence]\nanchor = {:?}\nkeep = \"400d\"\n{config}", place.to_str().unwrap()));
    let check = |about: &str| {
        let checks = json(&user.run(["doctor", "--json"]))["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["about"] == about).unwrap_or_else(|| panic!("no check `{about}`"))
    };
    assert_eq!(check("anchors")["state"], "problem");
    user.run(["serve", "--idle", "1"]).expect(0, &[]);
    assert_eq!(verify(&user, &["--anchors", place.to_str().unwrap()]).0, Some(0));
    let anchors = check("anchors");
    assert_eq!(anchors["state"], "ok");
    assert!(anchors["says"].as_str().unwrap().contains("record 10 was anchored at "), "{anchors:#}");
    assert_eq!(check("archive")["state"], "ok");
}

/// Returns the SHA-256 of some bytes in hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Moves all records ten days back in time, as if they had been written then. The log stays as it was written.
pub(crate) fn age(user: &User) {
    let connection = rusqlite::Connection::open(user.log_file()).unwrap();
    let rows: Vec<String> = connection
        .prepare("SELECT line FROM audit ORDER BY seq")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut previous = "0".repeat(64);
    for (seq, line) in (1..).zip(rows) {
        let record: Value = serde_json::from_str(&line).unwrap();
        let (time, old) = (record["time"].as_u64().unwrap(), record["previous"].as_str().unwrap().to_owned());
        let aged = line.replacen(&format!("\"time\":{time}"), &format!("\"time\":{}", time - 864_000_000), 1);
        let aged = aged.replacen(&old, &previous, 1);
        let hash = Sha256::digest(aged.as_bytes());
        previous = hex(aged.as_bytes());
        connection
            .execute("UPDATE audit SET line = ?1, hash = ?2 WHERE seq = ?3", (aged, hash.as_slice(), seq))
            .unwrap();
    }
}

#[test]
fn archived_records_are_still_verified_and_still_evidence() {
    let user = user();
    age(&user);
    user.run(["audit", "archive", "--before", "20d"]).expect(0, &[]);
    assert_eq!(user.records().len(), 10, "nothing is that old");
    let before = evidence(&user);
    let ended = user.run(["audit", "archive", "--before", "1d"]);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("archived  9 records") && ended.stdout.contains("log-2-10.jsonl.lz"), "{ended:#?}");
    let kinds: Vec<_> = user.records().iter().map(|record| record["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["log", "archived"]);
    let (code, object) = verify(&user, &[]);
    assert_eq!(
        (code, &object["records"], &object["archived-elsewhere"]),
        (Some(0), &json!(11), &json!([])),
        "{object:#}"
    );
    let after = evidence(&user);
    for part in ["events", "rules", "decisions", "approvals", "failures"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    assert_eq!(after["operator"][0]["action"], "archive");
    let shown = user.run(["audit", "show"]);
    assert!(shown.stdout.contains("records 2 to 10 are archived"), "{shown:#?}");
    // The log continues.
    let _ = user.dispatch("before-tool-call", &call("6", "make"));
    assert_eq!(verify(&user, &[]).0, Some(0));
    assert_eq!(evidence(&user)["decisions"][0]["rejected"], 3);
    // Somebody takes the file away.
    let file = user.log_file().with_file_name("hookhost.db-archive").join("log-2-10.jsonl.lz");
    std::fs::rename(&file, user.path("elsewhere")).unwrap();
    let ended = user.run(["audit", "verify"]);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("records 2 to 10 are in an archive that is not here"), "{ended:#?}");
}

#[test]
fn a_record_that_a_receiver_of_telemetry_has_not_taken_is_not_archived() {
    let user = user();
    let file = std::fs::read_to_string(user.config_file()).unwrap();
    user.configure(&format!("{file}\n[telemetry]\nfrom = \"beginning\"\n[telemetry.file]\npath = \"events.jsonl\"\n"));
    user.run(["telemetry", "flush"]).expect(0, &[]);
    let _ = user.dispatch("before-tool-call", &call("4", "ls"));
    age(&user);
    let ended = user.run(["audit", "archive", "--before", "1d"]);
    ended.expect(0, &[]);
    assert!(ended.stdout.contains("log-2-10.jsonl.lz"), "{ended:#?}");
    assert!(
        ended.stdout.contains("file of telemetry has not taken the rest: hookhost telemetry test file"),
        "{ended:#?}"
    );
    assert!(
        user.records().iter().any(|record| record["kind"] == "event"),
        "the event after the last one that was sent"
    );
}

#[test]
fn a_disk_that_is_full_while_records_are_archived_loses_nothing() {
    let user = user();
    // Text that no compression makes small.
    let text = |id: u64| (0..1500).map(|part| hex(format!("{id} {part}").as_bytes())).collect::<String>();
    for id in 10..14 {
        let _ = user.dispatch("before-tool-call", &call(&id.to_string(), &format!("echo {}", text(id))));
    }
    age(&user);
    let before = user.records();
    // A write beyond the limit fails as on a full disk. There is room for everything except the archive.
    let mut shell = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" audit archive --before 1d";
    shell.arg("-c").arg(script).arg(hookhost_tests::hookhost()).current_dir(user.project());
    for (key, value) in user.command([""; 0]).get_envs().filter_map(|(key, value)| Some((key, value?))) {
        shell.env(key, value);
    }
    let ended = Ended::of(&mut shell);
    ended.expect(5, &["hookhost.db-archive cannot be used: ", "too large"]);
    assert_eq!(user.records(), before, "something is lost");
    let left = std::fs::read_dir(user.log_file().with_file_name("hookhost.db-archive")).unwrap();
    assert_eq!(left.map(|file| file.unwrap().file_name()).collect::<Vec<_>>(), ["lock"]);
    assert_eq!(verify(&user, &[]).0, Some(0));
    user.run(["audit", "archive", "--before", "1d"]).expect(0, &[]);
    assert_eq!(verify(&user, &[]).1["records"].as_u64().unwrap() as usize, before.len() + 1);
}

#[test]
fn a_process_that_is_killed_while_it_archives_loses_nothing() {
    let user = user();
    for id in 10..16 {
        let _ = user.dispatch("before-tool-call", &call(&id.to_string(), "ls"));
    }
    age(&user);
    let all = user.records();
    // The delays only spread the kills over the work. What is checked holds at each point.
    for delay in (0..100).map(|step| std::time::Duration::from_millis(step * 8)) {
        if user.records().iter().any(|record| record["kind"] == "archived") {
            break;
        }
        let mut child = user.command(["audit", "archive", "--before", "1d"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(delay);
        let _ = child.kill();
        child.wait().unwrap();
        let (code, object) = verify(&user, &[]);
        assert_eq!((code, &object["archived-elsewhere"]), (Some(0), &json!([])), "{object:#}");
        assert!(object["records"].as_u64().unwrap() as usize >= all.len(), "{object:#}");
    }
    user.run(["audit", "archive", "--before", "1d"]).expect(0, &[]);
    assert_eq!(user.records().iter().filter(|record| record["kind"] == "archived").count(), 1);
    assert_eq!(verify(&user, &[]).1["records"].as_u64().unwrap() as usize, all.len() + 1);
}
