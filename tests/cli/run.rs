//! `hookhost run`: the agent on a real directory, and how its end is reported.

use hookhost_tests::{Entry, User};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

const BYE: &str = "[[turn]]\ntext = \"Bye.\"\n";

fn bash(command: &str) -> String {
    let command = Value::from(command);
    format!(
        "[[turn]]\ntext = \"I run it.\\n\"\ncall = [{{ tool = \"bash\", arguments = {{ command = {command} }} }}]\n"
    )
}

/// A user with one plugin, and a script for the model.
fn user(config: Value, script: &str) -> User {
    let user = User::new();
    user.configure(&Entry::all_events("guard", config).to_toml());
    user.write("script.toml", script);
    user
}

const RUN: [&str; 4] = ["run", "go", "--script", "script.toml"];

#[test]
fn the_models_text_is_the_output_and_what_happens_beside_it_is_on_the_standard_error() {
    let user = user(json!({}), &(bash("echo hello > made.txt; cat made.txt") + BYE));
    user.configure("");
    let ended = user.run(RUN);
    ended.expect(
        0,
        &[
            "The answers are scripted: script.toml",
            "bash command=\"echo hello",
            "  hello\n",
            "2 model calls",
            "transcript: ",
        ],
    );
    assert_eq!(ended.stdout, "I run it.\nBye.\n");
    assert!(!ended.stderr.contains('\u{1b}'), "no colour in a pipe");
    assert_eq!(fs::read_to_string(user.project().join("made.txt")).unwrap(), "hello\n");
}

#[test]
fn refused_changed_and_masked_are_reported_with_the_plugins_name() {
    let config = json!({
        "before-tool-call": [
            { "when": { "contains": "rm" }, "verdict": "reject", "reason": "nothing is deleted here", "code": "rm.no" },
            { "when": { "lacks": "true &&" }, "verdict": "modify", "value": { "command": "true && {command}" } },
        ],
        "after-tool-call": { "when": { "contains": "s3cret" }, "verdict": "replace", "value": { "text": "[masked]" } },
        "finalize-content": { "verdict": "replace", "value": "{value} (checked)" },
    });
    let user = user(config, &(bash("rm x") + &bash("echo s3cret") + BYE));
    let ended = user.run(RUN);
    ended.expect(
        0,
        &[
            "rejected bash command=\"rm x\" by guard: nothing is deleted here [rm.no]",
            "changed bash by guard\n  command: was echo s3cret\n  command: now true && echo s3cret",
            "changed the result of bash by guard",
            "  [masked]",
        ],
    );
    // The text beside each call, once it is final, and the answer.
    let beside = "I run it.\n (checked)\n";
    assert_eq!(ended.stdout, format!("{beside}{beside}Bye. (checked)\n"));
    let transcript = Value::from(user.sessions()).to_string();
    assert!(transcript.contains("[masked]") && !transcript.contains("s3cret\\n"), "{transcript}");
}

#[test]
fn json_is_one_object_a_line_and_the_last_says_how_it_ended() {
    let user = user(json!({ "before-tool-call": { "verdict": "reject", "reason": "no" } }), &(bash("ls") + BYE));
    let ended = user.run(RUN.into_iter().chain(["--json"]));
    ended.expect(0, &[]);
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types.first(), Some(&"session-started"));
    assert!(types.contains(&"notice") && types.contains(&"tool-rejected") && types.contains(&"answer"), "{types:?}");
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["exit-code"]), (&json!("outcome"), &json!(0)));
    assert_eq!((&last["outcome"]["status"], &last["outcome"]["text"]), (&json!("success"), &json!("Bye.")));
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_refusal_that_stops_the_run_ends_with_3() {
    let stop = json!({ "verdict": "reject", "reason": "enough", "stop": true });
    let user = user(json!({ "before-tool-call": stop }), &(bash("ls") + BYE));
    let ended = user.run(RUN);
    ended.expect(3, &["error: ", "enough", "guard"]);
    assert_eq!(user.sessions()[0]["status"], "rejected");
}

#[test]
fn a_token_budget_that_is_used_up_ends_with_3() {
    let user =
        user(json!({ "token-usage": { "verdict": "reject", "reason": "the budget is used up" } }), &(bash("ls") + BYE));
    let ended = user.run(RUN.into_iter().chain(["--json"]));
    ended.expect(3, &["the budget is used up"]);
    let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["exit-code"], &last["outcome"]["status"]), (&json!(3), &json!("rejected")));
    assert!(!user.project().join("made.txt").exists());
}

#[test]
fn a_plugin_that_fails_and_so_ends_the_run_ends_it_with_4() {
    let user = user(json!({ "prompt-submit": { "misbehave": "trap" } }), BYE);
    user.run(RUN).expect(4, &["Rejected because the plugin guard failed: it trapped"]);
}

#[test]
fn a_run_that_cannot_continue_ends_with_1() {
    let user = user(json!({}), &bash("ls"));
    user.configure("");
    user.run(RUN).expect(1, &["the script script.toml has run out: it has 1 turn, and the agent asks for turn 2"]);
    user.configure("[agent]\nmax-turns = 1\n");
    user.run(RUN).expect(1, &["error: "]);
    assert!(user.sessions().iter().all(|session| session["status"].is_string()));
}

#[test]
fn the_prompt_is_read_from_the_standard_input_where_none_is_given() {
    let user = user(json!({ "prompt-submit": { "verdict": "reject", "reason": "<{value}>" } }), BYE);
    let ended = user.run_with_input(["run", "--script", "script.toml"], "tidy\nup");
    ended.expect(3, &["<tidy up>"]);
    user.run(["run", "--script", "script.toml"]).expect(2, &["the prompt is empty", "try: hookhost run \"Explain"]);
}

#[test]
fn what_the_command_line_gets_wrong_ends_with_2() {
    let user = User::new();
    user.write("script.toml", BYE);
    user.run(["run", "go", "--provider", "nobody"]).expect(2, &["there is no provider named `nobody`"]);
    user.run(["run", "go", "--provider", "scripted"]).expect(2, &["the provider scripted needs a script"]);
    user.configure("[agent.providers.local]\nkind = \"openai\"\nbase-url = \"http://localhost:1/v1\"\n");
    user.run(["run", "go", "--provider", "local"]).expect(2, &["the provider local needs a model"]);
    user.run(["run", "go", "--workspace", "nowhere"]).expect(2, &["the workspace nowhere cannot be worked on"]);
    user.run(["run", "go", "--workspace", "script.toml"]).expect(2, &["it is not a directory"]);
    user.run(["run", "--no-such-flag"]).expect(2, &["--no-such-flag"]);
    user.run([""; 0]).expect(2, &["Usage: hookhost"]);
}

#[test]
fn the_workspace_is_where_the_agent_works_and_the_project_that_counts() {
    let user = user(json!({}), &(bash("pwd > here.txt") + BYE));
    user.configure("");
    let reject = json!({ "prompt-submit": { "verdict": "reject", "reason": "not in this project" } });
    user.write("other/hookhost.toml", Entry::all_events("local", reject).to_toml());
    let arguments = RUN.into_iter().chain(["--workspace", "other"]);
    user.run(arguments.clone()).expect(0, &["other/hookhost.toml is not used", "hookhost trust "]);
    let other = user.project().join("other");
    let here = fs::read_to_string(other.join("here.txt")).unwrap();
    assert_eq!(here.trim(), other.to_str().unwrap());
    user.run(["trust", "other", "--yes"]).expect(0, &[]);
    user.run(arguments).expect(3, &["not in this project"]);
}

#[test]
fn an_entry_that_is_not_enabled_loads_where_it_is_named() {
    let user = User::new();
    user.write("script.toml", BYE);
    let wasm = user.write("guard.wasm", fs::read(hookhost_tests::plugin("all-events")).unwrap());
    let reject = json!({ "prompt-submit": { "verdict": "reject", "reason": "received" } });
    let entry = Entry::new("guard", &wasm).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(reject);
    user.configure(&entry.keys("enabled = false").to_toml());
    user.run(RUN).expect(0, &[]);
    user.run(RUN.into_iter().chain(["--plugin", "../project/guard.wasm"])).expect(3, &["received"]);
}

#[test]
fn nothing_that_a_model_or_a_tool_says_steers_the_terminal() {
    let user = User::new();
    let script = "[[turn]]\ntext = \"a\\u001B[2Jb\\n\"\ncall = [{ tool = \"bash\", arguments = { command = \"printf 'x\\\\033[31my'\" } }]\n";
    user.write("script.toml", script.to_owned() + BYE);
    let ended = user.run(RUN);
    ended.expect(0, &["x\u{fffd}[31my"]);
    assert_eq!(ended.stdout, "a\u{fffd}[2Jb\nBye.\n");
    assert!(!ended.stderr.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let user = User::new();
    user.write("script.toml", bash("echo done > made.txt") + BYE);
    let mut child = user.command(RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert!(user.project().join("made.txt").exists());
}

#[test]
fn a_skipped_failure_and_one_of_an_observer_are_reported_once_each_also_as_json_before_the_outcome() {
    let script = bash("true") + &bash("true") + BYE;
    let user = user(json!({}), &script);
    let failing = |name: &str, event: &str| {
        // No two entries are of one file.
        let file = user.write(&format!("{name}.wasm"), fs::read(hookhost_tests::plugin("all-events")).unwrap());
        let config = json!({ event: { "misbehave": "trap" } });
        let entry = Entry::new(name, &file).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(config);
        entry.keys(&format!("events = [\"{event}\"]"))
    };
    let skipped = failing("skipped", "before-tool-call").keys("on-failure = \"skip\"");
    let observer = failing("observer", "session-end");
    user.configure(&(skipped.to_toml() + &observer.to_toml()));
    let ended = user.run(RUN);
    ended.expect(0, &["its `on-failure = \"skip\"` let the event pass"]);
    for told in [
        "note: the plugin skipped failed on before-tool-call: it ",
        "note: the plugin observer failed on session-end: it ",
    ] {
        assert_eq!(ended.stderr.matches(told).count(), 1, "{told}: {}", ended.stderr);
    }
    let lines = user.run([&RUN[..], &["--json"]].concat()).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let notices =
        lines.iter().filter(|line| line["type"] == "notice" && line["text"].as_str().unwrap().contains("failed on"));
    assert_eq!(notices.count(), 2, "{lines:#?}");
    assert_eq!(lines.last().unwrap()["type"], "outcome");
}

#[test]
fn a_run_in_which_every_task_failed_does_not_end_with_0() {
    let recovers = json!({ "agent-error": { "verdict": "go-on", "value": [{ "prompt": "recover" }] } });
    let user = user(recovers, &bash("true"));
    let ended = user.run(RUN.into_iter().chain(["--json"]));
    ended.expect(1, &[]);
    let lines = ended.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let failed = lines.filter(|line| line["type"] == "task-ended" && line["status"] == "error");
    // The user's own, and all that plugins may add.
    assert_eq!(failed.count(), 65);
    assert_eq!(user.sessions()[0]["status"], "error");
}

#[cfg(target_os = "linux")]
#[test]
fn what_tools_start_runs_inside_unless_the_user_says_no() {
    let user = User::new();
    let script = "[[turn]]\ntext = \"I look.\"\ncall = [{ tool = \"bash\", arguments = { command = \"echo inside=$HOOKHOST_INSIDE; exit 3\" } }]\n[[turn]]\ntext = \"Done.\"\n";
    fs::write(user.project().join("script.toml"), script).unwrap();
    let inside = user.run(["run", "--script", "script.toml", "look"]);
    assert!(
        inside.expect(0, &[]).stderr.contains("inside=1") && inside.stderr.contains("[exit code 3]"),
        "{inside:#?}"
    );
    let outside = user.run(["run", "--no-sandbox", "--script", "script.toml", "look"]);
    assert!(
        outside.expect(0, &[]).stderr.contains("inside=\n") && outside.stderr.contains("[exit code 3]"),
        "{outside:#?}"
    );
}
