//! The rules, asked about whole commands.

mod catalogue;

use crate::ShellGuard;
use crate::rules::{Registry, Settings};
use hookhost_guest::prelude::*;
use hookhost_guest::testing;

fn registry() -> &'static Registry {
    static REGISTRY: Configured<Registry> = Configured::new();
    if REGISTRY.try_get().is_none() {
        REGISTRY.set(Registry::new(Settings::default()).unwrap());
    }
    REGISTRY.get()
}

fn configure(config: serde_json::Value) -> Result<(), String> {
    let config = serde_json::from_value(config).map_err(|error| error.to_string())?;
    ShellGuard::configure(config)
}

/// The verdict on `command` in one word, or the command that it is rewritten to.
fn decided(config: serde_json::Value, command: &str) -> String {
    configure(config).unwrap();
    testing::prime(|_| {});
    match ShellGuard::before_tool_call(&testing::session(), &testing::shell(command)) {
        ToolCallVerdict::Allow => "allow".into(),
        ToolCallVerdict::Reject(_) => "deny".into(),
        ToolCallVerdict::Escalate(_) => "ask".into(),
        ToolCallVerdict::Rewrite(Action::Shell(shell)) => shell.command,
        other => format!("{other:?}"),
    }
}
