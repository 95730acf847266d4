//! `hookhost test`: whether the rules decide what case files say.

use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

const WRONG: i32 = 2;
const DIFFERS: i32 = 6;

/// A user whose plugin `guard` rejects, asks, changes, counts and loops.
fn user() -> User {
    let user = User::new();
    let guard = json!({
        "before-tool-call": [
            { "when": { "contains": "push -f" }, "verdict": "reject", "reason": "no <force>", "code": "git.force" },
            { "when": { "contains": "push" }, "verdict": "escalate", "question": "push it?", "code": "git.push" },
            { "when": { "contains": "loop" }, "misbehave": "loop" },
            { "when": { "contains": "count" }, "do": [{ "increment": ["session", "n", 1] }, { "increment": ["plugin", "all", 1] }],
              "verdict": "reject", "reason": "call {last}" },
            { "when": { "contains": "make", "round": 1 }, "verdict": "modify", "value": { "command": "timeout 60 {command}" } },
        ],
        "prompt-submit": { "when": { "contains": "secret" }, "verdict": "reject", "reason": "no secrets" },
    });
    let guard = Entry::all_events("guard", guard).limits("fuel = 50_000_000\ncompute = \"30s\"\ndeadline = \"30s\"\n");
    user.configure(&guard.keys("events = [\"before-tool-call\", \"prompt-submit\"]").to_toml());
    user
}

/// Tests one case file in the user's project.
fn tested(user: &User, text: &str, more: &[&str]) -> Ended {
    user.write("cases/own.toml", text);
    user.run([&["test", "."], more].concat())
}

/// The JSON objects that `--json` prints: the cases, and the summary.
fn objects(ended: &Ended) -> (Vec<Value>, Value) {
    let mut lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap();
    assert_eq!(summary["type"], "summary");
    (lines, summary)
}

const PASSING: &str = r#"
[[case]]
name = "a forced push is rejected"
shell = "git push -f origin main"
outcome = "rejected"
code = "git.force"
plugin = "guard"
reason-contains = "<force>"

[[case]]
name = "a push is asked about"
agent = "codex"
cwd = "/home/ada/app"
tool = "Bash"
arguments = { command = "git push" }
outcome = "asked"
code = "git.push"

[[case]]
name = "a build gets a time limit"
shell = "make all"
outcome = "changed"
becomes = "timeout 60 make all"

[[case]]
name = "a prompt with a secret does not reach the model"
prompt = "my secret"
outcome = "withheld"

[[case]]
name = "another prompt does"
event = "prompt-submit"
payload = { prompt = "hello" }
outcome = "passed"
"#;

#[test]
fn cases_that_are_as_expected_pass_and_nothing_of_the_user_changes() {
    let user = user();
    let ended = tested(&user, PASSING, &[]);
    ended.expect(0, &[]);
    assert_eq!(
        ended.stdout,
        "cases/own.toml\n  ✓ a forced push is rejected\n  ✓ a push is asked about\n  ✓ a build gets a time limit\n  ✓ a prompt with \
         a secret does not reach the model\n  ✓ another prompt does\n5 cases: 5 passed\n"
    );
    assert!(!user.log_file().exists(), "a test records nothing");
    // The user's own cases are beside the user's own file.
    std::fs::create_dir(user.path("config/cases")).unwrap();
    std::fs::write(user.path("config/cases/a.toml"), PASSING).unwrap();
    assert!(user.run(["test"]).expect(0, &[]).stdout.ends_with("5 cases: 5 passed\n"));
    // One file alone, under a configuration that is chosen.
    std::fs::copy(user.config_file(), user.project().join("rules.toml")).unwrap();
    user.run(["test", "cases/own.toml", "--config", "rules.toml"]).expect(0, &[]);
    user.run(["test", "--config", "rules.toml"]).expect(0, &[]);
}

#[test]
fn a_failing_case_says_what_was_expected_what_came_out_and_which_command_shows_it() {
    let user = user();
    let cases = r#"
[[case]]
name = "wrong outcome"
shell = "git push"
outcome = "allowed"

[[case]]
name = "wrong code, plugin and reason"
cwd = "/srv/app"
shell = "git push -f"
outcome = "rejected"
code = "git.push"
plugin = "other"
reason-contains = "because"

[[case]]
name = "wrong value"
tool = "Bash"
arguments = { command = "make" }
outcome = "changed"
becomes = { command = "make" }

[[case]]
name = "no payload of the event"
event = "prompt-submit"
payload = { promt = "hello" }
outcome = "passed"
"#;
    let ended = tested(&user, cases, &[]);
    ended.expect(DIFFERS, &[]);
    for said in [
        "  ✗ wrong outcome  cases/own.toml:2\n      git push\n        outcome: expected allowed, and it is asked\n        push it?\n      \
         try: hookhost dispatch --shell 'git push'\n",
        "        code: expected git.push, and it is git.force\n        plugin: expected other, and it is guard\n        reason-contains: \
         expected because, and it is Rejected by guard: no <force>\n      try: echo '{\"call\":{",
        "\"session\":{\"cwd\":\"/srv/app\"}}' | hookhost dispatch before-tool-call --payload -\n",
        "        becomes is not as expected\n            - command: make\n            + command: timeout 60 make\n",
        "        this is no payload of prompt-submit: ",
        "4 cases: 0 passed, 4 failed\n",
    ] {
        assert!(ended.stdout.contains(said), "{said:?} is not in {}", ended.stdout);
    }
    let (lines, summary) = objects(&tested(&user, cases, &["--json"]));
    assert_eq!((&summary["cases"], &summary["passed"], &summary["failed"]), (&json!(4), &json!(0), &json!(4)));
    assert_eq!(lines[0]["line"], 2);
    assert_eq!(
        lines[0]["events"][0]["mismatches"],
        json!([{ "key": "outcome", "expected": "allowed", "actual": "asked" }])
    );
}

#[test]
fn a_plugin_that_loops_fails_its_case_within_its_limits_and_the_next_case_runs() {
    let user = user();
    let cases = "[[case]]\nname = 'loops'\nshell = 'loop'\noutcome = 'rejected'\n[[case]]\nname = 'next'\nshell = 'ls'\noutcome = 'allowed'\n";
    let ended = tested(&user, cases, &[]);
    ended.expect(DIFFERS, &[]);
    for said in
        ["outcome: expected rejected, and it is failed\n", "      ! guard timed out: it used up its fuel", "  ✓ next\n"]
    {
        assert!(ended.stdout.contains(said), "{said:?} is not in {}", ended.stdout);
    }
    tested(&user, &cases.replace("'rejected'", "'failed'"), &[]).expect(0, &[]);
}

#[test]
fn a_sequence_is_one_session_with_the_state_that_the_case_gives_and_the_next_case_begins_anew() {
    let user = user();
    let cases = r#"
[[case]]
name = "the third call says so"
state = { guard = { session = { n = 1 } } }
state-after = { guard = { session = { n = 3 }, plugin = { all = "2" } } }

[[case.event]]
shell = "count"
outcome = "rejected"
reason-contains = "call 1"

[[case.event]]
shell = "count"
outcome = "rejected"
reason-contains = "call 2"

[[case]]
name = "another session begins at one"
shell = "count"
outcome = "rejected"
state-after = { guard = { session = { n = 1 }, plugin = { all = 1 } } }
"#;
    tested(&user, cases, &[]).expect(0, &[]);
    let ended = tested(&user, &cases.replace("n = 3", "n = 4"), &[]);
    ended.expect(DIFFERS, &[]);
    for said in
        ["event 2: count\n", "state-after is not as expected\n", "- guard.session.n: 4\n", "+ guard.session.n: 3\n"]
    {
        assert!(ended.stdout.contains(said), "{said:?} is not in {}", ended.stdout);
    }
}

#[test]
fn update_writes_what_came_out_and_keeps_everything_else_of_the_file() {
    let user = user();
    let before = "# Ours.\n\n[[case]]   # the first\nname = \"pushes\"\nshell = \"git push\"\noutcome = \"allowed\"   # really?\ncode = \"x\"\n\n\
                  [[case]]\nname = 'a sequence'\n\n[[case.event]]\nshell = 'make' # builds\nbecomes = 'make'\n\n[[case.event]]\n# no outcome yet\nprompt = 'hello'\n";
    let ended = tested(&user, before, &["--update"]);
    ended.expect(0, &["updated 3 events in cases/own.toml\n"]);
    let after = before
        .replace("\"allowed\"", "\"asked\"")
        .replace("code = \"x\"", "code = \"git.push\"")
        .replace("becomes = 'make'\n", "becomes = \"timeout 60 make\"\noutcome = \"changed\"\n")
        .replace("prompt = 'hello'\n", "prompt = 'hello'\noutcome = \"passed\"\n");
    assert_eq!(std::fs::read_to_string(user.project().join("cases/own.toml")).unwrap(), after);
    // The state after several events is that of the case.
    let state = "[[case]]\nname = 's'\nstate-after = { guard = { session = { n = 9 } } }\n[[case.event]]\nshell = 'count'\noutcome = 'rejected'\n";
    tested(&user, state, &["--update"]).expect(0, &[]);
    let updated = std::fs::read_to_string(user.project().join("cases/own.toml")).unwrap();
    assert_eq!(updated, state.replace("{ n = 9 }", "{ n = 1 }"));
    let again = user.run(["test", ".", "--update"]);
    assert!(!again.expect(0, &[]).stderr.contains("updated"));
    user.run(["test", "."]).expect(0, &[]);
}

#[test]
fn a_case_file_with_mistakes_is_refused_with_the_place_of_each_and_no_case_runs() {
    let user = user();
    for (text, said) in [
        (
            "[[case]]\nname = 'a'\nshell = 'ls'\noutcom = 'allowed'\n",
            "own.toml:4:1: unknown key `outcom` in `case`: did you mean `outcome`?",
        ),
        (
            "[[case]]\nname = 'a'\nshell = 'ls'\noutcome = 'rejectd'\n",
            "own.toml:4:11: `case.outcome`: unknown word \"rejectd\": did you mean `rejected`?",
        ),
        ("[[case]]\nname = 'a'\nshell = 'ls'\n", "own.toml:1:1: the event has no `outcome`: write what you expect"),
        ("[[case]]\nshell = 'ls'\noutcome = 'allowed'\n", "own.toml:1:1: the case has no `name`"),
        (
            "[[case]]\nname = 'a'\nshell = 'ls'\nprompt = 'x'\noutcome = 'allowed'\n",
            "own.toml:1:1: an event is exactly one of",
        ),
        (
            "[[case]]\nname = 'a'\nevent = 'prompt-submt'\noutcome = 'passed'\n",
            "own.toml:3:9: there is no event `prompt-submt`: did you mean `prompt-submit`?",
        ),
        (
            "[[case]]\nname = 'a'\nshell = 'ls'\nfacts = { 'git.brnch' = 'main' }\noutcome = 'allowed'\n",
            "own.toml:4:25: `git.brnch` is no fact: did you mean `git.branch`?",
        ),
        (
            "[[case]]\nname = 'a'\nfacts = { 'time.hour' = 24 }\n[[case.event]]\nshell = 'ls'\noutcome = 'allowed'\n",
            "own.toml:3:25: `time.hour` is a number from 0 to 23",
        ),
        (
            "[[case]]\nname = 'a'\nshell = 'ls'\nresult-contains = 'x'\noutcome = 'allowed'\n",
            "own.toml:4:19: `result-contains` belongs to a `tool` of a plugin",
        ),
        (
            "[[case]]\nname = 'a'\nshell = 'ls'\nstate = { gaurd = {} }\noutcome = 'allowed'\n",
            "own.toml:4:19: no plugin `gaurd` is loaded here: did you mean `guard`?",
        ),
        (
            "[[case]]\nname = 'a'\ncwd = 'here'\nshell = 'ls'\noutcome = 'allowed'\n",
            "own.toml:3:7: `cwd` is not an absolute path",
        ),
        (
            "[[case]]\nname = 'a'\noutcome = 'allowed'\n[[case.event]]\nshell = 'ls'\nname = 'b'\noutcome = 'allowed'\n",
            "own.toml:6:8: `name` belongs to the case",
        ),
        ("[[case]]\nname = 'a'\nname = 'b'\n", "own.toml:3:1: this is not TOML: duplicate key"),
        (
            "[[case]]\nname = 'a'\ntool = 'x'\narguments = '[1]'\noutcome = 'allowed'\n",
            "own.toml:4:13: `arguments` is neither a table nor",
        ),
    ] {
        let ended = tested(&user, text, &[]);
        ended.expect(WRONG, &[said]);
        assert_eq!(ended.stdout, "");
    }
    user.write("cases/own.toml", b"\xff");
    user.run(["test", "."]).expect(WRONG, &["the case file cases/own.toml cannot be read: it is not text in UTF-8"]);
    let made = std::process::Command::new("mkfifo").arg(user.project().join("cases/pipe.toml")).status().unwrap();
    assert!(made.success());
    user.write("cases/own.toml", PASSING);
    user.run(["test", "."]).expect(WRONG, &["cases/pipe.toml is not used, since "]);
    let no_cases = User::new();
    no_cases.configure("");
    no_cases.run(["test"]).expect(WRONG, &["there is no case file: ", "config/cases/*.toml", "try: hookhost record"]);
    user.run(["test", "nowhere"]).expect(WRONG, &["nowhere cannot be read"]);
}

#[test]
fn junit_and_coverage_say_which_cases_failed_and_what_no_case_reached() {
    let user = user();
    let failing =
        format!("{PASSING}\n[[case]]\nname = \"a & <b> \\u001b\"\nshell = \"git push -f\"\noutcome = \"allowed\"\n");
    let ended = tested(&user, &failing, &["--junit", "report.xml", "--coverage"]);
    ended.expect(DIFFERS, &[]);
    let xml = std::fs::read_to_string(user.project().join("report.xml")).unwrap();
    assert!(xml.contains("tests=\"6\" failures=\"1\"") && xml.contains("name=\"a &amp; &lt;b&gt; \u{fffd}\""), "{xml}");
    assert!(xml.contains("Rejected by guard: no &lt;force&gt;"), "{xml}");
    assert_well_formed(&xml);
    let rows: Vec<Vec<&str>> = ended.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["guard", "before-tool-call", "-", "1", "1", "2"]), "{}", ended.stdout);
    assert!(ended.stdout.contains("rules of guard that were reached: git.force, git.push\n"), "{}", ended.stdout);
    let ended = tested(&user, "[[case]]\nname = 'a'\nshell = 'ls'\noutcome = 'allowed'\n", &["--coverage"]);
    assert!(ended.stdout.contains("prompt-submit") && ended.stdout.contains("never asked\n"), "{}", ended.stdout);
}

#[test]
fn state_that_a_plugin_read_before_a_recorded_event_is_part_of_the_case() {
    let user = user();
    let call = json!({ "id": "1", "name": "bash", "arguments": { "command": "count" } });
    for _ in 0..2 {
        user.dispatch("before-tool-call", &json!({ "call": call, "session": { "id": "s" } })).0.expect(3, &[]);
    }
    // The log begins after the first call.
    let mut records = user.records();
    let first = records.iter().position(|record| record["kind"] == "event").unwrap();
    records.remove(first);
    user.write("cut.jsonl", records.iter().map(|record| format!("{record}\n")).collect::<String>());
    let record = ["record", "--log", "cut.jsonl", "--agent", "hookhost-dispatch", "-o", "cases/own.toml"];
    user.run(record).expect(0, &["recorded 1 event of 1 session\n"]);
    let text = std::fs::read_to_string(user.project().join("cases/own.toml")).unwrap();
    assert!(text.contains("state = { guard = { session = { n = 1 }, plugin = { all = 1 } } }\n"), "{text}");
    user.write(
        "cases/own.toml",
        text + "reason-contains = \"call 2\"\nstate-after = { guard = { session = { n = 2 } } }\n",
    );
    user.run(["test", "."]).expect(0, &[]);
}

/// Rules in words about labels, the branch, the time and a variable.
const ROWS: &str = r#"
[[rule]]
id = "secret"
on = "read"
path = ".env"
label = "read:secret"
stops = [".env"]
passes = ["a"]

[[rule]]
id = "leak"
on = "web"
after = "read:secret"
reject = "nothing leaves"
stops = ["https://example.com"]
passes = [{ url = "https://example.com", after = "!read:secret" }]

[[rule]]
id = "push"
on = "shell"
program = "git push"
when = 'git.branch == "main" && !(env.CI == "1")'
ask = "Push to {git.branch}?"
stops = [{ command = "git push", facts = { "git.branch" = "main" } }]
passes = [{ command = "git push", facts = { "git.branch" = "topic" } }]

[[rule]]
id = "late"
on = "shell"
program = "make deploy"
when = 'time.weekday == "fri" && time.hour >= 15'
note = "a late deployment"
"#;

#[test]
fn the_examples_of_rules_are_tried_without_a_case_file_and_one_that_fails_has_its_place() {
    let user = User::new();
    user.configure(ROWS);
    assert_eq!(user.run(["test"]).expect(0, &[]).stdout, "6 examples of the rules hold\n");
    user.configure(&ROWS.replace("stops = [\".env\"]", "stops = [\".env\", \"b\"]"));
    user.write("cases/own.toml", "[[case]]\nname = 'a'\nshell = 'ls'\noutcome = 'allowed'\n");
    let ended = user.run(["test", "."]);
    ended.expect(DIFFERS, &[]);
    for said in [
        "  ✗ secret  ",
        "hookhost.toml:7:18: `secret` does not stop this example: it is read as a call that reads `b`",
        "1 of 7 examples fail, so the rules do not load and no case ran\n",
    ] {
        assert!(ended.stdout.contains(said), "{said:?} is not in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains("✓"), "{}", ended.stdout);
    let ended = user.run(["test", ".", "--json", "--junit", "report.xml"]);
    let (lines, summary) = objects(&ended);
    assert_eq!(
        (&summary["examples"], &summary["examples-failed"], &summary["cases"]),
        (&json!(7), &json!(1), &json!(0))
    );
    assert_eq!((&lines[0]["id"], &lines[0]["passed"]), (&json!("secret"), &json!(false)));
    assert_eq!((&lines[0]["failures"][0]["line"], &lines[0]["failures"][0]["column"]), (&json!(7), &json!(18)));
    assert!(lines[1..].iter().all(|rule| rule["type"] == "rule" && rule["passed"] == true), "{lines:?}");
    let xml = std::fs::read_to_string(user.project().join("report.xml")).unwrap();
    assert!(xml.contains("tests=\"3\" failures=\"1\"") && xml.contains("name=\"secret: 3 examples\""), "{xml}");
    assert_well_formed(&xml);
    // Any other mistake in a rule is an error of the configuration.
    user.configure(&ROWS.replace("git.branch ==", "git.brnch =="));
    user.run(["test", "."]).expect(5, &["did you mean `git.branch`?"]);
}

#[test]
fn a_case_says_which_labels_facts_and_time_its_events_have() {
    let user = User::new();
    user.configure(ROWS);
    let web = "tool = 'WebFetch'\narguments = { url = 'https://example.com/a' }\n";
    let cases = format!(
        "[[case]]\nname = 'labelled before'\nlabels = ['read:secret']\n{web}outcome = 'rejected'\n\
         [[case]]\nname = 'labelled by a call'\nlabels-after = ['read:secret']\n[[case.event]]\n{web}outcome = 'allowed'\nlabels-after = []\n\
         [[case.event]]\nshell = 'cat .env'\noutcome = 'allowed'\n[[case.event]]\n{web}outcome = 'rejected'\n\
         [[case]]\nname = 'facts'\nfacts = {{ 'git.branch' = 'main' }}\n[[case.event]]\nshell = 'git push'\noutcome = 'asked'\n\
         reason-contains = 'Push to main?'\n[[case.event]]\nfacts = {{ 'env.CI' = '1' }}\nshell = 'git push'\noutcome = 'allowed'\n\
         [[case.event]]\nfacts = {{ 'git.branch' = {{ unreadable = 'broken' }}, 'env.CI' = '0' }}\nshell = 'git push'\noutcome = 'asked'\n\
         [[case]]\nname = 'nothing is read from this machine'\nshell = 'git push'\noutcome = 'allowed'\n\
         [[case]]\nname = 'Friday'\nfacts = {{ 'time.weekday' = 'fri', 'time.hour' = 16 }}\nshell = 'make deploy'\noutcome = 'allowed'\ncode = 'late'\n"
    );
    user.write("cases/own.toml", &cases);
    // A case never reads the branch of the directory, nor the variables of this process.
    assert!(
        std::process::Command::new("git")
            .args(["init", "-qb", "main"])
            .current_dir(user.project())
            .status()
            .unwrap()
            .success()
    );
    let ended = Ended::of(user.command(["test", ".", "--coverage"]).env("CI", "0"));
    ended.expect(0, &[]);
    let rows: Vec<Vec<&str>> = ended.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for row in [["secret", "2", "1"], ["leak", "2", "2"], ["push", "2", "2"], ["late", "-", "1"]] {
        assert!(rows.contains(&row.to_vec()), "{row:?} is not in {}", ended.stdout);
    }
    user.write("cases/own.toml", cases.replace("labels-after = ['read:secret']", "labels-after = ['a']"));
    let ended = user.run(["test", ".", "--update"]);
    ended.expect(0, &["updated 1 event"]);
    assert!(ended.stdout.contains("labels-after is not as expected"), "{}", ended.stdout);
    let updated = std::fs::read_to_string(user.project().join("cases/own.toml")).unwrap();
    assert_eq!(updated, cases.replace("labels-after = ['read:secret']", "labels-after = [\"read:secret\"]"));
}

#[test]
fn a_recorded_case_has_the_labels_and_the_time_that_its_rules_read() {
    let user = User::new();
    user.configure(ROWS);
    let dispatch = |name: &str, arguments: Value| {
        let call = json!({ "id": name, "name": name, "arguments": arguments });
        user.dispatch("before-tool-call", &json!({ "call": call, "session": { "id": "s" } })).0
    };
    dispatch("Read", json!({ "file_path": ".env" })).expect(0, &[]);
    dispatch("Bash", json!({ "command": "make deploy" })).expect(0, &[]);
    dispatch("WebFetch", json!({ "url": "https://example.com/a" })).expect(3, &[]);
    // The log begins after the first call.
    let mut records = user.records();
    let first = records.iter().position(|record| record["kind"] == "event").unwrap();
    records.remove(first);
    user.write("cut.jsonl", records.iter().map(|record| format!("{record}\n")).collect::<String>());
    let record = ["record", "--log", "cut.jsonl", "--agent", "hookhost-dispatch", "-o", "cases/own.toml"];
    user.run(record).expect(0, &["recorded 2 events of 1 session\n"]);
    let text = std::fs::read_to_string(user.project().join("cases/own.toml")).unwrap();
    assert!(text.contains("labels = [\"read:secret\"]\n") && text.contains("facts = { time = "), "{text}");
    user.run(["test", "."]).expect(0, &[]);
}

/// Fails unless each tag of the document is closed in order, and each `&` begins a reference.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    for piece in xml.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or_else(|| panic!("{piece:?} is no tag"));
        assert!(
            text.split('&').skip(1).all(|rest| ["amp;", "lt;", "gt;", "quot;"].iter().any(|it| rest.starts_with(it)))
        );
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{xml}");
        } else if !tag.ends_with(['/', '?']) {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?} are open");
}

#[test]
fn watching_tests_again_after_a_change_and_ctrl_c_ends_it_in_order() {
    let user = user();
    user.write("cases/own.toml", PASSING);
    let mut command = user.command(["test", ".", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "5 cases: 5 passed"));
    user.write("cases/own.toml", PASSING.replace("\"asked\"", "\"allowed\""));
    assert!(lines.any(|line| line == "5 cases: 4 passed, 1 failed"));
    // A file with mistakes ends nothing.
    user.write("cases/own.toml", "[[case]]\n");
    user.write("cases/more.toml", PASSING);
    std::fs::remove_file(user.project().join("cases/own.toml")).unwrap();
    assert!(lines.any(|line| line == "5 cases: 5 passed"));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
