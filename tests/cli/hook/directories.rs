//! The directories that a hook's command fixes, and an environment that leads elsewhere: a project can set variables of its agent.

use super::{Home, Reply, policy, printed, reply_to};
use hookhost_agents::directories::DIRECTORY_VARIABLES;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The words of the hook that `hookhost install` writes for Claude Code, after the program.
fn installed(home: &Home) -> Vec<String> {
    printed(home.command(&["install", "claude-code"]).env("HOOKHOST_HOOK_PROGRAM", home.program("hookhost-hook")))
        .expect(0, &[]);
    let settings = fs::read(home.user.path(".claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_slice(&settings).unwrap();
    let words = &settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"];
    serde_json::from_value(words.clone()).unwrap()
}

fn hook(home: &Home, words: &[String]) -> Command {
    home.hook(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn ask(home: &Home, hook: &mut Command, id: &str) -> Reply {
    reply_to(hook, home.call("s", id, "touch denied.txt").to_string().as_bytes())
}

#[test]
fn an_environment_that_contradicts_the_hooks_command_is_a_no_that_names_the_variable() {
    let home = Home::new();
    let mut words = installed(&home);
    ask(&home, &mut hook(&home, &words), "1").is_denied_by_policy();
    let evil = home.user.path("evil");
    words.push("--on-failure=allow".to_owned());
    for variable in DIRECTORY_VARIABLES {
        let mut hook = hook(&home, &words);
        if let Some(kind) = variable.strip_prefix("XDG_") {
            // Where it counts.
            let named = kind.replace("_HOME", "_DIR");
            hook.env_remove(format!("HOOKHOST_{named}"));
        }
        let reply = ask(&home, hook.env(variable, &evil), variable);
        let says = format!("the variable {variable} leads hookhost to {}", evil.display());
        reply.could_not_be_settled(&says);
        assert!(reply.denial().contains("or run `hookhost install claude-code` where it is set"), "{reply:?}");
    }
    assert!(!evil.exists(), "nothing is made there");
    home.verify_log();
}

#[test]
fn without_variables_the_directories_of_the_command_count_and_without_them_those_of_the_environment() {
    let home = Home::new();
    let words = installed(&home);
    let mut bare = hook(&home, &words);
    bare.env_clear();
    ask(&home, &mut bare, "1").is_denied_by_policy();
    super::wait_for("the resident host", || home.socket().exists());
    let mut bare = hook(&home, &words);
    ask(&home, bare.env_clear(), "2").is_denied_by_policy();
    // An entry of an earlier version.
    home.asked("s", "3", "touch denied.txt").is_denied_by_policy();
    home.events("before-tool-call", 3);
    assert_eq!(home.processes("serve").len(), 1, "one resident host serves all of them");
    // The operator's choice.
    home.user.configure(&format!("[agents.claude-code]\ndirectories = \"environment\"\n{}", policy().to_toml()));
    assert_eq!(installed(&home), ["claude-code", "PreToolUse"]);
}

#[test]
fn a_users_file_that_has_counted_and_is_gone_is_a_no_of_the_next_resident_host_too() {
    let home = Home::new();
    home.asked("s", "1", "ls").passes();
    let file = home.user.config_file();
    fs::rename(&file, file.with_extension("away")).unwrap();
    let [host] = home.processes("serve").try_into().unwrap();
    super::end(host, Signal::KILL);
    home.asked("s", "2", "ls").could_not_be_settled(&format!("{} is no longer there", file.display()));
    // The same by a variable.
    let nowhere = home.user.path("nowhere");
    let reply = ask(&home, home.hook(&["claude-code", "PreToolUse"]).env("HOOKHOST_CONFIG_DIR", nowhere), "3");
    reply.could_not_be_settled("the resident host was started with other directories");
    fs::write(&file, "").unwrap();
    home.asked("s", "4", "ls").passes();
}
