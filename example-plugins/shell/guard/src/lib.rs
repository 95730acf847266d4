//! Understands the shell commands that an agent wants to run. It refuses destructive commands, asks about risky commands, points out known
//! mistakes, and reports each rule that matched.
//!
//! ```toml
//! [[plugin]]
//! name = "shell-guard"
//! path = "plugins/shell_guard.wasm"
//! sha256 = "…"
//!
//! [plugin.grants]
//! read-dirs = { "/workspace" = "." }        # optional: finds out which stacks are used, and which files are new
//! env = ["HARN_TOOL_HOOKS_ALLOW_FORCE_PUSH"] # optional
//!
//! [plugin.config]                            # all of it optional
//! stacks = ["rust", "python"]                # default: detected in /workspace, where that is granted
//! mode = "rewrite-with-audit"                # or "rewrite", "deny", "audit"
//! modes = { "harn-canon/rust" = "audit" }    # of a catalogue or a rule
//! answers = { "severity:info" = "allow", "label:network" = "ask", "rule:git.reset_hard" = "deny" } # modes of your own
//! remove = ["git.stash_drop"]                # catalogues and rules that are left out
//!
//! [[plugin.config.custom-rules]]             # asked before all others
//! id = "ours.no_deploy"
//! action = "deny"                            # or "ask", "rewrite", "audit", "allow"
//! explanation = "Deployments go through CI."
//! match = [{ program = ["make"], subcommand = ["deploy"] }]
//! ```
//!
//! A custom rule has the same fields as a rule in a catalogue. The key `catalogues` contains whole catalogues. A catalogue with the id of a
//! built-in one replaces it. When the plugin is loaded, it checks that all rules in the config catch the commands in their `catches`, and
//! do not catch the commands in their `leaves`. Rules of `hookhost/floor` and `hookhost/self-defence` deny in every mode. An operator can
//! remove such a rule, or one of these two catalogues, by its id. The action `hint` reports a rewrite without making it. When a session
//! starts, the plugin logs its catalogues. `hookhost dispatch session-start` also shows the catalogues.
//!
//! # Modes
//!
//! | mode | effect of a rule |
//! |---|---|
//! | `rewrite-with-audit` | the action of the rule: it denies, asks, rewrites or reports |
//! | `rewrite` | the action of the rule, but only refusals and questions are reported |
//! | `deny` | denies every command that it catches |
//! | `audit` | a rule that denies still denies; any other rule only reports its action |
//!
//! `answers` is a custom mode: a table from rules to answers. A key consists of a kind and a name. If several keys name a rule, the most
//! specific of these keys is used. The following table begins with the most specific kind:
//!
//! | key | rules |
//! |---|---|
//! | `rule:git.reset_hard` | this rule |
//! | `cause:runs-unknown` | the rules with this cause, which is a value of `construct` in a catalogue, such as `unreadable` or `unknown-program` |
//! | `label:network` | the rules with this label; `hookhost rule explain ID` shows the labels of a rule |
//! | `catalogue:hookhost/git` | the rules of this catalogue; `catalogue:custom` means the custom rules |
//! | `severity:info` | the rules of this severity: `error`, `warning` or `info` |
//!
//! The answers are `deny`, `ask`, `rewrite` (a rule without a rewrite keeps its action), `audit` (report, and let the command run) and
//! `allow` (the rule has no effect and is not reported). An answer applies in every mode. An unknown key or answer is an error when the
//! plugin is loaded. It is also an error if a key names a rule of `hookhost/floor` or `hookhost/self-defence` and would loosen this rule.
//! Keys such as `severity:error` do not affect these two catalogues. A custom rule with the action `allow` can be changed only by a `rule:`
//! key that names it.
//!
//! # Self-defence
//!
//! Rules of `hookhost/self-defence` protect hookhost against the agent. They cover hookhost's commands that loosen rules, the process,
//! files and variables of hookhost, and the files in which agents name their hooks and proxies. `remove = ["self.agent_files"]` leaves out
//! one of these rules, for example if an agent should write its own settings. `remove = ["hookhost/self-defence"]` leaves out all of them.
//! Even then, the rule `shell.project_rules` asks about a change of `hookhost.toml`. `shell/reader/guarded.toml` lists the files. The
//! plugin path-guard protects the same files against tools other than shells.
//!
//! # Stacks
//!
//! Rules of a stack apply if that stack is in use. The stacks are `rust`, `python`, `typescript` (or `ts`), `swift`, `sql` and `harn`, and
//! any further stacks that catalogues in the config name. The key `stacks` names the stacks in use. Without this key, the plugin detects
//! the stacks by files such as `Cargo.toml` in the directory that the entry grants as `/workspace`. If this directory is not granted, no
//! stack is detected and the rules of stacks do not apply. If one of these rules would have matched, the finding `shell-guard.stacks`
//! reports that. `stacks = []` means that no stack is in use, and there is no such finding. `sql` is never detected.
//!
//! `hookhost rule explain` lists every rule, with commands that it catches and commands that it leaves alone. `shell-guard-classifier` is
//! the same plugin with a model, which is asked about commands that no rule matches.
//!
//! # What is seen
//!
//! The plugin parses a command instead of searching its text. It understands quotes, options in any spelling, pipelines, lists, loops,
//! functions, aliases, `$(…)` and here-documents. It finds the commands that are run through `sudo`, `env`, `xargs`, `find -exec`, `sh -c`,
//! `eval`, `tmux`, `npx`, `git -c alias.x=…`, `docker exec`, `ssh`, `cmd /c`, PowerShell and about two hundred other programs
//! (`shell/reader/wrappers.toml`). The plugin follows `cd`, literal assignments and scripts that the same command writes. A part whose
//! value only the shell can compute is *unknown*, and rules ask about such a part.
//!
//! For an unknown tool, such as a tool of an MCP server, the plugin checks the arguments called `command`, `cmd` or `script`. If the text
//! of such an argument cannot be read as a command, or runs no known program, the plugin ignores it. It never rewrites such an argument.
//!
//! In a container or on another machine, the content of a directory is unknown, so the plugin asks about a removal there. The other rules
//! still apply to a root, to directories for temporary files and, on another machine, to parts of the system and homes.
//!
//! # What is not seen
//!
//! The plugin does not see the effect of an existing script, of an interpreter (`python -c …`) or of an unknown program. It does not see
//! symbolic links, or the effect of a command on another machine. A value in arithmetic may contain commands (`x='a[$(ls)]'; ((x))`). The
//! plugin reads these commands if the text sets the value, and asks about the value if another machine sends it. It does not see a value
//! that comes from a file or a program of this machine. If the agent may try to circumvent the rules, also run it in a sandbox.
//!
//! The plugin does not read a command of more than 64 KiB, but asks about it. An event that is larger than `limits.input` of the entry does
//! not reach the plugin. In that case, the setting `on-failure` of the entry decides. The plugin proposes `ask` for this setting.

use hookhost_guest::prelude::*;
use shell_guard_rules::{Config, Guard};

static GUARD: Configured<Guard> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct ShellGuard;

#[plugin(priority = 90, on_failure = "ask")]
impl Plugin for ShellGuard {
    fn configure(config: Config) -> Result<(), String> {
        GUARD.set(Guard::new(config)?);
        Ok(())
    }

    fn session_start(_session: &Session) -> Vec<Task> {
        GUARD.get().list();
        Vec::new()
    }

    fn before_tool_call(session: &Session, call: &ToolCall) -> ToolCallVerdict {
        GUARD.get().verdict(session, call).unwrap_or_else(Verdict::allow)
    }
}

#[cfg(test)]
mod tests {
    use super::ShellGuard;
    use hookhost_guest::prelude::*;
    use hookhost_guest::testing;

    /// The plugin accepts the config in the crate's documentation.
    #[test]
    fn the_documented_config_is_taken() {
        let source = include_str!("lib.rs");
        let block = source.split("//! ```toml\n").nth(1).unwrap().split("//! ```").next().unwrap();
        let lines: String = block.lines().map(|line| line.trim_start_matches("//!").to_owned() + "\n").collect();
        let entry: toml::Table = toml::from_str(&lines).unwrap();
        let config = serde_json::to_value(&entry["plugin"][0]["config"]).unwrap();
        ShellGuard::configure(serde_json::from_value(config).unwrap()).unwrap();
        let ask = |command| ShellGuard::before_tool_call(&testing::session(), &testing::shell(command));
        assert!(matches!(ask("sudo make deploy"), ToolCallVerdict::Reject(_)));
        assert!(matches!(ask("git reset --hard"), ToolCallVerdict::Reject(_)));
        assert_eq!(ask("git stash drop"), ToolCallVerdict::Allow);
        assert_eq!(ask("frob --all"), ToolCallVerdict::Allow, "no rule knows it");
    }

    /// The plugin accepts the config in the page on security, and leaves out the rules that the comments in that config name.
    #[test]
    fn the_documented_way_to_turn_self_defence_off_is_taken() {
        let page = include_str!("../../../../docs/security.md");
        let block = page.split("```toml\n").find(|block| block.contains("self-defence")).unwrap();
        let file: toml::Table = toml::from_str(block.split("```").next().unwrap()).unwrap();
        let entries = file["plugin"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["name"].as_str() == Some("shell-guard")).unwrap();
        ShellGuard::configure(serde_json::from_value(serde_json::to_value(&entry["config"]).unwrap()).unwrap())
            .unwrap();
        let ask = |command| ShellGuard::before_tool_call(&testing::session(), &testing::shell(command));
        assert_eq!(ask("echo x > .claude/settings.json"), ToolCallVerdict::Allow);
        assert!(matches!(ask("echo x > hookhost.toml"), ToolCallVerdict::Reject(_)));
        ShellGuard::configure(serde_json::from_value(json!({ "remove": ["hookhost/self-defence"] })).unwrap()).unwrap();
        assert!(matches!(ask("echo x > hookhost.toml"), ToolCallVerdict::Escalate(_)), "another catalogue asks");
        assert_eq!(ask("rm ~/.codex/hooks.json; hookhost trust"), ToolCallVerdict::Allow);
    }

    #[test]
    fn a_classifier_is_the_other_plugins() {
        let config = serde_json::from_value::<shell_guard_rules::Config>(json!({ "classifier": {} }));
        assert!(config.unwrap_err().to_string().contains("unknown field `classifier`"));
    }
}
