//! Runs every shell command under a time limit, whatever the names of the tool and its arguments are.
//!
//! ```toml
//! [[plugin]]
//! name = "bounded-shell"
//! path = "plugins/bounded_shell.wasm"
//! sha256 = "…"
//! actions = ["shell"]             # nothing else concerns it
//!
//! [plugin.config]
//! limit-seconds = 60              # default 60; at most 86400
//! kill-after-seconds = 5          # default 5: what ignores SIGTERM gets SIGKILL so much later; at most 3600
//! shell = "sh"                    # default "sh": what runs the command
//! timeout = "timeout"             # default "timeout"; "gtimeout" where coreutils has that name, as on macOS
//! on-other-dialects = "allow"     # default; or "reject": for PowerShell, cmd and unknown shells
//! ```
//!
//! `cargo test` becomes `timeout -k 5 60 sh -c 'cargo test'`. The answer to `before-tool-call` is *rewrite*, and the host writes the new
//! command back into the tool's own arguments. A command that already has exactly this form is allowed unchanged, so no command is wrapped
//! twice.
//!
//! The command runs in a separate shell. If an agent keeps one shell for all its commands, `cd` and variables no longer carry over to the
//! next command. The limit applies only to the command itself. A process that the command leaves in the background can run longer. The
//! machine needs a program `timeout`, which coreutils, BusyBox and uutils provide.

mod bound;

use bound::Bound;
use hookhost_guest::prelude::*;
use serde::Deserialize;

/// The `[plugin.config]` table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Config {
    limit_seconds: u32,
    kill_after_seconds: u32,
    shell: String,
    timeout: String,
    on_other_dialects: OtherDialects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OtherDialects {
    Allow,
    Reject,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit_seconds: 60,
            kill_after_seconds: 5,
            shell: "sh".into(),
            timeout: "timeout".into(),
            on_other_dialects: OtherDialects::Allow,
        }
    }
}

#[derive(Debug)]
struct Rule {
    bound: Bound,
    on_other_dialects: OtherDialects,
}

static RULE: Configured<Rule> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct BoundedShell;

#[plugin]
impl Plugin for BoundedShell {
    fn configure(config: Config) -> Result<(), String> {
        let bound = Bound::new(&config.timeout, config.limit_seconds, config.kill_after_seconds, &config.shell)?;
        RULE.set(Rule { bound, on_other_dialects: config.on_other_dialects });
        Ok(())
    }

    fn before_tool_call(_session: &Session, call: &ToolCall) -> ToolCallVerdict {
        let Some(shell) = call.action.shell() else { return Verdict::allow() };
        let rule = RULE.get();
        match (shell.dialect, rule.on_other_dialects) {
            (ShellDialect::Posix, _) if rule.bound.holds(&shell.command) => Verdict::allow(),
            (ShellDialect::Posix, _) => ToolCallVerdict::rewrite(shell.with_command(rule.bound.apply(&shell.command))),
            (_, OtherDialects::Allow) => Verdict::allow(),
            (_, OtherDialects::Reject) => {
                let reason = "only commands of a POSIX shell can be put under a time limit here: use one";
                Refusal::new(reason).code("bounded-shell.dialect").retryable().into()
            }
        }
    }
}

#[cfg(test)]
mod tests;
