//! Runs shell-guard on tables of shell commands that other people have classified. The program that compares the results is in
//! `tests/shell-corpus`.

use std::process::Command;

use xtask::{
    Outcome, plugins,
    workspace::{Workspace, run},
};

/// Runs shell-guard on a table: `FILE [--classifier]`.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if !arguments.iter().any(|argument| !argument.starts_with('-')) {
        return Err("name a table: `shell-corpus FILE [--classifier]`".to_owned());
    }
    // The path is relative to the user's directory, but the program runs in a different directory.
    let arguments = arguments.iter().map(|argument| match argument.as_str() {
        flag if flag.starts_with('-') => Ok(flag.into()),
        file => std::path::absolute(file).map_err(|error| format!("{file}: {error}")),
    });
    let arguments = arguments.collect::<Outcome<Vec<_>>>()?;
    let plugins = plugins::build(workspace)?;
    // Build the whole workspace, so that the dependencies get the features that all packages of the workspace need.
    let mut cargo = workspace.cargo(&["build", "--workspace", "--bin", "shell-corpus"]);
    run("building the judge (the first time, wasmtime is compiled too)", &mut cargo)?;
    let built = workspace.target.join("debug").join(format!("shell-corpus{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(built);
    command.arg("--plugins").arg(plugins).args(arguments).current_dir(&workspace.root);
    run("the table, natively and as a component", &mut command)
}
