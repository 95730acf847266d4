//! The rules, asked about whole commands.

mod cases;
mod catalogue;
mod config;
mod document;
mod hostile;
mod new_files;
mod real_rewrites;
mod rewriting;
mod windows;

use crate::Guard;
use crate::rules::{Registry, Settings};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;
use serde_json::Value;

fn registry() -> &'static Registry {
    static REGISTRY: Configured<Registry> = Configured::new();
    if REGISTRY.try_get().is_none() {
        REGISTRY.set(Registry::new(Settings::default()).unwrap());
    }
    REGISTRY.get()
}

static GUARD: Configured<Guard> = Configured::new();

fn configure(config: Value) -> Result<(), String> {
    let config = serde_json::from_value(config).map_err(|error| error.to_string())?;
    GUARD.set(Guard::new(config)?);
    Ok(())
}

/// What is made of `command` by the rules as configured last.
fn ask(command: &str) -> ToolCallVerdict {
    testing::prime(|_| {});
    GUARD.get().verdict(&testing::session(), &testing::shell(command)).unwrap_or_else(Verdict::allow)
}

/// The same in one word, or the command that it is rewritten to.
fn word(command: &str) -> String {
    match ask(command) {
        ToolCallVerdict::Allow => "allow".into(),
        ToolCallVerdict::Reject(_) => "deny".into(),
        ToolCallVerdict::Escalate(_) => "ask".into(),
        ToolCallVerdict::Rewrite(Action::Shell(shell)) => shell.command,
        other => format!("{other:?}"),
    }
}

/// The rules that had something to say about the last command.
fn rules() -> Vec<String> {
    testing::inspect(|host| host.findings.iter().map(|finding| finding.code.clone()).collect())
}

fn decided(config: Value, command: &str) -> String {
    configure(config).unwrap();
    word(command)
}
