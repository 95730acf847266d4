//! `hookhost off --for`: no rule is asked for some time.

use super::{Home, printed, wait_for};
use hookhost_tests::Ended;
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

impl Home {
    /// Ends the command, as the user `ada`.
    fn typed(&self, arguments: &[&str]) -> Ended {
        printed(self.command(arguments).env("USER", "ada"))
    }

    /// What the user did, according to the log.
    fn actions(&self) -> Vec<Value> {
        self.user.records().into_iter().filter(|record| record["kind"] == "operator").collect()
    }

    fn pause_file(&self) -> std::path::PathBuf {
        self.user.path("state/pause.json")
    }

    /// Changes the pause as if clocks had moved: adds these milliseconds to its times.
    fn move_pause(&self, wall: i64, since_boot: i64) {
        let mut pause: Value = serde_json::from_slice(&fs::read(self.pause_file()).unwrap()).unwrap();
        for (key, by) in [("since", wall), ("until", wall), ("since-boot", since_boot)] {
            pause[key] = (pause[key].as_i64().unwrap() + by).into();
        }
        fs::write(self.pause_file(), pause.to_string()).unwrap();
    }
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

#[test]
fn in_a_pause_every_call_passes_and_is_recorded_as_paused_and_on_its_end_the_rules_are_back() {
    let home = Home::new();
    home.asked("s", "1", "touch denied.txt").is_denied_by_policy();
    let ended = home.typed(&["off", "--for", "10m"]);
    ended.expect(0, &[]);
    assert!(
        ended.stdout.starts_with("hookhost is paused until 20") && ended.stdout.contains("hookhost on\n"),
        "{ended:#?}"
    );
    let reply = home.asked("s", "2", "touch denied.txt");
    reply.passes();
    assert!(reply.stdout.contains("hookhost is paused until 20"), "the user is told: {reply:?}");
    home.asked("s", "3", "touch asked.txt").passes();
    // The end of the pause comes without anybody's help.
    home.move_pause(-600_000, 0);
    home.asked("s", "4", "touch denied.txt").is_denied_by_policy();
    let events = home.events("before-tool-call", 4);
    let found: Vec<_> = events.iter().map(|event| (&event["outcome"], &event["enforcement"])).collect();
    let (rejected, allowed, paused) = (json!("rejected"), json!("allowed"), json!("paused"));
    let (none, calls) = (Value::Null, |at: usize| events[at]["calls"].as_array().unwrap().len());
    assert_eq!(found, [(&rejected, &none), (&allowed, &paused), (&allowed, &paused), (&rejected, &none)]);
    assert_eq!([0, 1, 2, 3].map(calls), [1, 0, 0, 1], "no rule is asked");
    let actions = home.actions();
    assert_eq!(actions.len(), 1, "{actions:#?}");
    assert_eq!((&actions[0]["action"], &actions[0]["by"]), (&json!("pause"), &json!("ada")));
    let until = actions[0]["until"].as_u64().unwrap();
    assert!((now() + 500_000..now() + 600_001).contains(&until), "{until}");
    home.verify_log();
}

#[test]
fn a_pause_ends_by_itself_while_the_resident_host_runs() {
    let home = Home::new();
    home.asked("s", "1", "ls").passes();
    home.typed(&["off", "--for", "2s"]).expect(0, &[]);
    home.asked("s", "2", "touch denied.txt").passes();
    let mut number = 3;
    let mut is_denied = || {
        number += 1;
        home.asked("s", &number.to_string(), "touch denied.txt").decision() == "deny"
    };
    let began = std::time::Instant::now();
    while !is_denied() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    home.verify_log();
}

#[test]
fn a_rule_that_is_off_passes_at_once_and_comes_back_by_itself_while_the_resident_host_runs() {
    let home = Home::with(
        "[[rule]]\nid = 'push'\non = 'shell'\nprogram = 'git push'\nreject = 'no'\nstops = ['git push']\npasses = ['ls']\n",
    );
    let decision = |number: u32| home.asked("s", &number.to_string(), "git push").decision();
    assert_eq!(decision(1), "deny");
    home.typed(&["rule", "off", "push", "--for", "3s"]).expect(0, &[]);
    let reply = home.asked("s", "2", "git push");
    reply.passes();
    assert!(reply.stdout.contains("hookhost: the rule push is off until 20"), "the user is told: {reply:?}");
    let began = std::time::Instant::now();
    let mut number = 3;
    while decision(number) != "deny" {
        number += 1;
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
    home.typed(&["rule", "off", "push", "--for", "1h"]).expect(0, &[]);
    assert_eq!(decision(1000), "none");
    home.typed(&["rule", "on", "push"]).expect(0, &[]);
    assert_eq!(decision(1001), "deny");
    home.verify_log();
}

#[test]
fn on_ends_a_pause_and_so_does_a_clock_that_says_nothing_clear() {
    let home = Home::new();
    let paused = |is_paused: bool, number: u32| {
        let decision = home.asked("s", &number.to_string(), "touch denied.txt").decision();
        assert_eq!(decision, if is_paused { "none" } else { "deny" }, "{number}");
    };
    let pause = || home.typed(&["off", "--for", "1h"]).expect(0, &[]).code;
    for (number, (wall, since_boot)) in [(1, (3_700_000, 0)), (2, (-3_600_001, 0)), (3, (0, -3_600_001))] {
        pause();
        paused(true, number * 10);
        home.move_pause(wall, since_boot);
        paused(false, number * 10 + 1);
    }
    pause();
    paused(true, 40);
    fs::write(home.pause_file(), "{}").unwrap();
    paused(false, 41);
    // A file that others could have written is no pause.
    pause();
    paused(true, 50);
    fs::set_permissions(home.pause_file(), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    paused(false, 51);
}

#[test]
fn a_pause_does_not_become_longer_because_the_rules_after_it_cannot_be_loaded() {
    let home = Home::new();
    home.typed(&["off", "--for", "1h"]).expect(0, &[]);
    home.asked("s", "1", "touch denied.txt").passes();
    home.move_pause(-3_600_001, 0);
    home.user.configure("[[plugin]]\nnmae = 1\n");
    home.asked("s", "2", "ls").could_not_be_settled("the key `name` is missing");
}

#[test]
fn a_pause_that_cannot_be_recorded_does_not_begin_and_an_agent_begins_none() {
    let home = Home::new();
    let inside = printed(home.command(&["off", "--for", "10m"]).env("CLAUDECODE", "1"));
    inside.expect(3, &["a command that turns hookhost off is for a person: nothing was changed"]);
    for (length, why) in [
        ("10", "write a number and its unit"),
        ("0m", "would end at once"),
        ("25h", "24 hours at most"),
        ("soon", "write a number and its unit"),
    ] {
        home.typed(&["off", "--for", length]).expect(2, &[why]);
    }
    home.typed(&["off", "--for", "1m", "--agent", "codex"]).expect(2, &["cannot be used with"]);
    fs::create_dir_all(home.user.path("state")).unwrap();
    fs::write(home.user.log_file(), "no database").unwrap();
    home.typed(&["off", "--for", "10m"]).expect(5, &["is not an audit log"]);
    assert!(!home.pause_file().exists());
}

#[test]
fn doctor_says_that_hookhost_is_paused() {
    let home = Home::new();
    home.typed(&["off", "--for", "10m"]).expect(0, &[]);
    let ended = home.typed(&["doctor"]);
    ended.expect(1, &[]);
    assert!(ended.stdout.contains("hookhost is paused until 20"), "{ended:#?}");
    wait_for("the log", || !home.actions().is_empty());
}
