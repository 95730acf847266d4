//! The commands about people's own agents, with a home directory of their own, a stand-in for the agent and one for the hook.

mod doctor;
mod inside_agent;
mod install;
mod list;
mod mcp_servers;
mod uninstall;

use hookhost_tests::{Ended, User};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

/// A hook that denies the canary call that has to be denied, as the resident host does.
const HOOK: &str = "call=$(cat); case \"$call\" in *hookhost-canary-denied*) \
    echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\"}}';; esac";

/// A user who has an agent of this version.
struct Person {
    user: User,
}

impl Person {
    fn new(version: &str) -> Self {
        let person = Self::without_agent();
        person.program("claude", &format!("[ \"$*\" = --version ] && echo '{version} (Claude Code)'"));
        person
    }

    fn without_agent() -> Self {
        let person = Self { user: User::new() };
        person.program("hookhost-hook", HOOK);
        // What the real hook would start.
        person.program("hookhost", "exit 1");
        person
    }

    /// Makes a program that is a script.
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
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(&mut self.command(arguments))
    }

    fn settings(&self) -> PathBuf {
        self.user.path(".claude/settings.json")
    }

    fn write(&self, text: &str) {
        fs::create_dir_all(self.user.path(".claude")).unwrap();
        fs::write(self.settings(), text).unwrap();
    }

    fn read(&self) -> String {
        fs::read_to_string(self.settings()).unwrap()
    }

    /// The settings as JSON; only of a file without comments.
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.read()).unwrap()
    }
}

/// Fails unless all of this is in what was printed.
#[track_caller]
fn printed(ended: &Ended, texts: &[&str]) {
    for text in texts {
        assert!(ended.stdout.contains(text), "{text:?} is not in {ended:#?}");
    }
}
