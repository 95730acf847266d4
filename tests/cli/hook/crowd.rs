//! Many hooks at once.

use super::{Home, Reply, started};
use serde_json::Value;
use std::collections::HashMap;

#[test]
fn two_hundred_hooks_at_once_over_twenty_sessions_start_one_host_and_each_gets_its_own_verdict() {
    let home = Home::new();
    let command = |number: usize| match number % 3 {
        0 => format!("touch {number}-denied.txt"),
        1 => format!("echo {number}-original"),
        _ => format!("echo {number}"),
    };
    // No host is there: the first of them starts it.
    let hooks: Vec<_> = (0..200)
        .map(|number: usize| {
            let message = home.call(&format!("s{}", number % 20), &number.to_string(), &command(number)).to_string();
            started(&mut home.hook(&["claude-code", "PreToolUse"]), message.as_bytes())
        })
        .collect();
    let replies: Vec<Reply> = hooks.into_iter().map(Reply::of).collect();
    for (number, reply) in replies.iter().enumerate() {
        match number % 3 {
            0 => reply.is_denied_by_policy(),
            1 => {
                let said: Value = serde_json::from_str(&reply.stdout).unwrap_or_else(|_| panic!("{number}: {reply:?}"));
                let changed = &said["hookSpecificOutput"]["updatedInput"]["command"];
                assert_eq!(changed, &format!("echo {number}-rewritten"), "{reply:?}");
            }
            _ => reply.passes(),
        }
    }
    let mut outcomes = HashMap::new();
    for event in home.events("before-tool-call", 200) {
        *outcomes.entry(event["outcome"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    assert_eq!(outcomes, HashMap::from([("rejected".to_owned(), 67), ("allowed".to_owned(), 133)]));
    home.events("session-start", 20);
    assert_eq!(home.processes("serve").len(), 1);
    home.verify_log();
}

#[test]
fn two_agents_in_one_directory_have_their_own_sessions_and_languages() {
    let home = Home::new();
    home.serve();
    let hooks: Vec<_> = (0..10)
        .flat_map(|number: usize| ["claude-code", "codex"].map(|agent| (agent, number)))
        .map(|(agent, number)| {
            // The same session identifier, and the same numbers of calls.
            let message = home.call("same", &number.to_string(), "touch answered.txt").to_string();
            (agent, started(&mut home.hook(&[agent, "PreToolUse"]), message.as_bytes()))
        })
        .collect();
    for (agent, hook) in hooks {
        let reply = Reply::of(hook);
        assert!(reply.denial().contains("answer-of-policy"), "{agent}: {reply:?}");
    }
    let events = home.events("before-tool-call", 20);
    for agent in ["claude-code", "codex"] {
        let of_agent = events.iter().filter(|event| event["session"] == format!("{agent}:same"));
        assert_eq!(of_agent.count(), 10, "{agent}");
    }
    home.events("session-start", 2);
    home.verify_log();
}

#[test]
fn a_call_that_two_hook_files_report_is_settled_once_and_both_get_the_same_answer() {
    let home = Home::new();
    let twice = |number: usize| {
        let message = home.call("s", &number.to_string(), "touch denied.txt").to_string();
        let report = || started(&mut home.hook(&["claude-code", "PreToolUse"]), message.as_bytes());
        let (first, second) = (report(), report());
        let (first, second) = (Reply::of(first), Reply::of(second));
        first.is_denied_by_policy();
        assert_eq!(first, second, "{number}");
    };
    // No resident host is there: one of the two starts it.
    (0..4).for_each(twice);
    home.events("before-tool-call", 4);
    home.events("session-start", 1);
    assert_eq!(home.processes("serve").len(), 1);
    home.verify_log();
}
