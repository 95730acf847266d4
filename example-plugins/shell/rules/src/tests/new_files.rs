//! Tests that a redirection to a new file is not treated as overwriting, if the guard can see that the file does not
//! exist.

use super::registry;
use crate::judge::{Input, Outcome, judge};
use hookhost_guest::prelude::ShellDialect;

/// Returns true if a person is asked about `command` in a workspace in which `new.py` is the only source file that does
/// not exist.
fn is_asked_about(command: &str) -> bool {
    let input = Input {
        command,
        dialect: ShellDialect::Posix,
        cwd: "/work/project/src",
        workspace: "/work/project",
        has_stack: &|_| false,
        asks_silent: false,
        is_missing: &|path| path == "src/new.py",
        env: &|_| None,
        is_supposed: false,
    };
    matches!(judge(registry(), &input).outcome, Outcome::Ask { .. })
}

#[test]
fn a_redirection_into_a_new_file_overwrites_nothing() {
    for command in ["echo x > new.py", "echo x >> ./new.py", "> /work/project/src/new.py", "cd .. && ls > src/new.py"] {
        assert!(!is_asked_about(command), "{command}");
    }
    for command in [
        "echo x > old.py",
        "echo x > ../new.py",
        "echo x > new.py 2> old.py",
        "echo x > new.py; > old.py",
        "echo x > \"$X/new.py\"",
        "ssh host 'echo x > new.py'",
        "truncate -s 0 new.py",
    ] {
        assert!(is_asked_about(command), "{command}");
    }
}
