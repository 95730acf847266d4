//! Measures builds with an empty target directory: the demo that a newcomer runs, and programs that embed the engine.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Instant,
};

use xtask::{
    Outcome,
    embed::{self, BESIDE_SQLITE, GATE},
    plugins,
    workspace::{Workspace, output, run, say},
};

/// The name of a part, and the function that measures it.
type Part = (&'static str, fn(&Workspace) -> Outcome);

const PARTS: [Part; 2] = [("demo", demo), ("embed", embedders)];

/// Maximum duration of `cargo xtask demo` on a machine of two processors, in seconds, and maximum number of crates of `hookhost`.
const MAX_SECONDS: u64 = 5 * 60;
const MAX_CRATES: usize = 300;

/// Measures both parts, or only the named part: `[demo] [embed]`.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if let Some(unknown) = arguments.iter().find(|argument| PARTS.iter().all(|(part, _)| part != argument)) {
        return Err(format!("there is no part `{unknown}`: there are {}", PARTS.map(|(part, _)| part).join(", ")));
    }
    let is_wanted = |part: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == part);
    PARTS.iter().filter(|(part, _)| is_wanted(part)).try_for_each(|(_, measure)| measure(workspace))
}

/// Runs the demo with an empty target directory, and prints the time.
fn demo(workspace: &Workspace) -> Outcome {
    let target = workspace.target.join("first-build");
    clear(&target)?;
    // Downloads are not counted.
    output(&mut workspace.cargo(&["fetch", "--locked"]))?;
    let began = Instant::now();
    let mut demo = workspace.cargo(&["xtask", "demo"]);
    run("the demo, from nothing", demo.env("CARGO_TARGET_DIR", &target))?;
    let seconds = began.elapsed().as_secs();
    clear(&target)?;
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

/// Builds programs that embed the engine, with an empty target directory. Runs them, and prints the cost.
fn embedders(workspace: &Workspace) -> Outcome {
    let directory = plugins::build(workspace)?;
    let (smallest, all) = (embed::crates(workspace, Some(GATE))?, embed::crates(workspace, None)?);
    let compiled = workspace.target.join("path_guard.compiled");
    // Build the whole workspace, because for the engine alone, its dependencies would be built with different features.
    run("building the example", &mut workspace.cargo(&["build", "--workspace", "--example", "compile_ahead"]))?;
    let example = format!("debug/examples/compile_ahead{}", std::env::consts::EXE_SUFFIX);
    let mut ahead = Command::new(workspace.target.join(example));
    run("compiling a component ahead", ahead.arg(&compiled).env(plugins::VARIABLE, &directory))?;
    let gate = built(workspace, "gate", GATE, "dev")?;
    say(&output(Command::new(&gate.program).arg(&compiled))?);
    say("| program | crates of hookhost | profile | first build | executable |\n|---|---|---|---|---|");
    say(&format!("| a gate without features | {smallest} | dev | {} s | {} MB |", gate.seconds, gate.megabytes));
    for profile in ["dev", "optimised-dependencies"] {
        let beside = built(workspace, "beside-sqlite", BESIDE_SQLITE, profile)?;
        let mut start = Command::new(&beside.program);
        say(&output(start.arg(directory.join("path_guard.wasm")))?);
        say(&format!(
            "| beside sqlx and rusqlite, with `compile` | | {profile} | {} s | {} MB |",
            beside.seconds, beside.megabytes
        ));
    }
    say(&format!("| all features | {all} | | | |"));
    Ok(())
}

/// A built program of a separate workspace.
struct BuiltProgram {
    program: PathBuf,
    seconds: u64,
    megabytes: u64,
}

/// Builds a program of a separate workspace with an empty target directory.
fn built(workspace: &Workspace, name: &str, manifest: &str, profile: &str) -> Outcome<BuiltProgram> {
    let target = embed::target(workspace).join(name);
    clear(&target)?;
    // Downloads are not counted.
    output(&mut workspace.cargo(&["fetch", "--locked", "--manifest-path", manifest]))?;
    let began = Instant::now();
    let mut build = workspace.cargo(&["build", "--locked", "--manifest-path", manifest, "--profile", profile]);
    run(&format!("the first build of {name}, profile {profile}"), build.env("CARGO_TARGET_DIR", &target))?;
    let seconds = began.elapsed().as_secs();
    let directory = if profile == "dev" { "debug" } else { profile };
    let program = target.join(directory).join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    Ok(BuiltProgram { megabytes: size(&program)? >> 20, program, seconds })
}

fn size(file: &Path) -> Outcome<u64> {
    fs::metadata(file).map(|file| file.len()).map_err(|error| format!("{}: {error}", file.display()))
}

fn clear(target: &Path) -> Outcome {
    match fs::remove_dir_all(target) {
        Err(error) if target.exists() => Err(format!("cannot remove {}: {error}", target.display())),
        _ => Ok(()),
    }
}

/// Counts the crates that are compiled for a package, including the package itself and the crates that run during the
/// build.
fn crates_of(workspace: &Workspace, package: &str) -> Outcome<usize> {
    let tree = ["tree", "--locked", "--package", package, "--edges", "normal,build", "--prefix", "none"];
    let tree = output(workspace.cargo(&tree).args(["--format", "{p}"]))?;
    Ok(counted(&tree))
}

/// Counts the distinct packages of a tree. Each line begins with `NAME VERSION`. The lines of members, macros and repetitions have further
/// words.
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
