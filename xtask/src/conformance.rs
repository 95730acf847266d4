//! Runs conformance kits that others publish. The checks are in `tests/agent-hooks`.

use std::process::Command;

use crate::{
    Outcome, plugins,
    workspace::{Workspace, run},
};

pub(crate) fn conformance(workspace: &Workspace) -> Outcome {
    let plugins = plugins::build(workspace)?;
    // The whole workspace, so that the dependencies get the features of all its packages.
    let mut cargo = workspace.cargo(&["build", "--workspace", "--bin", "agent-hooks"]);
    run("building the harness (the first time, wasmtime is compiled too)", &mut cargo)?;
    let built = workspace.target.join("debug").join(format!("agent-hooks{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(built);
    command.arg("--plugins").arg(plugins).current_dir(&workspace.root);
    run("the vectors of AGENT-HOOKS-0.1", &mut command)
}
