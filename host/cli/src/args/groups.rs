//! The groups of commands in `hookhost --help`.

use crate::output::style::NAME;
use clap::Command;
use std::fmt::Write as _;

/// A group of commands.
struct CommandGroup {
    title: &'static str,
    commands: &'static [&'static str],
    /// True if the short help shows the group.
    is_first: bool,
}

/// All groups, in the order of the help.
const GROUPS: &[CommandGroup] = &[
    CommandGroup { title: "Start here", commands: &["on", "off", "doctor", "update"], is_first: true },
    CommandGroup {
        title: "Rules",
        commands: &["profile", "rule", "add", "trust", "approvals", "allow-once"],
        is_first: true,
    },
    CommandGroup { title: "See what happened", commands: &["ui", "report", "why"], is_first: true },
    CommandGroup {
        title: "Write and try rules",
        commands: &["import", "suggest", "test", "record", "replay", "dispatch"],
        is_first: false,
    },
    CommandGroup {
        title: "Agents and servers",
        commands: &["exec", "agents", "install", "uninstall", "mcp", "acp", "serve", "hook", "passkey"],
        is_first: false,
    },
    CommandGroup { title: "The log", commands: &["audit", "evidence", "telemetry"], is_first: false },
    CommandGroup { title: "hookhost's own agent", commands: &["run", "session", "tools", "auth"], is_first: false },
    CommandGroup {
        title: "For developers",
        commands: &["allow", "hooks", "inspect", "check", "cache", "completions", "man"],
        is_first: false,
    },
];

/// Returns the groups with one line for each command. `is_short` leaves out the groups that a newcomer does not need.
pub(super) fn listed(cli: &Command, is_short: bool) -> String {
    let groups = GROUPS.iter().filter(|group| group.is_first || !is_short);
    let lists: Vec<String> = groups.map(|group| list(cli, group)).collect();
    lists.join("\n").trim_end().to_owned()
}

fn list(cli: &Command, group: &CommandGroup) -> String {
    let names = GROUPS.iter().flat_map(|group| group.commands);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut text = format!("{NAME}{}{NAME:#}\n", group.title);
    for command in group.commands.iter().filter_map(|name| cli.find_subcommand(name)) {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "  {:width$}  {about}", command.get_name());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, listed};
    use crate::args::{Cli, with_groups};
    use clap::CommandFactory as _;

    #[test]
    fn every_command_is_in_one_group() {
        let cli = Cli::command();
        for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let groups = GROUPS.iter().filter(|group| group.commands.contains(&name)).count();
            assert_eq!(groups, 1, "put `{name}` into one group of args/groups.rs");
        }
    }

    #[test]
    fn every_command_has_one_line_and_the_short_help_fits_a_screen() {
        let listed = listed(&Cli::command(), false);
        for line in anstream::adapter::strip_str(&listed).to_string().lines() {
            assert!(line.chars().count() <= 80, "too long: {line}");
        }
        let short = with_groups(Cli::command(), "", true).render_help().to_string();
        assert!(short.contains("Start here") && short.lines().count() < 24, "{short}");
    }
}
