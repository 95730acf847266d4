//! The workflows of the repository: an action of somebody else is named by its commit, and CI has the compiler that is promised.

use crate::guide::{files, page};
use regex_lite::Regex;

#[test]
fn every_action_is_named_by_its_commit_and_its_version() {
    let uses = Regex::new(r"uses:\s*(\S+)(.*)").expect("a pattern");
    let pinned = Regex::new(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$").expect("a pattern");
    let mut checked = 0;
    for file in files(&[".yml"]).into_iter().filter(|file| file.starts_with(".github/workflows")) {
        for found in uses.captures_iter(&page(&file.to_string_lossy())) {
            let (action, rest) = (&found[1], found[2].trim());
            let is_own = action.starts_with("./");
            assert!(is_own || pinned.is_match(action) && rest.starts_with("# v"), "{}: {action}{rest}", file.display());
            checked += 1;
        }
    }
    assert!(checked >= 2, "only {checked} actions were found");
}

#[test]
fn ci_has_the_oldest_compiler_that_the_crates_support() {
    let manifest = page("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = \"")).expect("the version");
    let version = version.trim_end_matches('"');
    assert!(page(".github/workflows/ci.yml").contains(&format!("RUSTUP_TOOLCHAIN: '{version}'")), "not {version}");
}
