//! Runs people's own agents, and public MCP servers, with the built programs. The checks are in `tests/agents`.

use std::process::Command;

use xtask::{
    Outcome, plugins,
    workspace::{Workspace, run},
};

/// The agents that CI runs. They cover all kinds of hooks: hooks that are processes, hooks that the user has to trust, and hooks that run
/// within the agent.
pub(crate) const IN_CI: [&str; 4] = ["claude-code", "codex", "copilot-cli", "pi"];

/// The option that tests only the adapters, without the engine, so that a change to an adapter can be tried within seconds.
const STAND_IN: &str = "--stand-in";

/// The argument that runs MCP servers and the conformance suite of MCP, with and without the proxy.
const MCP: &str = "mcp";

/// The argument that runs the page of the resident host in a real browser, and makes a picture of every view.
pub(crate) const PAGE: &str = "page";

/// The argument that draws the pictures of the README.
const PICTURES: &str = "pictures";

pub(crate) fn agents(workspace: &Workspace, arguments: &[String]) -> Outcome {
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let built = |name: &str| workspace.target.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(built("real-agents"));
    if has(STAND_IN) {
        let mut cargo = workspace.cargo(&["build", "--package", "hookhost-real-agents"]);
        run("building the stand-in for the hook", &mut cargo)?;
        command.arg(STAND_IN).arg(built("stand-in"));
    } else {
        // Build the whole workspace, so that the dependencies always get the features that all packages of the workspace need.
        let mut cargo = workspace.cargo(&["build", "--workspace"]);
        cargo.args(["--bin", "hookhost", "--bin", "hookhost-hook", "--bin", "real-agents"]);
        run("building hookhost (the first time, wasmtime is compiled too)", &mut cargo)?;
        if has(MCP) {
            command.args([MCP, "--hookhost"]).arg(built("hookhost"));
        } else if has(PAGE) {
            command.args([PAGE, "--hookhost"]).arg(built("hookhost")).arg("--hook").arg(built("hookhost-hook"));
            command.arg(workspace.target.join("page"));
        } else {
            let name = if has(PICTURES) { "shell_guard.wasm" } else { "agent_policy.wasm" };
            let plugin = plugins::build(workspace)?.join(name);
            command
                .args(has(PICTURES).then_some(PICTURES))
                .arg("--hookhost")
                .arg(built("hookhost"))
                .arg("--hook")
                .arg(built("hookhost-hook"));
            command.arg("--plugin").arg(plugin);
        }
    }
    command.args(arguments.iter().filter(|argument| ![STAND_IN, MCP, PAGE, PICTURES].contains(&argument.as_str())));
    command.args(has(PICTURES).then(|| workspace.root.join("docs/pictures")));
    run("the agents", command.current_dir(&workspace.root))
}
