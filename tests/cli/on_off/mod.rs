//! `hookhost on` and `hookhost off`, for a person whose agents and whose hook are scripts.

mod bad_input;
mod settings_files;
mod turning;

use hookhost_tests::{Ended, User};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A hook that denies the canary call that has to be denied, in the language of each agent.
const HOOK: &str = "call=$(cat); case \"$1\" in gemini-cli) no='{\"decision\":\"deny\"}';; cursor) no='{\"permission\":\"deny\"}';; \
    *) no='{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}}';; esac; \
    case \"$call\" in *hookhost-canary-denied*) echo \"$no\";; esac";

/// An agent of the tests, with its program, its version and its settings file.
struct TestAgent {
    name: &'static str,
    program: &'static str,
    version: &'static str,
    file: &'static str,
}

const AGENTS: [TestAgent; 4] = [
    TestAgent { name: "claude-code", program: "claude", version: "2.1.330", file: ".claude/settings.json" },
    TestAgent { name: "codex", program: "codex", version: "0.169.0", file: ".codex/hooks.json" },
    TestAgent { name: "gemini-cli", program: "gemini", version: "0.61.0", file: ".gemini/settings.json" },
    TestAgent { name: "qwen-code", program: "qwen", version: "0.24.4", file: ".qwen/settings.json" },
];

/// A user with these agents and with rules of their own.
struct Owner {
    user: User,
}

impl Owner {
    fn new(agents: &[TestAgent]) -> Self {
        let owner = Self { user: User::new() };
        owner.program("hookhost-hook", HOOK);
        // What the real hook would start.
        owner.program("hookhost", "exit 1");
        for agent in agents {
            owner.program(agent.program, &format!("[ \"$*\" = --version ] && echo {}", agent.version));
        }
        owner.user.configure("[[rule]]\nid = \"ask\"\non = \"deploy*\"\nask = \"Deploy?\"\n");
        owner
    }

    fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.user.path("bin").join(name);
        fs::create_dir_all(self.user.path("bin")).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.user.command(arguments);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.user.path("bin").display()));
        command.env("HOOKHOST_HOOK_PROGRAM", self.user.path("bin/hookhost-hook"));
        command.env("USER", "ada");
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(&mut self.command(arguments))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.user.path(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn has_hook(&self, agent: &TestAgent) -> bool {
        fs::read_to_string(self.path(agent.file)).is_ok_and(|text| text.contains("hookhost-hook"))
    }

    /// What the user did, according to the log.
    fn actions(&self) -> Vec<serde_json::Value> {
        self.user.records().into_iter().filter(|record| record["kind"] == "operator").collect()
    }
}

/// The row of a table with this label.
#[track_caller]
fn row<'a>(ended: &'a Ended, label: &str) -> &'a str {
    let rows: Vec<_> =
        ended.stdout.lines().filter(|line| line.trim_start().starts_with(&format!("{label} "))).collect();
    assert_eq!(rows.len(), 1, "{label}: {ended:#?}");
    rows[0].trim_start()[label.len()..].trim()
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    names
}
