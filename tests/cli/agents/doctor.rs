//! `hookhost doctor`: what it finds, and what it shows by running the hook.

use super::{HOOK, Person, printed};
use hookhost_tests::{Ended, Entry, hookhost};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// A person with the hook installed, and a plugin that rejects shell commands with `denied` in them.
fn installed() -> Person {
    let person = Person::new("2.1.330");
    let rejects = json!({ "before-tool-call": { "when": { "contains": "canary-denied" }, "verdict": "reject", "reason": "canary" } });
    person.user.configure(&Entry::all_events("guard", rejects).to_toml());
    for directory in ["bin", "."] {
        fs::set_permissions(person.user.path(directory), fs::Permissions::from_mode(0o755)).unwrap();
    }
    person.run(&["install", "claude-code"]).expect(0, &[]);
    person
}

fn json_of(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

#[test]
fn what_is_not_installed_is_a_problem_with_the_next_step() {
    let person = Person::new("2.1.330");
    let ended = person.run(&["doctor"]);
    ended.expect(1, &[]);
    printed(
        &ended,
        &[
            "Claude Code 2.1.330\n  ✗ hookhost is not installed in Claude Code, so nothing checks its calls\n    \
             next: hookhost on --agent claude-code\n\nhookhost ",
            "  ✗ no rules are in force here\n    next: hookhost on\n",
        ],
    );
    printed(
        &person.run(&["doctor", "--verbose"]),
        &[
            "Claude Code\n  ok      agent    Claude Code 2.1.330 is at ",
            "  problem rules    no rules are in force here",
        ],
    );
    let ended = Person::without_agent().run(&["doctor"]);
    printed(&ended, &["No agent is found on this machine"]);
}

#[test]
fn a_mistake_in_the_configuration_comes_before_the_agents() {
    let person = Person::without_agent();
    person.user.configure("[[plugin]]\nnmae = 1\n");
    let ended = person.run(&["doctor"]);
    let place = |text: &str| ended.stdout.find(text).unwrap_or_else(|| panic!("{text}: {ended:#?}"));
    assert!(ended.stdout.starts_with("hookhost "), "{ended:#?}");
    assert!(place("the configuration cannot be used") < place("No agent is found on this machine"), "{ended:#?}");
}

#[test]
fn what_is_installed_is_found_with_the_rules_in_force() {
    let person = installed();
    let ended = person.run(&["doctor", "claude-code"]);
    ended.expect(0, &[]);
    printed(
        &ended,
        &[
            "Claude Code 2.1.330\n  ✓ your settings of Claude Code have hookhost's hook (",
            "  ? the hook has not been tested yet\n",
            "  Claude Code will ask hookhost before: shell commands, ",
            "  It will not ask before: files that you name with @.\n  Second line: ",
            ".\n  next: hookhost doctor claude-code --prove\n\nhookhost ",
            "  ✓ in force here: 1 plugin, from ",
        ],
    );
    assert_eq!(ended.stdout.lines().count(), 11, "the rest is for --verbose: {ended:#?}");
    let ended = person.run(&["doctor", "claude-code", "--verbose"]);
    printed(
        &ended,
        &[
            "  ok      entry    your settings of Claude Code have hookhost's hook (",
            "  ok      reached  ",
            "  ok      program  ",
            "  unknown proof    the hook has not been tested yet\n          try: hookhost doctor claude-code --prove\n",
            "  ok      host     no resident host runs: the next call of an agent starts it\n",
            "  ok      log      the audit log can be written\n",
            "  ok      rules    in force here: 1 plugin, from ",
            "; digest ",
        ],
    );
    let object = json_of(&person.run(&["doctor", "--json"]));
    assert_eq!(object["agents"][0]["agent"], "claude-code");
    assert_eq!(object["agents"][0]["installed"], json!(["user"]));
    assert_eq!(object["agents"][0]["checks"][0]["state"], "ok");
}

#[test]
fn a_log_that_cannot_be_written_is_a_problem() {
    let person = installed();
    let file = person.user.path("a-file");
    fs::write(&file, "").unwrap();
    let mut doctor = person.command(&["doctor", "claude-code"]);
    let ended = Ended::of(doctor.env("HOOKHOST_STATE_DIR", file.join("state")));
    ended.expect(1, &[]);
    printed(&ended, &["  ✗ nothing can be written in ", ", so every call is denied: "]);
}

#[test]
fn a_setting_that_disables_hooks_is_a_problem() {
    let person = installed();
    person.write(&person.read().replacen('{', "{\"disableAllHooks\": true,", 1));
    let ended = person.run(&["doctor"]);
    printed(
        ended.expect(1, &[]),
        &["  ✗ /", "says `disableAllHooks`, so the agent runs no hook\n    next: take `disableAllHooks` out of /"],
    );
}

#[test]
fn a_log_that_cannot_be_read_is_a_problem() {
    let person = installed();
    person.user.write("hookhost.toml", "[[rule]]\nid = \"ask\"\non = \"bash\"\nask = \"Run it?\"\n");
    person.run(&["trust", "--yes"]).expect(0, &[]);
    fs::create_dir_all(person.user.path("state")).unwrap();
    fs::write(person.user.log_file(), "no database").unwrap();
    let ended = person.run(&["doctor"]);
    printed(ended.expect(1, &[]), &["  ✗ the log cannot be read: "]);
}

#[test]
fn the_configured_hook_is_proven_and_the_proof_is_kept() {
    let person = installed();
    let ended = person.run(&["doctor", "--prove"]);
    let says = "the hook denied a forbidden test call, and allowed an ordinary one";
    printed(ended.expect(0, &[]), &[&format!("  ✓ {says}\n")]);
    let ended = person.run(&["doctor"]);
    printed(ended.expect(0, &[]), &[&format!("  ✓ {says}, on 20")]);
    let proof = &json_of(&person.run(&["doctor", "--json"]))["agents"][0]["proof"];
    assert_eq!((&proof["denied"]["verdict"], &proof["passed"]["verdict"]), (&json!("denied"), &json!("passed")));
    assert_eq!(proof["agent-version"], "2.1.330");
    assert_eq!(proof["program-digest"], hookhost_tests::digest(&person.user.path("bin/hookhost-hook")));
    // The file is another one now.
    person.write(&format!("{}\n", person.read()));
    printed(&person.run(&["doctor"]), &["  ? the hook was tested on 20", "settings.json has changed since\n"]);
}

#[test]
fn a_hook_that_passes_everything_denies_everything_or_fails_is_no_proof() {
    for (script, says) in [
        ("cat >/dev/null", "the hook allowed the test call that it must deny"),
        ("echo nobody answers >&2; exit 2", "the hook denied an ordinary test call too; it says: nobody answers"),
        (
            "exit 1",
            "the hook failed on the test call `echo hookhost-canary-denied > hookhost-canary-denied` (exit code 1)",
        ),
    ] {
        let person = installed();
        person.program("hookhost-hook", script);
        let ended = person.run(&["doctor", "--prove"]);
        printed(ended.expect(1, &[]), &[&format!("  ✗ {says}")]);
    }
    // Nothing is run but what `hookhost install` writes.
    let person = installed();
    let trace = person.user.path("trace");
    let other = person.program("other-hook", &format!("touch '{}'", trace.display()));
    person.program("hookhost-hook", HOOK);
    fs::create_dir(person.user.path("old")).unwrap();
    fs::rename(other, person.user.path("old/hookhost-hook")).unwrap();
    person.write(&person.read().replace("/bin/hookhost-hook", "/old/hookhost-hook"));
    let ended = person.run(&["doctor", "--prove"]);
    printed(ended.expect(1, &[]), &["so it is not run here: ", "so there is nothing to run\n"]);
    assert!(!trace.exists());
}

/// An agent that makes the call, which its hook hands to the rules; a part of the real one.
fn agent_that_asks(person: &Person, session: &str) {
    let payload = json!({
        "call": { "id": "1", "name": "Bash", "arguments": { "command": "echo hookhost-canary-denied > hookhost-canary-denied" } },
        "session": { "agent": session },
    });
    let file = person.user.write("call.json", payload.to_string());
    let dispatch =
        format!("'{}' dispatch before-tool-call --payload '{}' >/dev/null", hookhost().display(), file.display());
    person.program(
        "claude",
        &format!("case \"$1\" in --version) echo '2.1.330 (Claude Code)';; -p) {dispatch}; echo done;; esac; exit 0"),
    );
}

#[test]
fn the_agent_itself_is_run_and_the_log_says_what_happened_to_its_call() {
    let person = installed();
    agent_that_asks(&person, "claude-code");
    person.run(&["doctor", "--run-agent"]).expect(2, &["--prove"]);
    let ended = person.run(&["doctor", "claude-code", "--prove", "--run-agent"]);
    printed(ended.expect(0, &[]), &["  ✓ Claude Code itself was denied a forbidden test call\n"]);
    // Its own event in the log is seen as well.
    printed(&ended, &["  ✓ Claude Code last called hookhost on 20", " (before-tool-call)\n"]);
    // One that asks and does not obey.
    let obeying = fs::read_to_string(person.user.path("bin/claude")).unwrap();
    person.program("claude", &obeying.replace("echo done", "echo x > hookhost-canary-denied; echo done"));
    let ended = person.run(&["doctor", "claude-code", "--prove", "--run-agent"]);
    printed(ended.expect(1, &[]), &["  ✗ Claude Code ran the test call that hookhost must deny\n"]);
    assert!(!person.user.project().join("hookhost-canary-denied").exists());
    // An older call proves nothing.
    person.program("claude", "[ \"$1\" = --version ] && echo 2.1.330; echo I will not");
    let ended = person.run(&["doctor", "claude-code", "--prove", "--run-agent"]);
    printed(
        ended.expect(1, &[]),
        &["  ✗ Claude Code ended with exit code 0 and did not make the test call; its output: I will not"],
    );
    person.user.configure("[[rule]]\nid = \"ask\"\non = \"nothing*\"\nask = \"Run it?\"\n");
    agent_that_asks(&person, "claude-code");
    let ended = person.run(&["doctor", "claude-code", "--prove", "--run-agent"]);
    printed(ended.expect(1, &[]), &["asked about the test call that hookhost must deny, and it was allowed"]);
}

#[test]
fn nothing_that_a_repository_names_is_run_by_commands_that_inspect() {
    let person = Person::without_agent();
    let (project, trace) = (person.user.project(), person.user.path("trace"));
    fs::create_dir_all(project.join(".git")).unwrap();
    let command = |agent: &str, point: &str| {
        format!(
            "touch '{}'; exec '{}' {agent} {point}",
            trace.display(),
            person.user.path("bin/hookhost-hook").display()
        )
    };
    let write = |name: &str, text: String| {
        let path = project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let group = |agent: &str, point: &str| json!({ "hooks": { point: [{ "matcher": "*", "hooks": [{ "type": "command", "command": command(agent, point) }] }] } });
    write(".claude/settings.json", group("claude-code", "PreToolUse").to_string());
    write(".codex/hooks.json", group("codex", "PreToolUse").to_string());
    write(".gemini/settings.json", group("gemini-cli", "BeforeTool").to_string());
    let cursor = json!({ "version": 1, "hooks": { "preToolUse": [{ "command": command("cursor", "preToolUse") }] } });
    write(".cursor/hooks.json", cursor.to_string());
    write(".clinerules/hooks/PreToolUse", format!("#!/bin/sh\n{}\n", command("cline", "PreToolUse")));
    let own = |name: &str| write(&format!("tools/{name}"), format!("#!/bin/sh\ntouch '{}'\n", trace.display()));
    ["claude", "codex", "gemini", "cline", "bash", "sh", "node"].into_iter().for_each(own);
    for arguments in [
        &["doctor"][..],
        &["doctor", "--prove", "--run-agent"],
        &["doctor", "claude-code", "--prove", "--run-agent"],
        &["agents"],
        &["install", "codex", "--dry-run"],
        &["uninstall", "--all", "--project", "--dry-run"],
    ] {
        let mut run = person.command(arguments);
        run.env("PATH", format!("{}:.:tools:/usr/bin:/bin", project.join("tools").display()));
        let ended = Ended::of(&mut run);
        assert!(!trace.exists(), "{arguments:?}: {ended:#?}");
        if arguments[0] == "doctor" {
            printed(&ended, &["so it is not run here: "]);
        }
    }
}

#[test]
fn agents_and_doctor_agree_about_an_agent_that_skips_the_hook() {
    let person = installed();
    person.run(&["doctor", "--prove"]).expect(0, &[]);
    person.write(&person.read().replacen('{', "{\"disableAllHooks\": true,", 1));
    person.run(&["doctor", "--prove"]).expect(1, &[]);
    let ended = person.run(&["agents", "claude-code"]);
    printed(
        ended.expect(0, &[]),
        &[
            "it denied a forbidden call, but there is a problem\n",
            "  problem   /",
            "says `disableAllHooks`",
            "  next: hookhost doctor claude-code\n",
        ],
    );
    assert_eq!(json_of(&person.run(&["agents", "--json"]))["agents"][0]["proven"], Value::Null);
    person.run(&["agents", "codex"]).expect(0, &[]);
    person.run(&["agents", "no-agent"]).expect(2, &[]);
    let ended = person.run(&["install"]);
    ended.expect(2, &["claude-code", "codex", "--all"]);
    person.run(&["uninstall"]).expect(2, &["claude-code", "codex", "--all"]);
}

#[test]
fn directories_without_a_program_do_not_fail_the_doctor_and_install_all_makes_none_of_another_agent() {
    let person = installed();
    fs::create_dir_all(person.user.path(".gemini")).unwrap();
    fs::create_dir_all(person.user.path(".cursor")).unwrap();
    let ended = person.run(&["doctor"]);
    printed(
        ended.expect(0, &[]),
        &["Gemini CLI\n", "  ? hookhost is not installed in Cursor, so nothing checks its calls\n"],
    );
    assert!(!ended.stdout.contains("Antigravity"), "{ended:#?}");
    person.run(&["doctor", "cursor"]).expect(1, &[]);
    person.run(&["install", "--all"]).expect(0, &[]);
    assert!(!person.user.path(".gemini/config").exists());
}

#[test]
fn a_broken_allowlist_is_a_problem_that_hides_nothing_else_and_keeps_nothing_from_being_taken_out() {
    let person = installed();
    person.user.configure("[[plugin]]\nnmae = 1\n");
    let ended = person.run(&["doctor", "claude-code"]);
    printed(
        ended.expect(1, &[]),
        &[
            "  ✓ your settings of Claude Code have hookhost's hook (",
            "  ✗ the configuration cannot be used, so every call is denied: ",
            "hookhost.toml:",
        ],
    );
    printed(person.run(&["agents"]).expect(0, &[]), &["(claude-code)\n  hook      in your settings\n"]);
    person.run(&["install", "claude-code"]).expect(5, &["unknown key `nmae`"]);
    person.run(&["uninstall", "claude-code"]).expect(0, &[]);
    assert!(!person.settings().exists());
}

#[test]
fn the_next_step_after_a_mistake_in_a_configuration_file_is_the_line_with_the_mistake() {
    let person = installed();
    let line = format!("    next: correct line 2 of {}\n", person.user.config_file().display());
    for mistake in ["[settings]\nobserv = true\n", "[settings]\nobserve =\n", "[settings]\nobserve = 3\n"] {
        person.user.configure(mistake);
        let ended = person.run(&["doctor", "claude-code"]);
        printed(ended.expect(1, &[]), &[&line]);
        assert!(!ended.stdout.contains("hookhost hooks"), "{ended:#?}");
    }
}
