//! The tests, and what CI asks beside the tests.

use std::{path::Path, process::Command};

use crate::{
    Outcome, bench, plugins, surface,
    workspace::{Workspace, output, run},
};

/// Builds `hookhost`, for the demo and for the tests that run it.
pub(crate) fn build_command(workspace: &Workspace) -> Outcome {
    // Of the whole workspace, though it is one binary: so the dependencies get the features that all its packages need.
    let mut cargo = workspace.cargo(&["build", "--workspace", "--bin", "hookhost"]);
    run("building hookhost (the first time, wasmtime is compiled too)", &mut cargo)
}

/// All tests, doctests included: the command of the README.
pub(crate) fn test(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let directory = plugins::build(workspace)?;
    // The command and the tests at once: alone, the command asks for fewer features of the
    // libraries, and wasmtime would be compiled for each.
    let mut build = workspace.cargo(&["build", "--workspace", "--all-targets"]);
    run("building hookhost and its tests (the first time, wasmtime is compiled too)", &mut build)?;
    let mut cargo = workspace.cargo(&["test", "--workspace"]);
    run("all tests", with_plugins(&mut cargo, &directory).args(arguments))
}

/// The cheap checks first, then exactly what `cargo xtask test` does.
pub(crate) fn ci(workspace: &Workspace) -> Outcome {
    run("format", &mut workspace.cargo(&["fmt", "--all", "--check"]))?;
    surface::format(workspace)?;
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    run("clippy", &mut workspace.cargo(&clippy))?;
    plugins::clippy(workspace)?;
    // Of the libraries: the binary `hookhost` would be documented over the library of that name.
    let mut docs = workspace.cargo(&["doc", "--workspace", "--no-deps", "--lib"]);
    run("docs", docs.env("RUSTDOCFLAGS", "-D warnings"))?;
    // After the docs, for which all dependencies are there now.
    surface::check(workspace)?;
    // All of what fails is to be seen at once.
    test(workspace, &["--no-fail-fast".into()])?;
    bench::instructions(workspace, &[])
}

/// Generates the types of the contract again.
pub(crate) fn contract(workspace: &Workspace) -> Outcome {
    let types = output(&mut workspace.cargo(&["run", "--quiet", "-p", "hookhost-wit"]))?;
    let file = workspace.root.join("host/contract/src/generated.rs");
    std::fs::write(&file, types + "\n").map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Tests and benchmarks find the plugins by this variable.
pub(crate) fn with_plugins<'a>(cargo: &'a mut Command, directory: &Path) -> &'a mut Command {
    cargo.env("HOOKHOST_PLUGINS", directory)
}
