//! Understands the shell commands that an agent wants to run: refuses those that destroy, asks about those that may,
//! points out known slips, and reports each rule that had something to say.
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
//! A custom rule has the fields of those in the catalogues, `catalogues` takes whole ones (one of a known id replaces it), and
//! `catches` and `leaves` of what the config brings are tried when it is loaded. Rules of `hookhost/floor` and
//! `hookhost/self-defence` deny in every mode; an operator who does not want one removes it by its id, or a catalogue by its own.
//! The action `hint` tells of a rewrite and does not make it. When a session starts, the plugin logs which catalogues it has:
//! `hookhost dispatch session-start` shows them, too.
//!
//! # Modes
//!
//! | mode | what a rule does |
//! |---|---|
//! | `rewrite-with-audit` | what it says: denies, asks, rewrites or reports |
//! | `rewrite` | the same, and only what is denied or asked about is reported |
//! | `deny` | denies whatever it catches |
//! | `audit` | reports what it would do, unless it denies |
//!
//! `answers` is a mode of your own: a table from rules to what they answer. A key is a kind and a name, and the most specific key that
//! names a rule counts, in this order:
//!
//! | key | the rules |
//! |---|---|
//! | `rule:git.reset_hard` | this one |
//! | `cause:runs-unknown` | those about this cause: the words of `construct` in a catalogue, such as `unreadable` or `unknown-program` |
//! | `label:network` | those with this label; `docs/rules/` shows each rule's labels |
//! | `catalogue:hookhost/git` | those of this catalogue; `catalogue:custom` are the custom rules |
//! | `severity:info` | those of this severity: `error`, `warning` or `info` |
//!
//! The answers are `deny`, `ask`, `rewrite` (a rule without a rewrite keeps its action), `audit` (report, and let it run) and `allow`
//! (the rule is silent). An answer counts in every mode. A key or an answer that is not known is an error when the plugin is loaded,
//! and so is one that would loosen the floor or self-defence by name; keys such as `severity:error` leave these two as they are. A
//! custom rule that allows is changed by its own `rule:` key only.
//!
//! # Self-defence
//!
//! Rules of `hookhost/self-defence` protect what guards the session: hookhost's commands that loosen rules, its process, its files and
//! variables, and the files in which agents name their hooks. `remove = ["self.agent_files"]` leaves out one of them, such as where
//! an agent is to write its own settings; `remove = ["hookhost/self-defence"]` leaves out all (the rule
//! `shell.project_rules` then still asks about a change of `hookhost.toml`). `shell-syntax/guarded.toml` lists the
//! files. path-guard protects the same ones against tools that are no shell.
//!
//! # Stacks
//!
//! Rules of a stack hold where that stack is used: `rust`, `python`, `typescript` (or `ts`), `swift`, `sql`, `harn`, and those of
//! catalogues that the config brings. `stacks` names them. Without it they are detected by files such as `Cargo.toml` in the directory
//! that the entry grants as `/workspace`. Without that directory no stack is detected and these rules are silent; wherever one of them
//! would have matched, the finding `shell-guard.stacks` says so. `stacks = []` means none, and no such finding. `sql` is never
//! detected.
//!
//! Every rule, with commands that it catches and leaves, is in `docs/rules/`. `shell-guard-classifier` is this plugin with a
//! model that is asked about commands which no rule knows.
//!
//! # What is seen
//!
//! A command is parsed, not searched: words without their quotes, options in any spelling, pipelines, lists, loops,
//! functions, aliases, `$(…)`, here-documents; through `sudo`, `env`, `xargs`, `find -exec`, `sh -c`, `eval`, `tmux`, `npx`,
//! `git -c alias.x=…`, `docker exec`, `ssh`, `cmd /c`, PowerShell and some two hundred others (`shell-syntax/wrappers.toml`); with `cd`,
//! literal assignments and scripts that the same command writes followed. What only the shell will know is *unknown*, and rules ask
//! about it. Of a tool that nobody knows, an argument called `command`, `cmd` or `script` is judged as well, unless it cannot be read or
//! runs no program that a rule names; it is never rewritten.
//!
//! In a container or on another machine nobody here knows what a directory contains: what would be deleted there is asked about, unless it
//! is a root, a directory for temporary files, or, on a machine, a part of the system or a home.
//!
//! # What is not seen
//!
//! What a script that was there before, an interpreter (`python -c …`) or a program of its own does, symbolic links, and what
//! another machine makes of a command. A value in arithmetic may hold commands (`x='a[$(ls)]'; ((x))`): they are read where the text sets
//! the value, and asked about where another machine sends it; what a file or a program of this machine gives is not seen. Where it must hold against somebody who wants to get round it, let the agent run in a
//! sandbox as well.
//!
//! A command of more than 64 KiB is asked about and not read. An event that is larger than `limits.input` of the entry does not
//! reach the plugin at all: that is a failure, and its `on-failure`, by default a refusal, decides.

use hookhost_guest::prelude::*;
use shell_guard_rules::{Config, Guard};

static GUARD: Configured<Guard> = Configured::new();

/// The plugin.
#[derive(Debug)]
pub struct ShellGuard;

#[plugin]
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

    /// The config of the crate's documentation is one that the plugin takes.
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

    /// So is that of the page on security, and it leaves out what its comments say.
    #[test]
    fn the_documented_way_to_turn_self_defence_off_is_taken() {
        let page = include_str!("../../../docs/security.md");
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
