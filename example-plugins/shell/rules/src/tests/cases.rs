//! Tests with the tables of cases in `cases/`.

use super::{configure, expect_none_wrong, rules, word};
use crate::rules::Embedded;
use serde_json::json;
use std::io::Write as _;
use std::path::Path;

/// Returns the lines of a table, with `\n`, `\t` and `\e` as the characters that they denote.
fn lines(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t").replace("\\e", "\u{1b}"))
}

/// The tables of commands that are denied in every mode, and of similar commands that are not denied.
const FLOOR: [&str; 2] = [include_str!("../../cases/floor.txt"), include_str!("../../cases/self-defence.txt")];

/// Rules of self-defence protect the guard of the session. Each of these rules can be removed.
#[test]
fn the_table_of_self_defence_is_decided_by_its_catalogue_alone() {
    configure(json!({"stacks": []})).unwrap();
    let (mut blocked, mut allowed) = (0, 0);
    for line in lines(FLOOR[1]) {
        let decided = word(line.split_once(' ').unwrap().1);
        let is_by_us = rules().iter().any(|rule| rule.starts_with("self."));
        assert_eq!(is_by_us, line.starts_with("block "), "`{line}`: {decided} by {:?}", rules());
        if is_by_us { blocked += 1 } else { allowed += 1 }
    }
    assert!(blocked >= 120 && allowed >= 60, "{blocked} blocked, {allowed} allowed");
    for rule in ["commands", "environment", "process", "files", "keys", "agent_files", "agent_hooks", "mcp_servers"] {
        let id = format!("self.{rule}");
        configure(json!({"stacks": [], "remove": [id]})).unwrap();
        for line in lines(FLOOR[1]) {
            word(line.split_once(' ').unwrap().1);
            assert!(!rules().contains(&id), "`{line}`");
        }
    }
    configure(json!({"stacks": [], "remove": ["hookhost/self-defence"]})).unwrap();
    for command in
        ["hookhost trust", "rm hookhost-mcp.lock", "echo x > .claude/settings.json", "pgrep hookhost | xargs kill"]
    {
        assert_eq!(word(command), "allow", "{command}: {:?}", rules());
    }
}

/// Each command of hookhost whose source file refuses to run it inside an agent is denied by the rules, too. A file `a_b.rs` has the command
/// `a-b`. Some refuse only if they write a file.
#[test]
fn each_command_that_refuses_inside_an_agent_is_denied() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../host/cli/src/command");
    let mut commands = Vec::new();
    let mut directories = vec![directory.clone()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if std::fs::read_to_string(&path).unwrap().contains("inside_agent::refuse(") {
                let file = path.strip_prefix(&directory).unwrap().with_extension("");
                let words = file.iter().filter(|word| *word != "mod").map(|word| word.to_str().unwrap());
                commands.push(words.collect::<Vec<_>>().join(" ").replace('_', "-"));
            }
        }
    }
    assert!(commands.len() >= 6, "{commands:?}");
    configure(json!({"stacks": []})).unwrap();
    for command in commands {
        for line in [
            format!("hookhost {command} x -o y"),
            format!("setsid -f env -u CLAUDECODE hookhost {command} x -o y --yes"),
        ] {
            assert_eq!(word(&line), "deny", "`{line}`: add it to the rule self.commands");
            assert!(rules().contains(&"self.commands".to_owned()), "`{line}`: {:?}", rules());
        }
    }
}

/// Returns the catalogues that hookhost has added to the original catalogues.
fn ours() -> Vec<String> {
    let ids = Embedded::read().unwrap().map(|catalogue| catalogue.unwrap().id);
    ids.filter(|id| id.starts_with("hookhost/")).collect()
}

#[test]
fn the_rules_of_the_seed_decide_as_its_tables_say() {
    let mut wrong = Vec::new();
    for line in include_str!("../../cases/seed-rules.txt").lines().filter(|line| !line.starts_with('#')) {
        let (stack, rest) = line.split_once(" | ").unwrap();
        let mut fields: Vec<&str> = rest.rsplitn(3, " | ").collect();
        fields.reverse();
        let [command, rule, expected] = fields[..] else { panic!("{line}") };
        configure(json!({"stacks": [stack], "remove": ours()})).unwrap();
        let decided = word(command);
        let expected = match expected {
            "denied" => "deny",
            "-" => "allow",
            rewritten => rewritten,
        };
        let found = rules().first().cloned().unwrap_or_else(|| "none".into());
        if decided != expected || found != rule {
            wrong.push(format!("`{command}`: {decided} by {found}, expected {expected} by {rule}"));
        }
    }
    expect_none_wrong(&wrong);
}

#[test]
fn the_floor_holds_in_every_mode_and_lets_the_rest_through() {
    let mut wrong = Vec::new();
    for (mode, table) in
        ["rewrite-with-audit", "deny", "audit"].into_iter().flat_map(|mode| FLOOR.map(|table| (mode, table)))
    {
        configure(json!({"mode": mode, "stacks": []})).unwrap();
        for line in lines(table) {
            let (expected, command) = line.split_once(' ').unwrap();
            let expected = if expected == "block" { "deny" } else { "allow" };
            let decided = word(command);
            if decided != expected {
                wrong.push(format!("`{command}` in {mode}: {decided} by {:?}, expected {expected}", rules()));
            }
        }
    }
    expect_none_wrong(&wrong);
}

#[test]
fn where_sql_is_expected_the_floor_still_applies() {
    configure(json!({"stacks": ["sql"]})).unwrap();
    let blocked = FLOOR.iter().flat_map(|table| lines(table));
    let blocked = blocked.filter_map(|line| line.strip_prefix("block ").map(str::to_owned));
    for command in blocked {
        assert_eq!(word(&command), "deny", "`{command}`: {:?}", rules());
        for begins_as_sql in ["delete x; ", "with x\n", "drop x && "] {
            let command = format!("{begins_as_sql}{command}");
            assert_ne!(word(&command), "allow", "`{command}`");
        }
    }
    for statement in ["select count(*) from users where age > 3;", "delete from users where name = 'it''s'"] {
        assert_eq!(word(statement), "allow", "`{statement}`: {:?}", rules());
    }
}

/// The results of both tables.
#[derive(Default)]
struct Counts {
    passed: u32,
    stopped_wrongly: u32,
    stopped_rightly: u32,
    missed: u32,
    wrong: Vec<String>,
}

impl Counts {
    fn of_both_tables() -> Self {
        configure(json!({"stacks": []})).unwrap();
        let mut counts = Self::default();
        for command in lines(include_str!("../../cases/harmless.txt")) {
            match word(&command).as_str() {
                "allow" => counts.passed += 1,
                decided => {
                    counts.stopped_wrongly += 1;
                    counts.wrong.push(format!("harmless `{command}`: {decided} by {:?}", rules()));
                }
            }
        }
        for line in lines(include_str!("../../cases/harmful.txt")) {
            let (expected, command) = line.split_once(' ').unwrap();
            let decided = word(command);
            match decided.as_str() {
                "deny" | "ask" => counts.stopped_rightly += 1,
                _ => counts.missed += 1,
            }
            if decided != expected {
                counts.wrong.push(format!("harmful `{command}`: {decided} by {:?}, expected {expected}", rules()));
            }
        }
        counts
    }

    fn figures(&self) -> String {
        let Self { passed, stopped_wrongly, stopped_rightly, missed, .. } = *self;
        let share = |of: u32, rest: u32| f64::from(of) / f64::from(of + rest);
        format!(
            "Of {} harmful commands {stopped_rightly} are refused or asked about, of {} harmless ones {stopped_wrongly}: \
             precision {:.4}, recall {:.4}.",
            stopped_rightly + missed,
            passed + stopped_wrongly,
            share(stopped_rightly, stopped_wrongly),
            share(stopped_rightly, missed),
        )
    }
}

/// No decision may be wrong. The test writes precision and recall to stderr directly, because captured output is shown only if a test
/// fails.
#[test]
fn harmless_commands_run_as_they_are_and_harmful_ones_do_not() {
    let counts = Counts::of_both_tables();
    writeln!(std::io::stderr(), "{}", counts.figures()).unwrap();
    let Counts { passed, stopped_rightly, wrong, .. } = counts;
    expect_none_wrong(&wrong);
    assert!(passed >= 300 && stopped_rightly >= 300, "the tables hold too few cases");
}

#[test]
fn with_unknown_ask_what_a_wrapper_runs_decides() {
    configure(json!({"stacks": [], "unknown": "ask"})).unwrap();
    let mut wrong = Vec::new();
    for wrapper in [
        "timeout 10",
        "timeout -k 2.5 1m",
        "timeout --foreground -s KILL 10s",
        "nice",
        "nice -10",
        "nice -n 10",
        "ionice -c2 -n7",
        "time",
        "time -p",
        "/usr/bin/time -v",
        "env",
        "env -i",
        "env LANG=C",
        "command -p",
        "stdbuf -oL",
        "nohup",
        "xargs -0r",
        "timeout 10 nice env LANG=C",
    ] {
        for (command, expected) in
            [("ls src", "allow"), ("git log main", "allow"), ("make all", "ask"), ("ls > x", "ask")]
        {
            let command = format!("{wrapper} {command}");
            if word(&command) != expected {
                wrong.push(format!("`{command}`: {} by {:?}", word(&command), rules()));
            }
        }
    }
    // The word after an option that is not known may be the value of this option, and the command begins later.
    for command in ["timeout --new 10 ls make", "env --new ls make", "time -o x ls", "env PATH=. ls"] {
        if word(command) != "ask" {
            wrong.push(format!("`{command}`: {}", word(command)));
        }
    }
    expect_none_wrong(&wrong);
}

#[test]
fn with_unknown_ask_all_but_commands_that_only_read_are_asked_about() {
    configure(json!({"stacks": [], "unknown": "ask"})).unwrap();
    let mut wrong = Vec::new();
    for command in [
        "ls -la && cat README.md | head -20",
        "cd src && rg -n 'fn main' . | wc -l",
        "git status; git diff --stat HEAD~1",
        "find . -name '*.rs' | xargs grep -n TODO 2>/dev/null",
        "bash -c 'ls | sort'",
        "sed -n '1,80p' src/main.rs",
        "for f in *.md; do head -1 \"$f\"; done",
        "test -f x && echo yes || echo no",
        "kubectl get pods -n web",
        "python3 --version",
    ] {
        let decided = word(command);
        if decided != "allow" {
            wrong.push(format!("`{command}`: {decided} by {:?}", rules()));
        }
    }
    for command in [
        "cargo test",
        "./x.sh",
        "touch a",
        "ls > files.txt",
        "git commit -m x",
        "sudo ls /root",
        "docker exec web ls",
        "LD_PRELOAD=./x.so ls",
        "frobnicate --all",
        "cat x | sh -s",
        "bash x.sh; bash -c ls",
        "ls | xargs rm",
        "bash -c 'make'",
        "curl -s https://example.com",
        "f() { make; }; f",
    ] {
        if word(command) == "allow" {
            wrong.push(format!("`{command}` is allowed"));
        }
    }
    expect_none_wrong(&wrong);
    assert_eq!(word("cargo test"), "ask");
}

/// One in how many harmless commands the profile `developer` may stop.
const MAX_STOPPED: usize = 200;

#[test]
fn the_profile_developer_stops_few_commands_that_the_rules_were_not_written_for() {
    configure(json!({"stacks": []})).unwrap();
    let differences: Vec<String> = lines(include_str!("../../cases/policy-differences.txt")).collect();
    let all: Vec<String> = lines(include_str!("../../cases/held-out.txt")).collect();
    let stopped: Vec<&String> = all.iter().filter(|command| word(command) != "allow").collect();
    let is_difference = |command: &str| differences.iter().any(|line| line.split_once(" | ").unwrap().1 == command);
    let (of_policy, wrong): (Vec<_>, Vec<_>) = stopped.into_iter().partition(|command| is_difference(command));
    assert_eq!(of_policy.len(), differences.len(), "these pass: take them out of the policy differences");
    writeln!(
        std::io::stderr(),
        "Of {} held-out commands, {} are stopped, and {} by policy.",
        all.len(),
        wrong.len(),
        of_policy.len()
    )
    .unwrap();
    assert!(wrong.len() * MAX_STOPPED <= all.len() - of_policy.len(), "{wrong:?}");
}
