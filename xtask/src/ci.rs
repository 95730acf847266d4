//! Runs the tests and the other checks of CI.

use std::{collections::BTreeSet, fs, process::Command, time::Instant};

use xtask::{
    Outcome, embed, plugins,
    workspace::{Workspace, output, run, say},
};

use crate::{agents, dist, public_items, receivers};

/// The manifests of the crates that `cargo fmt --all` does not format.
const OTHER_WORKSPACES: [&str; 3] = [public_items::LISTER, dist::PACKER, "bench/peers/Cargo.toml"];

/// A check, its help, and its function.
type Check = (&'static str, &'static str, fn(&Workspace) -> Outcome);

/// All checks. The fast checks come first.
const CHECKS: &[Check] = &[
    ("compiler", "this compiler is the oldest one that the crates promise to support", compiler),
    ("format", "the format of all sources", format),
    ("dependencies", "lock files are up to date, and the tests share the compiled libraries of the demo", dependencies),
    ("clippy", "lints, also of the code that only guests compile", clippy),
    (
        "docs",
        "warnings of rustdoc, the lists of public items, and what breaks users of the last release",
        public_items::check,
    ),
    ("embed", "the engine compiles without each feature, and the smallest gate has few crates", embed::check),
    // One run should show all failures.
    ("test", "`cargo xtask test`", |workspace| test(workspace, &["--no-fail-fast".into()])),
    ("receivers", "programs of others receive telemetry", receivers::check),
    ("agents", "four of the agents that people use", |workspace| {
        agents::agents(workspace, &agents::IN_CI.map(str::to_owned))
    }),
    ("page", "the page of the resident host in a real Chromium, which root installs", page),
    ("packages", "packages of the development build install, and reject a call", dist::check_development),
    // This check comes last because it unlocks the target directory.
    ("instructions", "`cargo run -p bench -- instructions`", instructions),
];

/// Runs the named checks, or all checks if none is named: `[CHECK…]`. With `--write`, writes the lists of public items instead.
pub(crate) fn ci(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if arguments == ["--write"] {
        return public_items::write(workspace);
    }
    if arguments == ["--help"] {
        println!("{}", usage());
        return Ok(());
    }
    let mut durations = Vec::new();
    for (name, _, check) in wanted(arguments)? {
        let began = Instant::now();
        check(workspace)?;
        durations.push(format!("{name} {}", began.elapsed().as_secs()));
    }
    say(&format!("all is well; seconds: {}", durations.join(", ")));
    Ok(())
}

/// Returns the named checks in the order of [`CHECKS`], or all checks if none is named.
fn wanted(names: &[String]) -> Outcome<Vec<Check>> {
    if let Some(unknown) = names.iter().find(|named| CHECKS.iter().all(|(name, ..)| name != named)) {
        return Err(format!("there is no check `{unknown}`; {}", usage()));
    }
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|named| named == name);
    Ok(CHECKS.iter().copied().filter(|(name, ..)| is_wanted(name)).collect())
}

fn usage() -> String {
    let checks = CHECKS.iter().map(|(name, help, _)| format!("\n  {name:13} {help}"));
    format!("usage: cargo xtask ci [CHECK…], or cargo xtask ci --write{}", checks.collect::<String>())
}

/// Runs all tests, including doctests. The README names this command.
pub(crate) fn test(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let directory = plugins::build(workspace)?;
    // Build the command and the tests together. The command alone needs fewer features of the libraries, so wasmtime would be compiled once
    // for the command and once for the tests.
    let mut build = workspace.cargo(&["build", "--workspace", "--bins", "--examples", "--tests"]);
    run("building hookhost and its tests (the first time, wasmtime is compiled too)", &mut build)?;
    let mut cargo = workspace.cargo(&["test", "--workspace"]);
    run("all tests", cargo.env(plugins::VARIABLE, &directory).args(arguments))
}

fn format(workspace: &Workspace) -> Outcome {
    run("format", &mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    for manifest in OTHER_WORKSPACES {
        output(&mut workspace.cargo(&["fmt", "--check", "--manifest-path", manifest]))?;
    }
    Ok(())
}

fn dependencies(workspace: &Workspace) -> Outcome {
    embed::lock_files(workspace)?;
    compiled_once(workspace)
}

fn clippy(workspace: &Workspace) -> Outcome {
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run("clippy", &mut workspace.cargo(&clippy))?;
    plugins::clippy(workspace)
}

/// Installs Chromium on a system with `apt-get`, and tests the page in it. Where it cannot be installed, the tests say that they are skipped.
fn page(workspace: &Workspace) -> Outcome {
    if output(Command::new("chromium").arg("--version")).is_err() {
        let install = ["300", "apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium"];
        if let Err(why) = run("installing Chromium", Command::new("timeout").args(install)) {
            say(&format!("Chromium cannot be installed: {why}"));
        }
    }
    agents::agents(workspace, &[agents::PAGE.to_owned()])
}

fn instructions(workspace: &Workspace) -> Outcome {
    workspace.unlock()?;
    run("instructions of an event", &mut workspace.cargo(&["run", "--quiet", "-p", "bench", "--", "instructions"]))
}

/// Checks that the demo and the tests share the compiled libraries. For this, dependencies of tests must not add a feature to a library
/// that `hookhost` uses. Otherwise wasmtime would be compiled once for the demo and a second time for the tests.
fn compiled_once(workspace: &Workspace) -> Outcome {
    let tree = |edges: &str| {
        let tree = ["tree", "--workspace", "--locked", "--edges", edges, "--prefix", "none", "--format", "{p} {f}"];
        output(&mut workspace.cargo(&tree))
    };
    match differing(&tree("normal,build")?, &tree("normal,build,dev")?).as_slice() {
        [] => Ok(()),
        libraries => Err(format!(
            "tests ask for other features of these libraries than the demo does, so that they are compiled twice: {}; find who asks \
             with `cargo tree --workspace --edges features -i LIBRARY`, and move that to the `[dependencies]` of `hookhost-tests`, \
             or take a version of it that does not ask",
            libraries.join(", ")
        )),
    }
}

/// Returns the libraries (name, version and features) in a dependency tree that occur in the other tree with other features.
fn differing<'a>(tree: &'a str, other: &'a str) -> Vec<&'a str> {
    // ` (*)` marks a package whose dependencies are listed further above.
    let lines = |tree: &'a str| tree.lines().map(|line| line.trim_end_matches(" (*)")).collect::<BTreeSet<_>>();
    lines(tree).difference(&lines(other)).copied().collect()
}

/// Checks that the compiler is the oldest compiler that the crates promise to support. So code that needs a newer compiler is noticed.
fn compiler(workspace: &Workspace) -> Outcome {
    let manifest = workspace.root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
    let promised = promised(&text).ok_or_else(|| format!("{} has no `rust-version`", manifest.display()))?;
    let rustc = output(Command::new("rustc").arg("--version").current_dir(&workspace.root))?;
    if is_of(&rustc, promised) {
        return Ok(());
    }
    Err(format!("this is {rustc}, and `rust-version` promises {promised}: `cargo +{promised} xtask ci`, or raise it"))
}

/// Returns `rust-version` of the workspace.
fn promised(manifest: &str) -> Option<&str> {
    let mut keys = manifest.lines().filter_map(|line| line.split_once('='));
    let (_, version) = keys.find(|(key, _)| key.trim() == "rust-version")?;
    Some(version.trim().trim_matches('"'))
}

/// Returns true if `rustc --version` printed a version of the given release line, such as 1.95.
fn is_of(rustc: &str, line: &str) -> bool {
    let version = rustc.split(' ').nth(1).unwrap_or_default();
    version.strip_prefix(line).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Generates the contract's types, and the code that encodes them between the engine and components.
pub(crate) fn contract(workspace: &Workspace) -> Outcome {
    for (what, file) in [("types", "host/contract/src/generated.rs"), ("wire", "host/engine/src/wire/generated.rs")] {
        let text = output(&mut workspace.cargo(&["run", "--quiet", "-p", "hookhost-wit", "--", what]))?;
        let file = workspace.root.join(file);
        fs::write(&file, text + "\n").map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CHECKS, differing, is_of, promised, wanted};

    #[test]
    fn named_checks_run_in_the_order_of_all_and_an_unknown_one_is_named() {
        let run = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            wanted(&names).map(|checks| checks.into_iter().map(|(name, ..)| name).collect::<Vec<_>>())
        };
        assert_eq!(run(&["docs", "clippy"]), Ok(vec!["clippy", "docs"]));
        assert_eq!(run(&[]).map(|checks| checks.len()), Ok(CHECKS.len()));
        let why = run(&["docs", "semver"]).unwrap_err();
        assert!(why.starts_with("there is no check `semver`; usage: ") && why.contains("\n  instructions  "), "{why}");
    }

    #[test]
    fn a_library_that_tests_need_with_other_features_is_named() {
        let demo = "hookhost v0.1.0 default\nrustix v1.1.6 fs,std\nserde v1.0.0 std\nrustix v1.1.6 fs,std (*)\n";
        let tests = "hookhost v0.1.0 default\nrustix v1.1.6 fs,pty,std\nserde v1.0.0 std\ncriterion v0.8.2 \n";
        assert_eq!(differing(demo, tests), ["rustix v1.1.6 fs,std"]);
        assert!(differing(demo, demo).is_empty());
    }

    #[test]
    fn ci_runs_with_the_compiler_that_the_crates_promise_to_need() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\nrust-version = \"1.95\"\n";
        assert_eq!(promised(manifest), Some("1.95"));
        assert_eq!(promised("[package]\nversion = \"1.95\"\n"), None);
        assert!(is_of("rustc 1.95.0 (59807616e 2026-04-14)", "1.95"));
        assert!(!is_of("rustc 1.96.0 (59807616e 2026-05-28)", "1.95"));
        assert!(!is_of("rustc 1.950.0", "1.95"));
        assert!(!is_of("", "1.95"));
    }
}
