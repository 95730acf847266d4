//! Checks the documentation of the libraries, and compares their public items with the stored lists and with the last release.
//!
//! Both tasks need only one run of rustdoc. It writes JSON, from which the lists are made, and it reports broken links as it does when it
//! writes HTML pages. The JSON format is unstable, so stable rustdoc writes it only if `RUSTC_BOOTSTRAP` is set. If cargo saw this
//! variable, it would compile every dependency again. So cargo calls this program in place of rustdoc, and this program calls rustdoc with
//! the variable.

use std::{
    collections::BTreeMap,
    env, fs,
    process::{Command, ExitCode},
    time::{SystemTime, UNIX_EPOCH},
};

use xtask::{
    Outcome,
    workspace::{Workspace, output, run, say},
};

/// The libraries that others depend on, as (package, directory).
const LIBRARIES: [(&str, &str); 3] =
    [("hookhost", "host/engine"), ("hookhost-contract", "host/contract"), ("hookhost-guest", "guest-sdk")];

/// The name of the file in each library's directory that lists the public items.
const LIST: &str = "public-api.txt";

/// The manifest of the program that lists public items. This program is a separate workspace.
pub(crate) const LISTER: &str = "xtask/public-items/Cargo.toml";

/// The environment variable that contains the path of the real rustdoc. It is set if cargo calls this program in place of rustdoc.
const RUSTDOC: &str = "HOOKHOST_XTASK_RUSTDOC";

/// The version of cargo-semver-checks that can read the JSON that rustdoc 1.95 writes.
const SEMVER_CHECKS: &str = "0.51.0";

/// Runs rustdoc and returns its exit code, if cargo has called this program in place of rustdoc. Otherwise returns `None`.
pub(crate) fn run_as_rustdoc() -> Option<ExitCode> {
    let rustdoc = env::var_os(RUSTDOC)?;
    let mut command = Command::new(&rustdoc);
    command.args(env::args_os().skip(1)).env_remove(RUSTDOC).env("RUSTC_BOOTSTRAP", "1");
    Some(match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot start {}: {error}", rustdoc.display());
            ExitCode::FAILURE
        }
    })
}

/// Fails if the documentation has a mistake, if a list differs from the public items, or if a library breaks users of the last release.
pub(crate) fn check(workspace: &Workspace) -> Outcome {
    document(workspace)?;
    run("the program that lists public items", &mut lister(workspace, "test"))?;
    if update_lists(workspace, false)? > 0 {
        return Err("public items changed: run `cargo xtask ci --write` and look at the diff".to_owned());
    }
    say("the lists of public items are up to date");
    compare_with_release(workspace)
}

/// Writes the lists.
pub(crate) fn write(workspace: &Workspace) -> Outcome {
    document(workspace)?;
    update_lists(workspace, true).map(|_| ())
}

/// Writes rustdoc's JSON of all libraries of the workspace to `target/doc`. Warnings are errors.
fn document(workspace: &Workspace) -> Outcome {
    let program = env::current_exe().map_err(|error| format!("cannot find xtask itself: {error}"))?;
    let rustdoc = env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    // Another clone with the same target directory may have written these files, and cargo does not notice that. So pass a flag that
    // differs each time, which makes cargo call rustdoc each time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    // Document only the libraries, because the binary `hookhost` would overwrite the documentation of the library with the same name.
    let mut cargo = workspace.cargo(&["doc", "--workspace", "--no-deps", "--lib"]);
    cargo.env("RUSTDOC", program).env(RUSTDOC, rustdoc);
    cargo.env(
        "RUSTDOCFLAGS",
        format!("-D warnings -Z unstable-options --output-format json --cfg public_items=\"{now}\""),
    );
    run("docs", &mut cargo)
}

fn lister(workspace: &Workspace, command: &str) -> Command {
    let mut cargo = workspace.cargo(&[command, "--quiet", "--locked", "--manifest-path", LISTER]);
    cargo.env("CARGO_TARGET_DIR", workspace.target.join("tools"));
    cargo
}

/// Compares the lists with the public items. Prints the differences, or writes the new lists if `write` is true. Returns the number of
/// changed lines.
fn update_lists(workspace: &Workspace, write: bool) -> Outcome<usize> {
    let mut changed = 0;
    for (package, directory) in LIBRARIES {
        let json = workspace.target.join("doc").join(package.replace('-', "_")).with_extension("json");
        let items = output(lister(workspace, "run").arg("--").arg(json))? + "\n";
        let file = workspace.root.join(directory).join(LIST);
        let difference = difference(&fs::read_to_string(&file).unwrap_or_default(), &items);
        if difference.is_empty() {
            continue;
        }
        changed += difference.len();
        say(&format!("{}: {} changed lines", workspace.show(&file), difference.len()));
        if write {
            fs::write(&file, items).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        } else {
            difference.iter().for_each(|line| println!("{line}"));
        }
    }
    Ok(changed)
}

/// Returns the lines that are in only one of the two lists, marked as in a diff. An item with a changed signature appears in two lines.
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

/// Fails if the libraries break public items of the newest release tag and do not have a matching new version.
fn compare_with_release(workspace: &Workspace) -> Outcome {
    let mut git = Command::new("git");
    git.args(["tag", "--list", "v*", "--sort=-version:refname"]).current_dir(&workspace.root);
    let tags = output(&mut git)?;
    let Some(tag) = tags.lines().next() else {
        say("no tag `v*` yet: there is no release that a change could break");
        return Ok(());
    };
    let mut checks = workspace.cargo(&["semver-checks", "--baseline-rev", tag]);
    checks.args(LIBRARIES.iter().flat_map(|(package, _)| ["--package", package]));
    run(&format!("public items against {tag}"), &mut checks).map_err(|why| {
        format!(
            "{why}; keep what is broken, or raise the version in Cargo.toml. The check needs `cargo install cargo-semver-checks \
             --version {SEMVER_CHECKS} --locked`"
        )
    })
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
