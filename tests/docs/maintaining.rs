//! `docs/maintaining.md` shows a diff that adds an event: it must fit the repository as it is.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn the_diff_that_adds_an_event_applies_and_touches_its_places() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let guide = std::fs::read_to_string(root.join("docs/maintaining.md")).expect("the guide");
    let diff = guide.split("```diff\n").nth(1).and_then(|rest| rest.split("```\n").next()).expect("a diff");

    let mut git = Command::new("git")
        .args(["apply", "--check", "--unidiff-zero", "-"])
        .current_dir(&root)
        .stdin(Stdio::piped())
        .spawn()
        .expect("git");
    git.stdin.take().expect("a pipe").write_all(diff.as_bytes()).expect("the diff");
    assert!(git.wait().expect("git ends").success(), "the diff in docs/maintaining.md does not apply any more");

    let places: Vec<&str> = diff.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
    assert_eq!(
        places,
        [
            "guest-sdk/src/plugin.rs",
            "host/engine/src/event/mod.rs",
            "host/engine/src/event/session.rs",
            "host/engine/src/session/events.rs",
            "host/engine/src/session/typed.rs",
            "wit/0.1/events.wit"
        ]
    );
}
