//! A hookhost plugin that refuses shell commands with a forbidden text.
//!
//! ```toml
//! [plugin.config]
//! forbidden = ["push --force"]
//! ```

use hookhost_guest::prelude::*;

/// The `[plugin.config]` table of the allowlist entry.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    forbidden: Vec<String>,
}

static CONFIG: Configured<Config> = Configured::new();

/// The plugin. Each method below is an event to which the plugin subscribes.
#[derive(Debug)]
pub struct MyPlugin;

#[plugin]
impl Plugin for MyPlugin {
    fn configure(config: Config) -> Result<(), String> {
        if config.forbidden.is_empty() {
            return Err("`forbidden` is empty: name at least one text".into());
        }
        CONFIG.set(config);
        Ok(())
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let Some(shell) = call.action.shell() else { return Verdict::allow() };
        match CONFIG.get().forbidden.iter().find(|text| shell.command.contains(text.as_str())) {
            Some(text) => Refusal::new(format!("commands with `{text}` are not allowed here")).into(),
            None => Verdict::allow(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookhost_guest::testing;

    #[test]
    fn a_forbidden_command_is_refused_and_another_is_not() {
        MyPlugin::configure(Config { forbidden: vec!["push --force".into()] }).unwrap();
        let ask = |command| MyPlugin::before_tool_call(&testing::session(), &testing::shell(command));
        assert!(matches!(ask("git push --force"), ToolCallVerdict::Reject(_)));
        assert_eq!(ask("git push"), ToolCallVerdict::Allow);
    }
}
