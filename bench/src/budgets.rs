//! Prints the tables of budgets, the system calls in steady state, and the distributions of times. The programs are built as they are
//! installed, and the benchmarks are built with the release profile.

use std::process::Command;

use xtask::{
    Outcome, plugins,
    programs::{self, Programs},
    workspace::{Workspace, run},
};

use crate::{compare, instructions};

/// The parts of the measurements. With `--only`, only one part is measured.
const PARTS: [&str; 7] = ["engine", "hook", "proxy", "agent", "tenants", "system-calls", "distributions"];

/// The parts that start the installed programs.
const PROCESSES: [&str; 3] = ["engine", "hook", "proxy"];

/// The arguments that select the rows of schemas, of rules in words or of telemetry. These rows need no installed programs, whose build takes long.
const ROWS: [&str; 3] = ["--schemas", "--rules", "--telemetry"];

/// Measures all parts, or only the named part: `[--only PART] [--quick] [--compare REF [--rounds N]]`.
pub(crate) fn measure(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if arguments.iter().any(|argument| argument == "--compare") {
        return compare::measure(workspace, arguments);
    }
    let (only, arguments) = only(arguments)?;
    let is_wanted = |part: &str| only.is_none_or(|only| only == part);
    let directory = plugins::build(workspace)?;
    let only_rows = only == Some("engine") && arguments.iter().any(|argument| ROWS.contains(argument));
    let needs_programs = !only_rows && PROCESSES.into_iter().any(is_wanted);
    let programs = if needs_programs { Some(programs::release(workspace)?) } else { None };
    let bench = |name: &str| {
        let mut cargo = cargo_bench(workspace, name, programs.as_ref());
        cargo.env(plugins::VARIABLE, &directory);
        cargo
    };
    if is_wanted("engine") {
        run("every budget of the engine, beside its reference from the same run", bench("budgets").args(&arguments))?;
    }
    if is_wanted("hook") {
        let engine = programs::engine_alone(workspace)?;
        run("the wait of an agent at each event", bench("hook").env("HOOKHOST_ENGINE_ALONE", engine))?;
    }
    if is_wanted("proxy") {
        run("what the proxy adds to a call of an MCP server", &mut bench("proxy"))?;
    }
    if is_wanted("agent") {
        run("what the agent's loop adds to its model and its tools", bench("agent").args(&arguments))?;
    }
    if is_wanted("tenants") {
        let quick = arguments.iter().filter(|argument| **argument == "--quick");
        run("ten thousand tenants in one process", bench("tenants").args(quick))?;
    }
    if is_wanted("system-calls") {
        instructions::system_calls(workspace, &directory)?;
    }
    if is_wanted("distributions") {
        run("the distributions", &mut bench("event"))?;
    }
    Ok(())
}

/// Measures hooks that find no resident host.
pub(crate) fn start(workspace: &Workspace, arguments: &[String]) -> Outcome {
    if let [unknown, ..] = arguments {
        return Err(format!("`{unknown}` is unknown: `start` has no arguments"));
    }
    let directory = plugins::build(workspace)?;
    let programs = programs::release(workspace)?;
    let mut hook = cargo_bench(workspace, "hook", Some(&programs));
    run("hooks that find no resident host", hook.arg("start").env(plugins::VARIABLE, directory))
}

/// Returns the command that runs a benchmark, to which arguments can be added.
fn cargo_bench(workspace: &Workspace, name: &str, programs: Option<&Programs>) -> Command {
    let mut cargo = workspace.cargo(&["bench", "--workspace", "--bench", name, "--"]);
    if let Some(programs) = programs {
        cargo.envs(programs.variables());
    }
    cargo
}

/// Returns the part of `--only`, and the arguments of the benchmarks.
fn only(arguments: &[String]) -> Outcome<(Option<&'static str>, Vec<&str>)> {
    let (mut only, mut rest) = (None, Vec::new());
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--only" => {
                let part = arguments.next().and_then(|named| PARTS.into_iter().find(|part| *part == named));
                only = Some(part.ok_or_else(|| format!("`--only` needs one of {}", PARTS.join(", ")))?);
            }
            // The rows alone are for changes to the code that they measure, for example to the code that counts the steps of a schema.
            argument if argument == "--quick" || ROWS.contains(&argument) => rest.push(argument),
            other => {
                return Err(format!(
                    "`{other}` is unknown: budgets [--only PART] [--schemas] [--rules] [--telemetry] [--quick] [--compare REF [--rounds N]]"
                ));
            }
        }
    }
    Ok((only, rest))
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn one_part_can_be_measured_alone_and_what_is_unknown_is_named() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(only(&words("--quick")), Ok((None, vec!["--quick"])));
        assert_eq!(only(&words("--only system-calls --quick")), Ok((Some("system-calls"), vec!["--quick"])));
        for line in ["--only", "--only steady", "--only --quick"] {
            let why = only(&words(line)).unwrap_err();
            assert!(why.starts_with("`--only` needs one of engine, hook,"), "{line}: {why}");
        }
        assert!(only(&words("--quik")).is_err_and(|why| why.starts_with("`--quik` is unknown")));
    }
}
