//! An event that is settled without a resident host, by a process of its own.

use super::{Home, Reply, policy, started};
use serde_json::{Value, json};
use std::fs;

/// Messages of one agent, each of a session of its own, and of two others.
fn table(home: &Home) -> Vec<([&'static str; 2], Vec<u8>)> {
    let mut all = Vec::new();
    let commands =
        ["ls", "touch denied.txt", "touch stopped.txt", "touch answered.txt", "touch asked.txt", "echo original"];
    for (number, command) in commands.iter().enumerate() {
        for agent in ["claude-code", "codex"] {
            // Codex would have a person asked.
            if agent == "claude-code" || !command.contains("asked") {
                all.push(([agent, "PreToolUse"], home.call(&format!("s{number}"), "1", command)));
            }
        }
    }
    let event = |session: &str, point: &'static str, fields: Value| {
        let mut message = json!({ "session_id": session, "cwd": home.user.project(), "hook_event_name": point });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        (["claude-code", point], message)
    };
    let response = json!({ "stdout": "a masked-word", "stderr": "" });
    all.extend([
        event("a", "SessionStart", json!({ "source": "startup" })),
        event("b", "UserPromptSubmit", json!({ "prompt": "a forbidden-prompt" })),
        event("c", "UserPromptSubmit", json!({ "prompt": "hello" })),
        event(
            "d",
            "PostToolUse",
            json!({
                "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": "1", "tool_response": response,
            }),
        ),
        event("e", "Stop", json!({ "stop_hook_active": false })),
        event("f", "Notification", json!({ "message": "waiting" })),
        event("g", "SessionEnd", json!({ "reason": "exit" })),
    ]);
    let mut all: Vec<_> = all.into_iter().map(|(hook, message)| (hook, message.to_string().into_bytes())).collect();
    all.push((["claude-code", "PreToolUse"], b"{".to_vec()));
    all.push((["claude-code", "PreToolUse"], Vec::new()));
    all
}

/// What the log says of events: in which session, which, with what outcome; and the deliveries.
fn log(home: &Home) -> Vec<String> {
    let mut all: Vec<_> = home
        .user
        .records()
        .iter()
        .filter(|record| record["kind"] == "event" || record["kind"] == "delivery" || record["kind"] == "answer")
        .map(|record| {
            let fields = ["session", "kind", "event", "outcome", "by", "what", "note"];
            fields.map(|field| record[field].to_string()).join(" ")
        })
        .collect();
    all.sort();
    all
}

/// The small program's own end to a call of a shell command: its exit code, its frames and what it says.
fn small(home: &Home, session: &str, command: &str, cache: Option<&str>) -> (Option<i32>, String, String) {
    let mut small = home.of_program(&home.program("hookhost-settle"), &["claude-code", "PreToolUse"]);
    if let Some(cache) = cache {
        small.env("HOOKHOST_CACHE_DIR", home.user.path(cache));
    }
    let message = home.call(session, "1", command).to_string();
    let ended = started(&mut small, message.as_bytes()).wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.code(), text(&ended.stdout), text(&ended.stderr))
}

/// Fails unless it has left the message to `hookhost`, for this reason, and has settled nothing.
#[track_caller]
fn leaves_it(home: &Home, cache: Option<&str>, why: &str) {
    let events = || home.user.records().iter().filter(|record| record["kind"] == "event").count();
    let before = events();
    let (code, stdout, stderr) = small(home, "left", "touch denied.txt", cache);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.starts_with("hookhost-settle leaves it to hookhost: ") && stderr.contains(why), "{stderr}");
    assert_eq!(events(), before);
}

#[test]
fn the_small_program_settles_what_is_compiled_and_leaves_the_rest_to_hookhost_before_anything_is_settled() {
    let home = Home::new();
    let _lock = home.without_resident_host();
    let (code, stdout, stderr) = small(&home, "own", "touch denied.txt", None);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("denied-by-policy"), "{stdout}");
    home.events("before-tool-call", 1);
    // A section that it does not read, a grant that needs TLS, a project's file that nobody has approved, and nothing compiled.
    let rules = policy().to_toml();
    let of_agent = format!("{rules}\n[agent]\nmodel = 'small'\n");
    let asks = policy().grants("state = {}\nhttp = [\"localhost:1\"]\n").to_toml();
    for (rules, why) in [(&of_agent, "agent"), (&asks, "may ask a server or a model")] {
        home.user.configure(rules);
        home.compile(&home.user.project());
        leaves_it(&home, None, why);
        home.asked(&format!("by-hookhost {why}"), "1", "touch denied.txt").is_denied_by_policy();
    }
    home.user.configure(&rules);
    let project = home.user.project().join("hookhost.toml");
    fs::write(&project, "").unwrap();
    leaves_it(&home, None, "not as it was approved");
    home.asked("unapproved", "1", "touch denied.txt").is_denied_by_policy();
    fs::remove_file(&project).unwrap();
    leaves_it(&home, Some("empty-cache"), "has to be compiled");
    home.verify_log();
}

#[test]
fn without_the_small_program_or_with_one_that_does_not_run_hookhost_settles() {
    let home = Home::new();
    let _lock = home.without_resident_host();
    let program = home.program("hookhost-settle");
    fs::remove_file(&program).unwrap();
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    home.asked("s", "2", "ls").passes();
    // One that reads nothing and answers nothing; one that is no program.
    std::os::unix::fs::symlink("/bin/false", &program).unwrap();
    home.asked("s", "3", "touch denied.txt").is_denied_by_policy();
    fs::remove_file(&program).unwrap();
    fs::write(&program, "garbage").unwrap();
    home.asked("s", "4", "touch denied.txt").is_denied_by_policy();
    home.events("before-tool-call", 4);
    home.verify_log();
}

#[test]
fn a_process_of_its_own_gives_the_same_reply_byte_for_byte_and_records_the_same() {
    let (with, without, large) = (Home::new(), Home::new(), Home::new());
    with.serve();
    let _locks = [without.without_resident_host(), large.without_resident_host()];
    // There `hookhost` settles.
    fs::remove_file(large.program("hookhost-settle")).unwrap();
    let replies =
        |home: &Home| -> Vec<Reply> { table(home).iter().map(|(hook, message)| home.told(hook, message)).collect() };
    let (resident, alone) = (replies(&with), replies(&without));
    for (other, which) in [(&alone, "hookhost-settle"), (&replies(&large), "hookhost")] {
        for ((hook, message), (resident, other)) in table(&with).iter().zip(resident.iter().zip(other)) {
            assert_eq!(resident, other, "{which} {hook:?} {}", String::from_utf8_lossy(message));
        }
    }
    resident[2].is_denied_by_policy();
    assert!(!without.socket().exists(), "each was settled by a process of its own");
    super::wait_for("the last records", || without.settling().is_empty() && large.settling().is_empty());
    // What is recorded late is recorded by then, too.
    super::wait_for("the last records", || log(&with).len() >= log(&without).len());
    assert_eq!(log(&with), log(&without));
    assert_eq!(log(&with), log(&large));
    for home in [with, without, large] {
        home.verify_log();
    }
}
