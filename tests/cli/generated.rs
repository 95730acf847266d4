//! `hookhost completions` and `hookhost man`: the shells and the manual reader find no mistake in what they print.

use hookhost_tests::{Ended, User};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns true if a program is installed whose version begins so. Otherwise prints its name.
fn is_installed(program: &str, version: &str) -> bool {
    let printed = Command::new(program).arg("--version").output();
    let found = printed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(version));
    if !found {
        println!("{program} is not installed, so it checks nothing");
    }
    found
}

/// Fails if a program finds a mistake in a file.
fn check(program: &str, arguments: &[&str], file: &Path) {
    // The program would report a language that is not installed.
    let ended = Ended::of(Command::new(program).args(arguments).arg(file).env("LC_ALL", "C"));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{program} {}", file.display());
}

#[test]
fn each_shell_can_parse_its_completions() {
    let user = User::new();
    for (shell, version) in [("bash", "GNU bash"), ("zsh", "zsh"), ("fish", "fish")] {
        let ended = user.run(["completions", shell]);
        ended.expect(0, &[]);
        if is_installed(shell, version) {
            check(shell, &["-n"], &user.write(shell, &ended.stdout));
        }
    }
}

#[test]
fn no_manual_page_has_a_warning() {
    let user = User::new();
    user.run(["man", "man1"]).expect(0, &[]);
    let pages = fs::read_dir(user.project().join("man1")).unwrap().map(|page| page.unwrap().path());
    let pages: Vec<_> = pages.collect();
    assert!(pages.len() > 20, "{pages:?}");
    // The version is that of man-db. Other manual readers have no such options.
    if is_installed("man", "man 2") {
        let read = ["--warnings", "--encoding=UTF-8", "--troff-device=utf8", "--ditroff", "--local-file"];
        pages.iter().for_each(|page| check("man", &read, page));
    }
}
