//! Runs people's own agents with the built programs. The checks are in `tests/agents`.

use std::process::Command;

use crate::{
    Outcome, plugins,
    workspace::{Workspace, run},
};

/// The agents that CI runs: together they have hooks that are processes, one that has to be trusted, and one within the agent.
pub(crate) const IN_CI: [&str; 4] = ["claude-code", "codex", "copilot-cli", "pi"];

/// The option for the adapters alone, without the engine, so that a change to one is tried within seconds.
const STAND_IN: &str = "--stand-in";

pub(crate) fn agents(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let built = |name: &str| workspace.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(built("real-agents"));
    if arguments.iter().any(|argument| argument == STAND_IN) {
        let mut cargo = workspace.cargo(&["build", "--package", "hookhost-real-agents"]);
        run("building the stand-in for the hook", &mut cargo)?;
        command.arg(STAND_IN).arg(built("stand-in"));
    } else {
        let plugins = plugins::build(workspace)?;
        // The whole workspace, so that the dependencies get the features of all its packages.
        let mut cargo = workspace.cargo(&["build", "--workspace"]);
        cargo.args(["--bin", "hookhost", "--bin", "hookhost-hook", "--bin", "real-agents"]);
        run("building hookhost (the first time, wasmtime is compiled too)", &mut cargo)?;
        command.arg("--hookhost").arg(built("hookhost")).arg("--hook").arg(built("hookhost-hook"));
        command.arg("--plugin").arg(plugins.join("agent_policy.wasm"));
    }
    command.args(arguments.iter().filter(|argument| *argument != STAND_IN)).current_dir(&workspace.root);
    run("the agents", &mut command)
}
