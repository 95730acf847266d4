//! Tests of the built binary. Cargo builds a package's binary for the package's integration tests. Because of this test,
//! `cargo test --workspace` builds `hookhost` before the tests in `tests/` need it.

use std::process::Command;

fn help(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_hookhost")).args(arguments).output().expect("hookhost can be started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the names of all commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = help(&["--help"]);
    let lists = help.split_once("Exit codes:").expect("the exit codes").0;
    let rows = lists.lines().filter_map(|line| line.strip_prefix("  "));
    let names = rows.filter_map(|row| row.split_once("  ")).map(|(name, _)| name.to_owned());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.contains(' ')).collect()
}

#[test]
fn the_help_lists_every_command_and_every_exit_code() {
    let commands = commands();
    for word in ["on", "off", "doctor", "report", "run", "replay", "rule", "mcp", "completions"] {
        assert!(commands.iter().any(|command| command == word), "{word} is not in {commands:?}");
    }
    let help = help(&["--help"]);
    let codes = help.split_once("Exit codes:").unwrap().1;
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "130 "] {
        assert!(codes.contains(&format!("\n  {code}")), "{code} is not in {codes}");
    }
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let commands = commands();
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands.iter().filter(|command| *command != "help") {
        let help = help(&[command, "--help"]);
        let examples = help.split_once("Examples:").unwrap_or_else(|| panic!("no example in {help}")).1;
        assert!(examples.contains(&format!("hookhost {command}")), "{examples}");
    }
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(help(&["--version"]).trim(), format!("hookhost {}", env!("CARGO_PKG_VERSION")));
}
