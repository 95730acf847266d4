//! A stand-in agent runs each spelling as a real command. With rules, it asks its hook before and obeys; without, it runs everything.

use crate::home::{Agent, Answer, Home};
use crate::support::{CANARY, User};
use std::collections::BTreeMap;

/// Scripts of bash, one in each line.
const SPELLINGS: [&str; 2] = [include_str!("spellings.txt"), include_str!("../../host/exec/tests/attacks.txt")];

/// Returns the scripts.
fn scripts() -> Vec<String> {
    let lines = SPELLINGS.iter().flat_map(|text| text.lines());
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| match line.strip_prefix("write ") {
            Some(path) => format!(
                "p={path}; mkdir -p \"${{p%/*}}\"; printf x > \"$p\"; echo x | tee -a \"$p\"; rm -f \"$p\"; cp /etc/hostname \"$p\"; \
                 python3 -c 'import os, sys; open(\"new\", \"w\"); os.replace(\"new\", sys.argv[1])' \"$p\""
            ),
            None => line.to_owned(),
        })
        .collect()
}

fn attacks(user: User, has_rules: bool) {
    let name = if user.is_root() { "root" } else { "an ordinary user" };
    let mut home = Home::new(user, has_rules);
    let mut agent = Agent::start(&home);
    assert!(matches!(agent.run("true"), Answer::Answered { .. }), "{:?}", agent.notices());
    let notices = agent.notices().join("\n");
    if notices.contains("second line: partly") {
        eprintln!("skipped, because some attacks would be real ones on this machine: {notices}");
        return;
    }
    assert_eq!(notices, "");
    home.remember_host();
    drop(agent);
    let mut agent = Agent::start(&home);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut broken = Vec::new();
    let scripts = scripts();
    for (number, script) in scripts.iter().enumerate() {
        let answer = if has_rules { agent.call(&home, number + 1, script) } else { agent.run(script) };
        let (outcome, output) = match answer {
            Answer::Answered { output: Some(output), .. } => ("were run", output),
            Answer::Answered { verdict, output: None } if verdict.starts_with("failed") => ("lost their hook", verdict),
            Answer::Answered { verdict, output: None } => ("were refused by rules", verdict),
            Answer::Ended => ("ended the agent", String::new()),
        };
        *counts.entry(outcome).or_default() += 1;
        let mut reached = home.damage();
        if output.contains("BREACH") {
            reached.push("it says that it has succeeded".to_owned());
        }
        if output.contains(CANARY) {
            reached.push("it has read a key".to_owned());
        }
        if outcome == "lost their hook" {
            reached.push("the hook has failed".to_owned());
        }
        let is_over = outcome == "ended the agent" || !reached.is_empty();
        if !reached.is_empty() {
            broken.push(format!("{script}\n    {}\n    {output:.2000}", reached.join("\n    ")));
        }
        if is_over {
            agent = Agent::start(&home);
        }
    }
    eprintln!("{} spellings as {name}, with rules: {has_rules}: {counts:?}", scripts.len());
    if has_rules {
        let verdict = match agent.call(&home, 0, "rm -rf ~/.claude") {
            Answer::Answered { verdict, .. } => verdict,
            Answer::Ended => String::new(),
        };
        assert!(verdict.starts_with("deny"), "the hook no longer answers: {verdict}");
    }
    assert!(broken.is_empty(), "{} of {} as {name}:\n{}", broken.len(), scripts.len(), broken.join("\n"));
}

#[test]
fn no_spelling_reaches_anything_as_an_ordinary_user() {
    attacks(User::ordinary("spellings"), false);
}

#[test]
fn no_spelling_reaches_anything_as_root() {
    attacks(User::current(), false);
}

#[test]
fn no_spelling_reaches_anything_under_rules() {
    for user in User::all("rules") {
        attacks(user, true);
    }
}
