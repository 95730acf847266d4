//! Runs public MCP servers behind the built proxy. The checks are in `tests/agents/src/mcp`.

use std::process::Command;

use crate::{
    Outcome,
    workspace::{Workspace, run},
};

pub(crate) fn mcp(workspace: &Workspace, _: &[String]) -> Outcome {
    let built = |name: &str| workspace.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    // The whole workspace, so that the dependencies get the features of all its packages.
    let mut cargo = workspace.cargo(&["build", "--workspace", "--bin", "hookhost", "--bin", "real-agents"]);
    run("building hookhost (the first time, wasmtime is compiled too)", &mut cargo)?;
    let mut command = Command::new(built("real-agents"));
    command.args(["mcp", "--hookhost"]).arg(built("hookhost")).current_dir(&workspace.root);
    run("servers of MCP, with the proxy and without it", &mut command)
}
