//! Checks the cost of embedding the engine: each feature of the engine can be left out, and the smallest embedding program (the gate) needs
//! few crates.

use std::{collections::BTreeSet, path::PathBuf};

use crate::{
    Outcome,
    workspace::{Workspace, output, run, say},
};

/// The features of the engine that a program can leave out.
const FEATURES: [&str; 8] = ["cache", "compile", "config-file", "http", "json-schema", "native", "replay", "store"];

/// The manifest of the smallest program that embeds the engine. The program is a separate workspace.
pub const GATE: &str = "tests/embedders/gate/Cargo.toml";
/// The manifest of a program that embeds the engine and also links a different version of SQLite. The program is a separate workspace.
pub const BESIDE_SQLITE: &str = "tests/embedders/beside-sqlite/Cargo.toml";

/// Maximum number of crates of the gate without features, including the engine.
const MAX_CRATES: usize = 123;

/// Checks that the engine compiles without any feature and without each single feature, and that the gate has few enough crates. Also
/// checks that a program which links its own version of SQLite does not link a second version because of hookhost.
pub fn check(workspace: &Workspace) -> Outcome {
    let sets = std::iter::once(String::new()).chain(FEATURES.iter().map(|left_out| {
        // The feature `replay` needs the feature `store`, and `compile` needs `cache`.
        let needs = [("replay", "store"), ("compile", "cache")];
        let kept = |feature: &&&str| *feature != left_out && !needs.contains(&(**feature, *left_out));
        FEATURES.iter().filter(kept).copied().collect::<Vec<_>>().join(",")
    }));
    for set in sets {
        let named =
            if set.is_empty() { "the engine without features".to_owned() } else { format!("the engine with {set}") };
        let arguments = ["check", "--quiet", "-p", "hookhost", "--lib", "--no-default-features", "--features", &set];
        run(
            &named,
            workspace.cargo(&arguments).env("RUSTFLAGS", "-D warnings").env("CARGO_TARGET_DIR", target(workspace)),
        )?;
    }
    vocabulary(workspace)?;
    order_of_keys(workspace)?;
    smallest_gate(workspace)?;
    one_sqlite(workspace)
}

/// Checks that the engine enables no feature of `serde_json` that changes the order of maps in an embedder's program.
fn order_of_keys(workspace: &Workspace) -> Outcome {
    let arguments = ["tree", "-p", "hookhost", "--edges", "normal", "--prefix", "none", "--format", "{p} {f}"];
    let tree = output(&mut workspace.cargo(&arguments))?;
    match tree.lines().find(|line| line.starts_with("serde_json ") && line.contains("preserve_order")) {
        Some(line) => Err(format!("the engine forces an order of keys on the programs that use it: {line}")),
        None => Ok(()),
    }
}

/// Checks that the contract crate does not depend on an async runtime, WebAssembly or a database, so that programs which only pass events
/// on stay small.
fn vocabulary(workspace: &Workspace) -> Outcome {
    let tree =
        output(&mut workspace.cargo(&["tree", "-p", "hookhost-contract", "--edges", "normal", "--prefix", "none"]))?;
    let is_heavy = |line: &&str| {
        let name = line.split(' ').next().unwrap_or_default();
        ["wasmtime", "wasmparser", "tokio", "rusqlite", "libsqlite3-sys", "hookhost"].contains(&name)
    };
    match tree.lines().find(is_heavy) {
        Some(heavy) => Err(format!("hookhost-contract depends on {heavy}")),
        None => Ok(()),
    }
}

/// Checks that the lock files of the embedding programs are up to date, because these files contain the dependencies of hookhost's crates.
pub fn lock_files(workspace: &Workspace) -> Outcome {
    say("the lock files of the programs that embed the engine");
    for program in [GATE, BESIDE_SQLITE] {
        let arguments = ["metadata", "--locked", "--format-version", "1", "--manifest-path", program];
        output(&mut workspace.cargo(&arguments)).map_err(|why| {
            let first = why.lines().next().unwrap_or_default();
            format!("{first}\n`cargo update --workspace --manifest-path {program}` brings its lock file up to date")
        })?;
    }
    Ok(())
}

fn smallest_gate(workspace: &Workspace) -> Outcome {
    let smallest = crates(workspace, Some(GATE))?;
    if smallest <= MAX_CRATES {
        return Ok(());
    }
    Err(format!("the engine without features has {smallest} crates: it may have {MAX_CRATES}"))
}

fn one_sqlite(workspace: &Workspace) -> Outcome {
    let arguments =
        ["tree", "--locked", "--manifest-path", BESIDE_SQLITE, "--invert", "libsqlite3-sys", "--prefix", "none"];
    let tree = output(&mut workspace.cargo(&arguments))?;
    let owners: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    if owners.contains("hookhost") || !owners.contains("sqlx") || !owners.contains("rusqlite") {
        return Err(format!("hookhost without the feature `store` links SQLite, or nobody else does: {owners:?}"));
    }
    Ok(())
}

/// Counts the crates of the engine, including the engine itself, in a program or with all features.
pub fn crates(workspace: &Workspace, program: Option<&str>) -> Outcome<usize> {
    let mut tree = workspace.cargo(&["tree", "-p", "hookhost", "--edges", "normal", "--prefix", "none"]);
    if let Some(program) = program {
        tree.args(["--locked", "--manifest-path", program]);
    }
    let tree = output(&mut tree)?;
    let crates = tree.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| !line.is_empty());
    Ok(crates.collect::<BTreeSet<_>>().len())
}

/// Returns the target directory of these builds. It is separate because the builds need other features of the same crates than the
/// workspace.
pub fn target(workspace: &Workspace) -> PathBuf {
    workspace.target.join("embed")
}
