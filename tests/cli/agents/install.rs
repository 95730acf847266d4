//! `hookhost install`: what it writes and says, and which files it leaves as they are.

use super::{Person, printed};
use hookhost_tests::{Ended, hookhost};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

const THEIRS: &str = "{\n    \"model\": \"big\",\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]\n    }\n}\n";

#[test]
fn the_hook_is_written_beside_what_is_there_and_the_effect_is_told() {
    let person = Person::new("2.1.330");
    person.write(THEIRS);
    fs::set_permissions(person.settings(), fs::Permissions::from_mode(0o600)).unwrap();
    let ended = person.run(&["install", "claude-code"]);
    ended.expect(0, &[]);
    printed(
        &ended,
        &[
            "Claude Code 2.1.330 (your settings)\n",
            &format!("  changed {}\n", person.settings().display()),
            "  Claude Code will ask hookhost before: shell commands, file reads and edits, web pages, MCP tools, sub-agents.\n",
            "  It will not ask before: files that you name with @.\n",
            "  next: hookhost doctor claude-code --prove\n",
        ],
    );
    assert!(ended.stdout.contains("  created ") && ended.stdout.contains("skills/hookhost/SKILL.md\n"), "{ended:#?}");
    assert_eq!(ended.stdout.lines().count(), 6, "the rest is for --verbose: {ended:#?}");
    let ended = person.run(&["install", "claude-code", "--verbose"]);
    printed(
        &ended,
        &[
            "files that you name with @ (the agent reads them without a tool).\n",
            "  If hookhost does not answer, the call is denied.\n",
            "  Limit: the model gets the result of a failed tool unchanged.\n",
            "  can stop at  UserPromptSubmit, ",
            "  only reports SessionStart, ",
        ],
    );
    let text = person.read();
    assert!(text.starts_with("{\n    \"model\": \"big\",\n    \"hooks\": {\n") && text.contains("\"beep\""), "{text}");
    let program = person.user.path("bin/hookhost-hook");
    assert!(text.contains(&format!("\"command\": \"{}\"", program.display())), "{text}");
    assert!(text.contains("\"args\": [\"claude-code\", \"PreToolUse\", \"--config-dir="), "{text}");
    assert_eq!(person.settings().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(person.user.path(".claude")).unwrap().count(), 2);
}

#[test]
fn installing_twice_changes_nothing() {
    let person = Person::new("2.1.330");
    person.run(&["install", "claude-code"]).expect(0, &[]);
    let (text, file) = (person.read(), person.settings().metadata().unwrap().ino());
    let ended = person.run(&["install", "claude-code"]);
    printed(&ended, &["  unchanged /"]);
    assert_eq!((person.read(), person.settings().metadata().unwrap().ino()), (text, file));
}

#[test]
fn a_dry_run_shows_the_difference_and_changes_nothing() {
    let person = Person::new("2.1.330");
    person.write("{\n  \"model\": \"big\"\n}\n");
    let ended = person.run(&["install", "claude-code", "--dry-run"]);
    ended.expect(0, &[]);
    let path = person.settings().display().to_string();
    let difference = format!("--- {path}\n+++ {path}\n@@ -1,3 +1,");
    printed(
        &ended,
        &[&difference, "\n-  \"model\": \"big\"\n+  \"model\": \"big\",\n+  \"hooks\": {\n", "  would change /"],
    );
    assert_eq!(person.read(), "{\n  \"model\": \"big\"\n}\n");
    assert!(!person.user.path("state/installed").exists());
    fs::remove_file(person.settings()).unwrap();
    let ended = person.run(&["install", "claude-code", "--dry-run"]);
    printed(&ended, &["--- /dev/null\n", "  would create /"]);
    assert!(!person.settings().exists());
}

#[test]
fn a_project_and_the_machine_have_files_of_their_own() {
    let person = Person::new("2.1.330");
    person.run(&["install", "claude-code", "--project"]).expect(0, &[]);
    let text = fs::read_to_string(person.user.project().join(".claude/settings.json")).unwrap();
    assert!(text.contains("\"command\": \"hookhost-hook\"") && !person.settings().exists(), "{text}");
    let ended = person.run(&["install", "claude-code", "--managed", "--dry-run"]);
    printed(&ended, &["managed-settings.json"]);
    person.run(&["install", "claude-code", "--managed", "--user"]).expect(2, &["cannot be used with"]);
}

#[test]
fn a_file_that_is_broken_or_has_something_else_there_stays_as_it_is() {
    for (text, says) in [
        (
            "{\"hooks\": ",
            "is not strict JSON, which is all that the agent reads (EOF while parsing a value at line 1 column 10)",
        ),
        ("[]", "is not a JSON object"),
        // The agent reads nothing of such a file.
        ("{ // mine\n}", "is not strict JSON, which is all that the agent reads ("),
        ("{\"hooks\": []}", "has `hooks`, which is not an object"),
        ("{\"hooks\": {\"Stop\": 1}}", "has `hooks.Stop`, which is not an array"),
        ("{\"a\": 1, \"a\": 2}", "has the key \"a\" twice"),
    ] {
        let person = Person::new("2.1.330");
        person.write(text);
        let ended = person.run(&["install", "claude-code"]);
        ended.expect(
            1,
            &["error: Claude Code is not guarded: ", says, "so it is left as it is: correct it, and try again"],
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
        assert_eq!(person.read(), text);
        assert!(!person.user.path("state/installed").exists());
    }
}

#[test]
fn a_read_only_file_stays_as_it_is() {
    let person = Person::new("2.1.330");
    person.write("{}");
    fs::set_permissions(person.settings(), fs::Permissions::from_mode(0o400)).unwrap();
    person.run(&["install", "claude-code"]).expect(1, &["is read-only, so it is left as it is", "`chmod u+w "]);
    assert_eq!(person.read(), "{}");
}

#[test]
fn a_link_is_followed_and_reported_and_one_that_leads_nowhere_is_refused() {
    let person = Person::new("2.1.330");
    let real = person.user.path("dotfiles/claude.json");
    fs::create_dir_all(person.user.path("dotfiles")).unwrap();
    fs::create_dir_all(person.user.path(".claude")).unwrap();
    symlink(&real, person.settings()).unwrap();
    person.run(&["install", "claude-code"]).expect(1, &["is a symbolic link that leads nowhere"]);
    fs::write(&real, "{}").unwrap();
    let ended = person.run(&["install", "claude-code"]);
    ended.expect(0, &[]);
    printed(&ended, &[&format!("  (a link to {}, the file that is written)\n", real.display())]);
    assert!(person.settings().symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("hookhost-hook"));
}

#[test]
fn on_a_full_disk_the_file_stays_as_it_is() {
    let person = Person::new("2.1.330");
    let text = format!("{{\"mine\": \"{}\"}}", "x".repeat(8192));
    person.write(&text);
    // The system refuses to write more of a file, as it does on a full disk: 4 blocks of 512 bytes.
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).arg(hookhost()).args(["install", "claude-code"]);
    let command = person.command(&[]);
    shell.env_clear().current_dir(person.user.project());
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    let ended = Ended::of(&mut shell);
    ended.expect(1, &["cannot be written (", "so it is left as it is: make room on its disk, and try again"]);
    assert_eq!(person.read(), text);
    assert_eq!(fs::read_dir(person.user.path(".claude")).unwrap().count(), 1, "nothing half written is left");
}

#[test]
fn what_the_hook_does_where_nobody_answers_is_the_operators_choice() {
    let person = Person::new("2.1.330");
    person.user.configure("[agents.claude-code]\non-failure = \"allow\"\n");
    let ended = person.run(&["install", "claude-code"]);
    printed(
        &ended,
        &["If hookhost does not answer, the call runs, because your hookhost.toml says `on-failure = \"allow\"`."],
    );
    let hook = &person.json()["hooks"]["Stop"][0]["hooks"][0];
    let words: Vec<&str> = hook["args"].as_array().unwrap().iter().filter_map(|word| word.as_str()).collect();
    let path = |name: &str| person.user.path(name).display().to_string();
    assert_eq!(words[..2], ["claude-code", "Stop"]);
    assert!(words.contains(&format!("--config-dir={}", path("config")).as_str()), "{words:?}");
    assert!(words.contains(&format!("--state-dir={}", path("state")).as_str()), "{words:?}");
    assert_eq!(words.last(), Some(&"--on-failure=allow"));
    person.user.configure("[agents.claude-code]\non-failure = \"deny\"\n");
    person.run(&["install", "claude-code"]).expect(0, &[]);
    let words = &person.json()["hooks"]["Stop"][0]["hooks"][0]["args"];
    assert!(!words.as_array().unwrap().contains(&json!("--on-failure=allow")), "{words}");
    for (text, says) in [
        ("[agents.claud-code]\n", [":1:9: ", "unknown key `claud-code`: did you mean `claude-code`?"]),
        (
            "[agents.claude-code]\non-failur = \"allow\"\n",
            [":2:1: unknown key `on-failur`", "did you mean `on-failure`?"],
        ),
        ("[agents.claude-code]\non-failure = \"alow\"\n", [":2:14: ", "did you mean `allow`?"]),
        ("[agents.claude-code]\ndirectories = \"fix\"\n", [":2:15: ", "did you mean `fixed`?"]),
    ] {
        person.user.configure(text);
        person.run(&["install", "claude-code"]).expect(5, &says);
        person.run(&["hooks"]).expect(5, &says);
    }
    person.user.configure("");
    person.user.write("hookhost.toml", "[agents.claude-code]\non-failure = \"allow\"\n");
    person.run(&["trust", "--yes"]).expect(5, &["a project's file cannot set `agents`: set it in your own file"]);
}

#[test]
fn without_the_hook_program_nothing_is_installed() {
    let person = Person::new("2.1.330");
    fs::remove_file(person.user.path("bin/hookhost-hook")).unwrap();
    let ended = person.run(&["install", "claude-code"]);
    ended.expect(2, &["bin/hookhost-hook is not there: put `hookhost-hook` beside `hookhost`, or name it in"]);
    let ended = Ended::of(person.command(&["install", "claude-code"]).env("HOOKHOST_HOOK_PROGRAM", "bin/hook"));
    ended.expect(2, &["HOOKHOST_HOOK_PROGRAM names bin/hook, which is not an absolute path"]);
    assert!(!person.settings().exists());
}

#[test]
fn a_projects_file_is_not_written_if_its_hook_could_not_start() {
    let person = Person::new("2.1.330");
    let ended = Ended::of(person.command(&["install", "claude-code", "--project"]).env("PATH", "/usr/bin:/bin"));
    ended.expect(
        2,
        &["a project's files start `hookhost-hook` from the PATH", "put the directory of hookhost on the PATH"],
    );
    assert!(!person.user.project().join(".claude").exists());
}

#[test]
fn an_agent_is_also_known_by_its_program() {
    let person = Person::new("2.1.330");
    printed(person.run(&["install", "claude", "--dry-run"]).expect(0, &[]), &["Claude Code 2.1.330"]);
    printed(person.run(&["doctor", "gemini"]).expect(1, &[]), &["Gemini CLI\n"]);
}

#[test]
fn an_older_or_newer_version_is_reported() {
    for (version, says) in [
        ("2.0.1", "  Claude Code 2.0.1 is older than 2.1.295, the oldest supported version: update it.\n"),
        ("9.0.0", "  Claude Code 9.0.0 is newer than 2.1.330, the newest version that hookhost was tested with.\n"),
        ("none", "  The version of Claude Code is unknown: `--version` prints no version.\n"),
    ] {
        printed(Person::new(version).run(&["install", "claude-code"]).expect(0, &[]), &[says]);
    }
    let ended = Person::without_agent().run(&["install", "claude-code"]);
    printed(&ended, &["  Claude Code is not on this machine yet: no program `claude` is on the PATH.\n"]);
}

#[test]
fn all_agents_that_are_found_are_installed() {
    let person = Person::without_agent();
    person.run(&["install", "--all"]).expect(2, &["no agent is found on this machine"]);
    fs::create_dir(person.user.path(".claude")).unwrap();
    person.run(&["install", "--all"]).expect(0, &[]);
    assert!(person.read().contains("hookhost-hook"));
    person.run(&["install"]).expect(2, &["name an agent; hookhost knows "]);
    person.run(&["install", "claude-cod"]).expect(2, &["invalid value 'claude-cod'", "claude-code"]);
}

#[test]
fn a_service_is_set_up_by_a_person_and_a_second_way_into_an_agent_only_where_it_is_named() {
    let person = Person::new("2.1.330");
    let ended = person.run(&["install", "litellm"]);
    printed(ended.expect(0, &[]), &["LiteLLM", "  you: "]);
    person.run(&["install", "--all"]).expect(0, &[]);
    assert!(!person.user.path(".claude/hookhost").exists(), "the hook is there already");
    person.run(&["install", "claude-code-mods"]).expect(0, &[]);
    assert!(person.user.path(".claude/hookhost").exists());
    person.run(&["uninstall", "--all"]).expect(0, &[]);
    assert!(!person.user.path(".claude/hookhost").exists());
}
