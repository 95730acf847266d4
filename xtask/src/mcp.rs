//! Servers of the Model Context Protocol behind the built proxy. What is checked is in `tests/agents/src/mcp`.

use std::process::Command;

use crate::{
    Outcome,
    workspace::{Workspace, run},
};

pub(crate) fn mcp(workspace: &Workspace, _: &[String]) -> Outcome {
    let built = |name: &str| workspace.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    // Of the whole workspace, so that the dependencies get the features that all its packages need.
    let mut cargo = workspace.cargo(&["build", "--workspace", "--bin", "hookhost", "--bin", "real-agents"]);
    run("building hookhost (the first time, wasmtime is compiled too)", &mut cargo)?;
    let mut command = Command::new(built("real-agents"));
    command.args(["mcp", "--hookhost"]).arg(built("hookhost")).current_dir(&workspace.root);
    run("servers of MCP, with the proxy and without it", &mut command)
}
