//! `cargo run -p bench -- NAME` measures what hookhost costs. It first builds the programs that it measures, with the profiles with which
//! they are installed.
//!
//! | module | measures |
//! |---|---|
//! | [`budgets`] | every budget, in one table; [`compare`] compares the tables of two commits |
//! | [`instructions`] | the instructions and the system calls of an event |
//! | [`peers`] | hookhost in comparison with other guards |
//! | [`growth`] | how the cost of an event grows, for example with the number of plugins |
//! | [`kills`] | that no killed process breaks the log |
//! | [`first_build`] | the time of a first build, for a newcomer and for a program that embeds the engine |
//! | [`past`] | the time of a replay of agents' transcripts |
//! | [`shell_corpus`] | what shell-guard decides about a table of commands |

mod budgets;
mod compare;
mod first_build;
mod growth;
mod instructions;
mod kills;
mod past;
mod peers;
mod shell_corpus;

use std::{path::PathBuf, process::ExitCode, process::Stdio};

use xtask::{
    Outcome,
    workspace::{Workspace, output, run},
};

/// A measurement, with its arguments and its help.
struct Measurement {
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    measure: fn(&Workspace, &[String]) -> Outcome,
}

const MEASUREMENTS: [Measurement; 10] = [
    Measurement {
        name: "budgets",
        arguments: "[--only PART] [--schemas] [--rules] [--telemetry] [--quick] [--compare REF [--rounds N]]",
        help: "every budget, in one table; `--compare` puts a commit beside this work tree, row by row.\n\
               Parts: engine, hook, proxy, agent, tenants, system-calls, distributions.\n\
               `--only engine --rules` measures rules in words alone, `--schemas` the schemas, and `--telemetry` the sinks",
        measure: budgets::measure,
    },
    Measurement {
        name: "start",
        arguments: "",
        help: "hooks that find no host, with installed programs: the first call after a boot, beside `python3 -c ''` and\n\
               `node -e ''`, many hooks at once, killed hosts, and a host that cannot start",
        measure: budgets::start,
    },
    Measurement {
        name: "instructions",
        arguments: "[--write]",
        help: "the instructions of an event, compared with bench/instructions.txt; `--write` writes them there",
        measure: instructions::measure,
    },
    Measurement {
        name: "peers",
        arguments: "[processes] [engines]",
        help: "what people use today beside hookhost: hooks as processes, policy engines in a program",
        measure: peers::measure,
    },
    Measurement {
        name: "growth",
        arguments: "[--only GROUP] [--quick] [--page]",
        help: "what costs grow with, for docs/growth.md; `--quick` takes minutes, `--page` writes the page from earlier data.\n\
               Groups: plugins, payload, sessions, log",
        measure: growth::measure,
    },
    Measurement {
        name: "kills",
        arguments: "[PROCESSES]",
        help: "kill 10 000 processes that write logs, and fill the disk at each byte of a record",
        measure: kills::measure,
    },
    Measurement {
        name: "first-build",
        arguments: "[demo] [embed]",
        help: "builds from nothing: the demo of a newcomer, and programs that embed the engine",
        measure: first_build::measure,
    },
    Measurement {
        name: "past",
        arguments: "[PROGRAM]",
        help: "judge 10 000 calls in transcripts, as `hookhost replay --from all` does, beside a program that only parses them",
        measure: past::measure,
    },
    Measurement {
        name: "page",
        arguments: "[EVENTS]",
        help: "the page beside a log of 500 000 events: searches without its index and with it, and how soon a tab shows an event",
        measure: |workspace, arguments| {
            let program = built(workspace, "bench", "page")?;
            run("the page", std::process::Command::new(program).args(arguments))
        },
    },
    Measurement {
        name: "shell-corpus",
        arguments: "FILE [--classifier]",
        help: "recall, false alarms and fuel of shell-guard on a table of commands, whose lines are `block` or `allow`, a tab,\n\
               and a command; `--classifier` adds a model that is always right",
        measure: shell_corpus::measure,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("", String::as_str);
    if name == "--help" {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let Some(measurement) = MEASUREMENTS.iter().find(|measurement| measurement.name == name) else {
        eprintln!("{}", usage());
        return ExitCode::from(2);
    };
    match Workspace::lock().and_then(|workspace| (measurement.measure)(&workspace, &arguments[1..])) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench {name}: {why}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = "usage: cargo run -p bench -- NAME [ARGUMENT…]".to_owned();
    for Measurement { name, arguments, help, .. } in &MEASUREMENTS {
        let line = format!("{name} {arguments}");
        text += &format!("\n\n  {}\n      {}", line.trim_end(), help.replace('\n', "\n      "));
    }
    text
}

/// Builds a benchmark and returns the path of its program. `command` is the cargo command: `bench`, with the profile
/// `release`, or `test`, with the profile `dev`.
fn built(workspace: &Workspace, command: &str, benchmark: &str) -> Outcome<PathBuf> {
    // Build the whole workspace, so that the dependencies get the features that all packages of the workspace need.
    let mut cargo =
        workspace.cargo(&[command, "--workspace", "--bench", benchmark, "--no-run", "--message-format=json"]);
    let messages = output(cargo.stderr(Stdio::inherit()))?;
    let named = format!(r#""name":"{benchmark}""#);
    let executable = messages.lines().filter(|line| line.contains(&named)).find_map(|line| {
        let (_, rest) = line.split_once(r#""executable":""#)?;
        Some(PathBuf::from(rest.split_once('"')?.0))
    });
    executable.ok_or_else(|| format!("cargo built no `{benchmark}`"))
}

#[cfg(test)]
mod tests {
    use super::{MEASUREMENTS, usage};

    #[test]
    fn the_help_has_a_paragraph_for_each_measurement() {
        assert_eq!(usage().split("\n\n").count(), MEASUREMENTS.len() + 1);
        assert!(usage().contains("\n\n  kills [PROCESSES]\n      kill 10 000 processes"));
    }
}
