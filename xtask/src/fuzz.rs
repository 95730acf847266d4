//! Fuzzes every target for the given time.

use std::{fs, process::Command};

use xtask::{
    Outcome,
    workspace::{Workspace, run, say},
};

/// The toolchain that a fuzzer needs, written as an argument of `cargo`.
const TOOLCHAIN: &str = "+nightly";

/// Default duration for each target, in seconds.
const SECONDS: u64 = 300;

/// Runs the targets: `[SECONDS] [TARGET…]`. New inputs are stored in `target/fuzz/corpus`, and inputs that make a target fail are stored in
/// `fuzz/artifacts`.
pub(crate) fn fuzz(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let (seconds, wanted) = match arguments.split_first() {
        Some((first, wanted)) if first.parse::<u64>().is_ok() => (first.parse().unwrap_or(SECONDS), wanted),
        _ => (SECONDS, arguments),
    };
    let targets = targets(workspace)?;
    if let Some(unknown) = wanted.iter().find(|wanted| !targets.contains(wanted)) {
        return Err(format!("there is no target `{unknown}`; there are {}", targets.join(", ")));
    }
    let version = Command::new("cargo").args([TOOLCHAIN, "fuzz", "--version"]).output();
    if !version.is_ok_and(|version| version.status.success()) {
        return Err("cargo-fuzz and a nightly toolchain are needed: \
            `rustup toolchain install nightly && cargo install cargo-fuzz --locked`"
            .into());
    }
    // The fuzzer uses a separate target directory.
    workspace.unlock()?;
    let mut broken = Vec::new();
    for target in targets.iter().filter(|target| wanted.is_empty() || wanted.contains(target)) {
        let found = workspace.target.join("fuzz/corpus").join(target);
        fs::create_dir_all(&found).map_err(|error| format!("cannot make {}: {error}", found.display()))?;
        let mut fuzz = Command::new("cargo");
        // hookhost has almost no `unsafe` code, so an address sanitizer would find almost no errors in it. Without the sanitizer, the
        // fuzzer makes more runs in the same time, and there is enough address space for the memory that compiled guests reserve.
        fuzz.args([TOOLCHAIN, "fuzz", "run", "--sanitizer", "none", "--features", "libfuzzer", target]);
        fuzz.arg(&found).arg(workspace.root.join("fuzz/corpus").join(target));
        fuzz.args(["--", "-timeout=30", "-rss_limit_mb=4096", &format!("-max_total_time={seconds}")]);
        fuzz.current_dir(&workspace.root).env("CARGO_TARGET_DIR", workspace.target.join("fuzz"));
        // Cargo's own variables name the toolchain that built this program.
        fuzz.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        if let Err(why) = run(&format!("fuzzing {target} for {seconds} s"), &mut fuzz) {
            say(&why);
            broken.push(target.as_str());
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(format!("broken, see fuzz/artifacts: {}", broken.join(", "))) }
}

/// Returns the names of all targets.
fn targets(workspace: &Workspace) -> Outcome<Vec<String>> {
    let directory = workspace.root.join("fuzz/fuzz_targets");
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", directory.display());
    let mut targets = Vec::new();
    for file in fs::read_dir(&directory).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        targets.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}
