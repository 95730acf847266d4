//! The script of the plugin for the marketplaces of Claude Code and Codex, `agent-plugin/hook`.

use super::Home;
use hookhost_tests::{Ended, Entry, plugin};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugin as a marketplace installs it, in the home of a user who may have the programs.
struct Installed {
    home: Home,
    root: PathBuf,
}

impl Installed {
    /// Installs a plugin that was released with the built programs, and writes these rules.
    fn with(rules: &str) -> Self {
        let home = Home::with(rules);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent-plugin");
        let root = home.user.path("plugin");
        fs::create_dir_all(&root).unwrap();
        fs::copy(source.join("hook"), root.join("hook")).unwrap();
        let system = Ended::of(Command::new("uname").arg("-sm")).stdout.trim().replace(' ', "-");
        let digest = |name: &str| {
            let ended = Ended::of(Command::new("sha256sum").arg(home.program(name)));
            ended.stdout.split(' ').next().unwrap().to_owned()
        };
        let line = format!("{system} {} {}\n", digest("hookhost-hook"), digest("hookhost"));
        fs::write(root.join("programs"), line).unwrap();
        Self { home, root }
    }

    /// Sends a message to the script, with the programs of a directory on the `PATH`.
    fn send(&self, agent: &str, point: &str, message: &str, programs: Option<&Path>) -> Ended {
        let mut command = self.home.of_program(&self.root.join("hook"), &[agent, point]);
        let path = programs.map(|programs| format!("{}:", programs.display())).unwrap_or_default();
        command.env("PATH", format!("{path}/usr/bin:/bin")).env("HOME", self.home.user.path("."));
        let input = self.home.user.write("../message", message);
        Ended::of(command.stdin(fs::File::open(input).unwrap()))
    }

    fn call(&self, command: &str) -> String {
        self.home.call("s", command, command).to_string()
    }

    fn bin(&self) -> PathBuf {
        self.home.user.path("bin")
    }
}

const FORCED: &str = "git push --force origin main";

#[test]
fn without_the_program_a_call_is_denied_and_the_start_of_a_session_says_how_to_install_it() {
    let installed = Installed::with("");
    for agent in ["claude-code", "codex"] {
        let said =
            "hookhost is not installed, so this plugin denies every tool call. Install it (npm install -g hookhost)";
        installed.send(agent, "PreToolUse", &installed.call("ls"), None).expect(2, &[said]);
        let ended = installed.send(agent, "SessionStart", "{}", None);
        ended.expect(0, &[]);
        let reply: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(reply["systemMessage"].as_str().unwrap().contains(said), "{reply}");
        installed.send(agent, "Stop", "{}", None).expect(0, &[]);
    }
    fs::write(installed.root.join("programs"), "# the source of the plugin\n").unwrap();
    let ended = installed.send("claude-code", "PreToolUse", &installed.call("ls"), Some(&installed.bin()));
    ended.expect(2, &["names no program for"]);
}

#[test]
fn another_program_of_the_same_name_is_not_called() {
    let installed = Installed::with("");
    let other = installed.home.user.path("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("hookhost-hook"), "#!/bin/sh\ntouch \"$0.called\"\n").unwrap();
    fs::set_permissions(other.join("hookhost-hook"), fs::Permissions::from_mode(0o755)).unwrap();
    let ended = installed.send("claude-code", "PreToolUse", &installed.call("ls"), Some(&other));
    ended.expect(2, &["is not the program that this plugin was released with"]);
    assert!(!other.join("hookhost-hook.called").exists());
    // The other program of the two is compared when a session starts.
    fs::copy(installed.home.program("hookhost-hook"), other.join("hookhost-hook")).unwrap();
    fs::write(other.join("hookhost"), "#!/bin/sh\n").unwrap();
    let ended = installed.send("claude-code", "SessionStart", "{}", Some(&other));
    assert!(ended.stdout.contains("is not the program that this plugin was released with"), "{ended:#?}");
}

#[test]
fn with_the_released_program_the_users_rules_decide() {
    let installed = Installed::with(&Entry::new("no-force-push", &plugin("no-force-push")).to_toml());
    for agent in ["claude-code", "codex"] {
        let ended = installed.send(agent, "PreToolUse", &installed.call(FORCED), Some(&installed.bin()));
        ended.expect(0, &[]);
        let said = ["\"deny\"", "force-push rewrites shared history"];
        assert!(said.iter().all(|said| ended.stdout.contains(said)), "{ended:#?}");
        let ended = installed.send(agent, "PreToolUse", &installed.call("git push"), Some(&installed.bin()));
        ended.expect(0, &[]);
        assert!(!ended.stdout.contains("deny"), "{ended:#?}");
    }
}

#[test]
fn without_rules_the_start_of_a_session_names_the_next_step() {
    let installed = Installed::with("");
    fs::remove_file(installed.home.user.config_file()).unwrap();
    let ended = installed.send("claude-code", "SessionStart", "{}", Some(&installed.bin()));
    assert!(ended.stdout.contains("there are no rules yet, so every call passes. Type hookhost on"), "{ended:#?}");
}

#[test]
fn the_plugin_stands_down_for_a_hook_in_the_users_settings_and_not_for_one_of_a_project() {
    let installed = Installed::with("");
    let hook = |command: &str| format!(r#"{{"hooks":{{"PreToolUse":[{{"hooks":[{{"command":"{command}"}}]}}]}}}}"#);
    let send = |agent| installed.send(agent, "PreToolUse", &installed.call(FORCED), None);
    installed.home.user.write(".claude/settings.json", hook("/usr/bin/hookhost-hook"));
    send("claude-code").expect(2, &["hookhost is not installed"]);
    // Claude Code runs a program with arguments, and Codex a command of the shell.
    for (agent, file, command) in [
        ("claude-code", "../.claude/settings.json", "/home/a b/hookhost-hook"),
        ("claude-code", "../.claude/settings.json", "/usr/bin/hookhost-hook claude-code PreToolUse"),
        ("codex", "../.codex/hooks.json", "/usr/bin/hookhost-hook codex PreToolUse"),
        ("codex", "../.codex/hooks.json", r"'/home/it'\\''s/hookhost-hook' codex PreToolUse --on-failure=allow"),
    ] {
        installed.home.user.write(file, hook(command));
        let ended = send(agent);
        ended.expect(0, &[]);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{command}: {ended:#?}");
    }
}

#[test]
fn a_rule_a_comment_or_another_agents_hook_that_names_the_program_does_not_turn_the_plugin_off() {
    let installed = Installed::with("");
    for settings in [
        r#"{"permissions":{"allow":["Bash(/usr/bin/hookhost-hook:*)","Read(/usr/bin/hookhost-hook)"]}}"#,
        "{\n  // \"command\": \"/usr/bin/hookhost-hook\"\n}",
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"/usr/bin/hookhost-hook cursor stop"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"rm -f /tmp/hookhost-hook.log"}]}]}}"#,
        r#"{"hooks":{"Stop":[{"hooks":[{"command":"lint","statusMessage":"as /usr/bin/hookhost-hook"}]}]}}"#,
    ] {
        for (agent, file) in [("claude-code", "../.claude/settings.json"), ("codex", "../.codex/hooks.json")] {
            installed.home.user.write(file, settings);
            let ended = installed.send(agent, "PreToolUse", &installed.call(FORCED), None);
            assert_eq!(ended.code, Some(2), "{settings}: {ended:#?}");
        }
    }
}
