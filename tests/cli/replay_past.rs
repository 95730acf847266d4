//! `hookhost replay --from`: what the rules would have decided about the calls in the transcripts of the user's agents. The transcripts
//! were recorded from the real agents, for `host/transcripts`.

use hookhost_tests::{Ended, Entry, User};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The recordings have a fixed date.
const EVER: &str = "--since=3660d";

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/transcripts/tests/recorded").join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The hook messages of an agent's recording that contain a text.
fn told(recording: &str, text: &str) -> usize {
    let messages = fs::read_to_string(recorded(recording).join("hook.jsonl")).unwrap();
    messages.lines().filter(|line| line.contains(text)).count()
}

const RECORDINGS: [(&str, &str); 6] = [
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("copilot-cli", "copilot-cli"),
    ("gemini-cli", "gemini-cli"),
    ("opencode", "opencode-1.1.65"),
    ("pi", "pi"),
];

/// A user of six agents, with rules about some of the recorded commands.
fn user_of_six_agents() -> User {
    let user = User::new();
    for (_, recording) in RECORDINGS {
        copy(&recorded(recording).join("home"), &user.path("."));
    }
    user.configure(
        r#"
        [[rule]]
        id = "no-rm"
        on = "shell"
        program = "rm"
        flags = "-rf"
        reject = "nothing is removed"
        stops = ["rm -rf a"]
        passes = ["rm a"]

        [[rule]]
        id = "status"
        on = "shell"
        program = "git status"
        ask = "Look at the status?"
        stops = ["git status"]
        passes = ["git log"]
        "#,
    );
    user
}

/// Whether a rule in words decided. The configuration asks its questions.
fn is_of_rules(call: &Value) -> bool {
    call["by"] == "rules" || call["by"] == "the configuration"
}

/// The facts of today are not those of then.
#[test]
fn a_fact_that_transcripts_do_not_contain_is_unknown_and_the_output_says_so() {
    let user = user_of_six_agents();
    for (name, text) in [("HEAD", "ref: refs/heads/topic\n"), ("objects/none", ""), ("refs/none", "")] {
        user.write(&format!(".git/{name}"), text);
    }
    user.configure(
        r#"
        [[rule]]
        id = "branch"
        on = "shell"
        when = 'git.branch == "main"'
        ask = "In {git.branch}?"
        stops = [{ command = "ls", facts = { "git.branch" = "main" } }]
        passes = [{ command = "ls", facts = { "git.branch" = "topic" } }]
        "#,
    );
    let (_, calls, summary) = replayed(&user, &["--from", "claude-code"]);
    assert!(!calls.is_empty() && calls.iter().all(|call| call["code"] == "branch"), "{calls:?}");
    assert_eq!(summary["in-doubt"], json!({ "calls": calls.len(), "facts": ["git.branch"] }));
    let ended = user.run(["replay", EVER, "--from", "claude-code"]);
    assert!(ended.stdout.contains("facts that transcripts do not contain (git.branch)"), "{}", ended.stdout);
}

#[test]
fn a_past_call_has_its_own_time() {
    let user = user_of_six_agents();
    // When the transcripts were recorded, in UTC.
    let when = r#"time.weekday == "sun" && time.hour == 8 && time.minute in [51, 52]"#;
    user.configure(&format!(
        "[[rule]]\nid = \"then\"\non = \"shell\"\nwhen = '{when}'\nreject = \"no\"\nstops = [\"ls\"]\n\
         passes = [{{ command = \"ls\", facts = {{ \"time.hour\" = 9 }} }}]\n"
    ));
    let (_, calls, summary) = replayed(&user, &["--from", "claude-code"]);
    assert_eq!(summary["in-doubt"]["calls"], 0);
    user.configure("[[rule]]\nid = \"all\"\non = \"shell\"\nreject = \"no\"\n");
    let (_, all, _) = replayed(&user, &["--from", "claude-code"]);
    assert!(!all.is_empty() && calls.len() == all.len(), "{} of {}", calls.len(), all.len());
}

fn replayed(user: &User, arguments: &[&str]) -> (Ended, Vec<Value>, Value) {
    let ended = user.run([&["replay", "--json", EVER], arguments].concat());
    ended.expect(0, &[]);
    let mut lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap();
    assert_eq!(summary["type"], "summary");
    (ended, lines, summary)
}

/// Every file and directory below a directory, with its content and the time of its last change.
fn tree(directory: &Path) -> BTreeMap<PathBuf, (std::time::SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(tree(&path));
        }
        let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path, (metadata.modified().unwrap(), content));
    }
    found
}

#[test]
fn the_past_of_six_agents_is_judged_by_the_rules_in_force() {
    let user = user_of_six_agents();
    let (_, calls, summary) = replayed(&user, &["--from", "all"]);
    for (agent, recording) in RECORDINGS {
        let counts = summary["agents"].as_array().unwrap().iter().find(|counts| counts["agent"] == agent).unwrap();
        assert_eq!(counts["calls"], told(recording, ""), "{agent}");
        assert_eq!(counts["rejected"], told(recording, "rm -rf"), "{agent}");
        assert_eq!(counts["asked"], told(recording, "git status"), "{agent}");
    }
    assert_eq!(calls.len() as u64, summary["rejected"].as_u64().unwrap() + summary["asked"].as_u64().unwrap());
    assert!(calls.iter().all(|call| call["type"] == "call" && is_of_rules(call)), "{calls:?}");
    assert_eq!((&summary["complete"], &summary["not-read"]), (&json!(true), &json!([])));
    // The recordings' directory is that of another machine, except for a call that ran in /tmp.
    assert_eq!(summary["in-directories-elsewhere"].as_u64().unwrap() + 1, summary["calls"].as_u64().unwrap());
}

#[test]
fn a_person_reads_who_would_have_been_stopped_by_which_rule_with_an_example_and_one_next_step() {
    let user = user_of_six_agents();
    let ended = user.run(["replay", "--from", "pi,codex", EVER]);
    ended.expect(0, &[]);
    let text = &ended.stdout;
    for said in [
        "By the rules in ",
        ", of 16 calls in 3660 days, 2 would have been rejected and 3 asked about.\n",
        "  pi      6 calls      1 would be rejected      1 asked about      0 changed\n",
        " × rejected  rules [no-rm]: nothing is removed\n          such as   ",
        "rm -rf notes",
        " × asked     the configuration [status]: Look at the status?\n",
        "note: 15 calls ran in directories that do not exist here, such as /",
    ] {
        assert!(text.contains(said), "{said:?} is not in {text}");
    }
    assert_eq!(text.matches("next: ").count(), 1, "{text}");
    assert!(!text.contains("claude-code"), "{text}");
}

#[test]
fn a_replay_of_the_past_writes_nothing_even_if_it_could() {
    let user = user_of_six_agents();
    // The first command writes the component that judges the rules.
    user.run(["hooks"]).expect(0, &[]);
    let before = tree(&user.path("."));
    user.run(["replay", "--from", "all", EVER]).expect(0, &[]);
    let after = tree(&user.path("."));
    let changed: Vec<_> =
        after.iter().filter(|(path, file)| before.get(*path) != Some(file)).map(|(path, _)| path).collect();
    assert_eq!((changed, before.len()), (Vec::<&PathBuf>::new(), after.len()));
}

#[test]
fn plugins_that_could_reach_others_are_not_asked_and_are_named() {
    let user = user_of_six_agents();
    // This plugin has the grant `model`, and would reject everything.
    let asks_a_model = Entry::all_events("asks-a-model", json!({ "before-tool-call": { "verdict": "reject" } }));
    let config = fs::read_to_string(user.config_file()).unwrap();
    user.configure(&format!("{config}{}", asks_a_model.to_toml()));
    let (_, calls, summary) = replayed(&user, &["--from", "all"]);
    assert_eq!(summary["plugins-not-asked"], json!(["asks-a-model"]));
    assert!(calls.iter().all(is_of_rules));
    let text = user.run(["replay", "--from", "pi", EVER]).stdout;
    assert!(text.contains("note: not asked: asks-a-model; a replay asks no plugin that may write files, send requests or ask a model\n"), "{text}");
}

#[test]
fn without_rules_or_without_calls_the_next_step_says_what_to_do() {
    let user = user_of_six_agents();
    fs::remove_file(user.config_file()).unwrap();
    let text = user.run(["replay", "--from", "pi", EVER]).expect(0, &[]).stdout.clone();
    // A program that was built without plugins has no profile.
    let by_profile = text
        .starts_with("By the profile developer, because you have no rules yet, of 6 calls in 3660 days, ")
        && text.contains("\nnext: hookhost on puts these rules into force, and installs the hooks of your agents\n");
    assert!(
        by_profile || text.contains("There are no rules here, so all 6 calls in 3660 days would have run.\n"),
        "{text}"
    );
    let text = User::new().run(["replay", "--from", "claude-code,pi"]).expect(0, &[]).stdout.clone();
    assert!(
        text.starts_with("No tool call of the last 30 days is found in the transcripts of Claude Code and pi.\n"),
        "{text}"
    );
}

#[test]
fn a_transcript_of_another_project_is_judged_by_the_rules_of_that_project() {
    let user = User::new();
    fs::create_dir_all(user.path("work/app")).unwrap();
    let project = user.path("work/app").canonicalize().unwrap();
    let rule = "[[rule]]\nid = \"ask\"\non = \"bash\"\nask = \"In this project?\"\n";
    fs::write(project.join("hookhost.toml"), rule).unwrap();
    user.run(["trust", project.to_str().unwrap(), "--yes"]).expect(0, &[]);
    let session = |name: &str, cwd: &Path| {
        let call = json!({ "type": "message", "message": { "role": "assistant", "content": [
            { "type": "toolCall", "id": name, "name": "bash", "arguments": { "command": "make" } } ] } });
        let start = json!({ "type": "session", "version": 3, "id": name, "cwd": cwd });
        let directory = user.path(&format!(".pi/agent/sessions/{name}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("session.jsonl"), format!("{start}\n{call}\n")).unwrap();
    };
    session("inside", &project);
    session("outside", &user.project());
    let (_, calls, summary) = replayed(&user, &["--from", "pi"]);
    assert_eq!((&summary["calls"], &summary["asked"]), (&json!(2), &json!(1)), "{summary}");
    assert_eq!((&calls[0]["session"], &calls[0]["by"]), (&json!("inside"), &json!("the configuration")));
}

#[test]
fn an_agent_without_readable_transcripts_and_a_log_beside_an_agent_are_wrong() {
    let user = User::new();
    user.run(["replay", "--from", "emacs"]).expect(2, &["invalid value 'emacs'"]);
    user.run(["replay", "log.jsonl", "--from", "all"]).expect(2, &["cannot be used with"]);
    user.run(["replay", "--from", "all", "--since", "yesterday"])
        .expect(2, &["write a whole number and its unit, such as 12h, 7d or 4w"]);
}
