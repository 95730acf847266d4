//! The developer's commands: `cargo xtask plugins | contract | public-api | semver | demo | install | test | bench |
//! peers | growth | instructions | embed | first-build | kills | fuzz | agents | mcp | conformance | shell-corpus | ci`.
//! Each does all its own set-up and says what it does. Standard library only, so that the first of them starts within seconds of a clone.

mod agents;
mod bench;
mod checks;
mod compare;
mod conformance;
mod corpus;
mod demo;
mod embed;
mod first_build;
mod fuzz;
mod growth;
mod mcp;
mod peers;
mod plugins;
mod programs;
mod rustdoc;
mod surface;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

/// The result of a command; the error is a sentence.
type Outcome<T = ()> = Result<T, String>;

/// A command, its help, and its function of the arguments after its name.
struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&Workspace, &[String]) -> Outcome,
}

const TASKS: [Task; 20] = [
    Task {
        name: "plugins",
        help: "build the example and test plugins into target/plugins",
        run: |workspace, _| plugins::build(workspace).map(|_| ()),
    },
    Task {
        name: "contract",
        help: "generate the types of host/contract from wit/",
        run: |workspace, _| checks::contract(workspace),
    },
    Task {
        name: "public-api",
        help: "compare the libraries' public items with their lists; `--write` writes the lists",
        run: surface::public_api,
    },
    Task {
        name: "semver",
        help: "name what breaks those who use the libraries of the last tag",
        run: |workspace, _| surface::semver(workspace),
    },
    Task {
        name: "demo",
        help: "watch an agent work while plugins refuse, change and mask",
        run: |workspace, _| demo::run(workspace),
    },
    Task {
        name: "install",
        help: "build hookhost and hookhost-hook, and put them where cargo puts programs, or into the directory named",
        run: programs::install,
    },
    Task { name: "test", help: "build the plugins and run all tests; arguments go to `cargo test`", run: checks::test },
    Task {
        name: "bench",
        help: "measure every budget, in one table; `--quick` leaves out the minutes of the memory row, `--only proxy` measures that part alone, `--compare REF` puts a commit beside this work tree",
        run: bench::budgets,
    },
    Task {
        name: "peers",
        help: "measure what people use today beside hookhost; `peers processes` and `peers engines` measure one part",
        run: peers::measure,
    },
    Task {
        name: "growth",
        help: "measure what costs grow with, and write docs/growth.md with its plots; `--quick` takes minutes, `--only log` measures that alone",
        run: growth::growth,
    },
    Task {
        name: "instructions",
        help: "count the instructions of an event and compare them with what was noted; `--note` notes them",
        run: bench::instructions,
    },
    Task {
        name: "embed",
        help: "build the programs that embed the engine from nothing, and print their crates and times",
        run: embed::measure,
    },
    Task {
        name: "first-build",
        help: "run the demo from nothing, and print the minutes and the crates that a newcomer waits for",
        run: first_build::measure,
    },
    Task {
        name: "kills",
        help: "kill 10 000 processes that write logs, and fill the disk at each byte of a record; `kills 1000` kills 1 000",
        run: checks::kills,
    },
    Task {
        name: "fuzz",
        help: "give every fuzz target five minutes; `fuzz 60 loader log` gives these two one minute each",
        run: fuzz::fuzz,
    },
    Task {
        name: "agents",
        help: "run people's own agents, offline, under the built programs; `agents codex pi` runs these two",
        run: agents::agents,
    },
    Task {
        name: "mcp",
        help: "run MCP servers that people use, and MCP's conformance suite, with the proxy and without it",
        run: mcp::mcp,
    },
    Task {
        name: "conformance",
        help: "run the conformance vectors of AGENT-HOOKS-0.1 and print the report, by part",
        run: |workspace, _| conformance::conformance(workspace),
    },
    Task {
        name: "shell-corpus",
        help: "judge a table of shell commands with shell-guard; `--classifier` adds a model that is always right",
        run: corpus::judge,
    },
    Task {
        name: "ci",
        help: "compiler, format, clippy, docs, public items, `cargo xtask test`, `cargo xtask instructions`, four of the agents",
        run: |workspace, _| checks::ci(workspace),
    },
];

fn main() -> ExitCode {
    if let Some(done) = rustdoc::called_by_cargo() {
        return done;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("usage: cargo xtask COMMAND");
        for task in &TASKS {
            eprintln!("  {:12} {}", task.name, task.help);
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
