//! The programs of `examples/`: each runs to its end and prints what its head says, is short, and is linked from the
//! pages.

use crate::support::component;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests of the product in `testing.rs` run here, too.
#[path = "../../examples/testing.rs"]
#[expect(dead_code, reason = "its `main` runs as a program, below")]
mod a_product;

/// Lines of the longest example.
const MAX_LINES: usize = 80;

/// The examples: name and source.
fn examples() -> Vec<(String, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut examples: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            assert!(path.extension().is_some_and(|extension| extension == "rs"), "{} would not run", path.display());
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    examples.sort();
    assert!(examples.len() >= 7, "{examples:?}");
    examples
}

/// The built program.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let program = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not there: run `cargo build --workspace --examples`", program.display());
    program
}

/// The lines of the text block after `Prints:` in the head of a source.
fn promised(source: &str) -> Option<String> {
    let head =
        source.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
    let mut lines = head.skip_while(|line| *line != "Prints:").skip(1);
    if lines.next()? != "```text" {
        return None;
    }
    let printed: String = lines.take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
    (!printed.is_empty()).then_some(printed)
}

/// What an example prints, in a directory that is empty.
fn printed(name: &str) -> String {
    printed_with(name, &[])
}

/// The same under these variables of the environment.
fn printed_with(name: &str, variables: &[(&str, &Path)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    let plugins = component("path_guard.wasm").canonicalize().unwrap();
    let mut command = Command::new(program(name));
    command.env("HOOKHOST_PLUGINS", plugins.parent().unwrap()).envs(variables.iter().copied()).current_dir(&directory);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_example_prints_what_its_head_says() {
    for (name, source) in examples() {
        let Some(promised) = promised(&source) else {
            panic!("the head of examples/{name}.rs has no block ```text after a line `Prints:`")
        };
        assert_eq!(printed(&name), promised, "examples/{name}.rs");
    }
}

/// The compiled code in a directory for caches: names and inodes.
#[cfg(unix)]
fn compiled_code(caches: &Path) -> Vec<(std::ffi::OsString, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let files = std::fs::read_dir(caches.join("compiled")).unwrap().map(Result::unwrap);
    let code = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "cwasm"));
    let mut code: Vec<_> = code.map(|file| (file.file_name(), file.metadata().unwrap().ino())).collect();
    code.sort();
    code
}

#[cfg(unix)]
#[test]
fn compiled_code_is_kept_by_default_where_nobody_else_can_write() {
    use std::os::unix::fs::PermissionsExt as _;

    let caches = tempfile::tempdir().unwrap();
    let first = printed_with("gate", &[("HOOKHOST_CACHE_DIR", caches.path())]);
    let kept = compiled_code(caches.path());
    assert!(!kept.is_empty());
    let mode = std::fs::metadata(caches.path().join("compiled")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    // The second start reads it.
    assert_eq!(printed_with("gate", &[("HOOKHOST_CACHE_DIR", caches.path())]), first);
    assert_eq!(compiled_code(caches.path()), kept);

    // Where others can write, nothing is kept and nothing is read, and the program works.
    let shared = tempfile::tempdir().unwrap();
    let place = shared.path().join("compiled");
    std::fs::create_dir(&place).unwrap();
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(printed_with("gate", &[("HOOKHOST_CACHE_DIR", shared.path())]), first);
    assert_eq!(compiled_code(shared.path()), []);

    // Nor where a file is in the place of the directory.
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(printed_with("gate", &[("HOOKHOST_CACHE_DIR", file.path())]), first);
}

#[test]
fn each_example_is_short_says_how_to_run_it_and_is_found_from_the_pages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(root.join("../../docs/embedding.md")).unwrap();
    let front = std::fs::read_to_string(root.join("src/lib.rs")).unwrap();
    for (name, source) in examples() {
        let lines = source.lines().count();
        assert!(lines <= MAX_LINES, "examples/{name}.rs has {lines} lines");
        assert!(source.contains(&format!("`cargo run -p hookhost --example {name}`")), "examples/{name}.rs");
        assert!(guide.contains(&format!("(../host/engine/examples/{name}.rs)")), "docs/embedding.md lacks {name}");
        assert!(front.contains(&format!("`examples/{name}.rs`")), "lib.rs lacks {name}");
    }
}

/// The pages of the documentation that a reader opens first: a file, and the item or the head of the file.
const PAGES: [(&str, &str); 23] = [
    ("active_config.rs", "pub struct RuleSet"),
    ("approval/mod.rs", "pub struct Approval "),
    ("approval/mod.rs", "pub trait Approver"),
    ("audit/sink.rs", "pub trait AuditSink"),
    ("blocking.rs", "//!"),
    ("config/entry.rs", "pub struct Entry"),
    ("config/merged.rs", "pub struct Config"),
    ("engine.rs", "pub struct Engine"),
    ("host.rs", "pub struct Host "),
    ("host.rs", "pub struct HostBuilder"),
    ("lib.rs", "//!"),
    ("native/mod.rs", "//!"),
    ("replay.rs", "//!"),
    ("sandbox/capability/embedder.rs", "pub trait Capability"),
    ("sandbox/capability/model.rs", "pub trait Model"),
    ("sandbox/capability/transcript.rs", "pub trait Transcript"),
    ("session/handle.rs", "pub struct Session "),
    ("session/spec.rs", "pub struct SessionSpec"),
    ("session/recorded_outcome.rs", "pub struct RecordedOutcome"),
    ("session/tools.rs", "pub struct PluginTools"),
    ("store/sqlite/log.rs", "pub struct Log"),
    ("testing.rs", "//!"),
    ("../../contract/src/outcome.rs", "pub enum Decision"),
];

#[test]
fn each_page_of_the_documentation_that_one_opens_first_has_an_example() {
    for (file, item) in PAGES {
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file)).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let end = match item {
            "//!" => lines.iter().position(|line| !line.starts_with("//!")),
            _ => lines.iter().position(|line| line.starts_with(item)),
        };
        let end = end.unwrap_or_else(|| panic!("{file} has no `{item}`"));
        let documentation =
            lines[..end].iter().rev().take_while(|line| line.starts_with("//") || line.starts_with("#["));
        let fences = documentation.filter(|line| line.trim_start_matches(['/', '!', ' ']).starts_with("```")).count();
        assert!(fences >= 2, "{item} of {file} has no example");
    }
}

#[test]
fn an_example_without_a_promise_is_noticed() {
    assert_eq!(
        promised("//! Prints:\n//! ```text\n//! one\n//!  two\n//! ```\n\nfn main() {}"),
        Some("one\n two\n".to_owned())
    );
    for without in ["//! A program.\n", "//! Prints:\n//! one\n", "//! Prints:\n//! ```text\n//! ```\n", "// Prints:\n"]
    {
        assert_eq!(promised(without), None, "{without}");
    }
}
