//! Measures the wait of a newcomer: the demo from nothing, and the crates of `hookhost`.

use std::{collections::BTreeSet, fs, thread, time::Instant};

use crate::{
    Outcome,
    workspace::{Workspace, output, run, say},
};

/// Maximum duration of `cargo xtask demo` on a machine of two processors, in seconds, and maximum number of crates of `hookhost`.
const MAX_SECONDS: u64 = 6 * 60;
const MAX_CRATES: usize = 300;

/// Runs the demo with an empty target directory, and prints the time.
pub(crate) fn measure(workspace: &Workspace, _: &[String]) -> Outcome {
    let target = workspace.target.join("first-build");
    let clear = || match fs::remove_dir_all(&target) {
        Err(error) if target.exists() => Err(format!("cannot remove {}: {error}", target.display())),
        _ => Ok(()),
    };
    clear()?;
    // Downloads are not counted.
    output(&mut workspace.cargo(&["fetch", "--locked"]))?;
    let began = Instant::now();
    let mut demo = workspace.cargo(&["xtask", "demo"]);
    run("the demo, from nothing", demo.env("CARGO_TARGET_DIR", &target))?;
    let seconds = began.elapsed().as_secs();
    clear()?;
    let crates = crates_of(workspace, "hookhost-cli")?;
    say("| what | measured | may be | |\n|---|---|---|---|");
    let word = |is_met| if is_met { "met" } else { "**beyond**" };
    println!(
        "| `cargo xtask demo` from nothing, without downloads, on {} processors | {} min {} s | {} min | {} |",
        thread::available_parallelism().map_or(1, std::num::NonZero::get),
        seconds / 60,
        seconds % 60,
        MAX_SECONDS / 60,
        word(seconds <= MAX_SECONDS)
    );
    println!("| crates of `hookhost` | {crates} | {MAX_CRATES} | {} |", word(crates <= MAX_CRATES));
    for package in ["wasmtime-wasi-http", "jsonschema", "rmcp", "reqwest"] {
        println!(
            "| `{package}` with its dependencies, some of which others share | {} | | |",
            crates_of(workspace, package)?
        );
    }
    Ok(())
}

/// Counts the crates that are compiled for a package, with itself and the crates that run during the build.
fn crates_of(workspace: &Workspace, package: &str) -> Outcome<usize> {
    let tree = ["tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"];
    let tree = output(workspace.cargo(&tree).args(["--format", "{p}"]))?;
    Ok(counted(&tree))
}

/// Counts the distinct packages of a tree. A line is `NAME VERSION`, and more for a member, a macro, or a repetition.
fn counted(tree: &str) -> usize {
    let packages = tree.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    packages.filter(|package| package.len() == 2).collect::<BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_crate_counts_once_wherever_it_is_listed() {
        let tree = "hookhost-cli v0.1.0 (/somewhere)\nserde v1.0.0\nserde_derive v1.0.0 (proc-macro)\nserde v1.0.0 (*)\n\nserde v2.0.0";
        assert_eq!(counted(tree), 4);
        assert_eq!(counted(""), 0);
    }
}
