//! Changed rules are taken up while `hookhost run` lasts, or said not to be.

use hookhost_tests::{Entry, User};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SCRIPT: &str = r#"
[[turn]]
call = [{ tool = "bash", arguments = { command = "touch started; for i in $(seq 1200); do [ -e go ] && break; sleep 0.05; done" } }]
[[turn]]
call = [{ tool = "bash", arguments = { command = "touch second" } }]
[[turn]]
text = "Bye."
"#;

/// A plugin that rejects the second call, or no call.
fn rule(name: &str, rejects: bool) -> String {
    let text = if rejects { "second" } else { "nothing of the kind" };
    let config = json!({"before-tool-call": {"when": {"contains": text}, "verdict": "reject", "reason": "not that"}});
    Entry::all_events(name, config).to_toml()
}

/// A run that waits in the middle.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    fn start(user: &User) -> Self {
        user.write("script.toml", SCRIPT);
        let mut command: Command = user.command(["run", "go", "--script", "script.toml"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let began = Instant::now();
        while !user.project().join("started").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, stderr, said: String::new() }
    }

    /// Waits until this is said.
    fn until(&mut self, text: &str) {
        while !self.said.contains(text) {
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert_ne!(read, 0, "{text:?} is not in {:?}", self.said);
        }
    }

    /// Lets it run to its end; gives all that it said.
    fn finish(mut self, user: &User) -> String {
        user.write("go", "");
        self.stderr.read_to_string(&mut self.said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.said);
        self.said
    }
}

fn ran_the_second_call(user: &User) -> bool {
    user.project().join("second").exists()
}

#[test]
fn a_changed_configuration_counts_from_the_next_event_on() {
    let user = User::new();
    user.configure(&rule("guard", false));
    let mut run = Running::start(&user);
    user.configure(&(rule("guard", true) + "[settings]\napproval-deadline = '1m'\n"));
    run.until("other rules count from now on: changed guard; settings changed");
    let said = run.finish(&user);
    assert!(said.contains("not that"), "{said}");
    assert!(!ran_the_second_call(&user));
    let record = user.records().into_iter().find(|record| record["kind"] == "rules-changed").unwrap();
    assert_eq!(record["plugins"][0]["plugin"], "guard");
    let shown = user.run(["audit", "show", "--all"]);
    assert!(shown.stdout.contains("other rules were taken up"), "{shown:#?}");
}

#[test]
fn rules_that_cannot_be_loaded_leave_the_old_ones_until_they_are_fixed() {
    let user = User::new();
    user.configure(&rule("guard", true));
    let mut run = Running::start(&user);
    user.configure("[[plugin]]\nname = 1\n");
    run.until("the changed rules cannot be loaded, so the earlier ones stay");
    run.until("`plugin.name`");
    user.configure(&(rule("guard", true) + &Entry::all_events("second", json!({})).keys("enabled = false").to_toml()));
    run.until("an entry of the same file");
    std::fs::remove_file(user.config_file()).unwrap();
    run.until("is no longer there");
    let said = run.finish(&user);
    assert!(said.contains("not that"), "{said}");
    assert!(!ran_the_second_call(&user));
}

#[test]
fn a_plugin_file_that_is_no_longer_the_allowed_one_is_reported_and_the_loaded_one_stays() {
    let user = User::new();
    let copy = user.path("guard.wasm");
    std::fs::copy(hookhost_tests::plugin("all-events"), &copy).unwrap();
    let config = json!({"before-tool-call": {"when": {"contains": "second"}, "verdict": "reject", "reason": "no"}});
    let entry = Entry::new("guard", &copy).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(config);
    user.configure(&entry.to_toml());
    let mut run = Running::start(&user);
    std::fs::write(&copy, "another").unwrap();
    run.until("the changed rules cannot be loaded, so the earlier ones stay");
    run.until("hookhost allow");
    let said = run.finish(&user);
    assert!(said.contains("by guard"), "{said}");
}

#[test]
fn a_projects_file_that_a_tool_changes_changes_no_rule_until_the_change_is_approved() {
    let user = User::new();
    user.write("hookhost.toml", rule("guard", true));
    user.run(["trust", "--yes"]).expect(0, &[]);
    let mut run = Running::start(&user);
    user.write("hookhost.toml", "");
    run.until("has changed since you approved it: what you approved counts until");
    std::fs::remove_file(user.project().join("hookhost.toml")).unwrap();
    run.until("is gone since you approved it: what you approved counts until");
    user.write("hookhost.toml", rule("other", true));
    user.run(["trust", "--yes"]).expect(0, &[]);
    run.until("other rules count from now on: added other; removed guard");
    let said = run.finish(&user);
    assert!(said.contains("by other"), "{said}");
    assert!(!ran_the_second_call(&user));
}

#[test]
fn a_projects_file_that_a_tool_changes_or_removes_counts_in_the_next_run_as_it_was_approved() {
    for change in [Some("# nothing\n"), None] {
        let user = User::new();
        let file = user.write("hookhost.toml", rule("guard", true));
        user.run(["trust", "--yes"]).expect(0, &[]);
        match change {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let run = Running::start(&user);
        let said = run.finish(&user);
        assert!(said.contains("by guard") && said.contains("what you approved counts"), "{said}");
        assert_eq!(said.matches("what you approved counts").count(), 1, "it is reported once: {said}");
        assert!(!ran_the_second_call(&user));
    }
}

#[test]
fn a_file_that_keeps_changing_does_not_postpone_a_reload_for_ever() {
    let user = User::new();
    user.configure(&rule("guard", true));
    let mut run = Running::start(&user);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                user.write("hookhost.toml", "# of a project, and never approved\n");
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        user.configure(&rule("other", true));
        run.until("other rules count from now on: added other; removed guard");
        over.store(true, Ordering::Relaxed);
    });
    assert!(run.finish(&user).contains("by other"));
}

#[test]
fn a_directory_that_was_made_again_is_watched_again() {
    let user = User::new();
    let directory = user.path("plugins");
    let copy = directory.join("guard.wasm");
    let make = || {
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::copy(hookhost_tests::plugin("all-events"), &copy).unwrap();
    };
    make();
    let entry = Entry::new("guard", &copy).grants(hookhost_tests::ALL_EVENTS_GRANTS).config(json!({}));
    user.configure(&entry.to_toml());
    let mut run = Running::start(&user);
    std::fs::remove_dir_all(&directory).unwrap();
    run.until("the changed rules cannot be loaded, so the earlier ones stay");
    make();
    run.until("the rules can be loaded again, and are the same as before");
    std::fs::write(&copy, "another").unwrap();
    run.until("hookhost allow");
    run.finish(&user);
}
