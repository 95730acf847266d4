//! Checks the programs in `examples/`: their length, and what they print.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum number of lines of an example.
const LINES: usize = 60;

fn source(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.rs"));
    std::fs::read_to_string(file).unwrap()
}

/// Runs an example in a directory with two files, and returns what it prints.
fn run(name: &str, arguments: &[&str]) -> String {
    let test = std::env::current_exe().unwrap();
    let example = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(example.exists(), "{} is not there: run `cargo build --workspace --examples`", example.display());
    let directory = tempfile::tempdir().unwrap();
    for file in ["one", "two"] {
        std::fs::write(directory.path().join(file), file).unwrap();
    }
    let output = Command::new(example).args(arguments).current_dir(directory.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn plugins() -> PathBuf {
    let built = std::env::var_os("HOOKHOST_PLUGINS").map(PathBuf::from);
    built.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("../plugins")).canonicalize().unwrap()
}

#[test]
fn each_example_is_short() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let names: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "each is run below: {names:?}");
    for name in names {
        let name = name.into_string().unwrap();
        let lines = source(name.strip_suffix(".rs").unwrap()).lines().count();
        assert!(lines < LINES, "{name} has {lines} lines");
    }
}

#[test]
fn a_custom_tool_is_called_like_any_other() {
    assert_eq!(run("custom_tool", &[]), "count_words: 6 words\nSix words.\n");
}

#[test]
fn a_custom_provider_answers_in_a_models_place() {
    assert_eq!(run("custom_provider", &[]), "It has 2 entries.\n2 turns\n");
}

#[test]
fn a_custom_event_is_answered_by_plugins() {
    assert_eq!(
        run("custom_event", &[plugins().to_str().unwrap()]),
        "deployed: {\"service\":\"shop\",\"day\":\"thursday\"}\n\
         not deployed on friday: Rejected by no-fridays: nobody is there to help\n"
    );
}
