//! The developer's commands: `cargo xtask plugins | contract | demo | install | test | agents | fuzz | dist | ci`. Each command does all the
//! set-up that it needs and prints its steps. `cargo run -p bench` has the measurements.

mod agents;
mod ci;
mod demo;
mod dist;
mod fuzz;
mod public_items;
mod receivers;

use std::process::ExitCode;

use xtask::{Outcome, plugins, programs, workspace::Workspace};

/// A command.
struct Task {
    /// The word after `cargo xtask`.
    name: &'static str,
    help: &'static str,
    /// Runs the command with the arguments that follow its name.
    run: fn(&Workspace, &[String]) -> Outcome,
}

const TASKS: [Task; 9] = [
    Task {
        name: "plugins",
        help: "build the example and test plugins into target/plugins",
        run: |workspace, _| plugins::build(workspace).map(|_| ()),
    },
    Task {
        name: "contract",
        help: "generate the types of host/contract from wit/",
        run: |workspace, _| ci::contract(workspace),
    },
    Task {
        name: "demo",
        help: "watch an agent work while plugins refuse, change and mask",
        run: |workspace, _| demo::demo(workspace),
    },
    Task {
        name: "install",
        help: "build hookhost and hookhost-hook, and put them where cargo puts programs, or into the directory named",
        run: programs::install,
    },
    Task { name: "test", help: "build the plugins and run all tests; arguments go to `cargo test`", run: ci::test },
    Task {
        name: "agents",
        help: "run people's own agents, offline, under the built programs; `agents codex pi` runs these two, `agents mcp` MCP servers; \
               `agents pictures` draws docs/pictures",
        run: agents::agents,
    },
    Task {
        name: "fuzz",
        help: "give every fuzz target five minutes; `fuzz 60 loader log` gives these two one minute each",
        run: fuzz::fuzz,
    },
    Task {
        name: "dist",
        help: "build the packages that users install, into target/packages; `dist --help` names the options",
        run: dist::dist,
    },
    Task {
        name: "ci",
        help: "all checks; `ci clippy docs` runs these two, `ci --write` writes the lists of public items, `ci --help` names the checks",
        run: ci::ci,
    },
];

fn main() -> ExitCode {
    if let Some(exit) = public_items::run_as_rustdoc() {
        return exit;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("usage: cargo xtask COMMAND");
        for task in &TASKS {
            eprintln!("  {:9} {}", task.name, task.help);
        }
        return ExitCode::from(2);
    };
    match Workspace::lock().and_then(|workspace| (task.run)(&workspace, &arguments[1..])) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask {name}: {why}");
            ExitCode::FAILURE
        }
    }
}
