//! Tests of the built binary. Cargo builds a package's binary for the package's integration tests. Because of this test,
//! `cargo test --workspace` builds `hookhost` before the tests in `tests/` need it.

use std::process::Command;

fn help(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_hookhost")).args(arguments).output().expect("hookhost can be started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_help_lists_every_command_and_every_exit_code() {
    let help = help(&["--help"]);
    for word in [
        "run", "session", "allow", "trust", "inspect", "hooks", "tools", "auth", "dispatch", "audit", "replay",
        "cache", "rule",
    ] {
        assert!(help.contains(&format!("\n  {word} ")), "{word} is not in {help}");
    }
    let codes = help.split_once("Exit codes:").unwrap().1;
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "130 "] {
        assert!(codes.contains(&format!("\n  {code}")), "{code} is not in {codes}");
    }
}

#[test]
fn the_help_of_every_command_has_an_example() {
    for command in [
        "run", "session", "allow", "trust", "inspect", "hooks", "tools", "auth", "dispatch", "audit", "replay",
        "cache", "rule",
    ] {
        let help = help(&[command, "--help"]);
        let examples = help.split_once("Examples:").unwrap_or_else(|| panic!("no example in {help}")).1;
        assert!(examples.contains(&format!("hookhost {command}")), "{examples}");
    }
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(help(&["--version"]).trim(), format!("hookhost {}", env!("CARGO_PKG_VERSION")));
}
