//! `hookhost replay`: what the plugins of now would have made of what happened then.

use hookhost_tests::{Ended, Entry, User, plugin};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

const DIFFERS: i32 = 6;

fn guard(config: Value) -> Entry {
    Entry::all_events("guard", config).keys("events = [\"before-tool-call\", \"prompt-submit\"]")
}

/// A plugin that counts the calls in its state, and whose answer depends on the count, the time and random numbers.
fn counting() -> Value {
    json!({
        "before-tool-call": [
            { "when": { "round": 1 }, "do": ["clock", "random", { "increment": ["plugin", "n", 1] }], "verdict": "modify", "value": { "command": "n={last} {command}" } },
        ],
        "prompt-submit": { "do": ["random"], "verdict": "replace", "value": "{value} {last}" },
    })
}

/// A user with a log of a run of two calls, and of a prompt that was dispatched.
fn user_with_a_log() -> User {
    let user = User::new();
    user.configure(&guard(counting()).to_toml());
    let call = |command: &str| {
        format!("[[turn]]\ncall = [{{ tool = \"bash\", arguments = {{ command = \"{command}\" }} }}]\n")
    };
    user.write("script.toml", format!("{}{}[[turn]]\ntext = \"Bye.\"\n", call("echo one"), call("echo two")));
    user.run(["run", "go", "--script", "script.toml"]).expect(0, &[]);
    user.dispatch("prompt-submit", &json!({ "prompt": "go" })).0.expect(0, &[]);
    user
}

fn events(user: &User) -> u64 {
    user.records().iter().filter(|record| record["kind"] == "event").count() as u64
}

/// What `replay --json` prints: the differences, and the summary.
fn replayed(user: &User, arguments: &[&str]) -> (Ended, Vec<Value>, Value) {
    let ended = user.run([&["replay", "--json"], arguments].concat());
    let mut lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap();
    assert_eq!(summary["type"], "summary");
    assert!(lines.iter().all(|line| line["type"] == "difference"));
    (ended, lines, summary)
}

#[test]
fn with_the_same_plugins_nothing_differs() {
    let user = user_with_a_log();
    let (ended, differences, summary) = replayed(&user, &[]);
    ended.expect(0, &[]);
    assert_eq!(differences, [Value::Null; 0]);
    let events = events(&user);
    assert_eq!(
        (&summary["events"], &summary["same"], &summary["different"], &summary["not-replayable"]),
        (&json!(events), &json!(events), &json!(0), &json!(0))
    );
    let ended = user.run(["replay"]);
    ended.expect(0, &[]);
    assert_eq!(ended.stdout, format!("{events} events: {events} the same, 0 different, 0 not replayable\n"));
    // The same of an export.
    user.write("log.jsonl", user.run(["audit", "show", "--all", "--json"]).stdout);
    assert_eq!(user.run(["replay", "log.jsonl"]).expect(0, &[]).stdout, ended.stdout);
}

#[test]
fn a_changed_rule_shows_each_event_with_another_outcome() {
    let user = user_with_a_log();
    let reject = json!({ "before-tool-call": { "when": { "contains": "two" }, "verdict": "reject", "reason": "no \u{1b}[2Jtwo" } });
    user.configure(&guard(reject).to_toml());
    let ended = user.run(["replay"]);
    ended.expect(DIFFERS, &[]);
    let text = &ended.stdout;
    let heads: Vec<_> = text.lines().filter(|line| line.contains("before-tool-call")).collect();
    assert!(heads[0].ends_with("before-tool-call  allowed, with another value"), "{text}");
    assert!(heads[1].ends_with("before-tool-call  allowed → rejected by guard"), "{text}");
    for said in [
        "    bash command=\"echo two\"\n",
        "    now: Rejected by guard: no \u{fffd}[2Jtwo\n",
        "    the final value, as guard changed it\n    - arguments.command: n=",
        "    + arguments.command: echo one\n",
        " → reject reason=\"no \u{fffd}[2Jtwo\"\n",
    ] {
        assert!(text.contains(said), "{said:?} is not in {text}");
    }
    let (ended, differences, summary) = replayed(&user, &[]);
    ended.expect(DIFFERS, &[]);
    // Two calls, and two prompts that are no longer changed.
    assert_eq!((differences.len(), &summary["different"]), (4, &json!(4)));
    let rejected = differences.iter().find(|line| line["again"]["outcome"] == "rejected").unwrap();
    assert_eq!(
        (&rejected["recorded"]["outcome"], &rejected["recorded"]["event"]),
        (&json!("allowed"), &json!("before-tool-call"))
    );
    assert_eq!(
        text.lines().last().unwrap(),
        format!("{} events: {} the same, 4 different, 0 not replayable", summary["events"], summary["same"])
    );
}

#[test]
fn a_new_plugin_is_tried_beside_those_that_are_there_once_it_is_allowed() {
    let user = user_with_a_log();
    let copy = user.write("new.wasm", std::fs::read(plugin("all-events")).unwrap());
    user.run(["replay", "--plugin", "new.wasm"])
        .expect(5, &["new.wasm is not on the allowlist", "try: hookhost allow new.wasm"]);
    let reject =
        json!({ "before-tool-call": { "when": { "contains": "one" }, "verdict": "reject", "reason": "not one" } });
    let new = Entry::new("new", &copy).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(reject).keys("enabled = false");
    user.configure(&format!("{}{}", guard(counting()).to_toml(), new.to_toml()));
    replayed(&user, &[]).0.expect(0, &[]);
    let (ended, differences, summary) = replayed(&user, &["--plugin", "new.wasm"]);
    ended.expect(DIFFERS, &[]);
    assert_eq!((differences.len(), &summary["different"]), (1, &json!(1)));
    assert_eq!(differences[0]["again"]["reason"], "Rejected by new: not one");
}

#[test]
fn another_configuration_can_be_tried_without_its_being_yours() {
    let user = user_with_a_log();
    let own = std::fs::read(user.config_file()).unwrap();
    user.write(
        "stricter.toml",
        guard(json!({ "prompt-submit": { "verdict": "reject", "reason": "no prompts" } })).to_toml(),
    );
    let (ended, differences, _) = replayed(&user, &["--config", "stricter.toml"]);
    ended.expect(DIFFERS, &[]);
    let reasons: Vec<_> = differences.iter().filter_map(|line| line["again"]["reason"].as_str()).collect();
    assert_eq!(reasons, ["Rejected by guard: no prompts"; 2]);
    assert_eq!(std::fs::read(user.config_file()).unwrap(), own);
    user.run(["replay", "--config", "nowhere.toml"]).expect(5, &["nowhere.toml"]);
}

#[test]
fn another_configuration_names_exactly_the_events_that_differ_by_rule_and_the_command_that_shows_one() {
    let user = user_with_a_log();
    let reject = json!({ "verdict": "reject", "reason": "no", "code": "no.two" });
    let (mut call, mut config) = (reject.clone(), counting());
    call["when"] = json!({ "contains": "echo two" });
    config["before-tool-call"].as_array_mut().unwrap().insert(0, call);
    user.write("stricter.toml", guard(config.clone()).to_toml());
    let ended = user.run(["replay", "--with", "stricter.toml"]);
    ended.expect(DIFFERS, &[]);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "guard [no.two]: 1 event, changed → rejected");
    assert!(lines[1].ends_with("Z  bash command=\"echo two\""), "{}", ended.stdout);
    let seq = lines[1].trim().split(' ').next().unwrap();
    assert_eq!(lines[2], format!("  try: hookhost why {seq} --config stricter.toml"));
    assert!(lines[3].is_empty() && lines[4].contains(" 1 different, "), "{}", ended.stdout);
    let why = user.run(["why", seq, "--config", "stricter.toml"]);
    assert!(why.expect(0, &[]).stdout.contains("  today     rejected by guard: "), "{}", why.stdout);
    user.write("same.toml", guard(counting()).to_toml());
    let ended = user.run(["replay", "--with", "same.toml"]);
    assert_eq!(ended.expect(0, &[]).stdout.lines().count(), 1);
}

/// All that the database holds.
fn content(user: &User) -> Vec<String> {
    let database = rusqlite::Connection::open(user.log_file()).unwrap();
    let rows = |sql: &str| {
        let mut rows = database.prepare(sql).unwrap();
        let rows = rows.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap).collect::<Vec<_>>();
        assert!(!rows.is_empty(), "{sql}");
        rows
    };
    let state = "SELECT space || ' ' || key || ' ' || hex(value) || ' ' || ifnull(expires, '') FROM value ORDER BY 1";
    let spaces =
        "SELECT id || ' ' || plugin || ' ' || session || ' ' || version || ' ' || touched FROM space ORDER BY 1";
    [rows("SELECT line FROM audit ORDER BY seq"), rows(state), rows(spaces)].concat()
}

#[test]
fn a_replay_changes_neither_the_log_nor_the_state_and_runs_no_tool() {
    let user = user_with_a_log();
    let made =
        "[[turn]]\ncall = [{ tool = \"bash\", arguments = { command = \"touch made\" } }]\n[[turn]]\ntext = \"Bye.\"\n";
    user.write("script.toml", made);
    user.run(["run", "go", "--script", "script.toml"]).expect(0, &[]);
    std::fs::remove_file(user.project().join("made")).unwrap_or_default();
    let before = content(&user);
    for _ in 0..2 {
        // It counts on from what the record has, and not from the last replay.
        replayed(&user, &[]).0.expect(0, &[]);
    }
    user.configure(
        &guard(json!({ "any": { "do": [{ "increment": ["plugin", "n", 5] }], "verdict": "reject" } })).to_toml(),
    );
    replayed(&user, &[]).0.expect(DIFFERS, &[]);
    assert_eq!(content(&user), before);
    assert!(!user.project().join("made").exists());
}

#[test]
fn what_cannot_be_replayed_is_counted_with_its_reason_and_is_not_a_difference() {
    let user = User::new();
    let real = Entry::new("real", &plugin("all-events"))
        .grants(&format!("{}clock = true\n", hookhost_tests::ALL_EVENTS_GRANTS))
        .config(json!({ "prompt-submit": { "do": ["clock"], "verdict": "replace", "value": "{last}" } }))
        .keys("events = [\"prompt-submit\"]");
    user.configure(&real.to_toml());
    for _ in 0..2 {
        user.dispatch("prompt-submit", &json!({ "prompt": "go" })).0.expect(0, &[]);
    }
    let (ended, differences, summary) = replayed(&user, &[]);
    ended.expect(0, &[]);
    assert_eq!((&summary["not-replayable"], &summary["different"]), (&json!(2), &json!(0)));
    assert_eq!(summary["reasons"], json!({ "real: the plugin has the real time": 2 }));
    assert!(differences.iter().all(|line| line["not-replayable"][0] == "real: the plugin has the real time"));
    let text = user.run(["replay"]).stdout;
    assert!(
        text.ends_with(
            "2 events: 0 the same, 0 different, 2 not replayable\n  2 × real: the plugin has the real time\n"
        ),
        "{text}"
    );
    assert!(text.contains("    not compared: real: the plugin has the real time\n"), "{text}");
}

#[test]
fn lines_of_an_export_that_are_not_records_are_counted_and_skipped_where_nothing_is_verified() {
    let user = user_with_a_log();
    let export = user.run(["audit", "show", "--all", "--json"]).stdout;
    user.write("log.jsonl", format!("{export}no record\n"));
    let (ended, _, summary) = replayed(&user, &["--unverified", "log.jsonl"]);
    ended.expect(0, &[]);
    assert_eq!((&summary["not-replayable"], &summary["same"]), (&json!(1), &json!(events(&user))));
    assert_eq!(summary["reasons"], json!({ "the line is not a record": 1 }));
    user.run(["replay", "log.jsonl"]).expect(DIFFERS, &["is not as it was written from record "]);
}

#[test]
fn a_log_that_is_not_as_it_was_written_is_replayed_up_to_there() {
    let user = user_with_a_log();
    let export = user.run(["audit", "show", "--all", "--json"]).stdout;
    let lines: Vec<&str> = export.lines().collect();
    let event = lines.iter().position(|line| line.contains("\"event\":\"before-tool-call\"")).unwrap();
    let with = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        change(&mut lines);
        user.write("log.jsonl", lines.join("\n") + "\n");
        user.run(["replay", "log.jsonl"])
    };
    let from = |record: usize| format!("is not as it was written from record {record} on");
    // Its time, which no verdict depends on.
    let changed = with(&|lines| lines[event] = lines[event].replace("\"time\":1", "\"time\":2"));
    changed.expect(
        DIFFERS,
        &[&from(event + 1), "try: hookhost audit verify --log log.jsonl", "try: hookhost replay --unverified"],
    );
    assert!(!changed.stdout.contains("events"), "{}", changed.stdout);
    with(&|lines| drop(lines.remove(event))).expect(DIFFERS, &[&from(event + 1)]);
    with(&|lines| lines.swap(event, event + 1)).expect(DIFFERS, &[&from(event + 1)]);
    with(&|lines| drop(lines.remove(0))).expect(DIFFERS, &[&from(1)]);
    with(&|lines| drop(lines.drain(..))).expect(5, &[]);
    // A line whose writer was cut off is not a record, and nothing vouches for the end.
    user.write("log.jsonl", &export[..export.len() - 10]);
    user.run(["replay", "log.jsonl"]).expect(0, &[]);
    let unverified = with(&|lines| lines[event] = lines[event].replace("\"time\":1", "\"time\":2"));
    unverified.expect(DIFFERS, &[]);
    user.run(["replay", "--unverified", "log.jsonl"]).expect(0, &[]);
}

#[test]
fn a_database_that_holds_more_than_the_log_is_not_replayed() {
    let user = user_with_a_log();
    let view = "ALTER TABLE audit RENAME TO hidden; CREATE VIEW audit AS SELECT * FROM hidden";
    let trigger = "CREATE TRIGGER t BEFORE INSERT ON audit BEGIN SELECT raise(ignore); END";
    for (name, sql, what, goes_on) in
        [("view.db", view, "the view `audit`", false), ("trigger.db", trigger, "the trigger `t`", true)]
    {
        let copy = user.path(name);
        rusqlite::Connection::open(user.log_file())
            .unwrap()
            .execute("VACUUM INTO ?1", [copy.to_str().unwrap()])
            .unwrap();
        rusqlite::Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
        let copy = copy.to_str().unwrap();
        user.run(["replay", copy]).expect(DIFFERS, &[what]);
        let verified = user.run(["audit", "verify", "--log", copy]);
        assert!(verified.code == Some(DIFFERS) && (verified.stdout + &verified.stderr).contains(what));
        user.run(["replay", "--unverified", copy]).expect(if goes_on { 0 } else { DIFFERS }, &[what]);
    }
}

#[test]
fn without_a_log_there_is_nothing_to_replay() {
    let user = User::new();
    user.run(["replay"]).expect(5, &["there is no audit log at ", "no agent has called hookhost yet"]);
    user.run(["replay", "nowhere.jsonl"]).expect(5, &["there is no audit log at nowhere.jsonl"]);
}

#[test]
fn a_reader_that_goes_away_ends_the_replay() {
    let user = user_with_a_log();
    user.configure(&guard(json!({ "any": { "verdict": "reject", "reason": "no" } })).to_toml());
    let mut child = user.command(["replay", "--json"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | DIFFERS)) && output.stderr.is_empty(), "{output:?}");
}
