//! Compares the libraries' public items with their lists, for a review, and with the last release.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Outcome, peers,
    rustdoc::{self, LIBRARIES},
    workspace::{Workspace, output, run, say},
};

/// The file of each library that lists its public items.
const LIST: &str = "public-api.txt";

/// The program that lists public items, a workspace of its own.
const LISTER: &str = "xtask/public-items/Cargo.toml";

/// The program that finds breaking changes. This version reads the JSON of Rust 1.95.
const SEMVER_CHECKS: (&str, &str) = ("cargo-semver-checks", "0.51.0");

/// Compares the lists with the current items, or writes them: `[--write]`.
pub(crate) fn public_api(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let write = match arguments {
        [] => false,
        [only] if only == "--write" => true,
        _ => return Err("usage: cargo xtask public-api [--write]".into()),
    };
    compare(workspace, &described(workspace)?, write)
}

/// Compares the libraries with those of the last tag.
pub(crate) fn semver(workspace: &Workspace) -> Outcome {
    let Some(tag) = last_tag(workspace)? else { return Ok(()) };
    against(workspace, &tag, &described(workspace)?)
}

/// Checks the format of the crates that `cargo fmt --all` does not reach.
pub(crate) fn format(workspace: &Workspace) -> Outcome {
    for manifest in [LISTER, peers::MANIFEST] {
        output(&mut workspace.cargo(&["fmt", "--check", "--manifest-path", manifest]))?;
    }
    Ok(())
}

/// Runs both checks with one call of rustdoc.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    let described = described(workspace)?;
    run("the program that lists public items", &mut lister(workspace, "test"))?;
    compare(workspace, &described, false)?;
    last_tag(workspace)?.map_or(Ok(()), |tag| against(workspace, &tag, &described))
}

/// Returns the directory with rustdoc's JSON of the current libraries.
fn described(workspace: &Workspace) -> Outcome<PathBuf> {
    let directory = workspace.target.join("public-items/current");
    rustdoc::write(workspace, &workspace.root, &directory)?;
    Ok(directory)
}

fn lister(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = workspace.cargo(&[command, "--quiet", "--locked", "--manifest-path", LISTER]);
    cargo.env("CARGO_TARGET_DIR", tools(workspace).join("build"));
    cargo
}

fn tools(workspace: &Workspace) -> PathBuf {
    workspace.target.join("tools")
}

fn compare(workspace: &Workspace, described: &Path, write: bool) -> Outcome {
    let mut changed = 0;
    for library in &LIBRARIES {
        let items = output(lister(workspace, "run").arg("--").arg(library.json(described)))? + "\n";
        let file = workspace.root.join(library.directory).join(LIST);
        let listed = fs::read_to_string(&file).unwrap_or_default();
        let difference = difference(&listed, &items);
        if difference.is_empty() {
            continue;
        }
        changed += difference.len();
        say(&format!("{}: {} changed", workspace.show(&file), counted(difference.len())));
        if write {
            fs::write(&file, items).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        } else {
            difference.iter().for_each(|line| println!("{line}"));
        }
    }
    match changed {
        0 => {
            say("the lists of public items are up to date");
            Ok(())
        }
        _ if write => Ok(()),
        _ => Err(format!("{} changed: run `cargo xtask public-api --write` and look at the diff", counted(changed))),
    }
}

fn counted(items: usize) -> String {
    format!("{items} public item{}", if items == 1 { "" } else { "s" })
}

/// Returns the lines of only one list, marked as in a diff. An item with a changed signature is two lines.
fn difference(listed: &str, items: &str) -> Vec<String> {
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    for line in items.lines() {
        *counts.entry(line).or_default() += 1;
    }
    for line in listed.lines() {
        *counts.entry(line).or_default() -= 1;
    }
    let marked = |(line, count): (&str, i32)| {
        let mark = if count < 0 { '-' } else { '+' };
        std::iter::repeat_n(format!("{mark} {line}"), count.unsigned_abs() as usize)
    };
    counts.into_iter().flat_map(marked).collect()
}

/// Returns the newest tag of a release. Without one, it prints a message and returns `None`.
fn last_tag(workspace: &Workspace) -> Outcome<Option<String>> {
    let tags = output(&mut git(workspace, &["tag", "--list", "v*", "--sort=-version:refname"]))?;
    let tag = tags.lines().next().map(str::to_owned);
    if tag.is_none() {
        say("no tag `v*` yet: there is no release that a change could break");
    }
    Ok(tag)
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(&workspace.root);
    git
}

/// Fails if the libraries break the tag's public items without a matching new version.
fn against(workspace: &Workspace, tag: &str, described: &Path) -> Outcome {
    let tool = semver_checks(workspace)?;
    let released = released(workspace, tag)?;
    let mut broken = Vec::new();
    for library in &LIBRARIES {
        let (before, now) = (library.json(&released), library.json(described));
        if !before.exists() {
            say(&format!("{} is not in {tag}", library.package));
            continue;
        }
        let mut checks = Command::new(&tool);
        checks.arg("semver-checks").arg("--baseline-rustdoc").arg(before).arg("--current-rustdoc").arg(now);
        checks.current_dir(&workspace.root);
        if let Err(why) = run(&format!("{} against {tag}", library.package), &mut checks) {
            say(&why);
            broken.push(library.package);
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(format!(
        "against {tag}, what is said above is broken or cannot be told in {}: keep it, or raise the version in Cargo.toml",
        broken.join(", ")
    ))
}

/// Returns the directory with rustdoc's JSON of the libraries at the tag. A tag does not change, so the JSON is made once for each
/// compiler.
fn released(workspace: &Workspace, tag: &str) -> Outcome<PathBuf> {
    let commit = output(&mut git(workspace, &["rev-parse", &format!("{tag}^{{commit}}")]))?;
    let rustc = output(Command::new("rustc").arg("--version").current_dir(&workspace.root))?;
    let compiler = rustc.split(' ').nth(1).unwrap_or("unknown");
    let directory = workspace.target.join("public-items").join(format!("{tag}-{commit}-{compiler}"));
    if directory.exists() {
        return Ok(directory);
    }
    let sources = workspace.target.join("public-items/sources");
    let remove = || git(workspace, &["worktree", "remove", "--force"]).arg(&sources).output();
    // An interrupted run may have left it. Otherwise git reports an error, which does not matter.
    let _ = remove();
    run(&format!("the sources of {tag}"), git(workspace, &["worktree", "add", "--detach"]).arg(&sources).arg(&commit))?;
    let unfinished = workspace.target.join("public-items/unfinished");
    let written = rustdoc::write(workspace, &sources, &unfinished);
    let _ = remove();
    written?;
    fs::rename(&unfinished, &directory).map_err(|error| format!("cannot write {}: {error}", directory.display()))?;
    Ok(directory)
}

/// Returns the program, and installs it in the target directory if it is missing.
fn semver_checks(workspace: &Workspace) -> Outcome<PathBuf> {
    let (name, version) = SEMVER_CHECKS;
    let directory = tools(workspace).join(format!("{name}-{version}"));
    let program = directory.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if program.exists() {
        return Ok(program);
    }
    let mut cargo = workspace.cargo(&["install", name, "--version", version, "--locked", "--root"]);
    cargo.arg(&directory).env("CARGO_TARGET_DIR", tools(workspace).join("build"));
    // It runs for seconds, so its release profile, which optimises across crates, would compile for longer.
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    run(&format!("installing {name} {version} (some minutes, once)"), &mut cargo).map_err(|why| {
        format!("{why}: without {name} nobody can tell what a change breaks; `cargo install {name}` needs a network")
    })?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn the_difference_has_each_line_that_one_list_has_more_often() {
        let listed = "pub fn a()\npub fn b()\npub fn c(u32)\n";
        assert!(difference(listed, listed).is_empty());
        assert_eq!(
            difference(listed, "pub fn b()\npub fn c(u64)\npub fn a()\npub fn b()\n"),
            ["+ pub fn b()", "- pub fn c(u32)", "+ pub fn c(u64)"]
        );
        assert_eq!(difference("", "pub mod x\n"), ["+ pub mod x"]);
    }
}
