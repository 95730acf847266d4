//! `run` and `dispatch` keep the audit log and the state of plugins in one database of the user, or do nothing.

use hookhost_tests::{Ended, Entry, User};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

const NOT_LOADED: i32 = 5;

const DISPATCH: [&str; 4] = ["dispatch", "before-tool-call", "--payload", "call.json"];
const RUN: [&str; 4] = ["run", "go", "--script", "script.toml"];

/// A user whose plugin counts its events in its state and asks nothing, with a call to dispatch and a script to play.
fn user() -> User {
    let user = User::new();
    let counts = json!({ "before-tool-call": { "do": [{ "increment": ["plugin", "n", 1] }] } });
    user.configure(&Entry::all_events("counts", counts).keys("events = [\"before-tool-call\"]").to_toml());
    user.write("call.json", call("ls").to_string());
    user.write(
        "script.toml",
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\n[[turn]]\ntext = \"Bye.\"\n",
    );
    user
}

fn call(command: &str) -> Value {
    json!({ "call": { "id": "1", "name": "bash", "arguments": { "command": command } } })
}

fn verified(user: &User) -> Value {
    let ended = user.run(["audit", "verify", "--json"]);
    ended.expect(0, &[]);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// How often the plugin was asked, as its state has it.
fn counted(user: &User) -> u64 {
    let database = Connection::open(user.log_file()).unwrap();
    database
        .query_row("SELECT CAST(value AS TEXT) FROM value WHERE key = 'n'", [], |row| row.get::<_, String>(0))
        .map_or(0, |n| n.parse().unwrap())
}

fn calls(user: &User) -> u64 {
    user.records().iter().filter(|record| record["event"] == "before-tool-call" && record["kind"] == "event").count()
        as u64
}

#[test]
fn run_and_dispatch_record_every_event_from_the_opening_to_the_end_of_the_session() {
    let user = user();
    user.run(RUN).expect(0, &[]);
    let kinds = |user: &User| {
        user.records().iter().map(|record| record["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let run = kinds(&user);
    assert_eq!((&*run[0], &*run[1], run.last().unwrap().as_str()), ("log", "session", "session-ended"));
    let events: BTreeSet<_> =
        user.records().iter().filter_map(|record| Some(record["event"].as_str()?.to_owned())).collect();
    for event in
        ["session-start", "prompt-submit", "before-inference", "before-tool-call", "after-tool-call", "session-end"]
    {
        assert!(events.contains(event), "{event} is not in {events:?}");
    }
    user.run(DISPATCH).expect(0, &[]);
    assert_eq!(kinds(&user)[run.len()..], ["session", "event", "session-ended"]);
    assert_eq!(verified(&user)["open-sessions"], json!([]));
    assert_eq!((counted(&user), calls(&user)), (2, 2), "state lasts from one process to the next");
}

#[test]
fn a_session_that_fails_has_its_end_in_the_log_too() {
    let user = user();
    user.write("script.toml", "[[turn]]\nerror = \"down\"\n");
    let ended = user.run(RUN);
    assert_ne!(ended.code, Some(0), "{ended:#?}");
    user.write("call.json", json!({ "call": { "id": 1 } }).to_string());
    user.run(DISPATCH).expect(2, &["this is no payload"]);
    assert_eq!(verified(&user)["open-sessions"], json!([]));
    // What cannot begin leaves nothing open either.
    user.run(["run", "go", "--provider", "nobody"]).expect(2, &[]);
    assert_eq!(verified(&user)["open-sessions"], json!([]));
}

#[test]
fn only_the_user_can_read_the_log_and_its_directory() {
    let user = user();
    user.run(DISPATCH).expect(0, &[]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&user.path("state")), mode(&user.log_file())), (0o700, 0o600));
}

#[test]
fn a_command_that_ends_leaves_a_log_that_can_be_copied_with_its_wal() {
    let user = user();
    for command in [RUN, DISPATCH] {
        user.run(command).expect(0, &[]);
        let records = user.records();
        for ending in ["", "-wal"] {
            let file = format!("state/hookhost.db{ending}");
            std::fs::copy(user.path(&file), user.path(&format!("copy.db{ending}"))).unwrap();
        }
        let copy = user.path("copy.db");
        let ended = user.run(["audit", "show", "--all", "--json", "--log", copy.to_str().unwrap()]);
        assert_eq!(ended.stdout.lines().count(), records.len());
        for ending in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(user.path(&format!("copy.db{ending}")));
        }
    }
}

/// Has SQLite move what is in the WAL into the file.
fn into_one_file(user: &User) {
    Connection::open(user.log_file()).unwrap().query_row("SELECT count(*) FROM audit", [], |_| Ok(())).unwrap();
}

#[test]
fn commands_without_events_make_no_log() {
    let user = user();
    user.run(["hooks"]).expect(0, &[]);
    assert!(!user.path("state").exists());
}

/// With this in place of the log neither command does anything, and it stays as it is.
#[track_caller]
fn nothing_runs(user: &User, said: &[&str]) {
    let before = std::fs::read(user.log_file()).ok();
    refused(user, said);
    assert!(std::fs::read(user.log_file()).ok() == before, "the file was changed: {said:?}");
}

#[track_caller]
fn refused(user: &User, said: &[&str]) {
    for command in [RUN, DISPATCH] {
        let ended = user.run(command);
        ended.expect(NOT_LOADED, said).expect(NOT_LOADED, &[&format!("error: {}", user.log_file().display())]);
        assert_eq!((ended.stdout.as_str(), ended.stderr.lines().count()), ("", 1), "{ended:#?}");
    }
    assert!(!user.project().join("made").exists(), "a tool ran");
    assert!(std::fs::read_dir(user.path("state/sessions")).is_err(), "a run began");
}

#[test]
fn a_log_that_is_damaged_foreign_or_of_a_later_version_stops_everything_and_is_left_as_it_is() {
    let user = user();
    std::fs::create_dir_all(user.path("state")).unwrap();
    std::fs::write(user.log_file(), "These are my notes, and no database at all.\n".repeat(100)).unwrap();
    nothing_runs(&user, &["is not an audit log of hookhost: move it away"]);

    std::fs::remove_file(user.log_file()).unwrap();
    Connection::open(user.log_file()).unwrap().execute_batch("CREATE TABLE notes (text)").unwrap();
    nothing_runs(&user, &["is not an audit log of hookhost: move it away"]);

    std::fs::remove_file(user.log_file()).unwrap();
    user.run(DISPATCH).expect(0, &[]);
    into_one_file(&user);
    let mut damaged = std::fs::read(user.log_file()).unwrap();
    let good = damaged.clone();
    damaged[100..].fill(0x5a);
    std::fs::write(user.log_file(), damaged).unwrap();
    nothing_runs(&user, &["is damaged (", "move it away, and a new one is begun"]);
    for command in [&["audit", "show"][..], &["audit", "verify"], &["replay"]] {
        user.run(command).expect(NOT_LOADED, &["is damaged ("]);
    }

    std::fs::write(user.log_file(), good).unwrap();
    Connection::open(user.log_file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    nothing_runs(&user, &["has format 99, and this hookhost knows format 2: use the version that wrote it"]);
    for command in [&["audit", "show"][..], &["audit", "verify"], &["replay"]] {
        user.run(command).expect(NOT_LOADED, &["has format 99"]);
    }
    Connection::open(user.log_file()).unwrap().pragma_update(None, "user_version", 2).unwrap();
    user.run(DISPATCH).expect(0, &[]);
    assert_eq!(verified(&user)["verified"], true);
}

#[test]
fn a_log_that_cannot_be_made_stops_everything() {
    let user = user();
    std::fs::create_dir_all(user.log_file()).unwrap();
    nothing_runs(&user, &["hookhost.db is not used, since it is not a regular file", "put a file in its place"]);
    let user = self::user();
    std::fs::write(user.path("state"), "").unwrap();
    for command in [RUN, DISPATCH] {
        let ended = user.run(command);
        ended.expect(NOT_LOADED, &["for the audit log cannot be made: ", "HOOKHOST_STATE_DIR"]);
        assert_eq!(ended.stdout, "");
    }
}

#[test]
fn a_log_that_another_program_holds_stops_everything() {
    let user = user();
    user.run(DISPATCH).expect(0, &[]);
    let other = Connection::open(user.log_file()).unwrap();
    other.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    // Reading the file here would end the lock of this process: POSIX has it so.
    refused(&user, &["is locked by another program: end that program, or let it finish"]);
    drop(other);
    user.run(DISPATCH).expect(0, &[]);
    assert_eq!((counted(&user), calls(&user)), (2, 2));
}

#[test]
fn what_cannot_be_recorded_is_rejected_and_says_why() {
    let user = user();
    user.run(DISPATCH).expect(0, &[]);
    let other = Connection::open(user.log_file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ended = user.run(DISPATCH);
    // Nobody said no: the system failed.
    ended.expect(
        1,
        &["warning: the last records of the audit log could not be written: ", "is locked by another program"],
    );
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&object["outcome"], &object["cause"]), (&json!("rejected"), &json!("not-recorded")));
    let reason = object["reason"].as_str().unwrap();
    assert!(reason.starts_with("Rejected because the audit log cannot be written: "), "{reason}");
    drop(other);
    user.run(DISPATCH).expect(0, &[]);
    assert_eq!((counted(&user), calls(&user)), (2, 2));
    assert_eq!(verified(&user)["verified"], true);
}

#[test]
fn where_the_disk_is_full_a_gate_is_rejected_nothing_is_lost_and_the_log_continues_later() {
    let user = user();
    user.run(DISPATCH).expect(0, &[]);
    let before = user.records();
    let config = std::fs::read_to_string(user.config_file()).unwrap();
    // Room for what is there and a small record, not for this one. A write beyond the limit fails as on a full disk. No
    // plugin is asked: its memory is in a file, too.
    user.configure("");
    user.write("large.json", call(&"x".repeat(100_000)).to_string());
    let mut shell = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" dispatch before-tool-call --payload large.json";
    shell.arg("-c").arg(script).arg(hookhost_tests::hookhost()).current_dir(user.project());
    for (key, value) in user.command([""; 0]).get_envs().filter_map(|(key, value)| Some((key, value?))) {
        shell.env(key, value);
    }
    let ended = Ended::of(&mut shell);
    ended.expect(1, &["warning: the last records of the audit log could not be written: "]);
    let object: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&object["outcome"], &object["cause"]), (&json!("rejected"), &json!("not-recorded")));
    let reason = object["reason"].as_str().unwrap();
    assert!(reason.contains("the audit log cannot be written") && reason.contains("hookhost.db"), "{reason}");
    assert!(user.records().starts_with(&before), "something is lost");
    assert_eq!((counted(&user), calls(&user)), (1, 1));
    user.configure(&config);
    user.run(["dispatch", "before-tool-call", "--payload", "large.json"]).expect(0, &[]);
    assert_eq!((counted(&user), calls(&user)), (2, 2));
    assert_eq!(verified(&user)["verified"], true);
}

#[test]
fn processes_that_record_at_once_make_one_chain_with_all_records() {
    const EACH: u64 = 20;
    let user = user();
    let user = &user;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || (0..EACH).for_each(|_| _ = user.run(DISPATCH).expect(0, &[])));
        }
    });
    let report = verified(user);
    assert_eq!(report["records"], 1 + 3 * 2 * EACH, "the log's, and three of each process");
    assert_eq!(report["open-sessions"], json!([]));
    assert_eq!((counted(user), calls(user)), (2 * EACH, 2 * EACH), "no count is lost");
}

#[test]
fn observers_that_do_not_end_are_given_up_counted_and_reported() {
    let user = user();
    let slow = Entry::all_events("slow", json!({ "stream-end": { "misbehave": "sleep" } }));
    let slow = slow.keys("events = [\"stream-end\"]").limits("compute = \"1h\"\ndeadline = \"1h\"\n");
    user.configure(&slow.to_toml());
    user.run(RUN).expect(0, &["warning: plugins that observe did not get 2 events within 2 s; the log counts them"]);
    let dropped: Vec<_> = user.records().into_iter().filter(|record| record["kind"] == "dropped").collect();
    assert_eq!(dropped.iter().map(|record| record["events"]["stream-end"].as_u64().unwrap()).sum::<u64>(), 2);
    let shown = user.run(["audit", "show", "--all"]).stdout;
    assert!(shown.contains("observers did not get 2 × stream-end"), "{shown}");
    assert_eq!(verified(&user)["open-sessions"], json!([]));
}

#[test]
fn observers_that_are_quick_enough_are_waited_for() {
    let user = user();
    let seen = json!({ "session-end": { "do": [{ "increment": ["plugin", "n", 1] }] } });
    user.configure(&Entry::all_events("last", seen).keys("events = [\"session-end\"]").to_toml());
    user.run(RUN).expect(0, &[]);
    assert_eq!(counted(&user), 1);
    assert!(user.records().iter().any(|record| record["kind"] == "observed" && record["event"] == "session-end"));
}

#[test]
fn a_second_ctrl_c_leaves_a_whole_log_that_counts_what_observers_missed() {
    let user = user();
    let slow = Entry::all_events("slow", json!({ "any": { "misbehave": "sleep" } }));
    let slow =
        slow.keys("events = [\"stream-end\", \"task-complete\"]").limits("compute = \"1h\"\ndeadline = \"1h\"\n");
    user.configure(&slow.to_toml());
    user.write("script.toml", "[[turn]]\ntext = \"Bye.\\n\"\n");
    let mut child = user.command(RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let recorded =
        |event: &str| user.log_file().exists() && user.run(["audit", "show", "--all"]).stdout.contains(event);
    let began = std::time::Instant::now();
    while !recorded("finalize-content") {
        assert!(began.elapsed().as_secs() < 60, "the run did not get so far");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the run does not wait for the plugin");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // It had no time to end the session; the log says so.
    assert_eq!(verified(&user)["open-sessions"].as_array().unwrap().len(), 1);
    let last = user.records().pop().unwrap();
    assert_eq!((&last["kind"], &last["events"]), (&json!("dropped"), &json!({ "stream-end": 1 })));
}

#[test]
fn a_trigger_that_keeps_records_out_stops_everything_and_verify_names_it() {
    let user = user();
    user.dispatch("before-tool-call", &call("echo first")).0.expect(0, &[]);
    let head = verified(&user)["head"].as_str().unwrap().to_owned();
    let trigger =
        "CREATE TRIGGER t BEFORE INSERT ON audit WHEN new.line LIKE '%SECRET%' BEGIN SELECT raise(ignore); END";
    Connection::open(user.log_file()).unwrap().execute_batch(trigger).unwrap();
    user.write("secret.json", call("echo SECRET exfil").to_string());
    let ended = user.run(["dispatch", "before-tool-call", "--payload", "secret.json"]);
    ended.expect(5, &["holds the trigger `t`", "move it away"]);
    user.run(["audit", "verify", "--head", &head]).expect(6, &[]);
    let flaws = user.run(["audit", "verify", "--json"]).stdout;
    let flaws: Value = serde_json::from_str(&flaws).unwrap();
    assert_eq!(flaws["flaws"][0]["kind"], "foreign");
    assert_eq!(flaws["flaws"][0]["holds"], "the trigger `t`, which hookhost did not make");
    // What is there is shown, with a word about it.
    user.run(["audit", "show"]).expect(0, &["the database holds the trigger `t`"]);
}

#[test]
fn a_log_that_is_removed_under_a_run_is_noticed_before_anything_else_is_allowed() {
    let user = user();
    let remove = format!("rm '{}'", user.log_file().display());
    let call = |command: &str| {
        let command = serde_json::to_string(command).unwrap();
        format!("[[turn]]\ncall = [{{ tool = \"bash\", arguments = {{ command = {command} }} }}]\n")
    };
    user.write("script.toml", format!("{}{}", call(&remove), call("echo ran > ran.txt")));
    // Inside, the log could not be removed.
    let ended = user.run(["run", "go", "--no-sandbox", "--script", "script.toml"]);
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("was removed or replaced while it was in use"), "{}", ended.stderr);
    assert!(!user.project().join("ran.txt").exists());
}
